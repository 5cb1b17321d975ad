package reconcile

import (
	"fmt"

	"metascript/controller/build"
	"metascript/controller/object"
	"metascript/controller/queue"
	"metascript/controller/spec"
)

// removeFinalizers is an annotation on a controller object. With the value "true" it says that the controller has no
// finalize hook on purpose, so that its finalizers are taken off its parents.
const RemoveFinalizers = "metacontroller.k8s.io/remove-finalizers"

func RemovesFinalizers(controller *object.Object) bool {
	return controller.GetAnnotations()[RemoveFinalizers] == "true"
}

// holdsFinalizers reports whether finalizers stay on parents although a version has no finalize hook. Where a script
// answers that is most often a mistake: the script was put in the place of hooks of which one was finalize, or lost a
// function. Where webhooks alone answer, the hook was taken out of spec.hooks, and finalizers come off as with
// Metacontroller. A spec that leaves nobody to answer is a mistake too.
func (l *Reconciler) holdsFinalizers(v *Version) bool {
	_, unanswered := v.Sync.(build.UnansweredHook)
	return v.Finalize == nil && (v.Scripted || unanswered) && !l.finalizersReleased.Load()
}

// release says whether finalizers are taken off for which there is no finalize hook. All parents are looked at again
// when that changes.
func (l *Reconciler) ReleaseFinalizers(on bool) {
	if l.finalizersReleased.Swap(on) != on && l.current.Load().Finalize == nil {
		l.queueSpread(queue.ScriptChanged)
	}
}

// A heldFinalizers says on which parents finalizers are held. The zero value is: on none.
type HeldFinalizers struct {
	Parents, Deleted int        // how many, and how many of them are being deleted
	First            object.Ref // in the order of their names, one that is being deleted if there is one
	HowToFinalize    string     // how to give the controller a finalize hook again
}

// heldFinalizers are those that the version that runs does not take off.
func (l *Reconciler) HeldFinalizers() HeldFinalizers {
	v, held := l.current.Load(), HeldFinalizers{}
	if !l.holdsFinalizers(v) {
		return held
	}
	held.HowToFinalize = v.HowToFinalize(l.ID)
	for parent := range l.own() {
		if !l.hasFinalizer(parent) {
			continue
		}
		ref, deleting := object.RefOf(parent), object.Deleting(parent)
		if held.Parents++; deleting {
			held.Deleted++
		}
		if held.Parents == 1 || deleting && held.Deleted == 1 || (deleting || held.Deleted == 0) && ref.String() < held.First.String() {
			held.First = ref
		}
	}
	return held
}

// finalizersAway says how to have the finalizers taken off.
func removeInstead(of spec.ID) string {
	return fmt.Sprintf("if that is meant, have the finalizers taken off, by the annotation %[1]s: \"true\" on the controller (kubectl annotate %[2]s %[3]s %[1]s=true)", RemoveFinalizers, of.Resource(), of.Name)
}

// tellHeld reports a parent that cannot go, or is not selected any more, while its finalizer is held.
func (t *turn) reportHeldFinalizer(parent *object.Object) {
	t.events.Warning(parent, "FinalizeWaiting", "%s has no finalize hook any more, and its finalizer %s stays on this object: %s; or %s",
		t.ID, t.Finalizer, t.HowToFinalize(t.ID), removeInstead(t.ID))
}

// message says what is held, and the ways out.
func (h HeldFinalizers) Message(of spec.ID) string {
	parents := fmt.Sprintf("on %d parents, such as %s", h.Parents, h.First)
	if h.Parents == 1 {
		parents = fmt.Sprintf("on %s", h.First)
	}
	waiting := ""
	if h.Deleted > 0 {
		waiting = fmt.Sprintf(", of which %d cannot go before it is off", h.Deleted)
	}
	return fmt.Sprintf("the controller has no finalize hook any more, and its finalizer %s stays %s%s: %s; or %s", of.Finalizer(), parents, waiting, h.HowToFinalize, removeInstead(of))
}
