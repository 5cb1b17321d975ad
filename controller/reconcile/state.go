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

// A parentState is what the parts of a reconcile remember of one parent between its reconciles; see Reconciler.forget for what else
// is remembered of a parent. It is lost when the server restarts, so that nothing may depend on it but the number of writes, calls
// and reports, and how much of a text is redacted.
//
// Two kinds of goroutines use it: the one that processes the parent, of which there is at most one since the queue gives a
// key to one worker at a time, and others that do something for all parents, such as Swap.
type parentState struct {
	// The goroutine that processes the parent reads and writes these fields. No other one does, so that they need no lock.

	// applied is what server-side apply stored of each child. The applier writes it after a write and reads it for the plan.
	applied plan.Memory

	// pending is what the caches must show before the next reconcile. The tracker adds to it, and the worker waits for it.
	pending pendingWrites

	// secrets has the Secret values that the last reconcile saw, so that the next one redacts them from its beginning; nil if
	// there were none. The redactors read it when a reconcile begins, and write it when it ends.
	secrets *redact.Redactor

	// shown is true once the account of the controller was permitted to read the parent. The reconcile reads and writes it.
	shown bool

	// The goroutine that processes the parent reads and writes the fields of hookState, and replaces it as a whole with states.mu
	// locked. Other goroutines may only read hookState.customize, with states.mu locked, as Rediscover does.

	hookState

	// These fields are guarded by states.mu.

	// version is the version of the hooks that hookState belongs to; nil if hookState does not fit any more, because something
	// else is called for a hook than before. outdate sets it to nil for all parents, and forVersion resets hookState with it. A
	// reconcile that is under way meanwhile ends with the hookState that it began with.
	version *call.Version

	// failure is the last error that was reported. The worker counts it; outdate and a reconcile without an error clear it.
	failure failure

	// unstored is the last status that the API server did not store as it was written; nil if it stored all of it. The
	// status writer writes and reads it, and RetryStatus clears it.
	unstored *unstoredStatus

	// denied is why the API server did not permit what the last reconcile tried; nil if it permitted all. The worker writes it,
	// and Snapshot reads it.
	denied error
}

// A hookState is the part of a parentState that depends on what the current hooks of the controller returned. Other hooks may
// return something else, so that it is reset for each version of the hooks.
type hookState struct {
	// contentions counts the writes of children with the same content. An entry outlives its child, which may be created again.
	// The applier uses it.
	contentions map[object.Ref]*throttle.Contention

	// recreatedChildren counts the deletions of children that the hook does not return and that something else creates again.
	// The applier uses it.
	recreatedChildren map[object.Ref]*throttle.Contention

	// suppressed is, for each child, the last difference that was reported as one that the update method does not permit to
	// fix. The applier uses it.
	suppressed map[object.Ref]string

	// status is the status that was wanted last, with the generation of the parent. statusContention counts how often it was
	// written, and is nil if none was wanted yet. The status writer uses both.
	status           map[string]any
	statusContention *throttle.Contention

	// churn counts reconciles in a row that write something. The tracker adds writes; the worker ends the rounds.
	churn throttle.Churn

	// customize has the responses of the customize hook. It is never nil. The call.Caller of a reconcile uses it, and Rediscover
	// reads it with states.mu locked.
	customize *call.CustomizeCache
}

func newHookState() hookState {
	return hookState{contentions: map[object.Ref]*throttle.Contention{}, recreatedChildren: map[object.Ref]*throttle.Contention{}, customize: call.NewCustomizeCache()}
}

// prune drops what is remembered of children that are not observed any more, and contentions that are too old.
func (s *parentState) prune(observed *object.Set, now time.Time) {
	s.applied.Keep(observed)
	for _, contentions := range []map[object.Ref]*throttle.Contention{s.contentions, s.recreatedChildren} {
		maps.DeleteFunc(contentions, func(_ object.Ref, c *throttle.Contention) bool { return c.Forgotten(now) })
	}
}

// pendingWrites are the writes that the caches must show before the next reconcile of a parent. The zero value has none.
type pendingWrites struct {
	since time.Time     // the last write
	shown []func() bool // each reports whether a cache shows one write
}

// A failure is an error of reconciles, and how many times in a row it occurred. The zero value is no error.
type failure struct {
	text  string
	times int
}

// An unstoredStatus is a status that the API server did not store as it was written.
type unstoredStatus struct {
	uid             types.UID // of the parent
	written, stored map[string]any
}

