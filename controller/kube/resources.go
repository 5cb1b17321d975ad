// Package kube has the requests to the API server, except those of informers. [Writer.Do] does all writes to objects,
// [Resources] discovers resources, and [Events] records events.
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

// A Resource is a resource as discovery describes it.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	HasStatus  bool // it has the status subresource
}

// ObjectKind returns the kind of the objects of the resource.
func (r Resource) ObjectKind() object.Kind { return r.GroupVersion().WithKind(r.Kind) }

// A NotServedError says that the API server does not serve a resource at the moment.
type NotServedError struct {
	APIVersion, Name string
	byKind           bool // Name is a kind, not a plural name
}

func (e *NotServedError) Error() string {
	if e.byKind {
		return fmt.Sprintf("the API server does not serve the kind %s in %s: is its CustomResourceDefinition applied?", e.Name, e.APIVersion)
	}
	return fmt.Sprintf("the API server does not serve resource %q in %s: is its CustomResourceDefinition applied, and the name its plural?", e.Name, e.APIVersion)
}

// Resources finds the resources that the API server serves. It caches the results of discovery, for each group version
// separately, for some time or until Forget. It does not cache errors: if a request fails, an older result is used. So a
// failure for one group does not affect the others, and never means that a kind does not exist. It is safe for concurrent
// use, and a request for one group version does not delay the others.
type Resources struct {
	client  discoverer
	keep    time.Duration
	flights singleflight.Group

	mu      sync.Mutex // guards the fields below; no request is sent while it is locked
	known   map[schema.GroupVersion]result
	changed map[string]time.Time // when a group was forgotten last
}

// A discoverer is the part of a discovery client that Resources uses.
type discoverer interface {
	ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
}

// A result is the cached result of discovery for a group version.
type result struct {
	resources []Resource
	at        time.Time
}

const (
	discoveryTimeout = 10 * time.Second // of one request
	missTimeout      = time.Second      // how long it is cached that a group version lacks a resource
	settling         = 10 * time.Second // how long discovery may take to show a change; during this time results are cached only for missTimeout
)

// NewResources returns Resources that caches the results of client for the duration keep.
func NewResources(client discoverer, keep time.Duration) *Resources {
	return &Resources{client: client, keep: keep, known: map[schema.GroupVersion]result{}, changed: map[string]time.Time{}}
}

// ByName returns the resource with this plural name. If the API server does not serve it, the error is a [*NotServedError].
func (r *Resources) ByName(apiVersion, plural string) (Resource, error) {
	missing := &NotServedError{APIVersion: apiVersion, Name: plural}
	return r.find(missing, r.maxAge(apiVersion), func(found Resource) bool { return found.Resource == plural })
}

// byKind returns the resource of a kind. It is for writes: it uses a cached result of any age, until Forget.
func (r *Resources) byKind(kind object.Kind) (Resource, error) {
	const ever = 100 * 365 * 24 * time.Hour
	missing := &NotServedError{APIVersion: kind.GroupVersion().String(), Name: kind.Kind, byKind: true}
	return r.find(missing, ever, func(found Resource) bool { return found.Kind == kind.Kind })
}

// maxAge returns how long a cached result is used.
func (r *Resources) maxAge(apiVersion string) time.Duration {
	group, _, _ := strings.Cut(apiVersion, "/")
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.changed[group]) < settling {
		return min(r.keep, missTimeout)
	}
	return r.keep
}

// Forget drops the cached results of a group, since a definition in it has changed. Discovery shows the change a moment
// later.
func (r *Resources) Forget(group string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed[group] = time.Now()
	for gv := range r.known {
		if gv.Group == group {
			delete(r.known, gv)
			r.flights.Forget(gv.String()) // the result of a request in progress may be older than the change
		}
	}
}

// find returns a resource that matches: from a cached result that is not older than keep, or else from discovery. If none
// matches, the error is missing.
func (r *Resources) find(missing *NotServedError, keep time.Duration, match func(Resource) bool) (Resource, error) {
	gv, err := schema.ParseGroupVersion(missing.APIVersion)
	if err != nil {
		return Resource{}, err
	}
	old := r.cached(gv)
	age, at := time.Since(old.at), slices.IndexFunc(old.resources, match)
	if at >= 0 && age < keep {
		return old.resources[at], nil
	}
	if at < 0 && age < missTimeout {
		return Resource{}, missing
	}
	resources, err := r.discover(gv)
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

func (r *Resources) cached(gv schema.GroupVersion) result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[gv]
}

// discover requests the resources of a group version from the API server and caches the result. Concurrent calls share one
// request, so it has its own timeout, and not the context of one of the calls.
func (r *Resources) discover(gv schema.GroupVersion) ([]Resource, error) {
	shared, err, _ := r.flights.Do(gv.String(), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), discoveryTimeout)
		defer cancel()
		list, err := r.client.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
		if apierrors.IsNotFound(err) {
			return []Resource(nil), nil // not cached: it may appear at any moment
		}
		if err != nil {
			return nil, err
		}
		resources := fromList(gv, list)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.known[gv] = result{resources, time.Now()}
		return resources, nil
	})
	if err != nil {
		return nil, err
	}
	return shared.([]Resource), nil
}

// fromList converts a result of discovery. It joins each resource with its status subresource, which is a separate item.
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
