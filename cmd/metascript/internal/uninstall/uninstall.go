// Package uninstall finds everything that servers have left in a cluster, and removes it in an order in which nothing gets stuck.
//
//   - [Uninstaller.Look] lists all objects once, and returns what is left of servers: [Left].
//   - [Uninstaller.Run] looks and removes until nothing is left. It can be stopped at any time, and run again.
//
// It never deletes a parent or a child.
package uninstall

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"metascript/controller/finalizers"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/spec"
)

var (
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	definitions = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
)

// rounds is how often Run looks at most. The second look usually finds nothing. There are more if a running server finished a sync
// meanwhile.
const rounds = 5

// poll is the time between two checks whether a deleted object is gone.
const poll = 200 * time.Millisecond

// An Uninstaller removes what is left in one cluster.
type Uninstaller struct {
	Done func(text string) // called with what was done, after each write; not nil

	client    dynamic.Interface
	outlines  metadata.Interface
	collector *finalizers.Collector
}

// New connects to a cluster. It does not look at objects of the ignored API groups.
func New(config *rest.Config, ignored []string) (*Uninstaller, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	outlines, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	collector, err := finalizers.NewCollector(config)
	if err != nil {
		return nil, err
	}
	collector.Ignored = ignored
	return &Uninstaller{Done: func(string) {}, client: client, outlines: outlines, collector: collector}, nil
}

// Look lists the objects of all kinds. If a kind cannot be listed, it continues with the others, and returns what it has found
// with all errors joined.
func (u *Uninstaller) Look(ctx context.Context) (*Left, error) {
	resources, err := u.collector.Resources()
	failed := []error{err}
	left := newLeft()
	for _, r := range resources {
		err := kube.EachMetadata(ctx, u.outlines, r.GroupVersionResource, nil, "", func(o *metav1.PartialObjectMetadata) { left.add(r, o) })
		if err != nil && !apierrors.IsNotFound(err) { // the kind was deleted since it was discovered
			failed = append(failed, fmt.Errorf("list %s: %w", r.GroupResource(), err))
		}
	}
	failed = append(failed, left.servers.locate(ctx, u.client))
	left.finish()
	return left, errors.Join(failed...)
}

// Run removes left, and looks again, until nothing is left. It returns what it has removed, and what a person has to delete.
func (u *Uninstaller) Run(ctx context.Context, left *Left) (removed *Left, err error) {
	removed = newLeft()
	for range rounds {
		removed.WithoutOwner, removed.ByHand = left.WithoutOwner, left.ByHand
		if left.Empty() {
			return removed, nil
		}
		if err := u.remove(ctx, left); err != nil {
			return removed, err
		}
		removed.join(left)
		if left, err = u.Look(ctx); err != nil {
			return removed, err
		}
	}
	return removed, fmt.Errorf("%s is there again: stop what creates it, such as Argo CD, Flux or a server, and run this command again", left.first())
}

// remove removes once. The order is important: controllers are deleted first, so that a running server stops adding finalizers, and
// CustomResourceDefinitions last, so that after an interruption the next run still finds what it has to do.
func (u *Uninstaller) remove(ctx context.Context, left *Left) error {
	if err := u.delete(ctx, left.Controllers); err != nil {
		return err
	}
	u.collector.OnRemoved = func(o *object.Object, finalizer, _ string) {
		u.Done(fmt.Sprintf("%s: removed the finalizer %s", object.Describe(o), finalizer))
	}
	if _, err := u.collector.Run(ctx); err != nil {
		return err
	}
	return errors.Join(u.delete(ctx, left.StoredScripts), u.delete(ctx, left.Definitions))
}

// delete deletes objects, and waits until they do not exist any more.
func (u *Uninstaller) delete(ctx context.Context, objects []Object) error {
	for _, o := range objects {
		err := u.of(o).Delete(ctx, o.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s: %w", o, err)
		}
	}
	for _, o := range objects {
		err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
			_, err := u.of(o).Get(ctx, o.Name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), ignoreNotFound(err)
		})
		if wait.Interrupted(err) {
			return fmt.Errorf("%s is being deleted, and still exists: its finalizers are not removed; run this command again when they are", o)
		}
		if err != nil {
			return fmt.Errorf("wait for the deletion of %s: %w", o, err)
		}
		u.Done(fmt.Sprintf("deleted %s", o))
	}
	return nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// of returns the client for an object of one of the kinds that are deleted.
func (u *Uninstaller) of(o Object) dynamic.ResourceInterface {
	switch o.Kind {
	case "ConfigMap":
		return u.client.Resource(configMaps).Namespace(o.Namespace)
	case "CustomResourceDefinition":
		return u.client.Resource(definitions)
	}
	return u.client.Resource(spec.Resources[o.Kind])
}
