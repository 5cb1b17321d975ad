package children

import (
	"maps"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/throttle"
)

// A Memory is what is remembered of the children of one parent between its reconciles. It is lost when the server restarts, so
// that nothing may depend on it but the number of writes and reports. It is not safe for concurrent use.
type Memory struct {
	// written is what was written to each child, and what the API server stored of it. It is set after a write and read for the plan.
	written plan.Memory

	// spelled has the children of which the API server stored a value with another meaning than the hook returned, or did not store it.
	spelled map[object.Ref]string

	// retried has those of them that are to be compared by a dry run, and stores those to be recreated of which the last retry has shown that
	// a new one would be stored as the hook returned it.
	retried, stores map[object.Ref]bool

	// kept has, by child, for which answer its nulls were last looked at, and which of them do not remove a field.
	kept map[types.UID]keptNulls

	// unknown has, for each child, a field of the last write that the API server does not know, while the hook returns it.
	unknown map[object.Ref]unknownField

	// replaced has, by namespace, the child that was deleted to be recreated in a full quota, until it exists again; see Replacements.
	replaced map[string]replacement

	// losses are the children that somebody else has deleted, and checked their number when it was last known that the parent exists.
	losses  losses
	checked uint64

	// taken has the objects that were taken over from others, with their UIDs.
	taken map[object.Ref]types.UID

	sinceHooks

	// redefined says that the forms in written do not fit any more, since a definition of a kind of children has changed. spells says
	// whether written has such a form. Any goroutine may use them; see Redefine.
	redefined, spells atomic.Bool

	// misstored says whether spelled has children, and retry that they are to be retried. Any goroutine may use them; see Retry.
	misstored, retry atomic.Bool
}

// sinceHooks is the part of a Memory that depends on what the current hooks of the controller returned.
type sinceHooks struct {
	// contentions counts the writes of children with the same content, whoever has changed them since. An entry outlives its child,
	// which may be created again.
	contentions map[object.Ref]*repeated

	// recreated counts the deletions of children that the hook does not return and that something else creates again.
	recreated map[object.Ref]*throttle.Contention

	// warnings are, for each child, the warnings of the API server about it that were reported.
	warnings map[object.Ref][]string

	// suppressed is, for each child, the last difference that was reported as one that the update method does not permit to fix.
	suppressed map[object.Ref]string

	// left has, by block, the first children that were left to the next reconcile, because too many writes failed; see inTurn.
	left map[block][]object.Ref
}

// A repeated is a write that is repeated as long as it has the same content.
type repeated struct {
	throttle.Contention
	content string // a digest
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory {
	return &Memory{written: plan.Memory{}}
}

// put sets a value of a map, which is made with the first one: most parents have none in most of the maps, and there are many parents.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// ResetHooks drops what depends on what the hooks returned. It is called when they were replaced.
func (m *Memory) ResetHooks() { m.sinceHooks = sinceHooks{} }

// Redefine drops the forms in which the API server stored values, since a definition of a kind of children has changed. It reports
// whether there were any; then the parent has to be reconciled. Any goroutine may call it.
func (m *Memory) Redefine() bool {
	if !m.spells.Load() {
		return false
	}
	m.redefined.Store(true)
	return true
}

// Losses returns how many children of the parent somebody else has deleted.
func (m *Memory) Losses() uint64 { return m.losses.number() }

// forgetSpelled drops the forms in which the API server stored values.
func (m *Memory) forgetSpelled() {
	m.written.ForgetSpelled()
	clear(m.spelled)
	m.misstored.Store(false)
}

// Quiet reports whether no writes are repeated because something else undoes them, and the API server has stored all fields with the
// meaning that the hook returned.
func (m *Memory) Quiet(now time.Time) bool {
	for _, c := range m.contentions {
		if c.Repeats(now) {
			return false
		}
	}
	for _, c := range m.recreated {
		if c.Repeats(now) {
			return false
		}
	}
	return len(m.spelled)+len(m.unknown) == 0 && !m.redefined.Load()
}

// prune drops what is remembered of children that are neither observed nor desired any more, or whose definition has changed, and
// contentions that are too old.
func (m *Memory) prune(observed, desired *object.Set, now time.Time) {
	object.KeepOnly(m.written, observed)
	object.KeepOnly(m.kept, observed)
	if m.redefined.Swap(false) {
		m.forgetSpelled()
	}
	m.spells.Store(m.written.Spells())
	maps.DeleteFunc(m.spelled, func(child object.Ref, _ string) bool {
		return desired.Get(child.Kind, child.Key) == nil || observed.Get(child.Kind, child.Key) == nil
	})
	m.misstored.Store(len(m.spelled) > 0)
	maps.DeleteFunc(m.stores, func(child object.Ref, _ bool) bool { return m.spelled[child] == "" })
	maps.DeleteFunc(m.warnings, func(child object.Ref, _ []string) bool { return desired.Get(child.Kind, child.Key) == nil })
	maps.DeleteFunc(m.unknown, func(child object.Ref, unknown unknownField) bool {
		now := desired.Get(child.Kind, child.Key)
		return now == nil || !hasField(now.Map(), unknown.path)
	})
	maps.DeleteFunc(m.taken, func(child object.Ref, _ types.UID) bool { return desired.Get(child.Kind, child.Key) == nil })
	maps.DeleteFunc(m.contentions, func(_ object.Ref, c *repeated) bool { return c.Forgotten(now) })
	maps.DeleteFunc(m.recreated, func(_ object.Ref, c *throttle.Contention) bool { return c.Forgotten(now) })
}

// deletionContention returns the count of the deletions of the child that op deletes because the hook does not return it; nil if
// op does something else. It creates the count if there is none, or if the last deletion was long ago, and removes it when the hook
// has the child created.
func (m *Memory) deletionContention(op plan.Op) *throttle.Contention {
	child := object.RefOf(op.Object)
	if op.Creates() {
		delete(m.recreated, child)
	}
	if op.Verb != plan.Delete || op.Wanted != nil {
		return nil
	}
	contention := m.recreated[child]
	if contention == nil || contention.Forgotten(time.Now()) {
		contention = &throttle.Contention{}
		put(&m.recreated, child.Clone(), contention)
	}
	return contention
}
