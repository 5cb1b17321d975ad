// Package remember decides which reconciles need not be done, because they would do the same as the one before: nothing.
//
// # The rule
//
// The reconcile of a parent is not done if all of this is true:
//
//   - its only reasons are a resync, and changes of the parent, of children or of related objects
//   - the last reconcile ended clean: it called the script, returned no error, wrote at most the status, made no dry run, had nothing
//     to warn of, has nothing to wait for and no rollout to continue, and counts no writes of something that somebody else changes; and the
//     parent was not being finalized
//   - the [Snapshot] has the same objects as when that reconcile began. Each is of the same version, or has changed in nothing that the
//     script has read of it, and in nothing that the server itself uses; see the type uses
//   - the hooks are of the same version, and their answers depend on their requests only; see build.Hooks.Remembers
//
// What a script reads is recorded by package packed, also in a worker process, and less often where this was of no use; see
// [Switch.Records]. A language that makes something of a whole map at once, such as Jsonnet, has read all values in it that are not maps
// or lists. If the script has to be called and answers the same, and no object has changed in what the server itself uses, nothing is
// planned: the plan of the last reconcile had no writes. The same holds if the answer asks to be called again after some time.
//
// A webhook is called in each reconcile. If it says that its answer is the one that is cached, by an ETag, and that is the answer of
// the last reconcile, this is the same answer too, and is not even decoded. Which answer was cached is compared by etags.ID, so that it does not
// count what the webhook makes its ETags of. See build.Hooks.Tagged.
//
// Such a reconcile records no event, logs nothing that the script prints, and calls nobody. Package reconcile asks a [Memory] of each
// parent, and tells it what a reconcile does.
//
// # Why no change is missed
//
// A change that has an event which adds a reason is found by comparing: the caches have it before the event. What is compared with is
// what the script has got, and not what the caches had at that time. An object that is new or gone is found because there are other
// objects. An object that may be adopted, or has to be released, has a reason of its own, for which the reconcile is done.
//
// A queue keeps the reasons of a key from one Take of the key to the next. So if the reason is only a resync, no event has added
// another reason since the last Take, which was before the last reconcile read the caches. Events come after the cache has the change:
// either the last reconcile has seen the change, or the event adds its reason after that Take. An event that comes while a reconcile
// runs adds its reason after the Take too, so that the next reconcile is done, whether or not the one that runs has seen the change.
// This is a comparison of numbers, for everything that a reconcile reads:
//
//   - The parent. If the controller ignores changes of its status, such an event adds no reason; the Snapshot has the parent.
//   - Children, before and after a change of their owner, and orphans that the selector of a parent matches: their events add a
//     reason for the parent. A parent whose selector changes has an event itself.
//   - Children that a cache lacks since they have lost the label of its objects: they are noted before the event adds its reason.
//   - Related objects, and namespaces by whose labels a rule selects: their events add a reason for each parent whose rules match
//     the object before or after the change. A cache that is being filled is an error, so that the reconcile is not clean. The parent
//     itself may be one of them, and has no such event: if a rule is for its kind, all related objects are compared each time.
//   - ControllerRevisions. Their events add no reason if they show a change as we make it. The Snapshot has those of the parent, and the
//     events of orphans add a reason.
//   - What we write ourselves. A reconcile that writes something other than the status is not clean. A status that it has written is in
//     the parent of the next Snapshot, or the parent is not the same: also not if somebody else has written the former status again.
//   - The definitions of the kinds of parents and children, and what the account of the controller may do: their changes begin another
//     [Epoch]. The definitions of related objects add a reason for each parent whose rules name their group. The checks of the
//     account are done also if the reconcile is not.
//   - A new version of the hooks drops the Memory.
//
// An event can add its reason as a resync: while the caches are being filled, before the first reconcile. It came after its cache had the
// change, so that the first reconcile has seen it.
//
// The Snapshot also has all objects that the parent owns, although their events add a reason. It costs little, and heals what a lost event, such
// as one whose handler failed, would leave; and an owner reference with the UID of the parent and another name has no event for it.
//
// Package reconcile does not even compare in most resyncs of a parent whose last reconcile need not have been done, and of which no event has
// come since: neither one that adds a reason nor one of the parent or of a ControllerRevision that adds none.
//
// # Controls
//
// One in 256 such reconciles, on average, is done nevertheless. If it wants a write, or the answer of the script differs from the remembered one, the
// rule did not hold: the script sees something that it should not see, or there is a mistake in this package. Then
// the [Switch] of the version is turned off. The result does not count if the reasons have changed meanwhile, or if it is an
// error. For a related object and an orphan there is nothing in the Snapshot: if the event of a change is not handled before the control ends, the
// control fails by mistake. This only costs time: the scripts are called in each resync until they are edited.
package remember

import (
	"hash/maphash"
	"math/rand/v2"
	"sync/atomic"
)

var seed = maphash.MakeSeed()

// mix is a hash of two hashes, in this order.
func mix(a, b uint64) uint64 { return maphash.Comparable(seed, [2]uint64{a, b}) }

// An Epoch is a number that changes when something changes that concerns all parents of a controller. The zero value can be used. It is
// safe for concurrent use.
type Epoch struct{ n atomic.Uint64 }

// Begin begins another epoch: what was remembered before does not count.
func (e *Epoch) Begin() { e.n.Add(1) }

// Now returns the number of this epoch.
func (e *Epoch) Now() uint64 { return e.n.Load() }

// A Switch turns off remembering for one version of the hooks, and says when there is a control, and when reads are recorded. The zero
// value is on. It is safe for concurrent use.
type Switch struct {
	off      atomic.Bool
	since    atomic.Int64 // how many reconciles need not have been done since the last control
	recorded atomic.Int64 // how many reconciles have recorded reads since these were of use
}

// On reports whether remembering is on.
func (s *Switch) On() bool { return !s.off.Load() }

// TurnOff turns it off.
func (s *Switch) TurnOff() { s.off.Store(true) }

// controls says that one in so many reconciles that need not be done is done, on average.
const controls = 256

// Control reports whether a reconcile that need not be done is done as a control: none of the first ones after a control, and then each
// with the same probability, so that it is not the same parent each time.
func (s *Switch) Control() bool {
	if s.since.Add(1) <= controls/2 || rand.N(controls/2) > 0 {
		return false
	}
	s.since.Store(0)
	return true
}

const (
	// recordings is after how many reconciles reads that were of no use are recorded less often.
	recordings = 1024
	// recordsOne says that one in so many reconciles records them then.
	recordsOne = 16
)

// Records reports whether the next reconcile records what the script reads of objects other than the parent. This costs some percent of the time of the script. It is of
// no use for a controller whose objects do not change in what the script does not read.
func (s *Switch) Records() bool {
	return s.recorded.Load() < recordings && s.recorded.Add(1) <= recordings || rand.N(recordsOne) == 0
}

// Used notes that a reconcile need not be done because of what was recorded.
func (s *Switch) Used() { s.recorded.Store(0) }
