package claim

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// RuleOf returns the Cache of the kind of a child; the zero value for a kind that is not declared.
func RuleOf(children []Cache, child *object.Object) Cache {
	kind := child.GroupVersionKind()
	if i := slices.IndexFunc(children, func(c Cache) bool { return c.Kind == kind }); i >= 0 {
		return children[i]
	}
	return Cache{}
}

// own makes parent the owner of a child, and its controller unless the rule says that it is not. It returns an error if the child has another
// controller that parent would have to replace.
func (c Cache) own(parent, child *object.Object) error {
	if !c.Plain {
		return control(parent, child)
	}
	child.SetOwnerReferences(ownedBy(child.GetOwnerReferences(), reference(parent)))
	annotate(child, object.OwnerAnnotation, string(parent.GetUID()))
	return nil
}

// control adds the controller reference to parent. It returns an error if child has another controller.
func control(parent, child *object.Object) error {
	if ref := object.ControllerOf(child); ref != nil && ref.UID != parent.GetUID() {
		return fmt.Errorf("%s: it names another controller, %s %s, in its ownerReferences", object.Describe(child), ref.Kind, ref.Name)
	} else if ref != nil {
		return nil
	}
	child.SetOwnerReferences(ControlledBy(parent, child.GetOwnerReferences()))
	return nil
}

// ControlledBy returns refs with a controller reference to parent. It replaces a reference to parent that does not make it
// the controller.
func ControlledBy(parent *object.Object, refs []metav1.OwnerReference) []metav1.OwnerReference {
	return ownedBy(refs, object.ControllerRef(parent))
}

// ownedBy returns refs with a reference. It replaces one to the same owner.
func ownedBy(refs []metav1.OwnerReference, owner metav1.OwnerReference) []metav1.OwnerReference {
	return append(without(refs, owner), owner)
}

// reference returns the owner reference to parent that does not make it the controller.
func reference(parent *object.Object) metav1.OwnerReference {
	ref := object.ControllerRef(parent)
	ref.Controller = nil
	return ref
}

// owned returns the objects in a cache whose owner is parent, and that have the annotations. The owner references of those that an earlier version of the rule has written
// are changed to what the rule says, except while they, or parent, are being deleted.
func (c Cache) owned(ctx context.Context, parent *object.Object, write plan.Writer, annotations map[string]string) (mine []*object.Object, failed []error) {
	for _, o := range Owned(c.Informer, parent) {
		if !HasAnnotations(o, annotations) {
			continue
		}
		others := annotations == nil && isAttachment(o) // of a DecoratorController, whose rule counts
		if !others && !object.Deleting(parent) && !object.Deleting(o) && !c.conforms(parent, o) {
			changed, err := c.reown(ctx, parent, o, write)
			if err != nil {
				failed = append(failed, err)
				continue
			}
			o = changed
		}
		mine = append(mine, o)
	}
	return mine, failed
}

// conforms reports whether the owner reference of a child is as the rule says. A child whose controller is another object cannot be controlled.
func (c Cache) conforms(parent, child *object.Object) bool {
	marked, controller := child.Annotation(object.OwnerAnnotation) == string(parent.GetUID()), object.ControllerOf(child)
	if c.Plain {
		return marked && (controller == nil || controller.UID != parent.GetUID())
	}
	return !marked || controller != nil && controller.UID != parent.GetUID()
}

// reown writes the owner reference of a child as the rule says.
func (c Cache) reown(ctx context.Context, parent, child *object.Object, write plan.Writer) (*object.Object, error) {
	changed := object.Copy(child)
	dropMark(changed, parent.GetUID())
	if err := c.own(parent, changed); err != nil {
		return nil, err
	}
	stored, err := write.Do(ctx, plan.Op{Verb: plan.Update, Object: changed, Why: "the rule has another ownerReference"})
	if kube.Outdated(err) {
		return nil, kube.Requeue(err)
	}
	return stored, err
}

// dropMark removes from a child that is made of a map what says that an owner is not its controller.
func dropMark(child *object.Object, owner types.UID) {
	if child.Annotation(object.OwnerAnnotation) == string(owner) {
		dropAnnotation(child, object.OwnerAnnotation)
	}
}

func dropAnnotation(o *object.Object, key string) {
	if annotations := o.GetAnnotations(); annotations[key] != "" {
		delete(annotations, key)
		o.SetAnnotations(annotations)
	}
}
