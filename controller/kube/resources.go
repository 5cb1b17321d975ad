// Package kube has the requests to the API server, except those of informers. [Writer.Do] does all writes to objects,
// [Resources] discovers resources, and [Events] records events.
package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/kinds"
	"metascript/controller/object"
)

// A Resource is a resource as discovery describes it.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	HasStatus  bool // it has the status subresource
}

// resourceOf converts a resource with all its names.
func resourceOf(r kinds.Resource) Resource {
	return Resource{r.GVR(), r.Kind, r.Namespaced, r.HasStatus()}
}

// ObjectKind returns the kind of the objects of the resource.
func (r Resource) ObjectKind() object.Kind { return r.GroupVersion().WithKind(r.Kind) }

// A NotServedError says that the API server does not serve a resource at the moment.
type NotServedError struct {
	APIVersion, Name string
	Hint             string // what was probably meant, such as `did you mean "resource: pods"?`, or ""
	byKind           bool   // Name is a kind, not a plural name
}

// MayAppear reports whether the API server may serve the resource later without an edit of its name: not if it is misspelled, which is
// known for the groups of Kubernetes.
func (e *NotServedError) MayAppear() bool { return e.Hint == "" || kinds.MayExist(e.APIVersion) }

func (e *NotServedError) Error() string {
	if e.byKind {
		return fmt.Sprintf("the API server does not serve the kind %s in %s: is its CustomResourceDefinition applied?", e.Name, e.APIVersion)
	}
	text := fmt.Sprintf("the API server does not serve resource %q in %s: ", e.Name, e.APIVersion)
	if e.MayAppear() {
		text += "is its CustomResourceDefinition applied, and the name its plural? "
	}
	return strings.TrimSpace(text + e.Hint)
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
	resources kinds.Table
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
	return r.find(missing, r.maxAge(apiVersion), func(found kinds.Resource) bool { return found.Plural == plural })
}

// ByKind returns the resource of a kind. It is for writes: it uses a cached result of any age, until Forget. If the API server does
// not serve the kind, the error is a [*NotServedError], and also [ErrRequeue] if a definition in its group has just changed.
func (r *Resources) ByKind(kind object.Kind) (Resource, error) {
	const ever = 100 * 365 * 24 * time.Hour
	missing := &NotServedError{APIVersion: kind.GroupVersion().String(), Name: kind.Kind, byKind: true}
	found, err := r.find(missing, ever, func(found kinds.Resource) bool { return found.Kind == kind.Kind })
	if errors.As(err, &missing) && r.settles(kind.Group) {
		return found, Requeue(err)
	}
	return found, err
}

// maxAge returns how long a cached result is used.
func (r *Resources) maxAge(apiVersion string) time.Duration {
	if group, _, _ := strings.Cut(apiVersion, "/"); r.settles(group) {
		return min(r.keep, missTimeout)
	}
	return r.keep
}

// settles reports whether a group was forgotten a moment ago, so that discovery may not show the change yet.
func (r *Resources) settles(group string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.changed[group]) < settling
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
func (r *Resources) find(missing *NotServedError, keep time.Duration, match func(kinds.Resource) bool) (Resource, error) {
	gv, err := parseAPIVersion(missing.APIVersion)
	if err != nil {
		return Resource{}, err
	}
	old := r.cached(gv)
	age, at := time.Since(old.at), slices.IndexFunc(old.resources, match)
	if at >= 0 && age < keep {
		return resourceOf(old.resources[at]), nil
	}
	if at < 0 && age < missTimeout {
		return Resource{}, missing.among(old.resources)
	}
	resources, err := r.discover(gv)
	if err != nil && at >= 0 {
		return resourceOf(old.resources[at]), nil
	}
	if err != nil {
		return Resource{}, fmt.Errorf("discover %s: %w", missing.APIVersion, err)
	}
	if at := slices.IndexFunc(resources, match); at >= 0 {
		return resourceOf(resources[at]), nil
	}
	return Resource{}, missing.among(resources)
}

// parseAPIVersion returns the group and the version in an apiVersion.
func parseAPIVersion(text string) (schema.GroupVersion, error) {
	gv, err := schema.ParseGroupVersion(text)
	if err != nil {
		return gv, fmt.Errorf("apiVersion is %q, want one such as \"v1\" or \"apps/v1\"", text)
	}
	return gv, nil
}

// among adds a hint to e: what was meant is probably one of the resources that the API server serves in the group version, or of
// Kubernetes.
func (e *NotServedError) among(served kinds.Table) *NotServedError {
	if !e.byKind {
		e.Hint = slices.Concat(served, kinds.Kubernetes()).ResourceHint(e.APIVersion, e.Name)
	}
	return e
}

func (r *Resources) cached(gv schema.GroupVersion) result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[gv]
}

// discover requests the resources of a group version from the API server and caches the result. Concurrent calls share one
// request, so it has its own timeout, and not the context of one of the calls.
func (r *Resources) discover(gv schema.GroupVersion) (kinds.Table, error) {
	shared, err, _ := r.flights.Do(gv.String(), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), discoveryTimeout)
		defer cancel()
		list, err := r.client.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
		if apierrors.IsNotFound(err) {
			return kinds.Table(nil), nil // not cached: it may appear at any moment
		}
		if err != nil {
			return nil, err
		}
		resources := kinds.Discovered(gv.String(), list)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.known[gv] = result{resources, time.Now()}
		return resources, nil
	})
	if err != nil {
		return nil, err
	}
	return shared.(kinds.Table), nil
}

// A Finder looks up resources by their plural names. The error may be a [*NotServedError].
type Finder interface {
	ByName(apiVersion, plural string) (Resource, error)
}
