package controller

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/account"
	"metascript/controller/build"
	"metascript/controller/failures"
	"metascript/controller/guard"
	"metascript/controller/metrics"
	"metascript/controller/object"
	"metascript/controller/reconcile"
	"metascript/controller/spec"
	"metascript/controller/store"
	"metascript/controller/throttle"
	"metascript/scripts"
)

// A managed is the record of one controller object: what the server remembers of it between its loads. It belongs to a UID:
// another object of the same name has its own record, and the record of a deleted object is dropped as a whole.
//
// Fields whose comment does not mention a lock are used only by the worker that loads the controller. The queue gives a key
// to one worker at a time, so they need no lock.
type managed struct {
	id        spec.ID   // does not change
	uid       types.UID // does not change
	firstSeen time.Time // does not change

	// loaded is set after the first load of the object, also if it failed. Any goroutine may read it.
	loaded atomic.Bool

	// active is the Reconciler that runs, or nil. Its current version has the object that it was loaded from. The worker
	// sets it; the goroutine that finds that the Reconciler ended with an error clears it. Any goroutine may read it.
	active atomic.Pointer[running]

	// sources are the sources of the scripts as they were last read; nil before the first read. The worker sets it. Any
	// goroutine may read it.
	sources atomic.Pointer[build.ReadSources]

	// account is the account that the object acts as, as it was last loaded; nil before. The worker sets it. Any goroutine may
	// read it.
	account atomic.Pointer[account.Account]

	// lastKnownGood is the last good version that this server knows, or nil. The worker sets it. Other goroutines may read
	// only the Identity of its Candidate.
	lastKnownGood atomic.Pointer[goodVersion]

	// summary has the metrics of the status that was last written; nil before. The worker sets it. Any goroutine may read it.
	summary atomic.Pointer[metrics.StatusSummary]

	guard           guard.Guard            // decides whether the candidate may run
	statusRead      bool                   // what this server knows is newer than what the status says; see readStatus
	behind          *build.Loaded          // what ran when this server began to lead, and the server before had replaced; nil: nothing
	lastGivenUp     *givenUpVersion        // nil: no version was given up
	loadBackoff     throttle.LoadBackoff   // of the candidate
	rollbackBackoff throttle.LoadBackoff   // of the last good version
	deniedRetried   time.Time              // when the parents to which something was denied were last queued
	reported        string                 // the last result that was logged and recorded as an event
	failures        failures.Report        // what the status shows of failing parents
	notStored       failures.Report        // the same of what the API server did not store
	parentsReported metav1.ConditionStatus // the status of the condition ParentsSynced that the last event reported; "": see reportParents
}

func newManaged(o *object.Object) *managed {
	return &managed{id: spec.IDOf(o), uid: o.GetUID(), firstSeen: time.Now()}
}

// running is a Reconciler that was started.
type running struct {
	*reconcile.Reconciler
	object *object.Object // the controller object
	stop   context.CancelFunc
	end    func() // waits, after stop, until the Reconciler has ended
}

// A goodVersion is a version that was good. It has spec and scripts together, since a combination of two versions may fail
// although each is good.
type goodVersion struct {
	build.Candidate
	storedAt time.Time // when it was last known to be stored; zero: it is not stored
	triedAt  time.Time // when storing it last failed
	failed   error     // of the last try; nil if there was none, or if it succeeded
}

// A givenUpVersion is a version that was given up, and why.
type givenUpVersion struct {
	identity string
	why      error
}

// runningAs returns what runs if that is c; nil otherwise.
func (m *managed) runningAs(c *build.Candidate) *running {
	if r := m.active.Load(); r != nil && r.Current().Loaded.SameBinding(c) && r.Current().Loaded.Identity == c.Identity {
		return r
	}
	return nil
}

// isBehind reports whether what runs is a version that the server which led before had replaced.
func (m *managed) isBehind() bool {
	r := m.active.Load()
	return r != nil && m.behind != nil && r.Current().Loaded == m.behind
}

// runsPartial reports whether what runs lacks scripts that do not load. It is true if nothing runs.
func (m *managed) runsPartial() bool {
	r := m.active.Load()
	return r == nil || r.Current().Loaded.Built.Missing != ""
}

// givenUp returns why the version with that identity was given up, or nil.
func (m *managed) givenUp(identity string) error {
	if m.lastGivenUp != nil && m.lastGivenUp.identity == identity {
		return m.lastGivenUp.why
	}
	return nil
}

// giveUp records that a version was given up.
func (m *managed) giveUp(identity string, why error) { m.lastGivenUp = &givenUpVersion{identity, why} }

// acceptGivenUp accepts a version that was given up, since there is none to roll back to.
func (m *managed) acceptGivenUp() {
	m.lastGivenUp = nil
	if r := m.active.Load(); r != nil {
		r.Current().Canary.Accept()
	}
}

