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

// A managed is the record of one controller object: all that the server knows of it beside the object itself. It belongs to
// a UID. Another object of the same name has a record of its own, and the record of an object that is gone is dropped as a
// whole.
//
// A field without a word about locks is used only by the worker that loads the controller. The queue gives a key to one
// worker at a time, so these need no lock.
type managed struct {
	id        spec.ID   // does not change
	uid       types.UID // does not change
	firstSeen time.Time // does not change

	// deletion is set while the object is gone. It is guarded by the lock of the records, since the watch sets it.
	deletion *deletion

	// loaded is set once the object was loaded, or that was tried. Anybody may read it.
	loaded atomic.Bool

	// active is what runs; nil: nothing. It is the one pointer to it: the Reconciler's current version says what it was
	// loaded from. The worker sets it, and who finds that it ended by itself clears it. Anybody may read it.
	active atomic.Pointer[running]

	// sources are the sources of the scripts, as they were read last; nil: they were not. The worker sets it, and anybody may
	// read it.
	sources atomic.Pointer[readSources]

	// lastKnownGood is the last version that was good, as far as this server knows; nil: none. The worker sets it. Anybody may
	// read the Identity of the Candidate in it, and no more.
	lastKnownGood atomic.Pointer[goodVersion]

	rejection       *rejection           // nil: no version was given up
	rejectionKnown  bool                 // this server knows better than the status which version was given up
	loadBackoff     throttle.LoadBackoff // of the version that is written
	rollbackBackoff throttle.LoadBackoff // of the last known good version
	reported        string               // what the log and the events said last
}

func newManaged(o *object.Object) *managed {
	return &managed{id: spec.IDOf(o), uid: o.GetUID(), firstSeen: time.Now()}
}

// running is a Reconciler that was started.
type running struct {
	*reconcile.Reconciler
	object *object.Object // the controller object
	stop   context.CancelFunc
	end    func() // after stop: waits until the Reconciler has ended
}

// A deletion is that of a controller object that is not seen any more. The object may have been deleted, be about to come back,
// since a replacement deletes first, or have lost the labels that the server selects.
type deletion struct {
	object *object.Object // as it was last
	at     time.Time
}

// readSources are the sources of a controller's scripts.
type readSources struct {
	wanted      map[string]scripts.Wanted // by the names of the parts
	fingerprint string                    // of what was read; "": it is being read
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

// concernedBy reports whether changes in files may have some of the scripts read otherwise than before.
func (r *readSources) concernedBy(changes scripts.Changes) bool {
	if r == nil {
		return false // they will be read as they are then
	}
	for _, wanted := range r.wanted {
		if changes.Concern(wanted) {
			return true
		}
	}
	return false
}

// A goodVersion is a version that was good: spec and scripts together, since half of one version with half of another may be
// worse than either.
type goodVersion struct {
	build.Candidate
	storedAt  time.Time // when it was last seen to be stored; zero: it is not
	triedAt   time.Time // when it was last tried to store it, and failed
	notStored error     // why it never will be stored; nil: it may be
}

// A rejection is a version that was given up, and why.
type rejection struct {
	identity string
	why      error
}

// runs returns what runs if that is c, as it is written, or nil.
func (m *managed) runs(c *build.Candidate) *running {
	if r := m.active.Load(); r != nil && r.Current().Loaded.SameBinding(c) && r.Current().Loaded.Identity == c.Identity {
		return r
	}
	return nil
}

// runsPartial reports whether what runs does without some scripts, which do not load. It does so too when nothing runs.
func (m *managed) runsPartial() bool {
	r := m.active.Load()
	return r == nil || r.Current().Loaded.Built.Missing != ""
}

// rejected is why that version was given up; nil: it was not.
func (m *managed) rejected(identity string) error {
	if m.rejection != nil && m.rejection.identity == identity {
		return m.rejection.why
	}
	return nil
}

// reject notes that a version was given up.
func (m *managed) reject(identity string, why error) { m.rejection = &rejection{identity, why} }

// clearRollback lets a version run that was given up, since there is none to go back to.
func (m *managed) clearRollback() {
	m.rejection = nil
	if r := m.active.Load(); r != nil {
		r.Current().Canary.Accept()
	}
}

// clearIfEdited forgets that a version was given up, if the one that is written is another.
func (m *managed) clearIfEdited(identity string) {
	if m.rejected(identity) == nil {
		m.rejection = nil
	}
}

// rejectedIdentity is the identity of the version that was given up, or "".
func (m *managed) rejectedIdentity() string {
	if m.rejection == nil {
		return ""
	}
	return m.rejection.identity
}

// storedGood is the name of what is stored of the last known good version, or "".
func (m *managed) storedGood() string {
	if g := m.lastKnownGood.Load(); g != nil && !g.storedAt.IsZero() {
		return store.NamePrefix + g.Identity
	}
	return ""
}

// statusDelay is for how long the status of the object is not to be written yet.
func (m *managed) statusDelay() time.Duration { return introduction - time.Since(m.firstSeen) }

// introduction is how long after an object was seen first its status is not written: who creates an object and then
// updates it, as it came back, must not find it changed.
const introduction = time.Second

// records are those of all controller objects.
type records struct {
	mu   sync.Mutex // guards what follows, and the deletion of each record
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

// running is all that runs.
func (r *records) running() []*running {
	var all []*running
	for _, m := range r.all() {
		if is := m.active.Load(); is != nil {
			all = append(all, is)
		}
	}
	return all
}

// concernedBy are the records of the controllers that changes in files may concern.
func (r *records) concernedBy(changes scripts.Changes) []*managed {
	return slices.DeleteFunc(r.all(), func(m *managed) bool { return !m.sources.Load().concernedBy(changes) })
}

// open returns the record of an object, a new one if there is none, and the record of another object of the same name, whose
// place the new one took, or nil.
func (r *records) open(o *object.Object) (m, replaced *managed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.byID[spec.IDOf(o)]
	if before != nil && before.uid == o.GetUID() {
		return before, nil
	}
	m = newManaged(o)
	if before != nil {
		m.deletion = before.deletion // which may be that of o itself, by now; see exists
	}
	r.byID[m.id] = m
	return m, before
}

// deleted notes that an object is not seen any more. The watch calls it, and exists, in the order of what happened.
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

// exists notes that there is an object of that name.
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

// forget drops all that is known of the object of that name but its deletion, which is not over yet.
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

// drop drops the record of an object whose deletion is over.
func (r *records) drop(id spec.ID, over *deletion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.byID[id]; m != nil && m.deletion == over {
		delete(r.byID, id)
	}
}
