// Package dispatch tells controllers of the events that concern them, and nobody else.
//
// Many controllers may be about objects of one resource, each about other ones. A [Hub] watches a resource once for all of
// them and finds out, for each event, whom it concerns, in a time that does not grow with the number of the others: by an
// index of their selectors, by the finalizers on an object, and by the owner of a child. For each parent it keeps only the set
// of controllers that select it: what an owner's labels are, the cache of owners knows.
//
// A controller that joins is told of changes from then on. What is in the caches already it reads there itself.
package dispatch

import (
	"context"
	"iter"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/informer"
	"metascript/controller/object"
	"metascript/controller/overlap"
	"metascript/controller/selection"
)

// A Handler is told of a change of an object: on(nil, o) when o is there, on(old, o) when it changed, on(old, nil) when it
// is gone. Those of one resource are called one at a time.
type Handler = func(old, current *object.Object)

// Parents are the objects of a resource that a controller looks after.
type Parents struct {
	Cache      *informer.Informer // of the whole resource
	Kind       object.Kind
	Namespaced bool
	Queries    []selection.Query // it selects what one of them matches
	Finalizer  string            // it looks after what has this finalizer as well
	On         Handler           // is told of changes of what it looks after, or looked after before the change
}

// Children are the objects of a resource that may be children of parents.
type Children struct {
	Cache *informer.Informer // of the whole resource
	On    Handler            // is told of changes of what is, or was, a child of a parent that the controller looks after

	// Adopt is told of an object without an owner that is there or has changed: which parents may adopt it, see Hub.Adopts.
	// Nil is told nothing.
	Adopt func(parents []object.Ref)
}

// A Hub is one for all controllers of a server; W names a controller. The zero value has none. It is safe for concurrent use.
type Hub[W comparable] struct {
	mu      sync.Mutex
	feeds   map[schema.GroupVersionResource]*feed[W]
	joined  map[W][]*feed[W]                // once for each of its Parents and Children
	about   map[schema.GroupKind][]*feed[W] // those with parents of a kind, one for each version
	changes map[schema.GroupKind]uint64     // of who selects which objects of a kind

	adopters selection.Index[adopter[W]]
	adopting map[W]map[object.Ref]bool // the parents in adopters
}

// An adopter is a parent that may adopt objects for a controller.
type adopter[W comparable] struct {
	who    W
	parent object.Ref
}

// A feed is the events of one resource, and who is told of them. It lasts for as long as somebody is.
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

// A selector is a controller that selects objects of one resource. Those of other versions of a kind select the same objects.
type selector[W comparable] struct {
	who  W
	feed *feed[W]
}

