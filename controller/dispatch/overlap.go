package dispatch

import (
	"iter"
	"slices"

	"metascript/controller/object"
	"metascript/controller/selection"
)

// An Overlap says how many parents a controller selects, and which other controllers select some of them.
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

// Overlap returns how many parents who selects, and the other controllers for which counts is true, in this order: the first ones
// up to the limit, and the number of the rest. It does not read objects. It calls counts and order with mu locked, so that they
// must not use the Hub.
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