// clearIfEdited drops lastGivenUp if it is of another version than this one.
func (m *managed) clearIfEdited(identity string) {
	if m.givenUp(identity) == nil {
		m.lastGivenUp = nil
	}
}

// givenUpIdentity returns the identity of the version that was given up, or "".
func (m *managed) givenUpIdentity() string {
	if m.lastGivenUp == nil {
		return ""
	}
	return m.lastGivenUp.identity
}

// storedGood returns the name of the stored copy of the last good version, or "".
func (m *managed) storedGood() string {
	if g := m.lastKnownGood.Load(); g != nil && !g.storedAt.IsZero() {
		return store.NamePrefix + g.Identity
	}
	return ""
}

// statusDelay returns how long the status of the object must not be written yet.
func (m *managed) statusDelay() time.Duration { return introduction - time.Since(m.firstSeen) }

// introduction is how long the status is not written after an object was first seen: a user who creates an object and then
// updates it with the resourceVersion that came back must not get a conflict.
const introduction = time.Second

// records has the record of each controller object, and the deletions that are not finished. It is safe for concurrent use.
type records struct {
	mu        sync.Mutex // guards the fields below
	byID      map[spec.ID]*managed
	deletions map[spec.ID][]*deletion // at most one for each account
}

// A deletion records that a controller object does not exist in the cache any more. The object may have been deleted; or it
// is about to be created again, since a replacement deletes first; or it has lost the labels that the server selects.
type deletion struct {
	object *object.Object // its last state
	at     time.Time

	// kept is the UID of a controller object of the same name and another account that kept its finalizer on some parents when the finalizers
	// were removed. As long as it exists, nothing more is done. The queue, which gives a name to one worker at a time, guards it.
	kept types.UID
}

func newRecords() *records {
	return &records{byID: map[spec.ID]*managed{}, deletions: map[spec.ID][]*deletion{}}
}

// get returns the record of that name, or nil.
func (r *records) get(id spec.ID) *managed {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id]
}

func (r *records) all() []*managed {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.byID))
}

// running returns all Reconcilers that run.
func (r *records) running() []*running {
	var all []*running
	for _, m := range r.all() {
		if is := m.active.Load(); is != nil {
			all = append(all, is)
		}
	}
	return all
}

// concernedBy returns the records of the controllers whose scripts may be affected by changes in files.
func (r *records) concernedBy(changes scripts.Changes) []*managed {
	return slices.DeleteFunc(r.all(), func(m *managed) bool { return !m.sources.Load().ConcernedBy(changes) })
}

// open returns the record of an object. It creates the record if there is none with its UID; replaced is then the record of
// another object of the same name, or nil.
func (r *records) open(o *object.Object) (m, replaced *managed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.byID[spec.IDOf(o)]
	if before != nil && before.uid == o.GetUID() {
		return before, nil
	}
	m = newManaged(o)
	r.byID[m.id] = m
	return m, before
}

// forget drops the record of that name.
func (r *records) forget(id spec.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byID, id)
}

// noteDeleted records that an object does not exist in the cache any more. The watch calls noteDeleted and noteExists in the
// order of the events.
func (r *records) noteDeleted(o *object.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := spec.IDOf(o)
	r.dropDeletionsOf(o)
	r.deletions[id] = append(r.deletions[id], &deletion{object: o, at: time.Now()})
}

// noteExists records that an object exists. It takes over the parents, with the finalizers, of the deleted one of its name, if it has the same
// account. Whoever takes the name for another account does not.
func (r *records) noteExists(o *object.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropDeletionsOf(o)
}

// dropDeletionsOf forgets the deletions of objects of the name of o with its account. The caller has locked mu.
func (r *records) dropDeletionsOf(o *object.Object) {
	r.dropDeletions(spec.IDOf(o), func(d *deletion) bool { return spec.AccountOf(d.object) == spec.AccountOf(o) })
}

// dropDeletions forgets the deletions of objects of that name for which drop is true. The caller has locked mu.
func (r *records) dropDeletions(id spec.ID, drop func(*deletion) bool) {
	left := slices.DeleteFunc(r.deletions[id], drop)
	if r.deletions[id] = left; len(left) == 0 {
		delete(r.deletions, id)
	}
}

// deletionsOf returns the deletions of objects of that name that are not finished.
func (r *records) deletionsOf(id spec.ID) []*deletion {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.deletions[id])
}

// finishDeletion forgets a deletion, unless the object was deleted again meanwhile.
func (r *records) finishDeletion(id spec.ID, finished *deletion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropDeletions(id, func(d *deletion) bool { return d == finished })
}
