package reconcile

import (
	"cmp"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/apiserver"
	"metascript/controller/call"
	"metascript/controller/children"
	"metascript/controller/compared"
	"metascript/controller/failures"
	"metascript/controller/inputs"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/parents"
	"metascript/controller/redact"
	"metascript/controller/remember"
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

	// children is what is remembered of the children. It is never nil. The children.Writer of a reconcile uses it. Other goroutines
	// may only call its Redefine, Retry and Lose, with states.mu locked.
	children *children.Memory

	// compared is how the children compared with the answer of the last reconcile. The children.Writer of a reconcile uses it.
	compared compared.Memory

	// parent is what is remembered of the parent itself. The parents.Writer of a reconcile uses it. Other goroutines may only call its
	// ForgetUnstored and NotStored.
	parent parents.Memory

	// pending is what the caches must show before the next reconcile. The tracker adds to it, and the worker waits for it.
	pending pendingWrites

	// secrets has the Secret values that the last reconcile saw, so that the next one redacts them from its beginning; nil if
	// there were none. The redactors read it when a reconcile begins, and write it when it ends. Other goroutines may read it.
	secrets atomic.Pointer[redact.Redactor]

	// public is what users wrote into the parent before, if the reconciles see Secrets. The redactors read it when a reconcile begins, and
	// write it when it ends.
	public publicPast

	// held is why the requests of the last reconcile were not sent, if that was the only reason why it failed. The worker uses it.
	held *apiserver.HeldError

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

	// rests says that the last reconcile need not have been done, in the epoch restsIn, and woken that something has changed since it
	// began; see states.rests.
	rests, woken bool
	restsIn      uint64

	// failure is the last error that was reported. The worker counts it; outdate and a reconcile without an error clear it.
	failure failure

	// refused says that the last answer got no memory for its plan. A reconcile without an error clears it.
	refused bool

	// failing is the last error that was reported, too, but outdate does not clear it; nil if there is none. Snapshot reads it.
	failing error
	text    failures.TextID // of failing

	// notStored says what the API server did not store of the last writes, because a schema lacks it; "" if it stored all.
	// The worker writes it, and Snapshot reads it.
	notStored string

	// denied is why the API server did not permit what the last reconcile tried; nil if it permitted all. The worker writes it,
	// and Snapshot reads it.
	denied error
}

// A hookState is the part of a parentState that depends on what the current hooks of the controller returned. Other hooks may
// return something else, so that it is reset for each version of the hooks.
type hookState struct {
	// churn counts reconciles in a row that write something. The tracker adds writes; the worker ends the rounds.
	churn throttle.Churn

	// inputs says who has changed the input of the hook, while churn watches. The reconcile and the tracker use it.
	inputs inputs.Watch

	// unread says that the last answer had a hook.Response.Unread, which was reported. The reconcile reads and writes it.
	unread bool

	// memory says whether the next reconcile has to be done; see package remember. The reconcile and the worker use it.
	memory remember.Memory

	// customize has the responses of the customize hook. It is never nil. The call.Caller of a reconcile uses it, and Rediscover
	// reads it with states.mu locked.
	customize *call.CustomizeCache
}

func newHookState() hookState {
	return hookState{customize: call.NewCustomizeCache()}
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

// states are the parentStates of all parents of a controller. It is safe for concurrent use.
type states struct {
	// notify is called when the first parent is denied something or fails, when no parent is or does any more, and when all parents
	// were synced once. It must not block. It may be called with mu locked.
	notify func()

	// mu guards the fields below, and the fields of each parentState that say so. While it is locked, the locks of the queue,
	// parents.Memory, parents.Kinds, the caches, the events and call.CustomizeCache may be taken. Code that has one of these locked must not use
	// states.
	mu sync.Mutex

	// all has at most one parentState for each parent, and none for a parent that the controller does not have any more. Only the
	// goroutine that processes a parent adds or removes its entry, so that the pointer is valid until the reconcile ends.
	all map[object.Ref]*parentState

	// denied, failing and notStored are the numbers of entries of all whose fields of these names are set.
	denied, failing, notStored int

	// texts are those of the errors of the parents that fail. changes limits how often a change of them is notified, and changing says that
	// one will be.
	texts    failures.Texts
	changes  *rate.Limiter
	changing bool

	// unsynced are the parents that existed at the beginning and were not synced yet. It is nil before expect.
	unsynced map[object.Ref]bool
}

func newStates(notify func()) *states {
	return &states{notify: notify, all: map[object.Ref]*parentState{}, changes: rate.NewLimiter(rate.Every(changesPeriod), changesAtOnce)}
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
		state.children.ResetHooks()
		state.parent.ResetHooks()
	}
	return state
}

// ofLocked is the same as of. The caller must have locked mu.
func (s *states) ofLocked(parent object.Ref) *parentState {
	state := s.all[parent]
	if state == nil {
		state = &parentState{children: children.NewMemory(), hookState: newHookState()}
		s.all[parent] = state
	}
	return state
}

// begin returns the state of a parent that is processed now, if its hookState is of a version of the hooks, and nil otherwise.
func (s *states) begin(parent object.Ref, version *call.Version) *parentState {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.all[parent]
	if state == nil {
		return nil
	}
	if state.rests, state.woken = false, false; state.version != version {
		return nil
	}
	return state
}

