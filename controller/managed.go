package controller

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/build"
	"metascript/controller/object"
	"metascript/controller/reconcile"
	"metascript/controller/spec"
	"metascript/controller/store"
	"metascript/controller/throttle"
	"metascript/scripts"
)

// A managed is the record of one controller object: all state that the server has about it. It belongs to a UID: another
// object of the same name has its own record, and the record of a deleted object is dropped as a whole.
//
// Fields whose comment does not mention a lock are used only by the worker that loads the controller. The queue gives a key
// to one worker at a time, so they need no lock.
type managed struct {
	id        spec.ID   // does not change
	uid       types.UID // does not change
	firstSeen time.Time // does not change

	// deletion is set while the object does not exist. The lock of records guards it, since the watch sets it.
	deletion *deletion

	// loaded is set after the first load of the object, also if it failed. Any goroutine may read it.
	loaded atomic.Bool

	// active is the Reconciler that runs, or nil. Its current version has the object that it was loaded from. The worker
	// sets it; the goroutine that finds that the Reconciler ended with an error clears it. Any goroutine may read it.
	active atomic.Pointer[running]

	// sources are the sources of the scripts as they were last read; nil before the first read. The worker sets it. Any
	// goroutine may read it.
	sources atomic.Pointer[readSources]

	// lastKnownGood is the last good version that this server knows, or nil. The worker sets it. Other goroutines may read
	// only the Identity of its Candidate.
	lastKnownGood atomic.Pointer[goodVersion]

	rejection       *rejection           // nil: no version was given up
	rejectionKnown  bool                 // rejection is newer than what the status says
	loadBackoff     throttle.LoadBackoff // of the candidate
	rollbackBackoff throttle.LoadBackoff // of the last good version
	reported        string               // the last result that was logged and recorded as an event
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

// A deletion records that a controller object does not exist in the cache any more. The object may have been deleted; or it
// is about to be created again, since a replacement deletes first; or it has lost the labels that the server selects.
type deletion struct {
	object *object.Object // its last state
	at     time.Time
}

// readSources are the sources of a controller's scripts, and what was read from them.
type readSources struct {
	wanted      map[string]scripts.Wanted // by the names of the parts
	fingerprint string                    // of what was read; "" while it is being read
}

// usesFiles reports whether some of the scripts are in files.
func (r *readSources) usesFiles() bool {
	if r == nil {
		return false
	}
	for _, wanted := range r.wanted {
		if wanted.UsesFiles() {
			return true
		}
	}
	return false
}

// concernedBy reports whether changes in files may change some of the scripts.
func (r *readSources) concernedBy(changes scripts.Changes) bool {
	if r == nil {
		return false // the first read is still to come
	}
	for _, wanted := range r.wanted {
		if changes.Concern(wanted) {
			return true
		}
	}
	return false
}

// A goodVersion is a version that was good. It has spec and scripts together, since a combination of two versions may fail
// although each is good.
type goodVersion struct {
	build.Candidate
	storedAt  time.Time // when it was last known to be stored; zero: it is not stored
	triedAt   time.Time // when storing it last failed
	notStored error     // why it can never be stored; nil if it may be possible
}

// A rejection is a version that was given up, and why.
type rejection struct {
	identity string
	why      error
}

// runs returns what runs if that is c; nil otherwise.
func (m *managed) runs(c *build.Candidate) *running {
	if r := m.active.Load(); r != nil && r.Current().Loaded.SameBinding(c) && r.Current().Loaded.Identity == c.Identity {
		return r
	}
	return nil
}

// runsPartial reports whether what runs lacks scripts that do not load. It is true if nothing runs.
func (m *managed) runsPartial() bool {
	r := m.active.Load()
	return r == nil || r.Current().Loaded.Built.Missing != ""
}

// rejected returns why the version with that identity was given up, or nil.
func (m *managed) rejected(identity string) error {
	if m.rejection != nil && m.rejection.identity == identity {
		return m.rejection.why
	}
	return nil
}

// reject records that a version was given up.
func (m *managed) reject(identity string, why error) { m.rejection = &rejection{identity, why} }

// clearRollback accepts a version that was given up, since there is none to roll back to.
func (m *managed) clearRollback() {
	m.rejection = nil
	if r := m.active.Load(); r != nil {
		r.Current().Canary.Accept()
	}
}

// clearIfEdited drops the rejection if it is of another version than this one.
func (m *managed) clearIfEdited(identity string) {
	if m.rejected(identity) == nil {
		m.rejection = nil
	}
}

// rejectedIdentity returns the identity of the version that was given up, or "".
func (m *managed) rejectedIdentity() string {
	if m.rejection == nil {
		return ""
	}
	return m.rejection.identity
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

// records has the record of each controller object. It is safe for concurrent use.
type records struct {
	mu   sync.Mutex // guards byID, and the deletion of each record
	byID map[spec.ID]*managed
}

func newRecords() *records { return &records{byID: map[spec.ID]*managed{}} }

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
	return slices.DeleteFunc(r.all(), func(m *managed) bool { return !m.sources.Load().concernedBy(changes) })
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
	if before != nil {
		m.deletion = before.deletion // it may even be that of o; see exists
	}
	r.byID[m.id] = m
	return m, before
}

// deleted records that an object does not exist in the cache any more. The watch calls deleted and exists in the order of
// the events.
func (r *records) deleted(o *object.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.byID[spec.IDOf(o)]
	if m == nil {
		m = newManaged(o)
		r.byID[m.id] = m
	}
	m.deletion = &deletion{o, time.Now()}
}

// exists records that an object of that name exists.
func (r *records) exists(id spec.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.byID[id]; m != nil {
		m.deletion = nil
	}
}

// deletionOf returns the deletion of the object of that name, or nil.
func (r *records) deletionOf(id spec.ID) *deletion {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.byID[id]; m != nil {
		return m.deletion
	}
	return nil
}

// forget drops the record of that name, except its deletion, which is not finished yet.
func (r *records) forget(id spec.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.byID[id]
	if m == nil {
		return
	}
	delete(r.byID, id)
	if m.deletion != nil {
		r.byID[id] = &managed{id: m.id, uid: m.uid, firstSeen: m.firstSeen, deletion: m.deletion}
	}
}

// drop drops the record of an object whose deletion is finished.
func (r *records) drop(id spec.ID, finished *deletion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.byID[id]; m != nil && m.deletion == finished {
		delete(r.byID, id)
	}
}
