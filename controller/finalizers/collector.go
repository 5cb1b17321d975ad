// Package finalizers removes the finalizers of controllers that are deleted, and reports parents whose deletion waits for one.
//
//   - A [Remover] removes the finalizer of one controller from its parents, when the controller is deleted.
//   - A [Collector] removes the finalizers of all deleted controllers, for deletions that no server watched.
//   - A [BlockedReporter] reports parents that are being deleted and wait for a controller that does not run.
package finalizers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/selection"
	"metascript/controller/spec"
	"metascript/controller/wire"
)

// A Collector removes the finalizers of deleted controllers from all objects of a cluster. It is for deletions that no
// server watched. It does not remove the finalizers of controllers that exist.
type Collector struct {
	Namespace string                                       // of the objects to visit; "" means all, and objects without a namespace
	DryRun    bool                                         // nothing is removed
	Ignored   []string                                     // API groups whose objects are not visited, such as those whose API server is gone
	OnRemoved func(o *object.Object, finalizer, by string) // called for each finalizer that was removed, or would be in a dry run; by is the controller

	discovery  discovery.DiscoveryInterface
	client     dynamic.Interface
	finalizers *kube.Finalizers
}

// Collected counts what a Collector found.
type Collected struct {
	Removed int // finalizers of controllers that are deleted
	Kept    int // finalizers of controllers that exist
	Google  int // of those that are kept: the finalizers of Google's Metacontroller, which this server does not remove
	Failed  int
}

// NewCollector connects to a cluster.
func NewCollector(config *rest.Config) (*Collector, error) {
	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	outlines, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	objects, err := wire.NewClient(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	write := &kube.Writer{Client: objects, Resources: kube.NewResources(discoverer, 0)}
	return &Collector{
		discovery: discoverer, client: client, finalizers: &kube.Finalizers{Client: outlines, Write: write},
	}, nil
}

// Run visits every object of the namespace once. It continues after an error, and returns all errors joined.
func (c *Collector) Run(ctx context.Context) (Collected, error) {
	resources, err := c.Resources()
	failed := []error{err}
	found := &collection{Collector: c, exists: map[spec.ID]bool{}}
	if c.Namespace != "" {
		c.finalizers.Namespaces = selection.Namespaces{c.Namespace}
	}
	for _, r := range resources {
		if c.Namespace != "" && !r.Namespaced {
			continue
		}
		failed = append(failed, c.finalizers.Each(ctx, r, func(o *object.Object) error { return found.look(ctx, o) }))
	}
	err = errors.Join(failed...)
	found.Failed = count(err)
	return found.Collected, err
}

// count returns how many errors are joined in err.
func count(err error) int {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok && err != nil {
		return 1
	} else if !ok {
		return 0
	}
	n := 0
	for _, one := range joined.Unwrap() {
		n += count(one)
	}
	return n
}

// Resources returns all resources that can be listed and updated, except for those of Ignored groups. If the API server cannot list those of
// a group, the error says so, and the others are returned with it.
func (c *Collector) Resources() ([]kube.Resource, error) {
	lists, err := c.discovery.ServerPreferredResources()
	err = c.withoutIgnored(err)
	var all []kube.Resource
	for _, list := range lists {
		gv, malformed := schema.ParseGroupVersion(list.GroupVersion)
		if malformed != nil {
			err = errors.Join(err, malformed)
			continue
		}
		if slices.Contains(c.Ignored, gv.Group) {
			continue
		}
		for _, r := range list.APIResources {
			if can(r, "list") && can(r, "update") && !strings.Contains(r.Name, "/") {
				all = append(all, kube.Resource{GroupVersionResource: gv.WithResource(r.Name), Kind: r.Kind, Namespaced: r.Namespaced})
			}
		}
	}
	return all, err
}

// withoutIgnored returns an error of discovery without the groups that are ignored, and says how to ignore the others.
func (c *Collector) withoutIgnored(err error) error {
	var of *discovery.ErrGroupDiscoveryFailed
	if !errors.As(err, &of) {
		return err
	}
	left, flags := map[schema.GroupVersion]error{}, map[string]bool{}
	for gv, failed := range of.Groups {
		if !slices.Contains(c.Ignored, gv.Group) {
			left[gv], flags["--ignore-group "+gv.Group] = failed, true
		}
	}
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("%w; if what serves a group is gone for ever, leave out its objects with %s", &discovery.ErrGroupDiscoveryFailed{Groups: left}, strings.Join(slices.Sorted(maps.Keys(flags)), " "))
}

func can(r metav1.APIResource, verb string) bool { return slices.Contains(r.Verbs, verb) }

// A collection is one Run of a Collector.
type collection struct {
	*Collector
	Collected
	exists map[spec.ID]bool // the controllers that are known to exist
}

// look removes the finalizers of deleted controllers from o.
func (c *collection) look(ctx context.Context, o *object.Object) error {
	var failed []error
	for _, finalizer := range o.GetFinalizers() {
		if by, ok := ControllerOf(finalizer); ok {
			failed = append(failed, c.collect(ctx, o, finalizer, by))
		}
	}
	return errors.Join(failed...)
}

// collect removes a finalizer if its controller does not exist. It asks the API server again for each object, since the
// controller may have been created again.
func (c *collection) collect(ctx context.Context, o *object.Object, finalizer string, by spec.ID) error {
	if !c.exists[by] {
		existing, err := Existing(ctx, by, c.client)
		exists := existing != nil
		if err != nil {
			return fmt.Errorf("%s: check whether %s exists: %w", object.Describe(o), by, err)
		}
		c.exists[by] = exists
	}
	if c.exists[by] {
		c.Kept++
		if finalizer != by.Finalizer() {
			c.Google++
		}
		return nil
	}
	taken := c.DryRun
	if !c.DryRun {
		var err error
		if taken, err = c.finalizers.Remove(ctx, o, finalizer, fmt.Sprintf("there is no %s", by)); err != nil {
			return err
		}
	}
	if taken {
		c.Removed++
		c.OnRemoved(o, finalizer, by.String())
	}
	return nil
}

// ControllerOf returns the controller that a finalizer belongs to, of this server or of Google's Metacontroller; false if it belongs to
// none.
func ControllerOf(finalizer string) (spec.ID, bool) {
	for _, prefixes := range []map[string]string{spec.FinalizerPrefixes, spec.GoogleFinalizerPrefixes} {
		for kind, prefix := range prefixes {
			if name, ok := strings.CutPrefix(finalizer, prefix); ok && name != "" {
				return spec.ID{Kind: kind, Name: name}, true
			}
		}
	}
	return spec.ID{}, false
}

// Existing returns a controller object; nil if it does not exist. It asks the API server, not a cache.
func Existing(ctx context.Context, id spec.ID, client dynamic.Interface) (*object.Object, error) {
	o, err := client.Resource(spec.Resources[id.Kind]).Get(ctx, id.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return object.New(o.Object), nil
}
