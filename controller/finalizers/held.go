package finalizers

import (
	"fmt"

	"metascript/controller/object"
	"metascript/controller/shell"
	"metascript/controller/spec"
)

// RemoveAnnotation is an annotation on a controller object. The value "true" means that the controller has no finalize hook
// on purpose, so that its finalizer is removed from its parents.
const RemoveAnnotation = "metacontroller.k8s.io/remove-finalizers"

// Removes reports whether a controller object has the annotation RemoveAnnotation with the value "true".
func Removes(controller *object.Object) bool {
	return controller.GetAnnotations()[RemoveAnnotation] == "true"
}

// ReleaseWarnings warns of the annotation RemoveAnnotation while it has no effect, since there is a finalize hook: if the hook is lost by
// mistake later, the finalizers would be removed.
func ReleaseWarnings(controller *object.Object, hasHook bool) []string {
	if !hasHook || !Removes(controller) {
		return nil
	}
	return []string{fmt.Sprintf("the annotation %s has no effect while there is a finalize hook: remove it, so that finalizers are held if the hook is lost", RemoveAnnotation)}
}

// Held says on which parents finalizers are held. The zero value is none.
type Held struct {
	Parents, Deleted int        // the number of these parents, and of those among them that are being deleted
	First            object.Ref // the first of those that are being deleted by name; if there is none, the first of all. The zero value is not named
	HowToFinalize    string     // how to give the controller a finalize hook again
}

// Message describes the parents, and what a user can do.
func (h Held) Message(of spec.ID) string {
	parents := fmt.Sprintf("on %d parents, such as %s", h.Parents, h.First)
	switch {
	case h.First == object.Ref{}:
		parents = fmt.Sprintf("on parents (%d)", h.Parents)
	case h.Parents == 1:
		parents = fmt.Sprintf("on %s", h.First)
	}
	waiting := ""
	if h.Deleted > 0 {
		waiting = fmt.Sprintf(", of which %d cannot be deleted before it is removed", h.Deleted)
	}
	return fmt.Sprintf("the controller has no finalize hook any more, and its finalizer %s stays %s%s: %s; or %s", of.Finalizer(), parents, waiting, h.HowToFinalize, HowToRemove(of))
}

// HowToRemove describes how to have the finalizers of a controller removed.
func HowToRemove(of spec.ID) string {
	return fmt.Sprintf("if that is intended, remove the finalizers with the annotation %[1]s: \"true\" on the controller (kubectl annotate %[2]s %[3]s %[1]s=true)", RemoveAnnotation, of.Resource(), shell.Quote(of.Name))
}
