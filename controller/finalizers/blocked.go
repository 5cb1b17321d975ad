package finalizers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"metascript/controller/access"
	"metascript/controller/account"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/spec"
)

// A BlockedReporter reports parents that are being deleted and have the finalizer of a controller that does not run and so
// cannot remove it. It records an event on each parent, which says what the deletion waits for.
//
// It is safe for concurrent use, but Report and Forget of the same controller must not be called concurrently.
type BlockedReporter struct {
	caches    *informer.Factory
	resources kube.Finder
	actors    *kube.Actors
	reviewer  *access.Reviewer

	mu      sync.Mutex // guards blocked
	blocked map[spec.ID]*blockedParents
}

// blockedParents is the state for one controller. Only Report and Forget use it.
type blockedParents struct {
	text   string      // of the event
	actor  *kube.Actor // records the events, as the account of the controller
	access *access.Reader
	caches map[v1alpha1.ResourceRule]*informer.Informer
}

// NewBlockedReporter returns a BlockedReporter. The events about the parents of a controller are recorded as its account, and
// about no parent that the account may not read.
func NewBlockedReporter(caches *informer.Factory, resources kube.Finder, actors *kube.Actors, reviewer *access.Reviewer) *BlockedReporter {
	return &BlockedReporter{caches: caches, resources: resources, actors: actors, reviewer: reviewer, blocked: map[spec.ID]*blockedParents{}}
}

// Report reports each parent of d that is being deleted, now or later, while d does not run. why continues a sentence that
// begins with the name of the controller; remedy says what to do. An empty why means that d runs: no parent is reported any
// more.
func (w *BlockedReporter) Report(d *spec.Declaration, why, remedy string) error {
	if why == "" {
		w.Forget(d.ID())
		return nil
	}
	text := fmt.Sprintf("%s %s, so that its finalize hook cannot be called: %s, or remove finalizer %s from this object", d.ID(), why, remedy, d.ID().Finalizer())
	w.mu.Lock()
	known := w.blocked[d.ID()]
	w.mu.Unlock()
	who := account.Of(d.Settings.ServiceAccount)
	if known == nil || known.text != text || known.access.Account() != who {
		w.Forget(d.ID())
		actor, err := w.actors.Open(who)
		if err != nil {
			return err
		}
		known = &blockedParents{text: text, actor: actor, access: access.NewReader(who, w.reviewer), caches: map[v1alpha1.ResourceRule]*informer.Informer{}}
		w.mu.Lock()
		w.blocked[d.ID()] = known
		w.mu.Unlock()
	}
	return w.watch(known, d)
}

// watch watches the parents that d declares now, and no others. A cache that is open stays open: opening it again would list
// all objects of its kind, and report each of them again.
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

// watchRule watches the parents of one rule. A resource that the API server does not serve has none.
func (w *BlockedReporter) watchRule(known *blockedParents, rule v1alpha1.ResourceRule, finalizer string) error {
	resource, err := w.resources.ByName(rule.APIVersion, rule.Resource)
	var notServed *kube.NotServedError
	switch {
	case errors.As(err, &notServed):
		known.close(rule)
		return nil
	case err != nil || known.caches[rule] != nil:
		return nil // after an error of discovery nothing changes
	}
	cache := w.caches.Open(informer.Spec{Resource: resource.GroupVersionResource, Namespaced: resource.Namespaced, MetadataOnly: true, Kind: resource.Kind})
	known.caches[rule] = cache
	return cache.Handle(func(old, current *object.Object) {
		if isBlocked(current, finalizer) && !isBlocked(old, finalizer) && known.mayRead(resource, current) {
			known.actor.Events.Warning(current, "FinalizeWaiting", "%s", known.text)
		}
	})
}

// close stops watching the parents of a rule.
func (p *blockedParents) close(rule v1alpha1.ResourceRule) {
	if cache := p.caches[rule]; cache != nil {
		cache.Close()
		delete(p.caches, rule)
	}
}

// mayRead reports whether the account of the controller may read a parent.
func (p *blockedParents) mayRead(resource kube.Resource, parent *object.Object) bool {
	scope := access.Scope{GroupResource: resource.GroupResource(), Namespace: parent.GetNamespace()}
	return p.access.MayRead(context.Background(), scope) == nil
}

func isBlocked(o *object.Object, finalizer string) bool {
	return o != nil && object.Deleting(o) && slices.Contains(o.GetFinalizers(), finalizer)
}

// Forget stops reporting the parents of a controller.
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
	w.actors.Close(known.access.Account())
}

// Close stops reporting all parents.
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
