package claim

import (
	"context"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// TakenAnnotation is an annotation with the UID of the parent that has taken over an object from another owner. Such an object is not taken
// over again, whoever owns it.
const TakenAnnotation = "metacontroller.k8s.io/taken-over-by"

// Takes reports whether a parent may take over an existing object that has the name of a child that the hook returns.
func (c Cache) Takes(existing *object.Object) bool {
	switch c.Adoption {
	case v1alpha1.AdoptIfUnowned:
		return object.OwnerOf(existing) == nil
	case v1alpha1.AdoptForce:
		return object.OwnerOf(existing) == nil || existing.Annotation(TakenAnnotation) == ""
	}
	return false
}

// Take makes an existing object a child of parent: it gets the owner reference, and the labels of desired, by which it is found. A reference to
// an owner that parent replaces is removed. Before, it reads the parent from the API server, as before an adoption.
func (c Cache) Take(ctx context.Context, parent, existing, desired *object.Object, live func(context.Context, *object.Object) (*object.Object, error), write plan.Writer) error {
	if err := mayAdopt(ctx, live, parent); err != nil {
		return err
	}
	mine, why := object.Copy(existing), "taken over"
	mine.SetManagedFields(nil) // they stay as they are
	if ref := object.OwnerOf(existing); ref != nil {
		why += " from " + ref.Kind + " " + ref.Name
		if marked := existing.Annotation(object.OwnerAnnotation) == string(ref.UID); marked || !c.Plain {
			mine.SetOwnerReferences(without(mine.GetOwnerReferences(), *ref))
			dropMark(mine, ref.UID)
		}
		annotate(mine, TakenAnnotation, string(parent.GetUID()))
	}
	dropAnnotation(mine, DecoratorAnnotation) // of another one
	annotate(mine, DecoratorAnnotation, desired.Annotation(DecoratorAnnotation))
	labels := mine.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, desired.GetLabels())
	mine.SetLabels(labels)
	if err := c.own(parent, mine); err != nil {
		return err
	}
	_, err := write.Do(ctx, plan.Op{Verb: plan.Update, Object: mine, Why: fmt.Sprintf("%s by %s, since adoptionPolicy is %s", why, object.Describe(parent), c.Adoption)})
	if kube.Outdated(err) {
		return kube.Requeue(err)
	}
	return err
}

// prepare is own for a child that is written as the hook returned it. Server-side apply removes what is not applied any more, so that the
// child gets the TakenAnnotation that it has in the cache. A child that is created gets it too: it may be created again in place of one that
// was taken over, and another parent would take the new one.
func (c Cache) prepare(parent, child *object.Object) error {
	if c.Adoption == v1alpha1.AdoptForce && c.Informer != nil {
		taken := string(parent.GetUID())
		if existing := c.Informer.Get(object.KeyOf(child)); existing != nil {
			taken = existing.Annotation(TakenAnnotation)
		}
		annotate(child, TakenAnnotation, taken)
	}
	return c.own(parent, child)
}

// annotate sets an annotation of an object that is made of a map, unless the value is "". Other annotations stay as they are, also nulls,
// with which a hook removes one.
func annotate(o *object.Object, key, value string) {
	if value == "" {
		return
	}
	metadata, _ := o.Map()["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		o.Map()["metadata"] = metadata
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	changed := map[string]any{key: value}
	for name, other := range annotations {
		if name != key {
			changed[name] = other
		}
	}
	metadata["annotations"] = changed
}

// without returns refs without one of them.
func without(refs []metav1.OwnerReference, one metav1.OwnerReference) (others []metav1.OwnerReference) {
	for _, ref := range refs {
		if ref.UID != one.UID {
			others = append(others, ref)
		}
	}
	return others
}
