package claim

import (
	"context"
	"slices"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// ByAnnotations claims by controller reference and annotations. It adopts nothing and releases nothing: an attachment that
// lost an annotation does not belong to the controller any more, and a new one has them from the beginning.
type ByAnnotations struct {
	Children    []Cache
	Annotations map[string]string
}

// DecoratorAnnotation is the annotation on an attachment that names its DecoratorController.
const DecoratorAnnotation = "metacontroller.k8s.io/decorator-controller"

// SetControllerReference implements Claimer. The desired child has the annotations already.
func (m *ByAnnotations) SetControllerReference(parent, child *object.Object) error {
	return control(parent, child)
}

// Claim implements Claimer.
func (m *ByAnnotations) Claim(_ context.Context, parent *object.Object, _ plan.Writer) (*object.Set, error) {
	set := &object.Set{}
	for _, child := range m.Children {
		set.Declare(child.Kind)
		mine := slices.DeleteFunc(Owned(child.Informer, parent), func(o *object.Object) bool { return !HasAnnotations(o, m.Annotations) })
		for _, o := range object.Sorted(mine) {
			set.Put(o)
		}
	}
	return set, nil
}

// isAttachment reports whether a DecoratorController has created o.
func isAttachment(o *object.Object) bool { return o.Annotation(DecoratorAnnotation) != "" }

// HasAnnotations reports whether o has all these annotations.
func HasAnnotations(o *object.Object, all map[string]string) bool {
	have := o.GetAnnotations()
	for key, value := range all {
		if have[key] != value {
			return false
		}
	}
	return true
}
