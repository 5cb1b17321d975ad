// Package kube is the hands: everything that talks to an API server, informers apart. [Writer.Do] is the only way
// to change a cluster; [Resources] knows which kinds there are; [Events] records events.
package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/object"
)

// A Resource is what discovery says of one.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	HasStatus  bool // it has the status subresource
}

// ObjectKind is the kind of the resource's objects.
func (r Resource) ObjectKind() object.Kind { return r.GroupVersion().WithKind(r.Kind) }

// A NotServedError says that the API server does not serve a resource, now.
type NotServedError struct {
	APIVersion, Name string
	byKind           bool // Name is a kind, not a plural
}

func (e *NotServedError) Error() string {
	if e.byKind {
		return fmt.Sprintf("the API server does not serve the kind %s in %s: is its CustomResourceDefinition applied?", e.Name, e.APIVersion)
	}
	return fmt.Sprintf("the API server does not serve resource %q in %s: is its CustomResourceDefinition applied, and the name its plural?", e.Name, e.APIVersion)
}

// Resources answers which resources an API server serves. Answers are kept, one group version at a time, for a
// while or until Forget. An error is never kept, and an old answer is better than none: one group that does not
// answer hides no other, and never means that a kind is gone. It is safe for concurrent use, and nobody waits for
// an answer that is none of theirs.
type Resources struct {
	client  discoverer
	keep    time.Duration
	flights singleflight.Group

	mu      sync.Mutex
	known   map[schema.GroupVersion]answer
	changed map[string]time.Time // when a group was forgotten last
}

// A discoverer is as much of a discovery client as is needed here.
type discoverer interface {
	ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
}

type answer struct {
	resources []Resource
	at        time.Time
}

const (
	discoveryTimeout = 10 * time.Second // of one question
	missKept         = time.Second      // how long it is believed that a group version has no such resource
	settling         = 10 * time.Second // how long discovery may take to show a change; so long no answer is kept for longer than that
)

// NewResources asks client, and keeps what it says for so long.
func NewResources(client discoverer, keep time.Duration) *Resources {
	return &Resources{client: client, keep: keep, known: map[schema.GroupVersion]answer{}, changed: map[string]time.Time{}}
}

// ByName finds a resource by its plural name. When the server does not serve it, the error is a [*NotServedError].
func (r *Resources) ByName(apiVersion, plural string) (Resource, error) {
	missing := &NotServedError{APIVersion: apiVersion, Name: plural}
	return r.find(missing, r.keeps(apiVersion), func(found Resource) bool { return found.Resource == plural })
}

// byKind finds the resource of a kind. It is for writing: what was ever answered is good enough, until Forget.
func (r *Resources) byKind(kind object.Kind) (Resource, error) {
	const ever = 100 * 365 * 24 * time.Hour
	missing := &NotServedError{APIVersion: kind.GroupVersion().String(), Name: kind.Kind, byKind: true}
	return r.find(missing, ever, func(found Resource) bool { return found.Kind == kind.Kind })
}

// keeps is for how long an answer is used.
func (r *Resources) keeps(apiVersion string) time.Duration {
	group, _, _ := strings.Cut(apiVersion, "/")
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.changed[group]) < settling {
		return min(r.keep, missKept)
	}
	return r.keep
}

// Forget drops what is known of a group, since something in it changed. The API server shows that a moment later.
func (r *Resources) Forget(group string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed[group] = time.Now()
	for gv := range r.known {
		if gv.Group == group {
			delete(r.known, gv)
			r.flights.Forget(gv.String()) // an answer under way may be older than the change
		}
	}
}

// find looks in an answer that is kept and not older than keep, else asks. It gives missing when there is no match.
func (r *Resources) find(missing *NotServedError, keep time.Duration, match func(Resource) bool) (Resource, error) {
	gv, err := schema.ParseGroupVersion(missing.APIVersion)
	if err != nil {
		return Resource{}, err
	}
	old := r.kept(gv)
	age, at := time.Since(old.at), slices.IndexFunc(old.resources, match)
	if at >= 0 && age < keep {
		return old.resources[at], nil
	}
	if at < 0 && age < missKept {
		return Resource{}, missing
	}
	resources, err := r.ask(gv)
	if err != nil && at >= 0 {
		return old.resources[at], nil
	}
	if err != nil {
		return Resource{}, fmt.Errorf("discover %s: %w", missing.APIVersion, err)
	}
	if at := slices.IndexFunc(resources, match); at >= 0 {
		return resources[at], nil
	}
	return Resource{}, missing
}

func (r *Resources) kept(gv schema.GroupVersion) answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[gv]
}

// ask asks the API server and keeps the answer. Who asks for the same at the same time shares the answer, which is
// why the question has a timeout of its own and not the context of one of them.
func (r *Resources) ask(gv schema.GroupVersion) ([]Resource, error) {
	asked, err, _ := r.flights.Do(gv.String(), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), discoveryTimeout)
		defer cancel()
		list, err := r.client.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
		if apierrors.IsNotFound(err) {
			return []Resource(nil), nil // not kept: it may appear at any moment
		}
		if err != nil {
			return nil, err
		}
		resources := fromList(gv, list)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.known[gv] = answer{resources, time.Now()}
		return resources, nil
	})
	if err != nil {
		return nil, err
	}
	return asked.([]Resource), nil
}

// fromList joins each resource with its status subresource, which discovery lists beside it.
func fromList(gv schema.GroupVersion, list *metav1.APIResourceList) []Resource {
	hasStatus := map[string]bool{}
	for _, found := range list.APIResources {
		if plural, sub, _ := strings.Cut(found.Name, "/"); sub == "status" {
			hasStatus[plural] = true
		}
	}
	var resources []Resource
	for _, found := range list.APIResources {
		if strings.Contains(found.Name, "/") {
			continue
		}
		resources = append(resources, Resource{gv.WithResource(found.Name), found.Kind, found.Namespaced, hasStatus[found.Name]})
	}
	return resources
}

// A Finder looks up resources by their plural names. The error may be a [*NotServedError].
type Finder interface {
	ByName(apiVersion, plural string) (Resource, error)
}
