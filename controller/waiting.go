package controller

import (
	"fmt"
	"slices"
	"sync"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
)

// waiting reports parents that are being deleted and wait for the finalizer of a controller of which nothing runs that
// could take it off. A parent that waits without a word looks like one that hangs.
type waiting struct {
	caches    *informer.Factory
	resources *kube.Resources
	warn      func(parent *object.Object, text string)

	mu      sync.Mutex
	watched map[id]*watchedParents
}

// watchedParents are those of one controller.
type watchedParents struct {
	text   string // of the event, which names the way out
	caches []*informer.Informer
}

func newWaiting(caches *informer.Factory, resources *kube.Resources, events *kube.Events) *waiting {
	warn := func(parent *object.Object, text string) { events.Warning(parent, "FinalizeWaiting", "%s", text) }
	return &waiting{caches: caches, resources: resources, warn: warn, watched: map[id]*watchedParents{}}
}

// whyWaiting says why the finalize hook of a controller cannot be asked, and what to do; "": it can.
func whyWaiting(d *declaration, v *verdict) (why, way string) {
	switch {
	case v.active == nil && d.Settings.Paused:
		return "is paused", "end the pause"
	case v.active == nil && v.err() != nil:
		return "does not load", "correct the controller"
	case v.active != nil && !v.filled && v.trouble != nil:
		return "cannot start before its caches are filled", "see the condition Ready of the controller"
	}
	return "", ""
}

// follow has each parent of d reported that waits because of what v says, also those that are deleted later; or none,
// when v says nothing of the kind.
func (w *waiting) follow(d *declaration, v *verdict) error {
	why, way := whyWaiting(d, v)
	if why == "" {
		w.end(d.id())
		return nil
	}
	text := fmt.Sprintf("%s %s, so that its finalize hook cannot be asked: %s, or take finalizer %s off this object", d.id(), why, way, d.id().finalizer())
	w.mu.Lock()
	known := w.watched[d.id()]
	w.mu.Unlock()
	if known != nil && known.text == text && len(known.caches) == len(d.Parents) {
		return nil
	}
	w.end(d.id())
	begun := &watchedParents{text: text}
	w.mu.Lock()
	w.watched[d.id()] = begun
	w.mu.Unlock()
	for _, rule := range d.Parents {
		if err := w.watch(begun, rule.ResourceRule, d.id().finalizer()); err != nil {
			return err
		}
	}
	return nil
}

// watch reports the parents of one rule. A kind that is not served has none.
func (w *waiting) watch(of *watchedParents, rule v1alpha1.ResourceRule, finalizer string) error {
	resource, err := w.resources.ByName(rule.APIVersion, rule.Resource)
	if err != nil {
		return nil // the parents went with their kind, or cannot be seen now
	}
	cache := w.caches.Open(informer.Spec{Resource: resource.GroupVersionResource, MetadataOnly: true})
	of.caches = append(of.caches, cache)
	return cache.Handle(func(old, current *object.Object) {
		if isWaiting(current, finalizer) && !isWaiting(old, finalizer) {
			w.warn(current, of.text)
		}
	})
}

func isWaiting(o *object.Object, finalizer string) bool {
	return o != nil && object.Deleting(o) && slices.Contains(o.GetFinalizers(), finalizer)
}

// end reports no more parents of a controller.
func (w *waiting) end(of id) {
	w.mu.Lock()
	known := w.watched[of]
	delete(w.watched, of)
	w.mu.Unlock()
	if known == nil {
		return
	}
	for _, cache := range known.caches {
		cache.Close()
	}
}

// endAll reports no more parents.
func (w *waiting) endAll() {
	w.mu.Lock()
	all := make([]id, 0, len(w.watched))
	for name := range w.watched {
		all = append(all, name)
	}
	w.mu.Unlock()
	for _, name := range all {
		w.end(name)
	}
}