// Join has who be told of events, until it leaves.
func (h *Hub[W]) Join(who W, parents []Parents, children []Children) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.feeds == nil {
		h.feeds, h.joined, h.adopting = map[schema.GroupVersionResource]*feed[W]{}, map[W][]*feed[W]{}, map[W]map[object.Ref]bool{}
		h.about, h.changes = map[schema.GroupKind][]*feed[W]{}, map[schema.GroupKind]uint64{}
	}
	h.joined[who] = nil
	for _, p := range parents {
		f, err := h.feed(who, p.Cache)
		if err != nil {
			return err
		}
		f.look(who, p)
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

// look has who look after objects of the resource.
func (f *feed[W]) look(who W, p Parents) {
	if len(f.parents) == 0 {
		f.kind, f.namespaced = p.Kind.GroupKind(), p.Namespaced
		f.hub.about[f.kind] = append(f.hub.about[f.kind], f)
	}
	f.selects.Set(who, p.Queries...)
	f.index(selector[W]{who, f}, p.Queries)
	f.finalizers[p.Finalizer], f.parents[who] = who, p
	f.hub.changes[f.kind]++
}

// index records in every version of the kind what a selector selects that joins f. The objects of f, if it is the first
// selector there, are not in the index yet.
func (f *feed[W]) index(by selector[W], queries []selection.Query) {
	for _, version := range f.hub.about[f.kind] {
		if len(version.parents) > 0 {
			version.overlaps.Join(by, version.selected(queries))
		}
	}
	if len(f.parents) > 0 {
		return
	}
	for _, o := range f.cache.List() {
		f.overlaps.Set(object.KeyOf(o), f.hub.selecting(o))
	}
}

// selected are the objects in the cache that match one of these queries. Some may be given more than once.
func (f *feed[W]) selected(queries []selection.Query) iter.Seq[object.Key] {
	return func(yield func(object.Key) bool) {
		for _, q := range queries {
			for _, o := range f.cache.Select(selection.Query{Labels: q.Labels}) {
				if (q.Annotations == nil || q.Annotations.Matches(o.GetAnnotations())) && !yield(object.KeyOf(o)) {
					return
				}
			}
		}
	}
}

// feed gives the feed of a cache, for one use more.
func (h *Hub[W]) feed(who W, cache *informer.Informer) (*feed[W], error) {
	f := h.feeds[cache.Resource()]
	if f == nil {
		f = &feed[W]{hub: h, cache: cache.Again(), finalizers: map[string]W{}, parents: map[W]Parents{}, children: map[W][]Children{}}
		h.feeds[cache.Resource()] = f
	}
	f.users++
	h.joined[who] = append(h.joined[who], f)
	if f.users > 1 {
		return f, nil
	}
	return f, f.cache.Handle(f.on)
}

// Synced waits until who has been told of all that was in the caches when it joined, as far as it was told at all, or until
// ctx is done; it reports which.
func (h *Hub[W]) Synced(ctx context.Context, who W) bool {
	h.mu.Lock()
	feeds := slices.Clone(h.joined[who])
	h.mu.Unlock()
	for _, f := range feeds {
		if !f.cache.Synced(ctx) {
			return false
		}
	}
	return true
}

// Leave has who be told of nothing any more, and forgets it.
func (h *Hub[W]) Leave(who W) {
	for _, cache := range h.leave(who) {
		cache.Close() // not under the lock, for which a handler may be waiting
	}
}

// leave gives the caches that nobody uses any more.
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
			delete(h.feeds, f.cache.Resource())
			unused = append(unused, f.cache)
		}
	}
	delete(h.joined, who)
	return unused
}

