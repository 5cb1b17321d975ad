// Package dispatch passes events to the controllers that they concern, and to no others.
//
// Many controllers may have parents of one resource, each other ones. A [Hub] watches each resource once for all of them, and
// finds out which of them an event concerns, in a time that does not grow with the number of the others: by an index of their
// selectors, by the finalizers on an object, and by the owner of a child. For each parent it keeps only the set of controllers
// that select it. It reads the labels of an owner from the cache of the owners.
//
// A controller that joins gets the events from then on. It reads itself what the caches have already.
package dispatch

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/informer"
	"metascript/controller/object"
	"metascript/controller/overlap"
	"metascript/controller/selection"
)

// A Handler gets the change of an object: (nil, o) if it is new, (old, o) if it changed, (old, nil) if it was deleted. Those of
// one resource are called one at a time.
type Handler = func(old, current *object.Object)

// Parents are the objects of a resource that a controller reconciles: those that it selects, and those with its finalizer.
type Parents struct {
	Cache      *informer.Informer // of the whole resource
	Kind       object.Kind
	Namespaced bool
	Queries    []selection.Query // the controller selects what one of them matches
	Restricted bool              // the controller may not see all objects that it selects; see Hub.See
	Finalizer  string
	On         Handler // gets the changes of what is a parent after the change, or was one before it
}

// Children are the objects of a resource that may be children of parents.
type Children struct {
	Cache *informer.Informer // of the resource, or of those objects with a label that children have
	On    Handler            // gets the changes of what is a child of a parent after the change, or was one before it

	// Adopt is called when an object without an owner is new or has changed, with the parents that may adopt it; see Hub.Adopts.
	// Nil is not called.
	Adopt func(parents []object.Ref, old, current *object.Object)
}

// A Hub passes events to all controllers of a server; W names a controller. The zero value has none. It is safe for concurrent
// use.
type Hub[W comparable] struct {
	// mu guards the fields below, and the fields of every feed. While it is locked, the locks of package informer and of
	// selection.Index may be taken. Handlers are called, and caches are closed, without it.
	mu      sync.Mutex
	feeds   map[informer.Spec]*feed[W]
	joined  map[W][]*feed[W]                // one for each of its Parents and Children
	about   map[schema.GroupKind][]*feed[W] // those with parents of a kind, one for each version
	changes map[schema.GroupKind]uint64     // how often it changed which controllers select and see which objects of a kind
	seen    map[W]map[string]bool           // the namespaces in which a controller that is restricted sees objects

	adopters selection.Index[adopter[W]]
	adopting map[W]map[object.Ref]bool // the parents in adopters
}

// An adopter is a parent that may adopt objects for a controller.
type adopter[W comparable] struct {
	who    W
	parent object.Ref
}

// A feed is the events of the caches with one Spec, and the controllers that get them. It lasts as long as there are some. Hub.mu guards its
// fields; hub and cache do not change. Its methods need Hub.mu, except on and concerned, which lock it.
type feed[W comparable] struct {
	hub   *Hub[W]
	cache *informer.Informer // a handle of its own
	users int

	kind       schema.GroupKind // of parents
	namespaced bool
	selects    selection.Index[W]
	overlaps   overlap.Index[selector[W]]
	finalizers map[string]W
	parents    map[W]Parents
	children   map[W][]Children
}

// Join passes events to who until it leaves.
func (h *Hub[W]) Join(who W, parents []Parents, children []Children) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.feeds == nil {
		h.feeds, h.joined, h.adopting = map[informer.Spec]*feed[W]{}, map[W][]*feed[W]{}, map[W]map[object.Ref]bool{}
		h.about, h.changes = map[schema.GroupKind][]*feed[W]{}, map[schema.GroupKind]uint64{}
		h.seen = map[W]map[string]bool{}
	}
	h.joined[who] = nil
	for _, p := range parents {
		f, err := h.feed(who, p.Cache)
		if err != nil {
			return err
		}
		f.addParents(who, p)
	}
	for _, c := range children {
		f, err := h.feed(who, c.Cache)
		if err != nil {
			return err
		}
		f.children[who] = append(f.children[who], c)
	}
	return nil
}

