package kube

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/object"
)

// asks is a discovery client that answers with a function; it counts the questions.
type asks struct {
	answer func(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
	count  atomic.Int32
}

func (a *asks) ServerResourcesForGroupVersionWithContext(ctx context.Context, gv string) (*metav1.APIResourceList, error) {
	a.count.Add(1)
	return a.answer(ctx, gv)
}

// serves gives the resources whose names these are; their kinds are all Widget.
func serves(names ...string) *metav1.APIResourceList {
	list := &metav1.APIResourceList{}
	for _, name := range names {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Kind: "Widget", Namespaced: true})
	}
	return list
}

func always(names ...string) *asks {
	return &asks{answer: func(context.Context, string) (*metav1.APIResourceList, error) { return serves(names...), nil }}
}

func TestResourceHasStatusSubresource(t *testing.T) {
	client := always("widgets", "widgets/status", "gadgets", "gadgets/scale")
	r := NewResources(client, time.Hour)
	for name, hasStatus := range map[string]bool{"widgets": true, "gadgets": false} {
		got, err := r.ByName("example.com/v1", name)
		want := Resource{schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: name}, "Widget", true, hasStatus}
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
		}
	}
	if n := client.count.Load(); n != 1 {
		t.Errorf("it asked %d times, want once", n)
	}
	r.Forget("other.com")
	r.Forget("example.com")
	if _, err := r.ByName("example.com/v1", "widgets"); err != nil || client.count.Load() != 2 {
		t.Errorf("after Forget: %d questions, error %v, want a second question", client.count.Load(), err)
	}
}

func TestUnservedResourceIsAnErrorAndDiscoveredAgain(t *testing.T) {
	served := []string{"gadgets"}
	client := &asks{answer: func(context.Context, string) (*metav1.APIResourceList, error) { return serves(served...), nil }}
	r := NewResources(client, time.Hour)
	var missing *NotServedError
	for range 3 {
		if _, err := r.ByName("example.com/v1", "widgets"); !errors.As(err, &missing) || missing.Name != "widgets" {
			t.Fatalf("got error %v, want that widgets is not served", err)
		}
	}
	if n := client.count.Load(); n != 1 {
		t.Errorf("it asked %d times in a moment, want once", n)
	}
	served = append(served, "widgets")
	r.known[schema.GroupVersion{Group: "example.com", Version: "v1"}] = result{at: time.Now().Add(-2 * missTimeout)}
	if _, err := r.ByName("example.com/v1", "widgets"); err != nil {
		t.Errorf("a moment later: %v", err)
	}
	gone := NewResources(&asks{answer: func(context.Context, string) (*metav1.APIResourceList, error) {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, "")
	}}, time.Hour)
	if _, err := gone.ByName("example.com/v1", "widgets"); !errors.As(err, &missing) {
		t.Errorf("a group that is not there: got error %v", err)
	}
}

// The API server serves a changed definition a moment later, so a result from that moment is not cached.
func TestResultSoonAfterChangeIsNotCached(t *testing.T) {
	client := always("widgets")
	r := NewResources(client, time.Hour)
	find := func(group string) {
		if _, err := r.ByName(group+"/v1", "widgets"); err != nil {
			t.Fatal(err)
		}
	}
	r.Forget("example.com")
	for _, group := range []string{"example.com", "other.com"} {
		find(group)
		gv := schema.GroupVersion{Group: group, Version: "v1"}
		r.known[gv] = result{r.known[gv].resources, time.Now().Add(-2 * missTimeout)}
	}
	find("other.com")
	if n := client.count.Load(); n != 2 {
		t.Errorf("%d questions, want none about a group in which nothing changed", n)
	}
	find("example.com")
	if n := client.count.Load(); n != 3 {
		t.Errorf("%d questions, want another about the group that changed", n)
	}
	r.changed["example.com"] = time.Now().Add(-2 * settling)
	find("example.com")
	if n := client.count.Load(); n != 3 {
		t.Errorf("%d questions, want none any more", n)
	}
}

