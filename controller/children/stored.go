package children

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// Retry has the next reconcile find out, by dry runs, whether the API server would now store values as the hook returned them that it
// stored with another meaning before, or did not store. It reports whether there are such values; then the parent has to be reconciled. Any
// goroutine may call it.
func (m *Memory) Retry() bool {
	if !m.misstored.Load() {
		return false
	}
	m.retry.Store(true)
	return true
}

// beginRetries adds the children with such values to those that are retried. After a requested sync the plan compares them anyway.
func (m *Memory) beginRetries(requested bool) {
	if m.retry.Swap(false) || requested {
		for child := range m.spelled {
			put(&m.retried, child, true)
		}
	}
	maps.DeleteFunc(m.retried, func(child object.Ref, _ bool) bool { return m.spelled[child] == "" })
}

// noteSpelled remembers, or forgets with "", what the API server stored with another meaning of a child.
func (m *Memory) noteSpelled(child object.Ref, text string) {
	delete(m.retried, child)
	if text == "" {
		delete(m.spelled, child)
		delete(m.stores, child)
	} else {
		put(&m.spelled, child.Clone(), text)
	}
	m.misstored.Store(len(m.spelled) > 0)
}

// A retrier plans the retries of a Writer.
type retrier struct{ w *Writer }

// plan returns the writes to the children that are retried and that planned does not write: they are planned without what is remembered
// of them, and a dry run shows whether they are needed. Of the kinds that roll there is at most one in a retry.
func (r retrier) plan(parent *object.Object, children *object.Set, planned []plan.Op) []plan.Op {
	w := r.w
	rolls := func(child object.Ref) bool { return w.Binding.Rules[child.Kind].Rolls() }
	have, want := &object.Set{}, &object.Set{}
	rolling := slices.ContainsFunc(planned, func(op plan.Op) bool { return rolls(object.RefOf(op.Object)) })
	for _, child := range slices.SortedFunc(maps.Keys(w.Memory.retried), func(a, b object.Ref) int { return strings.Compare(a.String(), b.String()) }) {
		before, wanted := children.Get(child.Kind, child.Key), w.response.Children.Get(child.Kind, child.Key)
		switch {
		case before == nil || wanted == nil || rolls(child) && rolling || slices.ContainsFunc(planned, func(op plan.Op) bool { return object.RefOf(op.Object) == child }):
			delete(w.Memory.retried, child)
		default:
			rolling = rolling || rolls(child)
			have.Put(before)
			want.Put(wanted)
		}
	}
	policy := w.Policy(parent, w.response.Holders)
	policy.Memory, policy.Requested = plan.Memory{}, true
	again, _ := plan.Children(have, want, policy) // an error is that of the plan before
	ops := slices.DeleteFunc(again.Ops, func(op plan.Op) bool {
		_, confirms := op.Confirm()
		return !confirms && op.Verb != plan.DryRun
	})
	for child := range want.All() {
		ref := object.RefOf(child)
		if !slices.ContainsFunc(ops, func(op plan.Op) bool { return object.RefOf(op.Object) == ref }) {
			delete(w.Memory.retried, ref) // its method does not permit it, or it is as desired
		}
	}
	return ops
}

// end returns the error of an op of a child. A retry that fails is no error: nobody has changed anything, and the next one finds out
// more.
func (r retrier) end(op plan.Op, err error) error {
	w := r.w
	child := object.RefOf(op.Object)
	if err == nil || w.Requested || !w.Memory.retried[child] || !op.Doubtful || errors.Is(err, kube.ErrRequeue) {
		return err
	}
	delete(w.Memory.retried, child)
	w.Log.Info("whether the API server would store a child as the hook returned it is not known", "child", child, "error", err)
	return nil
}

// retries reports whether the trial is that of a child that is retried.
func (t *trial) retries() bool { return t.w.Memory.retried[object.RefOf(t.try.Observed)] }

// wouldStoreMore reports whether a dry run with this result shows that the child should be written, if it is retried: a value that the child
// has otherwise would be stored as the hook returned it. A child is recreated only if two retries, one after the other, have shown that,
// or a user has requested it: an admission webhook may be away for a short time.
func (t *trial) wouldStoreMore(result *object.Object, created bool) bool {
	switch child := object.RefOf(t.try.Observed); {
	case !t.retries():
		return true
	case !storesMore(t.try.Observed, result, t.try.Wanted):
		delete(t.w.Memory.stores, child)
		return false
	case created && t.try.Recreates && !t.w.Requested && !t.w.Memory.stores[child]:
		put(&t.w.Memory.stores, child.Clone(), true)
		return false
	}
	return true
}

// storesMore reports whether result has a field as the hook returned it that the child has otherwise.
func storesMore(child, result, want *object.Object) bool {
	left := map[string]bool{}
	for _, s := range plan.Spellings(result, want) {
		left[s.Path.String()] = !s.Same
	}
	return slices.ContainsFunc(plan.Spellings(child, want), func(s plan.Spelling) bool { return !s.Same && !left[s.Path.String()] })
}

// storedValues says what the hook returned for the field in which the child of op differs, and what is stored; "" if that is not known.
func storedValues(op plan.Op, clean func(string) string) string {
	have := op.Observed
	if op.Verb == plan.Delete {
		have = op.Object
	}
	if have == nil || op.Wanted == nil || len(op.Differs) == 0 {
		return ""
	}
	for _, s := range plan.Spellings(have, op.Wanted) {
		if s.Path.Overlaps(op.Differs) {
			return " (" + s.Text(clean) + ")"
		}
	}
	return ""
}