// addParents passes the events of parents to who.
func (f *feed[W]) addParents(who W, p Parents) {
	if len(f.parents) == 0 {
		f.kind, f.namespaced = p.Kind.GroupKind(), p.Namespaced
		f.hub.about[f.kind] = append(f.hub.about[f.kind], f)
	}
	f.selects.Set(who, p.Queries...)
	f.index(selector[W]{who, f}, p.Queries)
	f.finalizers[p.Finalizer], f.parents[who] = who, p
	f.hub.changes[f.kind]++
}

// feed is the feed of a cache, with one more user.
func (h *Hub[W]) feed(who W, cache *informer.Informer) (*feed[W], error) {
	f := h.feeds[cache.Spec()]
	if f == nil {
		f = &feed[W]{hub: h, cache: cache.Again(), finalizers: map[string]W{}, parents: map[W]Parents{}, children: map[W][]Children{}}
		h.feeds[cache.Spec()] = f
	}
	f.users++
	h.joined[who] = append(h.joined[who], f)
	if f.users > 1 {
		return f, nil
	}
	return f, f.cache.Handle(f.on)
}

// WaitForSync waits until the events of everything that was in the caches when who joined were passed, or until ctx is done. It
// reports whether they were.
func (h *Hub[W]) WaitForSync(ctx context.Context, who W) bool {
	h.mu.Lock()
	feeds := slices.Clone(h.joined[who])
	h.mu.Unlock()
	for _, f := range feeds {
		if !f.cache.WaitForSync(ctx) {
			return false
		}
	}
	return true
}

// Leave passes no more events to who, and forgets it.
func (h *Hub[W]) Leave(who W) {
	for _, cache := range h.leave(who) {
		cache.Close() // without the lock, since a handler may wait for it
	}
}

// leave returns the caches that no controller uses any more.
func (h *Hub[W]) leave(who W) (unused []*informer.Informer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for parent := range h.adopting[who] {
		h.adopters.Set(adopter[W]{who, parent})
	}
	delete(h.adopting, who)
	for _, f := range h.joined[who] {
		f.drop(who)
		if f.users--; f.users == 0 {
			delete(h.feeds, f.cache.Spec())
			unused = append(unused, f.cache)
		}
	}
	delete(h.joined, who)
	delete(h.seen, who)
	return unused
}

// drop passes no more events of the resource to who.
func (f *feed[W]) drop(who W) {
	delete(f.children, who)
	p, found := f.parents[who]
	if !found {
		return
	}
	f.selects.Set(who)
	for _, version := range f.hub.about[f.kind] {
		version.overlaps.Leave(selector[W]{who, f})
	}
	delete(f.finalizers, p.Finalizer)
	delete(f.parents, who)
	f.hub.changes[f.kind]++
	if len(f.parents) == 0 {
		f.overlaps = overlap.Index[selector[W]]{}
		f.hub.about[f.kind] = slices.DeleteFunc(f.hub.about[f.kind], func(other *feed[W]) bool { return other == f })
	}
}

// Adopts records which objects a parent of who may adopt: those that match one of the queries, and none without a query.
func (h *Hub[W]) Adopts(who W, parent object.Ref, queries ...selection.Query) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, joined := h.joined[who]; !joined || len(queries) == 0 && !h.adopting[who][parent] {
		return
	}
	parent = parent.Clone()
	h.adopters.Set(adopter[W]{who, parent}, queries...)
	if len(queries) == 0 {
		delete(h.adopting[who], parent)
		return
	}
	if h.adopting[who] == nil {
		h.adopting[who] = map[object.Ref]bool{}
	}
	h.adopting[who][parent] = true
}

// Adopters are the controllers whose parents may adopt an object, with these parents. There are none if it has an owner. It does
// not lock mu, since asOrphan calls it with mu locked: adopters has a lock of its own.
func (h *Hub[W]) Adopters(o *object.Object) map[W][]object.Ref {
	if h.adopters.Len() == 0 || object.OwnerOf(o) != nil {
		return nil
	}
	found := map[W][]object.Ref{}
	for _, a := range h.adopters.Matching(informer.SubjectOf(o)) {
		found[a.who] = append(found[a.who], a.parent)
	}
	return found
}

