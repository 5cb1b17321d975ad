package dispatch

import (
	"iter"
	"maps"
	"slices"

	"metascript/controller/object"
	"metascript/controller/overlap"
	"metascript/controller/selection"
)

// An Overlap says how many parents a controller selects and sees, and which other controllers select and see some of them too.
type Overlap[W comparable] struct {
	Parents int        // that the controller selects and sees
	Others  []Other[W] // the first ones
	More    int        // the number of those that are not in Others
	Unnamed object.Ref // the first parent of another controller that must not be named; the zero value if there is none
}

// An Other is another controller, and the first parent, by namespace and name, that both select and see.
type Other[W comparable] struct {
	Who    W
	Parent object.Ref
}

// An OverlapQuery says which other controllers of an Overlap are wanted. The Hub calls its functions with mu locked, so that they
// must not use the Hub.
type OverlapQuery[W comparable] struct {
	Counts func(other W) bool // whether a controller counts
	Names  func(other W) bool // whether a controller may be named
	Order  func(a, b W) int   // of Others
	Limit  int                // the maximum of Others
}

// See records which of the parents that who selects it sees: those in the namespaces for which sees returns true; "" is that of
// cluster-scoped ones. A controller that is restricted sees none before the first call. sees is called without mu, and may wait.
func (h *Hub[W]) See(who W, sees func(namespace string) bool) {
	seen := map[string]bool{}
	for _, namespace := range h.namespaces(who) {
		if sees(namespace) {
			seen[namespace] = true
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.joined[who]) == 0 || maps.Equal(seen, h.seen[who]) {
		return
	}
	h.seen[who] = seen
	for f := range h.parentsOf(who) {
		h.changes[f.kind]++
	}
}

// namespaces returns the namespaces of the parents that who selects.
func (h *Hub[W]) namespaces(who W) (all []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for f := range h.parentsOf(who) {
		all = append(all, f.overlaps.Namespaces(selector[W]{who, f})...)
	}
	return all
}

// Overlap returns how many parents who selects and sees, and the other controllers that q asks for: the first ones, and the number
// of the rest. It does not read objects.
func (h *Hub[W]) Overlap(who W, q OverlapQuery[W]) Overlap[W] {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found Overlap[W]
	others, in := []selector[W](nil), map[selector[W]]*feed[W]{}
	for f := range h.parentsOf(who) {
		self := selector[W]{who, f}
		found.Parents += f.overlaps.Count(self, self.sees())
		for _, other := range f.overlaps.Others(self, self.sees()) {
			switch {
			case other.who == who || in[other] != nil || !q.Counts(other.who) || !f.sharesParent(self, other):
			case q.Names(other.who):
				others, in[other] = append(others, other), f
			default:
				found.noteUnnamed(f.sharedParent(self, other))
			}
		}
	}
	slices.SortFunc(others, func(a, b selector[W]) int { return q.Order(a.who, b.who) })
	named := others[:min(len(others), q.Limit)]
	found.More = len(others) - len(named)
	for _, other := range named {
		found.Others = append(found.Others, Other[W]{other.who, in[other].sharedParent(selector[W]{who, in[other]}, other)})
	}
	return found
}

// noteUnnamed records a parent of a controller that must not be named. Neither does the result tell how many they are.
func (o *Overlap[W]) noteUnnamed(parent object.Ref) {
	if o.Unnamed == (object.Ref{}) || parent.String() < o.Unnamed.String() {
		o.Unnamed = parent
	}
}

// sharesParent reports whether two selectors, which select a parent that the first one sees, have one that both see.
func (f *feed[W]) sharesParent(self, other selector[W]) bool {
	return other.sees() == nil || f.sharedParent(self, other) != (object.Ref{})
}

// sharedParent returns the first parent that two selectors select and see; the zero value if there is none.
func (f *feed[W]) sharedParent(self, other selector[W]) object.Ref {
	first, found := f.overlaps.First(self, other, both(self.sees(), other.sees()))
	if !found {
		return object.Ref{}
	}
	return object.Ref{Kind: f.parents[self.who].Kind, Key: first}
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

// sees returns the namespaces in which the controller sees what it selects.
func (s selector[W]) sees() overlap.Namespaces {
	if !s.feed.parents[s.who].Restricted {
		return nil
	}
	seen := s.feed.hub.seen[s.who]
	return func(namespace string) bool { return seen[namespace] }
}

// both returns the namespaces that are in a and b.
func both(a, b overlap.Namespaces) overlap.Namespaces {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(namespace string) bool { return a(namespace) && b(namespace) }
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