// drop has who be told of nothing of the resource.
func (f *feed[W]) drop(who W) {
	delete(f.children, who)
	p, looks := f.parents[who]
	if !looks {
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

// Adopts says which objects a parent may adopt for who; without any queries it is none.
func (h *Hub[W]) Adopts(who W, parent object.Ref, queries ...selection.Query) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, joined := h.joined[who]; !joined || len(queries) == 0 && !h.adopting[who][parent] {
		return
	}
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

// Adopters are those whose parents may adopt an object, with these parents; none for one that has an owner.
func (h *Hub[W]) Adopters(o *object.Object) map[W][]object.Ref {
	if object.ControllerOf(o) != nil {
		return nil
	}
	found := map[W][]object.Ref{}
	for _, a := range h.adopters.Matching(informer.SubjectOf(o)) {
		found[a.who] = append(found[a.who], a.parent)
	}
	return found
}

// selecting are those who select an object, in whatever version of its kind, in no order.
func (h *Hub[W]) selecting(o *object.Object) []selector[W] {
	var all []selector[W]
	for _, f := range h.about[o.GroupVersionKind().GroupKind()] {
		for _, who := range f.selects.Matching(subjectOf(o)) {
			all = append(all, selector[W]{who, f})
		}
	}
	return all
}

// An Overlap is what is known of the parents of a controller, and of the other controllers that select some of them.
type Overlap[W comparable] struct {
	Parents int        // that the controller selects
	Others  []Other[W] // the first ones
	More    int        // the number of those that are not in Others
}

// An Other is another controller, and the first parent, by namespace and name, that both select.
type Other[W comparable] struct {
	Who    W
	Parent object.Ref
}

// Overlap returns the parents that who selects, and at most limit others, those of which counts is true, in this order. It looks
// at no object.
func (h *Hub[W]) Overlap(who W, counts func(other W) bool, order func(a, b W) int, limit int) Overlap[W] {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found Overlap[W]
	others, in := []selector[W](nil), map[selector[W]]*feed[W]{}
	for f := range h.parentsOf(who) {
		found.Parents += f.overlaps.Count(selector[W]{who, f})
		for _, other := range f.overlaps.Others(selector[W]{who, f}) {
			if other.who != who && in[other] == nil && counts(other.who) {
				others, in[other] = append(others, other), f
			}
		}
	}
	slices.SortFunc(others, func(a, b selector[W]) int { return order(a.who, b.who) })
	named := others[:min(len(others), limit)]
	found.More = len(others) - len(named)
	for _, other := range named {
		f := in[other]
		first, _ := f.overlaps.First(selector[W]{who, f}, other)
		found.Others = append(found.Others, Other[W]{other.who, object.Ref{Kind: f.parents[who].Kind, Key: first}})
	}
	return found
}

// parentsOf are the feeds with parents of who, each once.
func (h *Hub[W]) parentsOf(who W) iter.Seq[*feed[W]] {
	return func(yield func(*feed[W]) bool) {
		seen := map[*feed[W]]bool{}
		for _, f := range h.joined[who] {
			if _, looks := f.parents[who]; looks && !seen[f] && !yield(f) {
				return
			}
			seen[f] = true
		}
	}
}

// Changes is another number than before when it may be that others select objects of a kind, or select others.
func (h *Hub[W]) Changes(kind schema.GroupKind) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changes[kind]
}

// on tells of an event.
func (f *feed[W]) on(old, current *object.Object) { tell(f.concerned(old, current), old, current) }

// tell calls handlers one after the other, also after one that panics.
func tell(handlers []Handler, old, current *object.Object) {
	if len(handlers) > 0 {
		defer tell(handlers[1:], old, current)
		handlers[0](old, current)
	}
}

// concerned are the handlers that an event is for.
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
				handlers = append(handlers, func(_, _ *object.Object) { c.Adopt(parents) })
			}
		}
	}
	return handlers
}

// asParent are those who look after an object, or did before the event.
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
		f.lookingAfter(current, found)
	}
	if old != nil && !(same && slices.Equal(old.GetFinalizers(), current.GetFinalizers())) {
		f.lookingAfter(old, found)
	}
	return found
}

// lookingAfter adds to found those who look after o: they select it, or it has their finalizer.
func (f *feed[W]) lookingAfter(o *object.Object, found map[W]bool) {
	for _, who := range f.selects.Matching(subjectOf(o)) {
		found[who] = true
	}
	for _, finalizer := range o.GetFinalizers() {
		if who, ours := f.finalizers[finalizer]; ours {
			found[who] = true
		}
	}
}

// asChild are those of whose parents an object is a child, or was before the event.
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

// asOrphan are those whose parents may adopt an object that is there or has changed, with these parents.
func (f *feed[W]) asOrphan(old, current *object.Object) map[W][]object.Ref {
	if len(f.children) == 0 || current == nil || old != nil && old.GetResourceVersion() == current.GetResourceVersion() {
		return nil
	}
	return f.hub.Adopters(current)
}

// owners adds to found those who look after the parent that controls a child. The reference's UID does not count, since a
// child of a parent's predecessor is in the parent's way. A parent that is not in the cache yet finds its children when it
// comes.
func (h *Hub[W]) owners(child *object.Object, found map[W]bool) {
	ref := object.ControllerOf(child)
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
			f.lookingAfter(parent, found)
		}
	}
}

func subjectOf(o *object.Object) *selection.Subject {
	s := informer.SubjectOf(o)
	s.Annotations = o.GetAnnotations()
	return s
}
