package preview

import (
	"cmp"
	"slices"

	"metascript/controller/object"
	"metascript/controller/restarts"
)

// Counts are numbers of writes to children of one kind.
type Counts struct{ Creates, Updates, Recreates, Deletes int }

// A Summary counts the Results of many parents. The zero value has counted none. It is not safe for concurrent use.
type Summary struct {
	Parents  int // all that were added
	Skipped  int // of these, those for which nothing is done; see Skip
	Failed   int // of these, those whose hooks failed, for which nothing is written
	Changed  int // of these, those with at least one write, to the parent or to a child
	Children int // the children that exist, of parents whose hooks were called and that are not being deleted

	Kinds    map[object.Kind]Counts // the writes to children, without deletions for parents that are being deleted
	Total    Counts                 // of all kinds
	Doubtful int                    // of the writes to children: see Write.Doubtful
	Rolling  int                    // of the writes to children: see Write.Rolls
	Restarts int                    // the Pods that restart because of the writes to children
	Pods     int                    // the Pods of the children that exist, as far as that is known

	Examples []Example // of writes, the most serious first
	Failures []Failure // of parents, by name
}

// An Example is one write.
type Example struct {
	Parent object.Ref
	Object object.Ref // the child or the parent
	Effect Effect
	Field  string // that differs; "" if there is none
}

// A Failure is a parent whose hooks failed.
type Failure struct {
	Parent object.Ref
	Err    error
}

// maxExamples is how many Examples and Failures a Summary keeps.
const maxExamples = 10

// Add counts a Result.
func (s *Summary) Add(r *Result) {
	s.Parents++
	switch {
	case r.Skipped != "":
		s.Skipped++
	case r.Err != nil:
		s.Failed++
		s.fail(Failure{r.Parent, r.Err})
	}
	if len(r.Writes) > 0 {
		s.Changed++
	}
	if r.Observed != nil && !r.Deleting {
		s.Children += r.Observed.Len()
		for child := range r.Observed.All() {
			s.Pods += restarts.Pods(child)
		}
	}
	for _, w := range r.Writes {
		if r.Deleting && w.Effect == Delete {
			continue
		}
		s.count(w)
		s.example(Example{r.Parent, object.RefOf(w.Object), w.Effect, w.Field})
	}
}

// count counts a write to a child.
func (s *Summary) count(w Write) {
	if w.Effect == UpdateParent || w.Effect == UpdateStatus {
		return
	}
	if s.Kinds == nil {
		s.Kinds = map[object.Kind]Counts{}
	}
	kind := w.Object.GroupVersionKind()
	of := s.Kinds[kind]
	of.add(w.Effect)
	s.Kinds[kind] = of
	s.Total.add(w.Effect)
	if w.Doubtful {
		s.Doubtful++
	}
	if w.Rolls {
		s.Rolling++
	}
	s.Restarts += w.Restarts
}

func (c *Counts) add(e Effect) {
	switch e {
	case Create:
		c.Creates++
	case Update:
		c.Updates++
	case Recreate:
		c.Recreates++
	case Delete:
		c.Deletes++
	}
}

// bySeverity has the effects in the order of Summary.Examples.
var bySeverity = []Effect{Delete, Recreate, Update, Create, UpdateParent, UpdateStatus}

// example keeps e if it is one of the first. The order does not depend on that of the Results.
func (s *Summary) example(e Example) {
	s.Examples = keepFirst(s.Examples, e, func(a, b Example) int {
		return cmp.Or(
			cmp.Compare(slices.Index(bySeverity, a.Effect), slices.Index(bySeverity, b.Effect)),
			cmp.Compare(a.Parent.String(), b.Parent.String()), cmp.Compare(a.Object.String(), b.Object.String()),
		)
	}, func(e Example) Example {
		e.Object = e.Object.Clone()
		return e
	})
}

func (s *Summary) fail(f Failure) {
	s.Failures = keepFirst(s.Failures, f, func(a, b Failure) int { return cmp.Compare(a.Parent.String(), b.Parent.String()) }, func(f Failure) Failure { return f })
}

// keepFirst adds v to a sorted list of at most maxExamples, if it is one of the first. clone copies what is kept.
func keepFirst[T any](list []T, v T, compare func(a, b T) int, clone func(T) T) []T {
	if len(list) == maxExamples && compare(v, list[maxExamples-1]) >= 0 {
		return list
	}
	at, _ := slices.BinarySearchFunc(list, v, compare)
	list = slices.Insert(list, at, clone(v))
	return list[:min(len(list), maxExamples)]
}
