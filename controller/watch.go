package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/guard"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/reconcile"
	"metascript/controller/spec"
	"metascript/controller/static"
)

// watches watches the controller objects and the CustomResourceDefinitions, and queues the controllers that a change
// concerns.
type watches struct {
	*environment
	controllers map[string]static.Objects // by kind; read only once opened is set
	definitions static.Objects            // the CustomResourceDefinitions; read only once opened is set

	reported  string      // the last error of discovery that openKind logged
	opened    atomic.Bool // open has returned without an error
	hasSynced atomic.Bool // all caches have synced, so that a controller object that is not in the cache does not exist

	// definitionEdited is when, in ns, the definition of a kind of controllers was last changed; zero: never.
	definitionEdited atomic.Int64
	statusPruned     atomic.Bool // the API server does not store a status for controllers
}

var customResourceDefinitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func newWatches(e *environment) *watches {
	return &watches{environment: e, controllers: map[string]static.Objects{}}
}

// open opens the watches. close must be called afterwards, also if open failed.
func (w *watches) open() error {
	for kind := range spec.Resources {
		w.controllers[kind] = w.openKind(kind)
	}
	w.definitions = w.caches.Open(informer.Spec{Resource: customResourceDefinitions, MetadataOnly: true, Kind: "CustomResourceDefinition", Listed: true})
	for kind := range spec.Resources {
		if err := w.controllers[kind].Handle(w.onController); err != nil {
			return err
		}
	}
	if err := w.definitions.Handle(w.onDefinition); err != nil {
		return err
	}
	w.opened.Store(true)
	return nil
}

// openKind returns the controller objects of a kind. It logs it if the API server cannot be reached or does not serve the kind, since
// the error of the watch is hard to understand.
func (w *watches) openKind(kind string) static.Objects {
	if w.Static != nil {
		return w.Static.Of(kind)
	}
	resource := spec.Resources[kind]
	if _, err := w.resources.ByName(v1alpha1.GroupVersion.String(), resource.Resource); err != nil {
		if text := w.whyUnread(kind, err); text != w.reported {
			w.Log.Warn(text + "; waiting")
			w.reported = text
		}
	}
	return w.caches.Open(informer.Spec{Resource: resource, Selector: w.Selector.String(), Listed: true})
}

// whyUnread returns why the objects of a kind cannot be read because of err, and what to do.
func (w *watches) whyUnread(kind string, err error) string {
	var missing *kube.NotServedError
	unreachable := kube.Unreachable(w.Config, w.Kubeconfig, err)
	switch {
	case unreachable != nil:
		return unreachable.Error()
	case errors.As(err, &missing), apierrors.IsNotFound(err):
		return fmt.Sprintf("the API server does not serve %ss: apply the CustomResourceDefinitions in manifests/crds", kind)
	}
	return fmt.Sprintf("the %ss cannot be read: %v", kind, err)
}

// waitForSync waits until all caches have synced. It returns false if ctx is done before.
func (w *watches) waitForSync(ctx context.Context) bool {
	for _, cache := range w.controllers {
		if !cache.WaitForSync(ctx) {
			return false
		}
	}
	if !w.definitions.WaitForSync(ctx) {
		return false
	}
	w.hasSynced.Store(true)
	return true
}

func (w *watches) close() {
	for _, cache := range w.controllers {
		cache.Close()
	}
	w.definitions.Close()
}

// get returns the controller object of that name, or nil.
func (w *watches) get(id spec.ID) *object.Object {
	return w.controllers[id.Kind].Get(object.Key{Name: id.Name})
}

// definition returns the metadata of the CustomResourceDefinition of that name, or nil.
func (w *watches) definition(name string) *object.Object {
	return w.definitions.Get(object.Key{Name: name})
}

// list returns all controller objects.
func (w *watches) list() []*object.Object {
	var all []*object.Object
	for _, cache := range w.controllers {
		all = append(all, cache.List()...)
	}
	return all
}

// queueAll queues every controller after a while; zero is now.
func (w *watches) queueAll(after time.Duration) {
	for _, o := range w.list() {
		w.queue.AddAfter(spec.IDOf(o), after)
	}
}

func (w *watches) onController(old, current *object.Object) {
	if current == nil {
		w.records.noteDeleted(old)
		w.queue.Add(spec.IDOf(old))
		return
	}
	w.records.noteExists(current)
	if old == nil || w.concerns(old, current) {
		w.queue.Add(spec.IDOf(current))
	}
}

// concerns reports whether an update is to be handled: one of the spec, or of the metadata, which hooks see, and which have annotations for
// the server. Most updates are our own writes of the status, which must not cause another load.
func (w *watches) concerns(old, current *object.Object) bool {
	return old.GetUID() != current.GetUID() || old.GetGeneration() != current.GetGeneration() || !reconcile.SameMetadata(old, current) ||
		!w.leads() && guard.Decided(old) != guard.Decided(current) // so that this server runs the version that the leader runs
}

// onDefinition queues every controller when a CustomResourceDefinition is created, changed or deleted, since a controller
// may use its kind. It queues them again later, when the API server serves the change.
func (w *watches) onDefinition(old, current *object.Object) {
	if !w.hasSynced.Load() {
		return // it existed before the server started, and no controller was loaded yet
	}
	edited := old != nil && (current == nil || old.GetGeneration() != current.GetGeneration())
	if current == nil {
		current = old
	}
	_, group, _ := strings.Cut(current.GetName(), ".") // the name is <plural>.<group>
	w.resources.Forget(group)
	if group == v1alpha1.Group && edited {
		w.definitionEdited.Store(time.Now().UnixNano())
		w.statusPruned.Store(false)
	}
	if edited {
		w.identityKinds.Changed(group)
	}
	for _, r := range w.records.running() {
		if r.Binding().HasParentsIn(group) {
			r.RetryStatus()
		}
		r.RetryChildren(group)
		if edited {
			w.identityKinds.Update(r.Binding())
		}
		r.Rediscover(group)
	}
	w.queueAll(0)
	w.queueAll(reconcile.UntilServed)
}

// unknown returns what must be read before controllers can be loaded, and why it cannot be read.
func (w *watches) unknown() []string {
	if !w.opened.Load() {
		return []string{"the server is about to start"}
	}
	all := w.beingRead("CustomResourceDefinition", w.definitions)
	for kind, cache := range w.controllers {
		all = append(all, w.beingRead(kind, cache)...)
	}
	if len(all) == 0 {
		return []string{"the controllers are about to be loaded"}
	}
	slices.Sort(all)
	return slices.Compact(all) // if the API server cannot be reached, the reason is the same for all
}

// beingRead returns a text that says that objects are being read, or why they cannot be read; nil once they were read.
func (w *watches) beingRead(kind string, cache static.Objects) []string {
	if err := cache.SyncError(); err != nil {
		return []string{w.whyUnread(kind, err)}
	} else if !cache.HasSynced() {
		return []string{fmt.Sprintf("the %ss are being read", kind)}
	}
	return nil
}
