package claim

import (
	"context"

	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// ByAnnotations claims by owner reference and annotations. It adopts nothing and releases nothing: an attachment that
// lost an annotation does not belong to the controller any more, and a new one has them from the beginning.
type ByAnnotations struct {
	Children    []Cache
	Annotations map[string]string
}

// DecoratorAnnotation is the annotation on an attachment that names its DecoratorController.
const DecoratorAnnotation = "metacontroller.k8s.io/decorator-controller"

// SetControllerReference implements Claimer. The desired child has the annotations already.
func (m *ByAnnotations) SetControllerReference(parent, child *object.Object) error {
	return RuleOf(m.Children, child).prepare(parent, child)
}

// Claim implements Claimer.
func (m *ByAnnotations) Claim(ctx context.Context, parent *object.Object, write plan.Writer) (*object.Set, error) {
	set, failed := &object.Set{}, []error(nil)
	for _, child := range m.Children {
		set.Declare(child.Kind)
		owned, unchanged := child.owned(ctx, parent, write, m.Annotations)
		failed = append(failed, unchanged...)
		for _, o := range object.Sorted(owned) {
			set.Put(o)
		}
	}
	return set, kube.Join(failed...)
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
