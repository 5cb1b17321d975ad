package reconcile

import (
	"cmp"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/call"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/redact"
	"metascript/controller/throttle"
)

// A parentState is all that is remembered of one parent from one reconcile to the next, until the parent is gone. A restart
// of the server forgets it.
type parentState struct {
	// What follows is used by the reconcile of the parent alone, of which there is one at a time.

	applied plan.Memory      // what was applied to its children
	pending pendingWrites    // what caches must show before the next reconcile
	secrets *redact.Redactor // of the last reconcile, if it saw Secrets
	hookState

	// What follows is guarded by states.mu.

	outdated bool            // the hooks were replaced: hookState is reset before the next reconcile
	failure  failure         // the last one
	unstored *unstoredStatus // nil: the API server stored the status as it was written
	denied   error           // why the last reconcile failed, if something was not permitted
}

// A hookState is what is remembered of what the current hooks of the controller answered about a parent.
type hookState struct {
	contentions       map[object.Ref]*throttle.Contention // of children that are written with the same content again and again
	recreatedChildren map[object.Ref]*throttle.Contention // of children that were deleted and that somebody created again
	suppressed        map[object.Ref]string               // the differences that were reported
	status            map[string]any                      // that was written last
	statusContention  *throttle.Contention                // of that status; nil: none was written
	churn             throttle.Churn
	customize         *call.Related
}

func newHookState() hookState {
	return hookState{contentions: map[object.Ref]*throttle.Contention{}, recreatedChildren: map[object.Ref]*throttle.Contention{}, customize: call.NewRelated()}
}

// prune forgets about children that are gone. A contention outlives its child, which is created again.
func (s *parentState) prune(observed *object.Set, now time.Time) {
	s.applied.Keep(observed)
	for _, all := range []map[object.Ref]*throttle.Contention{s.contentions, s.recreatedChildren} {
		maps.DeleteFunc(all, func(_ object.Ref, c *throttle.Contention) bool { return c.Forgotten(now) })
	}
}

// pendingWrites are what caches must show before a parent's next reconcile.
type pendingWrites struct {
	since time.Time     // the last write
	shown []func() bool // each reports whether a cache shows a write
}

// A failure is the error of a reconcile and how often in a row it came.
type failure struct {
	text  string
	times int
}

// An unstoredStatus is one that the API server did not store as it was written.
type unstoredStatus struct {
	uid           types.UID // of the parent
	tried, stored map[string]any
}

// states are the records of all parents of a controller, one for each.
type states struct {
	notify func() // is called when a parent is denied something first, and when none is any more

	mu     sync.Mutex // guards the map, and of each parentState what it says there
	all    map[object.Ref]*parentState
	denied int // how many parents are
}

func newStates(notify func()) *states {
	return &states{notify: notify, all: map[object.Ref]*parentState{}}
}

// of returns the record of a parent. It creates the record when there is none.
func (s *states) of(parent object.Ref) *parentState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.locked(parent)
}

// locked is of, for callers that hold the lock.
func (s *states) locked(parent object.Ref) *parentState {
	state := s.all[parent]
	if state == nil {
		state = &parentState{applied: plan.Memory{}, hookState: newHookState()}
		s.all[parent] = state
	}
	return state
}

// find returns the record of a parent, or nil.
func (s *states) find(parent object.Ref) *parentState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[parent]
}

// renew resets, before a reconcile, what is outdated. During one it is needed.
func (s *states) renew(parent object.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state := s.all[parent]; state != nil && state.outdated {
		state.hookState, state.outdated = newHookState(), false
	}
}

// outdate has each parent treated as if none of its reconciles had failed, by other hooks than before.
func (s *states) outdate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, state := range s.all {
		state.outdated, state.failure = true, failure{}
	}
}

// forget drops the record of a parent that is gone.
func (s *states) forget(parent object.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state := s.all[parent]; state != nil {
		s.deny(state, nil)
	}
	delete(s.all, parent)
}

// note records the result of a reconcile, for the count of parents to which something was denied.
func (s *states) note(parent object.Ref, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	denied := kube.Forbidden(err)
	if denied != nil || s.all[parent] != nil {
		s.deny(s.locked(parent), denied)
	}
}

// deny is called with mu held.
func (s *states) deny(state *parentState, err error) {
	before := s.denied
	if state.denied != nil {
		s.denied--
	}
	if err != nil {
		s.denied++
	}
	if state.denied = err; s.denied != before && s.denied+before == 1 {
		s.notify()
	}
}

// Denied says for how many parents the last reconcile failed since the API server did not permit something, and why for one
// of them. Most often the role of the server lacks a verb.
type Denied struct {
	Parents int
	First   object.Ref // by name, so that it is the same one while there are the same parents
	Err     error
}

// sum returns the parents to which something is denied.
func (s *states) sum() Denied {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := Denied{Parents: s.denied}
	if s.denied == 0 {
		return sum
	}
	for parent, state := range s.all {
		if state.denied != nil && (sum.Err == nil || cmp.Less(parent.String(), sum.First.String())) {
			sum.First, sum.Err = parent, state.denied
		}
	}
	return sum
}

// countFailure returns how often in a row a parent failed like this.
func (s *states) countFailure(parent object.Ref, err error) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.locked(parent)
	if state.failure.text != err.Error() {
		state.failure = failure{text: err.Error()}
	}
	state.failure.times++
	return state.failure.times
}

// forgetFailure records that a parent's reconcile did not fail.
func (s *states) forgetFailure(parent object.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state := s.all[parent]; state != nil {
		state.failure = failure{}
	}
}