// states are the parentStates of all parents of a controller. It is safe for concurrent use.
type states struct {
	// notify is called, with mu locked, when the first parent is denied something and when no parent is any more. It must
	// not block.
	notify func()

	// mu guards the fields below, and the fields of each parentState that say so. While it is locked, the locks of the queue,
	// statusKinds, the caches, the events and call.CustomizeCache may be taken. Code that has one of these locked must not use
	// states.
	mu sync.Mutex

	// all has at most one parentState for each parent, and none for a parent that the controller does not have any more. Only the
	// goroutine that processes a parent adds or removes its entry, so that the pointer is valid until the reconcile ends.
	all map[object.Ref]*parentState

	// denied is the number of entries of all whose denied field is not nil.
	denied int
}

func newStates(notify func()) *states {
	return &states{notify: notify, all: map[object.Ref]*parentState{}}
}

// of returns the state of a parent. It creates the state if there is none.
func (s *states) of(parent object.Ref) *parentState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ofLocked(parent)
}

// forVersion returns the state of a parent for a reconcile with a version of the hooks. It resets the hookState if that is
// outdated or of another version: a reconcile can begin after a swap has replaced the version, and before outdate. It must be
// called by the goroutine that processes the parent.
func (s *states) forVersion(parent object.Ref, version *call.Version) *parentState {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.ofLocked(parent)
	if state.version != version {
		state.version, state.hookState = version, newHookState()
	}
	return state
}

// ofLocked is the same as of. The caller must have locked mu.
func (s *states) ofLocked(parent object.Ref) *parentState {
	state := s.all[parent]
	if state == nil {
		state = &parentState{applied: plan.Memory{}, hookState: newHookState()}
		s.all[parent] = state
	}
	return state
}

// find returns the state of a parent, or nil if there is none.
func (s *states) find(parent object.Ref) *parentState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[parent]
}

// outdate marks every hookState as outdated and clears every failure, since the hooks of the controller were replaced.
func (s *states) outdate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, state := range s.all {
		state.version, state.failure = nil, failure{}
	}
}

// forgetWrites drops what is remembered of the writes of a parent, and keeps the responses of the customize hook. It must be
// called by the goroutine that processes the parent.
func (s *states) forgetWrites(parent object.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state := s.all[parent]; state != nil {
		customize := state.customize
		state.applied, state.pending, state.hookState = plan.Memory{}, pendingWrites{}, newHookState()
		state.customize = customize
	}
}

// forget removes the state of a parent that the controller does not have any more. It must be called by the goroutine that
// processes the parent.
func (s *states) forget(parent object.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state := s.all[parent]; state != nil {
		s.setDenied(state, nil)
	}
	delete(s.all, parent)
}

// noteDenied records whether the API server denied something to the reconcile of a parent that returned err.
func (s *states) noteDenied(parent object.Ref, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	denied := kube.Forbidden(err)
	if denied != nil || s.all[parent] != nil {
		s.setDenied(s.ofLocked(parent), denied)
	}
}

// setDenied sets the denied field of a state and updates the count. The caller must have locked mu.
func (s *states) setDenied(state *parentState, err error) {
	before := s.denied
	if state.denied != nil {
		s.denied--
	}
	if err != nil {
		s.denied++
	}
	state.denied = err
	if s.denied != before && s.denied+before == 1 { // from 0 to 1 or from 1 to 0
		s.notify()
	}
}

// Denied says for how many parents the last reconcile failed because the API server did not permit something. Most often the
// role of the server lacks a verb. The zero value is none.
type Denied struct {
	Parents int
	First   object.Ref // the first of these parents by name, so that it stays the same while the parents do
	Err     error      // of First
}

// deniedParents returns the parents whose last reconcile was denied something.
func (s *states) deniedParents() Denied {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := Denied{Parents: s.denied}
	if s.denied == 0 {
		return found
	}
	for parent, state := range s.all {
		if state.denied != nil && (found.Err == nil || cmp.Less(parent.String(), found.First.String())) {
			found.First, found.Err = parent, state.denied
		}
	}
	return found
}

// countFailure returns how many times in a row a parent has failed with this error, this time included.
func (s *states) countFailure(parent object.Ref, err error) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.ofLocked(parent)
	if state.failure.text != err.Error() {
		state.failure = failure{text: err.Error()}
	}
	state.failure.times++
	return state.failure.times
}

// forgetFailure records that a reconcile of a parent did not fail.
func (s *states) forgetFailure(parent object.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state := s.all[parent]; state != nil {
		state.failure = failure{}
	}
}
