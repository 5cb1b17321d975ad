package reconcile

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"metascript/controller/binding"
	"metascript/controller/build"
	"metascript/controller/call"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/spec"
)

// A finalizerKeeper puts the finalizer of a controller on its parents while there is a finalize hook, and takes it off.
type finalizerKeeper struct {
	b        *binding.Binding
	events   *parentEvents
	released atomic.Bool // see Reconciler.ReleaseFinalizers
}

// keep adds our finalizer while there is a finalize hook to call, and takes it off when there is none any
// more, unless it is held. While the script is not loaded that would say whether there is one, it stays as it is. The reconcile goes on with the object that came back, since neither may cause an event.
func (f *finalizerKeeper) keep(ctx context.Context, v *call.Version, parent *object.Object, write plan.Writer) (*object.Object, error) {
	has := f.b.HasFinalizer(parent)
	_, unknown := v.Finalize.(build.UnloadedHook)
	wants := v.Finalize != nil && (has || !unknown && !object.Deleting(parent) && f.b.Selects(parent))
	switch {
	case has == wants:
		return parent, nil
	case wants:
		return f.set(ctx, parent, append(slices.Clone(parent.GetFinalizers()), f.b.Finalizer), "there is a finalize hook", write)
	case f.holds(v):
		return parent, nil
	}
	return f.set(ctx, parent, f.b.OtherFinalizers(parent), "there is no finalize hook", write)
}

func (f *finalizerKeeper) set(ctx context.Context, parent *object.Object, finalizers []string, why string, write plan.Writer) (*object.Object, error) {
	changed := object.Copy(parent)
	changed.SetFinalizers(finalizers)
	stored, err := write.Do(ctx, plan.Op{Verb: plan.Update, Object: changed, Why: "finalizers: " + why})
	if kube.Outdated(err) {
		return nil, kube.Requeue(err)
	}
	return stored, err
}

// holds reports whether finalizers stay on parents although a version has no finalize hook. Where a script
// answers that is most often a mistake: the script was put in the place of hooks of which one was finalize, or lost a
// function. Where webhooks alone answer, the hook was taken out of spec.hooks, and finalizers come off as with
// Metacontroller. A spec that leaves nobody to answer is a mistake too.
func (f *finalizerKeeper) holds(v *call.Version) bool {
	_, unanswered := v.Sync.(build.InvalidHook)
	return v.Finalize == nil && (v.Scripted || unanswered) && !f.released.Load()
}

// held are those that the version that runs does not take off.
func (f *finalizerKeeper) held(v *call.Version) HeldFinalizers {
	held := HeldFinalizers{}
	if !f.holds(v) {
		return held
	}
	held.HowToFinalize = v.HowToFinalize(f.b.ID)
	for parent := range f.b.Own() {
		if !f.b.HasFinalizer(parent) {
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

// reportHeld reports a parent that cannot go, or is not selected any more, while its finalizer is held.
func (f *finalizerKeeper) reportHeld(v *call.Version, parent *object.Object) {
	f.events.Warning(parent, "FinalizeWaiting", "%s has no finalize hook any more, and its finalizer %s stays on this object: %s; or %s",
		f.b.ID, f.b.Finalizer, v.HowToFinalize(f.b.ID), removeInstead(f.b.ID))
}

// removeFinalizers is an annotation on a controller object. With the value "true" it says that the controller has no
// finalize hook on purpose, so that its finalizers are taken off its parents.
const RemoveFinalizers = "metacontroller.k8s.io/remove-finalizers"

func RemovesFinalizers(controller *object.Object) bool {
	return controller.GetAnnotations()[RemoveFinalizers] == "true"
}

// A HeldFinalizers says on which parents finalizers are held. The zero value is: on none.
type HeldFinalizers struct {
	Parents, Deleted int        // how many, and how many of them are being deleted
	First            object.Ref // in the order of their names, one that is being deleted if there is one
	HowToFinalize    string     // how to give the controller a finalize hook again
}

// removeInstead says how to have the finalizers taken off.
func removeInstead(of spec.ID) string {
	return fmt.Sprintf("if that is meant, have the finalizers taken off, by the annotation %[1]s: \"true\" on the controller (kubectl annotate %[2]s %[3]s %[1]s=true)", RemoveFinalizers, of.Resource(), of.Name)
}

// Message says what is held, and the ways out.
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

// reportPaused reports a parent that is being deleted and cannot be finalized, since it is paused.
func (f *finalizerKeeper) reportPaused(parent *object.Object) {
	if object.Deleting(parent) && f.b.HasFinalizer(parent) {
		f.events.Warning(parent, "FinalizeWaiting", "it is paused by the annotation %s, so that its finalize hook is not asked: take the annotation off, or finalizer %s", pausedAnnotation, f.b.Finalizer)
	}
}
