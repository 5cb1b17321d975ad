package binding

import (
	"reflect"

	"metascript/controller/object"
)

// IsRelevant reports whether a parent is to be reconciled because of a change. With ignoreStatusChanges, only these changes are
// relevant: of the spec, which increases the generation; of labels, annotations and finalizers; and the start of a
// deletion.
func (r *ParentResource) IsRelevant(old, current *object.Object) bool {
	if old.GetResourceVersion() == current.GetResourceVersion() {
		return false
	}
	if !r.IgnoreStatusChanges || current.GetGeneration() == 0 {
		return true
	}
	return old.GetGeneration() != current.GetGeneration() ||
		old.GetUID() != current.GetUID() ||
		object.Deleting(old) != object.Deleting(current) ||
		!reflect.DeepEqual(old.GetLabels(), current.GetLabels()) ||
		!reflect.DeepEqual(old.GetAnnotations(), current.GetAnnotations()) ||
		!reflect.DeepEqual(old.GetFinalizers(), current.GetFinalizers())
}

// Annotations on a parent with which users control its reconciles.
const (
	// SyncRequestedAnnotation requests a reconcile each time its value changes. The reconcile does not wait for a back-off or
	// another delay.
	SyncRequestedAnnotation = "metacontroller.k8s.io/sync-requested-at"
	// PausedAnnotation, with the value "true", stops the reconciles of the parent: no hook is called, and nothing is written.
	PausedAnnotation = "metacontroller.k8s.io/paused"
)

// RequestsSync reports whether a change of a parent requests a reconcile.
func RequestsSync(old, current *object.Object) bool {
	value := current.Annotation(SyncRequestedAnnotation)
	return value != "" && value != old.Annotation(SyncRequestedAnnotation)
}

// IsPaused reports whether the annotation stops the reconciles of a parent.
func IsPaused(parent *object.Object) bool { return parent.Annotation(PausedAnnotation) == "true" }
