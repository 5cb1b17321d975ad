// Package kube is the hands: everything that talks to an API server, informers apart. [Writer.Do] is the only way
// to change a cluster; [Resources] knows which kinds there are; [Events] records events.
package kube

import (
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

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
type NotServedError struct{ APIVersion, Name string }

func (e *NotServedError) Error() string {
	return fmt.Sprintf("the API server does not serve resource %q in %s: is its CustomResourceDefinition applied, and the name its plural?", e.Name, e.APIVersion)
}

// Resources answers which resources an API server serves. Answers are kept, one group version at a time, for a
// while or until Forget; an error is never kept, so that one group that does not answer hides no other and never
// means that a kind is gone.
type Resources struct {
	client discovery.DiscoveryInterface
	keep   time.Duration

	mu    sync.Mutex
	known map[schema.GroupVersion]answer
}

type answer struct {
	resources []Resource
	until     time.Time
}

// NewResources asks client, and keeps what it says for so long.
func NewResources(client discovery.DiscoveryInterface, keep time.Duration) *Resources {
	return &Resources{client: client, keep: keep, known: map[schema.GroupVersion]answer{}}
}

// ByName finds a resource by its plural name. When the server does not serve it, the error is a [*NotServedError].
func (r *Resources) ByName(apiVersion, plural string) (Resource, error) {
	return r.find(apiVersion, plural, func(found Resource) bool { return found.Resource == plural })
}

// ByKind finds the resource of a kind.
func (r *Resources) ByKind(kind object.Kind) (Resource, error) {
	return r.find(kind.GroupVersion().String(), kind.Kind, func(found Resource) bool { return found.Kind == kind.Kind })
}

// Forget drops what is known of a group, since something in it changed.
func (r *Resources) Forget(group string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for gv := range r.known {
		if gv.Group == group {
			delete(r.known, gv)
		}
	}
}

func (r *Resources) find(apiVersion, name string, match func(Resource) bool) (Resource, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return Resource{}, err
	}
	resources, err := r.served(gv)
	if err != nil {
		return Resource{}, fmt.Errorf("discover %s: %w", apiVersion, err)
	}
	for _, found := range resources {
		if match(found) {
			return found, nil
		}
	}
	return Resource{}, &NotServedError{apiVersion, name}
}

func (r *Resources) served(gv schema.GroupVersion) ([]Resource, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, found := r.known[gv]; found && time.Now().Before(known.until) {
		return known.resources, nil
	}
	list, err := r.client.ServerResourcesForGroupVersion(gv.String())
	if apierrors.IsNotFound(err) {
		return nil, nil // not kept: it may appear at any moment
	}
	if err != nil {
		return nil, err
	}
	resources := fromList(gv, list)
	r.known[gv] = answer{resources, time.Now().Add(r.keep)}
	return resources, nil
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
