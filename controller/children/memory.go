package children

import (
	"maps"
	"sync/atomic"
	"time"

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/throttle"
)

// A Memory is what is remembered of the children of one parent between its reconciles. It is lost when the server restarts, so
// that nothing may depend on it but the number of writes and reports. It is not safe for concurrent use.
type Memory struct {
	// applied is what server-side apply stored of each child. It is written after a write and read for the plan.
	applied plan.Memory

	// unstored has the fields that dynamic apply wrote and the API server did not store.
	unstored plan.Unstored

	// unknown has, for each child, a field of the last write that the API server does not know, while the hook returns it.
	unknown map[object.Ref]unknownField

	sinceHooks

	// redefined says that unstored does not fit any more, since a definition of a kind of children has changed. lacks says whether
	// unstored has an entry. Any goroutine may use them; see Redefine.
	redefined, lacks atomic.Bool
}

// sinceHooks is the part of a Memory that depends on what the current hooks of the controller returned.
type sinceHooks struct {
	// contentions counts the writes of children with the same content. An entry outlives its child, which may be created again.
	contentions map[object.Ref]*throttle.Contention

	// recreated counts the deletions of children that the hook does not return and that something else creates again.
	recreated map[object.Ref]*throttle.Contention

	// warnings are, for each child, the warnings of the API server about it that were reported.
	warnings map[object.Ref][]string

	// suppressed is, for each child, the last difference that was reported as one that the update method does not permit to fix.
	suppressed map[object.Ref]string
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory {
	m := &Memory{applied: plan.Memory{}, unstored: plan.Unstored{}, unknown: map[object.Ref]unknownField{}}
	m.ResetHooks()
	return m
}

// ResetHooks drops what depends on what the hooks returned. It is called when they were replaced.
func (m *Memory) ResetHooks() {
	m.sinceHooks = sinceHooks{contentions: map[object.Ref]*throttle.Contention{}, recreated: map[object.Ref]*throttle.Contention{}, warnings: map[object.Ref][]string{}}
}

// Redefine drops the fields that the API server did not store, since a definition of a kind of children has changed. It reports
// whether there were any; then the parent has to be reconciled. Any goroutine may call it.
func (m *Memory) Redefine() bool {
	if !m.lacks.Load() {
		return false
	}
	m.redefined.Store(true)
	return true
}

// Quiet reports whether no writes are repeated because something else undoes them, and the API server has stored all fields.
func (m *Memory) Quiet(now time.Time) bool {
	for _, contentions := range []map[object.Ref]*throttle.Contention{m.contentions, m.recreated} {
		for _, c := range contentions {
			if c.Repeats(now) {
				return false
			}
		}
	}
	return len(m.unstored)+len(m.unknown) == 0
}

// prune drops what is remembered of children that are neither observed nor desired any more, or whose definition has changed, and
// contentions that are too old.
func (m *Memory) prune(observed, desired *object.Set, now time.Time) {
	m.applied.Keep(observed)
	m.unstored.Keep(observed)
	if m.redefined.Swap(false) {
		clear(m.unstored)
	}
	m.lacks.Store(len(m.unstored) > 0)
	maps.DeleteFunc(m.warnings, func(child object.Ref, _ []string) bool { return desired.Get(child.Kind, child.Key) == nil })
	maps.DeleteFunc(m.unknown, func(child object.Ref, unknown unknownField) bool {
		now := desired.Get(child.Kind, child.Key)
		return now == nil || !hasField(now.Map(), unknown.path)
	})
	for _, contentions := range []map[object.Ref]*throttle.Contention{m.contentions, m.recreated} {
		maps.DeleteFunc(contentions, func(_ object.Ref, c *throttle.Contention) bool { return c.Forgotten(now) })
	}
}

// deletionContention returns the count of the deletions of the child that op deletes because the hook does not return it; nil if
// op does something else. It creates the count if there is none, or if the last deletion was long ago, and removes it when the hook
// has the child created.
func (m *Memory) deletionContention(op plan.Op) *throttle.Contention {
	child := object.RefOf(op.Object)
	if op.Creates() {
		delete(m.recreated, child)
	}
	if op.Verb != plan.Delete || op.Differs != nil {
		return nil
	}
	contention := m.recreated[child]
	if contention == nil || contention.Forgotten(time.Now()) {
		contention = &throttle.Contention{}
		m.recreated[child.Clone()] = contention
	}
	return contention
}