// Changes returns a number that is different whenever it may have changed which controllers select, and see, which objects of a
// kind.
func (h *Hub[W]) Changes(kind schema.GroupKind) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changes[kind]
}

// on passes an event.
func (f *feed[W]) on(old, current *object.Object) { call(f.concerned(old, current), old, current) }

// call calls handlers one after the other, also after one that panics.
func call(handlers []Handler, old, current *object.Object) {
	if len(handlers) > 0 {
		defer call(handlers[1:], old, current)
		handlers[0](old, current)
	}
}

// concerned are the handlers of an event.
func (f *feed[W]) concerned(old, current *object.Object) []Handler {
	f.hub.mu.Lock()
	defer f.hub.mu.Unlock()
	var handlers []Handler
	for who := range f.asParent(old, current) {
		handlers = append(handlers, f.parents[who].On)
	}
	for who := range f.asChild(old, current) {
		for _, c := range f.children[who] {
			handlers = append(handlers, c.On)
		}
	}
	for who, parents := range f.asOrphan(old, current) {
		for _, c := range f.children[who] {
			if c.Adopt != nil {
				handlers = append(handlers, func(old, current *object.Object) { c.Adopt(parents, old, current) })
			}
		}
	}
	return handlers
}

// asParent are the controllers of which an object is a parent, or was one before the event. It also records in overlaps which
// controllers select the object now, and counts that as one of the Changes, if its labels or annotations differ.
func (f *feed[W]) asParent(old, current *object.Object) map[W]bool {
	if len(f.parents) == 0 {
		return nil
	}
	same := old != nil && current != nil && reflect.DeepEqual(old.GetLabels(), current.GetLabels()) && reflect.DeepEqual(old.GetAnnotations(), current.GetAnnotations())
	switch {
	case same:
	case current != nil:
		f.hub.changes[f.kind]++
		f.overlaps.Set(object.KeyOf(current), f.hub.selecting(current))
	default:
		f.hub.changes[f.kind]++
		f.overlaps.Delete(object.KeyOf(old))
	}
	found := map[W]bool{}
	if current != nil {
		f.controllersOf(current, found)
	}
	if old != nil && !(same && slices.Equal(old.GetFinalizers(), current.GetFinalizers())) {
		f.controllersOf(old, found)
	}
	return found
}

// controllersOf adds to found the controllers of a parent: they select it, or it has their finalizer.
func (f *feed[W]) controllersOf(o *object.Object, found map[W]bool) {
	for _, who := range f.selects.Matching(subjectOf(o)) {
		found[who] = true
	}
	for _, finalizer := range o.GetFinalizers() {
		if who, known := f.finalizers[finalizer]; known {
			found[who] = true
		}
	}
}

// asChild are the controllers of whose parents an object is a child, or was one before the event.
func (f *feed[W]) asChild(old, current *object.Object) map[W]bool {
	if len(f.children) == 0 {
		return nil
	}
	found := map[W]bool{}
	for _, o := range []*object.Object{old, current} {
		if o != nil {
			f.hub.owners(o, found)
		}
	}
	return found
}

// asOrphan are the controllers whose parents may adopt an object that is new or has changed, with these parents.
func (f *feed[W]) asOrphan(old, current *object.Object) map[W][]object.Ref {
	if len(f.children) == 0 || current == nil || old != nil && old.GetResourceVersion() == current.GetResourceVersion() {
		return nil
	}
	return f.hub.Adopters(current)
}

// owners adds to found the controllers of the parent that owns a child. The UID in the owner reference is not compared: a child of
// a deleted parent has the name that the new parent of the same name needs. A parent that is not in the cache yet is reconciled
// when it comes.
func (h *Hub[W]) owners(child *object.Object, found map[W]bool) {
	ref := object.OwnerOf(child)
	if ref == nil {
		return
	}
	group := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
	for _, f := range h.about[group] {
		key := object.Key{Name: ref.Name}
		if f.namespaced {
			key.Namespace = child.GetNamespace()
		}
		if parent := f.cache.Get(key); parent != nil {
			f.controllersOf(parent, found)
		}
	}
}

func subjectOf(o *object.Object) *selection.Subject {
	s := informer.SubjectOf(o)
	s.Annotations = o.GetAnnotations()
	return s
}
