package reconcile

import (
	"context"
	"slices"
	"sync/atomic"

	"metascript/controller/binding"
	"metascript/controller/build"
	"metascript/controller/call"
	"metascript/controller/finalizers"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// A finalizerKeeper adds the finalizer of a controller to its parents while there is a finalize hook, and removes it.
type finalizerKeeper struct {
	binding  *binding.Binding
	events   *parentEvents
	released atomic.Bool // see Reconciler.ReleaseFinalizers
}

// update adds our finalizer to a parent if v has a finalize hook, and removes it if v has none, unless finalizers are held. It
// does neither while it is not known whether there is a finalize hook, because the script could not be loaded. It returns
// the parent as it is stored afterwards.
func (f *finalizerKeeper) update(ctx context.Context, v *call.Version, parent *object.Object, write plan.Writer) (*object.Object, error) {
	has := f.binding.HasFinalizer(parent)
	_, unknown := v.Finalize.(build.UnloadedHook)
	wants := v.Finalize != nil && (has || !unknown && !object.Deleting(parent) && f.binding.Selects(parent))
	switch {
	case has == wants:
		return parent, nil
	case wants:
		return f.set(ctx, parent, append(slices.Clone(parent.GetFinalizers()), f.binding.Finalizer), "there is a finalize hook", write)
	case f.areHeld(v):
		return parent, nil
	}
	return f.set(ctx, parent, f.binding.OtherFinalizers(parent), "there is no finalize hook", write)
}

// set writes the finalizers of a parent and returns the stored parent.
func (f *finalizerKeeper) set(ctx context.Context, parent *object.Object, finalizers []string, why string, write plan.Writer) (*object.Object, error) {
	changed := object.Copy(parent)
	changed.SetFinalizers(finalizers)
	stored, err := write.Do(ctx, plan.Op{Verb: plan.Update, Object: changed, Why: "finalizers: " + why})
	if kube.Outdated(err) {
		return nil, kube.Requeue(err)
	}
	return stored, err
}

// areHeld reports whether our finalizer stays on parents although v has no finalize hook. It stays if the hooks are scripts:
// most often a script was edited and its finalize function was lost by mistake. It also stays if the spec has neither
// script nor webhook, which is a mistake too. If all hooks are webhooks, the finalize hook was removed from spec.hooks, and
// finalizers are removed as Metacontroller does it.
func (f *finalizerKeeper) areHeld(v *call.Version) bool {
	_, withoutHooks := v.Sync.(build.InvalidHook)
	return v.Finalize == nil && (v.Scripted || withoutHooks) && !f.released.Load()
}

// held returns on which parents finalizers are held.
func (f *finalizerKeeper) held(v *call.Version) finalizers.Held {
	held := finalizers.Held{}
	if !f.areHeld(v) {
		return held
	}
	held.HowToFinalize = v.HowToFinalize(f.binding.ID)
	for parent := range f.binding.ReconciledParents() {
		if !f.binding.HasFinalizer(parent) || !f.binding.Shows(parent) {
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

// reportHeld reports a parent that would be finalized, but there is no finalize hook, and its finalizer is held.
func (f *finalizerKeeper) reportHeld(v *call.Version, parent *object.Object) {
	f.events.Warning(parent, "FinalizeWaiting", "%s has no finalize hook any more, and its finalizer %s stays on this object: %s; or %s",
		f.binding.ID, f.binding.Finalizer, v.HowToFinalize(f.binding.ID), finalizers.HowToRemove(f.binding.ID))
}

// reportPaused reports a parent that is being deleted and cannot be finalized because it is paused.
func (f *finalizerKeeper) reportPaused(parent *object.Object) {
	if object.Deleting(parent) && f.binding.HasFinalizer(parent) {
		f.events.Warning(parent, "FinalizeWaiting", "it is paused by the annotation %s, so that its finalize hook is not called: remove the annotation, or finalizer %s", binding.PausedAnnotation, f.binding.Finalizer)
	}
}
