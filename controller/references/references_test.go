package references

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"metascript/controller/informer"
	"metascript/controller/object"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	secrets    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

	token = Object{Secret, "ns", "token"}
	lib   = Object{ConfigMap, "lib", "lib"}
)

// A cluster is an API server with Secrets and ConfigMaps, and a Watcher of them.
type cluster struct {
	*fake.FakeDynamicClient
	*Watcher
	caches *informer.Factory
}

func newCluster(t *testing.T) *cluster {
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{secrets: "SecretList", configMaps: "ConfigMapList"})
	caches := informer.NewFactory(client, slog.New(slog.DiscardHandler))
	c := &cluster{client, NewWatcher(caches), caches}
	t.Cleanup(c.Close)
	return c
}

func (c *cluster) resource(o Object) dynamic.ResourceInterface {
	return c.Resource(o.spec().Resource).Namespace(o.Namespace)
}

// with is that object with one value, or without data for "".
func with(o Object, value string) *object.Object {
	made := &object.Object{}
	made.SetAPIVersion("v1")
	made.SetKind(o.Kind)
	made.SetNamespace(o.Namespace)
	made.SetName(o.Name)
	if value != "" {
		made.Map()["data"] = map[string]any{"k": value}
	}
	return made
}

func (c *cluster) create(t *testing.T, o *object.Object) {
	t.Helper()
	if _, err := c.resource(Object{o.GetKind(), o.GetNamespace(), o.GetName()}).Create(t.Context(), o.Unstructured(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) update(t *testing.T, o *object.Object) {
	t.Helper()
	if _, err := c.resource(Object{o.GetKind(), o.GetNamespace(), o.GetName()}).Update(t.Context(), o.Unstructured(), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// watch has a user refer to objects and waits until they are read. It gives what counts the calls.
func (c *cluster) watch(t *testing.T, user any, objects ...Object) chan struct{} {
	t.Helper()
	calls := make(chan struct{}, 16)
	if err := c.Watch(user, func() { calls <- struct{}{} }, objects...); err != nil {
		t.Fatal(err)
	}
	c.WaitForSyncOrError(t.Context(), user)
	return calls
}

func (c *cluster) expect(t *testing.T, o Object, want string) {
	t.Helper()
	found, err := c.Get(o)
	got := ""
	if err != nil {
		got = err.Error()
	} else if data, ok := found.Map()["data"].(map[string]any); ok {
		got, _ = data["k"].(string)
	}
	if got != want {
		t.Errorf("%s: got %q, want %q", o, got, want)
	}
}

func TestObjectWithManyUsersIsWatchedOnce(t *testing.T) {
	c := newCluster(t)
	c.watch(t, "a", token, lib)
	c.watch(t, "b", token)
	if n := c.caches.Running(); n != 2 {
		t.Errorf("%d watches of 2 objects", n)
	}
	c.watch(t, "a", lib)
	c.expect(t, token, "does not exist")
	c.Leave("b")
	c.expect(t, token, "is not watched")
	c.expect(t, lib, "does not exist")
	c.Leave("nobody")
	if n := c.caches.Running(); n != 1 {
		t.Errorf("%d watches of 1 object", n)
	}
	c.Close()
	if n := c.caches.Running(); n != 0 {
		t.Errorf("%d watches after Close", n)
	}
}

func TestUsersAreNotifiedOnlyOfChangedContent(t *testing.T) {
	c := newCluster(t)
	a, b := c.watch(t, "a", lib), c.watch(t, "b", lib)
	other := c.watch(t, "other", token)
	if err := c.Watch("silent", nil, lib); err != nil {
		t.Fatal(err)
	}
	changed := func(want string) {
		t.Helper()
		<-a
		<-b
		c.expect(t, lib, want)
	}
	c.create(t, with(lib, ""))
	changed("")
	c.update(t, with(lib, "one"))
	changed("one")
	labeled := with(lib, "one")
	labeled.SetLabels(map[string]string{"a": "b"})
	c.update(t, labeled)
	binary := with(lib, "one")
	binary.Map()["binaryData"] = map[string]any{"logo": "AAAA"}
	c.update(t, binary)
	changed("one")
	if err := c.resource(lib).Delete(t.Context(), lib.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	changed("does not exist")
	if len(a)+len(b) > 0 {
		t.Error("a label was taken for a change of the content")
	}
	if len(other) > 0 {
		t.Error("a listener that does not refer to the ConfigMap was called")
	}
}

func TestUsersAreNotNotifiedOfUnwatchedObjects(t *testing.T) {
	c := newCluster(t)
	left, stayed := c.watch(t, "left", lib), c.watch(t, "stayed", lib)
	c.watch(t, "left", token)
	c.create(t, with(lib, "one"))
	<-stayed
	c.update(t, with(lib, "two"))
	<-stayed
	if len(left) > 0 {
		t.Error("the listener was called")
	}
}

func TestLastWatchOfUserSetsFunction(t *testing.T) {
	c := newCluster(t)
	before := c.watch(t, "a", lib)
	after := c.watch(t, "a", lib)
	c.create(t, with(lib, "one"))
	<-after
	if len(before) > 0 {
		t.Error("what the first Watch gave was called")
	}
}

func forbidden(verb string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonForbidden, Message: "you cannot " + verb}}
}

func TestGetReturnsReadError(t *testing.T) {
	c := newCluster(t)
	c.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, forbidden("list") })
	c.watch(t, "a", token)
	_, err := c.Get(token)
	if !apierrors.IsForbidden(err) || !strings.HasPrefix(err.Error(), "cannot be read: ") || !strings.HasSuffix(err.Error(), "you cannot list") {
		t.Errorf("error %v", err)
	}
	if stale := c.Stale("a"); len(stale) > 0 {
		t.Errorf("what was never read is not stale: %q", stale)
	}
}

func TestObjectIsStaleAfterWatchIsForbidden(t *testing.T) {
	c := newCluster(t)
	c.create(t, with(token, "one"))
	watches := make(chan struct{}, 64)
	c.PrependWatchReactor("secrets", func(clienttesting.Action) (bool, watch.Interface, error) {
		watches <- struct{}{}
		return true, nil, forbidden("watch")
	})
	c.watch(t, "a", token, lib)
	<-watches
	<-watches // so that the error of the first one is known
	c.expect(t, token, "one")
	if stale := c.Stale("a"); len(stale) != 1 || stale[0] != "changes of Secret ns/token are not observed: you cannot watch" {
		t.Errorf("stale are %q", stale)
	}
	if stale := c.Stale("b"); len(stale) > 0 {
		t.Errorf("stale for an unknown user: %q", stale)
	}
}

func TestUnreadObjectIsNotMissing(t *testing.T) {
	c := newCluster(t)
	answer := make(chan struct{})
	c.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		<-answer
		return false, nil, nil
	})
	if err := c.Watch("a", nil, token); err != nil {
		t.Fatal(err)
	}
	c.expect(t, token, "is not read yet")
	close(answer)
	c.WaitForSyncOrError(t.Context(), "a")
	c.expect(t, token, "does not exist")
}

func TestConcurrentWatchAndLeave(t *testing.T) {
	c := newCluster(t)
	c.create(t, with(lib, "one"))
	var users sync.WaitGroup
	for user := range 8 {
		users.Go(func() {
			for range 20 {
				if err := errors.Join(c.Watch(user, func() {}, lib, token), c.Watch(user, nil, lib)); err != nil {
					t.Error(err)
				}
				c.WaitForSyncOrError(t.Context(), user)
				c.expect(t, lib, "one")
				c.Leave(user)
			}
		})
	}
	users.Wait()
	if n := c.caches.Running(); n != 0 {
		t.Errorf("%d watches without users", n)
	}
}