// rest notes that the reconcile of a parent that ends now need not be done, and that this was found in an epoch. A parent that may be
// one of its own related objects does not rest, since its event as one neither queues nor wakes it.
func (s *states) rest(parent object.Ref, epoch uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state := s.all[parent]; state != nil && !state.woken && !state.customize.Selects(parent.Kind) {
		state.rests, state.restsIn = true, epoch
	}
}

// wake ends the rest of a parent because of a change that may not queue it.
func (s *states) wake(parent object.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state := s.all[parent]; state != nil {
		state.rests, state.woken = false, true
	}
}

// lose notes that the cache of a child of a parent does not have it any more.
func (s *states) lose(parent object.Ref, child types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state := s.all[parent]; state != nil {
		state.children.Lose(child)
	}
}

// rests reports whether the last reconcile of a parent with a version of the hooks, in an epoch, need not have been done, and none has
// begun since. Then a resync need not be done either: each change since then is an event that queues the parent or wakes it.
func (s *states) rests(parent object.Ref, version *call.Version, epoch uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.all[parent]
	return state != nil && state.rests && state.version == version && state.restsIn == epoch
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
		state.children, state.pending, state.hookState = children.NewMemory(), pendingWrites{}, newHookState()
		state.customize = customize
		state.parent.ResetHooks()
	}
}

// forget removes the state of a parent that the controller does not have any more. It must be called by the goroutine that
// processes the parent.
func (s *states) forget(parent object.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state := s.all[parent]; state != nil {
		s.setDenied(state, nil)
		s.setFailing(parent, state, nil)
		s.setNotStored(state, "")
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
	s.setFailing(parent, state, err)
	return state.failure.times
}

// forgetFailure records that a reconcile of a parent did not fail.
func (s *states) forgetFailure(parent object.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state := s.all[parent]; state != nil {
		state.failure, state.refused = failure{}, false
		s.setFailing(parent, state, nil)
	}
}

// noteRefused notes that the answer for a parent got no memory for its plan, and reports whether the one before got none either.
func (s *states) noteRefused(parent object.Ref) (again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.ofLocked(parent)
	again, state.refused = state.refused, true
	return again
}

// failuresSettle is how long a change of the failing parents lasts before it is notified: most often others follow. A text that begins or
// ends is notified changesAtOnce times, and then once in changesPeriod.
const (
	failuresSettle = 2 * time.Second
	changesPeriod  = 10 * time.Second
	changesAtOnce  = 5
)

// setFailing sets the failing field of the state of a parent and updates the count. The caller must have locked mu.
func (s *states) setFailing(parent object.Ref, state *parentState, err error) {
	if state.failing != nil {
		s.failing--
	}
	if err != nil {
		s.failing++
	}
	text := failures.TextOf(failures.Failure{Parent: parent, Err: err})
	changed := s.texts.Move(state.text, text, time.Now())
	if state.failing, state.text = err, text; changed && !s.changing {
		s.changing = true
		time.AfterFunc(max(failuresSettle, s.changes.Reserve().Delay()), s.notifyChange)
	}
}

// notifyChange notifies of an error that the first parent has, or none any more.
func (s *states) notifyChange() {
	s.mu.Lock()
	s.changing = false
	s.mu.Unlock()
	s.notify()
}

// settle notifies of a number of parents that has changed from 0 to 1 or from 1 to 0.
func (s *states) settle(before, now int) {
	if before != now && before+now == 1 {
		time.AfterFunc(failuresSettle, s.notify)
	}
}

// noteNotStored records what the API server did not store of what a reconcile wrote; "" if it stored all.
func (s *states) noteNotStored(state *parentState, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setNotStored(state, text)
}

// setNotStored sets the notStored field of a state and updates the count. The caller must have locked mu.
func (s *states) setNotStored(state *parentState, text string) {
	before := s.notStored
	if state.notStored != "" {
		s.notStored--
	}
	if text != "" {
		s.notStored++
	}
	state.notStored = text
	s.settle(before, s.notStored)
}

// incomplete sums up what the API server did not store of the last writes for the parents.
func (s *states) incomplete(has func(object.Ref) bool) failures.Summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notStored == 0 {
		return failures.Sum(nil)
	}
	var found []failures.Failure
	for parent, state := range s.all {
		if state.notStored != "" && has(parent) {
			found = append(found, failures.Failure{Parent: parent, Err: errors.New(state.notStored)})
		}
	}
	return failures.Sum(found)
}

// expect records the parents that have to be synced before it is known whether parents fail.
func (s *states) expect(parents iter.Seq[object.Ref]) {
	unsynced := map[object.Ref]bool{}
	for key := range parents {
		unsynced[key] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsynced = unsynced
}

// noteSynced records that a reconcile of a parent has ended.
func (s *states) noteSynced(parent object.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unsynced[parent] {
		delete(s.unsynced, parent)
		if len(s.unsynced) == 0 {
			s.notify()
		}
	}
}

// failures sums up the parents whose last sync failed. has reports whether a parent is the controller's and may be shown.
func (s *states) failures(has func(object.Ref) bool) failures.Summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unsynced == nil || len(s.unsynced) > 0 {
		return failures.Summary{}
	}
	if s.failing == 0 {
		return failures.Sum(nil)
	}
	var failed []failures.Failure
	for parent, state := range s.all {
		if state.failing != nil && has(parent) {
			failed = append(failed, failures.Failure{Parent: parent, Err: state.failing})
		}
	}
	sum := failures.Sum(failed)
	sum.Since = s.texts.Since(sum.Same)
	return sum
}
