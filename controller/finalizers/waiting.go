package finalizers

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/spec"
)

// waiting reports parents that are being deleted and wait for the finalizer of a controller of which nothing runs that
// could take it off. A parent that waits without a word looks like one that hangs.
type BlockedReporter struct {
	caches    *informer.Factory
	resources kube.Finder
	warn      func(parent *object.Object, text string)

	mu      sync.Mutex
	blocked map[spec.ID]*blockedParents
}

// watchedParents are those of one controller. Only who loads the controller changes them.
type blockedParents struct {
	text   string // of the event, which names the way out
	caches map[v1alpha1.ResourceRule]*informer.Informer
}

func NewBlockedReporter(caches *informer.Factory, resources kube.Finder, events *kube.Events) *BlockedReporter {
	warn := func(parent *object.Object, text string) { events.Warning(parent, "FinalizeWaiting", "%s", text) }
	return &BlockedReporter{caches: caches, resources: resources, warn: warn, blocked: map[spec.ID]*blockedParents{}}
}

// follow reports each parent of d that is being deleted, or will be, and waits, since d does not run: why says so after the
// name of the controller, and way what to do. With an empty why no parent waits, and none is reported any more.
func (w *BlockedReporter) Report(d *spec.Declaration, why, way string) error {
	if why == "" {
		w.Forget(d.ID())
		return nil
	}
	text := fmt.Sprintf("%s %s, so that its finalize hook cannot be asked: %s, or take finalizer %s off this object", d.ID(), why, way, d.ID().Finalizer())
	w.mu.Lock()
	known := w.blocked[d.ID()]
	w.mu.Unlock()
	if known == nil || known.text != text {
		w.Forget(d.ID())
		known = &blockedParents{text: text, caches: map[v1alpha1.ResourceRule]*informer.Informer{}}
		w.mu.Lock()
		w.blocked[d.ID()] = known
		w.mu.Unlock()
	}
	return w.watch(known, d)
}

// watch reports the parents that d declares now, and no others. A cache that is open already stays: to open it again would
// list all objects of its kind, and report each of them once more.
func (w *BlockedReporter) watch(known *blockedParents, d *spec.Declaration) error {
	declared := map[v1alpha1.ResourceRule]bool{}
	for _, parent := range d.Parents {
		declared[parent.ResourceRule] = true
		if err := w.watchRule(known, parent.ResourceRule, d.ID().Finalizer()); err != nil {
			return err
		}
	}
	for rule := range known.caches {
		if !declared[rule] {
			known.close(rule)
		}
	}
	return nil
}

// watchRule reports the parents of one rule. A kind that is not served has none.
func (w *BlockedReporter) watchRule(known *blockedParents, rule v1alpha1.ResourceRule, finalizer string) error {
	resource, err := w.resources.ByName(rule.APIVersion, rule.Resource)
	var notServed *kube.NotServedError
	switch {
	case errors.As(err, &notServed):
		known.close(rule)
		return nil
	case err != nil || known.caches[rule] != nil:
		return nil // what cannot be discovered now is watched as before
	}
	cache := w.caches.Open(informer.Spec{Resource: resource.GroupVersionResource, MetadataOnly: true})
	known.caches[rule] = cache
	return cache.Handle(func(old, current *object.Object) {
		if isBlocked(current, finalizer) && !isBlocked(old, finalizer) {
			w.warn(current, known.text)
		}
	})
}

// close reports no more parents of a rule.
func (p *blockedParents) close(rule v1alpha1.ResourceRule) {
	if cache := p.caches[rule]; cache != nil {
		cache.Close()
		delete(p.caches, rule)
	}
}

func isBlocked(o *object.Object, finalizer string) bool {
	return o != nil && object.Deleting(o) && slices.Contains(o.GetFinalizers(), finalizer)
}

// end reports no more parents of a controller.
func (w *BlockedReporter) Forget(of spec.ID) {
	w.mu.Lock()
	known := w.blocked[of]
	delete(w.blocked, of)
	w.mu.Unlock()
	if known == nil {
		return
	}
	for rule := range known.caches {
		known.close(rule)
	}
}

// endAll reports no more parents.
func (w *BlockedReporter) Close() {
	w.mu.Lock()
	all := make([]spec.ID, 0, len(w.blocked))
	for name := range w.blocked {
		all = append(all, name)
	}
	w.mu.Unlock()
	for _, name := range all {
		w.Forget(name)
	}
}
