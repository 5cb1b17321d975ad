package controller

import (
	"fmt"

	"metascript/controller/object"
)

// removeFinalizers is an annotation on a controller object. With the value "true" it says that the controller has no
// finalize hook on purpose, so that its finalizers are taken off its parents.
const removeFinalizers = "metacontroller.k8s.io/remove-finalizers"

func removesFinalizers(controller *object.Object) bool {
	return controller.GetAnnotations()[removeFinalizers] == "true"
}

// holdsFinalizers reports whether finalizers stay on parents although a version has no finalize hook. Where a script
// answers that is most often a mistake: the script was put in the place of hooks of which one was finalize, or lost a
// function. Where webhooks alone answer, the hook was taken out of spec.hooks, and finalizers come off as with
// Metacontroller. A spec that leaves nobody to answer is a mistake too.
func (l *loop) holdsFinalizers(v *version) bool {
	_, unanswered := v.Sync.(unansweredHook)
	return v.Finalize == nil && (v.Scripted || unanswered) && !l.released.Load()
}

// release says whether finalizers are taken off for which there is no finalize hook. All parents are looked at again
// when that changes.
func (l *loop) release(on bool) {
	if l.released.Swap(on) != on && l.current.Load().Finalize == nil {
		l.spread(ScriptChanged)
	}
}

// A heldFinalizers says on which parents finalizers are held. The zero value is: on none.
type heldFinalizers struct {
	parents, deleted int        // how many, and how many of them are being deleted
	first            object.Ref // in the order of their names, one that is being deleted if there is one
	wayBack          string     // how to give the controller a finalize hook again
}

// heldFinalizers are those that the version that runs does not take off.
func (l *loop) heldFinalizers() heldFinalizers {
	v, held := l.current.Load(), heldFinalizers{}
	if !l.holdsFinalizers(v) {
		return held
	}
	held.wayBack = v.finalizeAgain(l.id)
	for parent := range l.own() {
		if !l.hasFinalizer(parent) {
			continue
		}
		ref, deleting := object.RefOf(parent), object.Deleting(parent)
		if held.parents++; deleting {
			held.deleted++
		}
		if held.parents == 1 || deleting && held.deleted == 1 || (deleting || held.deleted == 0) && ref.String() < held.first.String() {
			held.first = ref
		}
	}
	return held
}

// finalizersAway says how to have the finalizers taken off.
func finalizersAway(of id) string {
	return fmt.Sprintf("if that is meant, have the finalizers taken off, by the annotation %[1]s: \"true\" on the controller (kubectl annotate %[2]s %[3]s %[1]s=true)", removeFinalizers, of.resource(), of.Name)
}

// tellHeld reports a parent that cannot go, or is not selected any more, while its finalizer is held.
func (t *turn) tellHeld(parent *object.Object) {
	t.events.Warning(parent, "FinalizeWaiting", "%s has no finalize hook any more, and its finalizer %s stays on this object: %s; or %s",
		t.id, t.Finalizer, t.finalizeAgain(t.id), finalizersAway(t.id))
}

// message says what is held, and the ways out.
func (h heldFinalizers) message(of id) string {
	parents := fmt.Sprintf("on %d parents, such as %s", h.parents, h.first)
	if h.parents == 1 {
		parents = fmt.Sprintf("on %s", h.first)
	}
	waiting := ""
	if h.deleted > 0 {
		waiting = fmt.Sprintf(", of which %d cannot go before it is off", h.deleted)
	}
	return fmt.Sprintf("the controller has no finalize hook any more, and its finalizer %s stays %s%s: %s; or %s", of.finalizer(), parents, waiting, h.wayBack, finalizersAway(of))
}