// A kind that is not served yet is no failure while its definition is new.
func TestUnservedKindIsTriedAgainSoonAfterChange(t *testing.T) {
	r := NewResources(always("gadgets"), time.Hour)
	find := func() (missing, again bool) {
		_, err := r.ByKind(object.Kind{Group: "example.com", Version: "v1", Kind: "Gadget"})
		var notServed *NotServedError
		return errors.As(err, &notServed), errors.Is(err, ErrRequeue)
	}
	for _, change := range []struct {
		name  string
		group string
		ago   time.Duration
		again bool
	}{
		{"nothing changed", "", 0, false},
		{"another group changed", "other.com", 0, false},
		{"its group changed", "example.com", 0, true},
		{"its group changed long ago", "example.com", 2 * settling, false},
	} {
		r.Forget(change.group)
		r.changed[change.group] = time.Now().Add(-change.ago)
		if missing, again := find(); !missing || again != change.again {
			t.Errorf("%s: missing %t, again %t", change.name, missing, again)
		}
	}
}

func TestExpiredResultIsUsedIfDiscoveryFails(t *testing.T) {
	var broken error
	client := &asks{answer: func(context.Context, string) (*metav1.APIResourceList, error) { return serves("widgets"), broken }}
	r := NewResources(client, 0) // which is old at once
	if _, err := r.ByName("example.com/v1", "widgets"); err != nil {
		t.Fatal(err)
	}
	broken = errors.New("out of order")
	if _, err := r.ByName("example.com/v1", "widgets"); err != nil {
		t.Errorf("what was served a moment ago: %v", err)
	}
	if _, err := r.ByName("other.com/v1", "widgets"); err == nil || errors.As(err, new(*NotServedError)) {
		t.Errorf("what was never served: got error %v, want that discovery fails", err)
	}
}

func TestByKindUsesCachedResults(t *testing.T) {
	client := always("widgets")
	r := NewResources(client, 0)
	for range 3 {
		if _, err := r.ByKind(object.Kind{Group: "example.com", Version: "v1", Kind: "Widget"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := client.count.Load(); n != 1 {
		t.Errorf("it asked %d times, want once", n)
	}
}

func TestSlowGroupDoesNotDelayOthers(t *testing.T) {
	hangs, ends := make(chan struct{}), make(chan struct{})
	client := &asks{answer: func(ctx context.Context, gv string) (*metav1.APIResourceList, error) {
		if gv != "slow.io/v1" {
			return serves("widgets"), nil
		}
		close(hangs)
		<-ends
		return nil, errors.New("out of order")
	}}
	r := NewResources(client, time.Hour)
	slow := make(chan error)
	go func() {
		_, err := r.ByName("slow.io/v1", "widgets")
		slow <- err
	}()
	<-hangs
	if _, err := r.ByName("example.com/v1", "widgets"); err != nil {
		t.Error(err)
	}
	r.Forget("slow.io")
	close(ends)
	if err := <-slow; err == nil {
		t.Error("the group that did not answer was taken for served")
	}
}

func TestHintForUnservedResource(t *testing.T) {
	r := NewResources(always("widgets"), time.Hour)
	for _, c := range []struct{ apiVersion, name, want string }{
		{"v1", "Pod", `the API server does not serve resource "Pod" in v1: did you mean "resource: pods"?`},
		{"extensions/v1beta1", "deployments", `the API server does not serve resource "deployments" in extensions/v1beta1: did you mean "apiVersion: apps/v1"?`},
		{"example.com/v1", "Widget", `the API server does not serve resource "Widget" in example.com/v1: is its CustomResourceDefinition applied, and the name its plural? did you mean "resource: widgets"?`},
		{"example.com/v1", "things", `the API server does not serve resource "things" in example.com/v1: is its CustomResourceDefinition applied, and the name its plural?`},
	} {
		if _, err := r.ByName(c.apiVersion, c.name); err == nil || err.Error() != c.want {
			t.Errorf("%s in %s: error %v, want %s", c.name, c.apiVersion, err, c.want)
		}
	}
}
