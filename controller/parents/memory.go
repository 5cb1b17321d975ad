package parents

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/compared"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/throttle"
)

// A Memory is what is remembered of one parent between its reconciles. It is lost when the server restarts, so that nothing may depend
// on it but the number of writes and reports. The zero value remembers nothing.
type Memory struct {
	// status and decoration count how often the same status, and the same labels and annotations of a DecoratorController, were written.
	// Only the goroutine that reconciles the parent uses them, and left.
	status, decoration writes

	left *object.Object // the parent with the status that was left to the next reconcile, nil if none was; see Writer.WriteStatus

	mu       sync.Mutex // guards unstored, which any goroutine may use
	unstored *unstored  // the last status that the API server did not store as it was written; nil if it stored all of it
}

// An unstored status is one that the API server did not store as it was written.
type unstored struct {
	uid             types.UID // of the parent
	written, stored map[string]any
	reported        []string // the fields that the last event named
	text            string   // of that event; "" if there was none
}

// ResetHooks drops what depends on what the hooks returned. It is called when they were replaced.
func (m *Memory) ResetHooks() { m.status, m.decoration = writes{}, writes{} }

// ForgetUnstored drops the status that the API server did not store, and reports whether there was one. It is called when the parent
// has the status that is wanted, and when the definition of the parent's kind has changed; then the parent has to be reconciled. Any
// goroutine may call it.
func (m *Memory) ForgetUnstored() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.unstored != nil
	m.unstored = nil
	return was
}

// Quiet reports whether nothing is written again and again because something else changes it, and the API server has stored all of the
// status.
func (m *Memory) Quiet(now time.Time) bool {
	if m.status.Repeats(now) || m.decoration.Repeats(now) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unstored == nil
}

// NotStored says what the API server did not store of the status, as it was reported; "" if nothing was.
func (m *Memory) NotStored() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unstored == nil {
		return ""
	}
	return m.unstored.text
}

// isUnstored reports whether the status of changed was written before, and the API server stored what parent has now.
func (m *Memory) isUnstored(parent, changed *object.Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unstored != nil && m.unstored.uid == parent.GetUID() &&
		plan.Difference(m.unstored.written, object.StatusOf(changed)) == "" && plan.Difference(m.unstored.stored, object.StatusOf(parent)) == ""
}

// writes counts the writes with the same content. The zero value has counted none.
type writes struct {
	throttle.Contention
	wanted uint64 // a digest of the content
}

// delay returns how long a write has to wait because the same was written too often before, and something else changed it each time;
// zero if it does not wait. It also begins a new count if something else is wanted or the last write was long ago. report says that a
// delay begins.
func (w *writes) delay(wanted map[string]any) (wait time.Duration, report bool) {
	now := time.Now()
	if sum, _ := compared.Sum(wanted); sum != w.wanted || w.Forgotten(now) {
		*w = writes{wanted: sum}
	}
	return w.Delay(now)
}
