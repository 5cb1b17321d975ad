package dispatch

import (
	"iter"
	"slices"

	"metascript/controller/object"
	"metascript/controller/overlap"
	"metascript/controller/selection"
)

// An Overlap says how many parents a controller selects, and which other controllers select some of them.
type Overlap[W comparable] struct {
	Parents int        // that the controller selects
	Others  []Other[W] // the first ones
	More    int        // the number of those that are not in Others
	Unnamed object.Ref // the first parent that another controller selects that must not be named; the zero value if there is none
}

// An OverlapQuery says which overlaps of a controller are wanted. The Hub calls its functions with mu locked, so that they must
// not use the Hub, and must not wait.
type OverlapQuery[W comparable] struct {
	In     overlap.Namespaces // of the parents that count
	Counts func(other W) bool // whether another controller counts
	Names  func(other W) bool // whether another controller may be named
	Order  func(a, b W) int   // of the others
	Limit  int                // how many others are named
}

// An Other is another controller, and the first parent, by namespace and name, that both select.
type Other[W comparable] struct {
	Who    W
	Parent object.Ref
}

// Overlap returns how many parents who selects, and the other controllers that q asks for: the first ones, and the number of the
// rest. It does not read objects.
func (h *Hub[W]) Overlap(who W, q OverlapQuery[W]) Overlap[W] {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found Overlap[W]
	others, in := []selector[W](nil), map[selector[W]]*feed[W]{}
	for f := range h.parentsOf(who) {
		found.Parents += f.overlaps.Count(selector[W]{who, f}, q.In)
		for _, other := range f.overlaps.Others(selector[W]{who, f}, q.In) {
			switch {
			case other.who == who || in[other] != nil || !q.Counts(other.who):
			case q.Names(other.who):
				others, in[other] = append(others, other), f
			default:
				found.noteUnnamed(f.firstOfBoth(who, other, q.In))
			}
		}
	}
	slices.SortFunc(others, func(a, b selector[W]) int { return q.Order(a.who, b.who) })
	named := others[:min(len(others), q.Limit)]
	found.More = len(others) - len(named)
	for _, other := range named {
		found.Others = append(found.Others, Other[W]{other.who, in[other].firstOfBoth(who, other, q.In)})
	}
	return found
}

// noteUnnamed records a parent that a controller selects that must not be named. The parents do not tell how many such controllers
// there are.
func (o *Overlap[W]) noteUnnamed(parent object.Ref) {
	if o.Unnamed == (object.Ref{}) || parent.String() < o.Unnamed.String() {
		o.Unnamed = parent
	}
}

// firstOfBoth returns the first parent that who and other select.
func (f *feed[W]) firstOfBoth(who W, other selector[W], in overlap.Namespaces) object.Ref {
	first, _ := f.overlaps.First(selector[W]{who, f}, other, in)
	return object.Ref{Kind: f.parents[who].Kind, Key: first}
}

// ParentNamespaces returns the namespaces of the parents that who selects, in no order. mu is not locked while they are used.
func (h *Hub[W]) ParentNamespaces(who W) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, namespace := range h.parentNamespaces(who) {
			if !yield(namespace) {
				return
			}
		}
	}
}

func (h *Hub[W]) parentNamespaces(who W) (all []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for f := range h.parentsOf(who) {
		all = append(all, f.overlaps.Namespaces(selector[W]{who, f})...)
	}
	return all
}

// parentsOf returns the feeds with parents of who, each once.
func (h *Hub[W]) parentsOf(who W) iter.Seq[*feed[W]] {
	return func(yield func(*feed[W]) bool) {
		seen := map[*feed[W]]bool{}
		for _, f := range h.joined[who] {
			if _, found := f.parents[who]; found && !seen[f] && !yield(f) {
				return
			}
			seen[f] = true
		}
	}
}

// A selector is a controller that selects objects of one resource. The objects of all versions of a kind are the same.
type selector[W comparable] struct {
	who  W
	feed *feed[W]
}

// selecting returns the selectors of an object, in all versions of its kind, in no order.
func (h *Hub[W]) selecting(o *object.Object) []selector[W] {
	var all []selector[W]
	for _, f := range h.about[o.GroupVersionKind().GroupKind()] {
		for _, who := range f.selects.Matching(subjectOf(o)) {
			all = append(all, selector[W]{who, f})
		}
	}
	return all
}

// index records, for every version of the kind, the objects that a selector selects. It is called before the selector joins f.
// If it is the first selector of f, the objects of f are not in the index yet, and are added.
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

// selected returns the objects in the cache that match one of these queries. Some may be returned more than once.
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
