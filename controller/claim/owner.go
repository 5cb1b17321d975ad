package claim

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// An Owner knows which children are a parent's.
type Claimer interface {
	// Claim gives the parent's children as caches have them, a group for every declared kind. It adopts and releases
	// through write.
	Claim(ctx context.Context, parent *object.Object, write plan.Writer) (*object.Set, error)
	// Mark makes a child that is about to be created the parent's.
	Mark(parent, child *object.Object) error
}

// A childCache is a declared child kind and the cache of its objects.
type Cache struct {
	Kind     object.Kind
	Informer *informer.Informer
}

// A claim owns by controller reference and label selector: what has no controller and matches is adopted, what is
// owned and stopped matching is released.
type BySelector struct {
	Children []Cache
	Selector func(parent *object.Object) (labels.Selector, error)
	Live     func(ctx context.Context, parent *object.Object) (*object.Object, error) // reads the parent past the caches
}

// Mark adds the controller reference.
func (c *BySelector) Mark(parent, child *object.Object) error { return control(parent, child) }

// control adds the controller reference to parent.
func control(parent, child *object.Object) error {
	if ref := object.ControllerOf(child); ref != nil && ref.UID != parent.GetUID() {
		return fmt.Errorf("%s: it names another controller, %s %s, in its ownerReferences", object.Describe(child), ref.Kind, ref.Name)
	} else if ref != nil {
		return nil
	}
	child.SetOwnerReferences(ControlledBy(parent, child.GetOwnerReferences()))
	return nil
}

// controlledBy gives refs with the controller reference to parent, in place of a plain one that may be there.
func ControlledBy(parent *object.Object, refs []metav1.OwnerReference) []metav1.OwnerReference {
	others := slices.DeleteFunc(refs, func(ref metav1.OwnerReference) bool { return ref.UID == parent.GetUID() })
	return append(others, object.ControllerRef(parent))
}

// Claim implements Owner. A parent that is being deleted adopts and releases nothing.
func (c *BySelector) Claim(ctx context.Context, parent *object.Object, write plan.Writer) (*object.Set, error) {
	selector, err := c.Selector(parent)
	if err != nil && !object.Deleting(parent) {
		return nil, err // one that goes needs none: it adopts and releases nothing
	}
	set, failed := &object.Set{}, []error(nil)
	adopt := c.Adopter(parent, write)
	for _, child := range c.Children {
		set.Declare(child.Kind)
		var mine []*object.Object
		for _, o := range child.Informer.OwnedBy(parent.GetUID()) {
			if o.GetUID() == parent.GetUID() {
				continue // nobody is a child of its own
			}
			if object.Deleting(parent) || selector.Matches(labels.Set(o.GetLabels())) {
				mine = append(mine, o)
			} else if err := release(ctx, parent, o, write); err != nil {
				failed = append(failed, err)
			}
		}
		for _, o := range c.Orphans(parent, child.Informer, selector) {
			adopted, err := adopt(ctx, o)
			if err != nil {
				failed = append(failed, err)
			} else if adopted != nil {
				mine = append(mine, adopted)
			}
		}
		for _, o := range object.Sorted(mine) {
			set.Put(o)
		}
	}
	return set, kube.Join(failed...)
}

// orphans are the objects that the parent may adopt.
func (c *BySelector) Orphans(parent *object.Object, cache *informer.Informer, selector labels.Selector) []*object.Object {
	if object.Deleting(parent) {
		return nil
	}
	var found []*object.Object
	for _, o := range cache.Orphans(parent.GetNamespace(), selector) {
		if !object.Deleting(o) && o.GetUID() != parent.GetUID() {
			found = append(found, o)
		}
	}
	return object.Sorted(found)
}

// adopter gives a function that adopts an object for parent. Before the first it reads the parent past the caches: one
// that is gone, or going, must not adopt.
func (c *BySelector) Adopter(parent *object.Object, write plan.Writer) func(context.Context, *object.Object) (*object.Object, error) {
	checked, may := false, error(nil)
	return func(ctx context.Context, o *object.Object) (*object.Object, error) {
		if !checked {
			checked, may = true, c.mayAdopt(ctx, parent)
			if may != nil {
				return nil, may // said once, whatever the number of orphans
			}
		}
		if may != nil {
			return nil, nil
		}
		mine := object.Copy(o)
		mine.SetOwnerReferences(ControlledBy(parent, mine.GetOwnerReferences()))
		stored, err := write.Do(ctx, plan.Op{Verb: plan.Update, Object: mine, Why: "adopted by " + object.Describe(parent)})
		if kube.Outdated(err) {
			return nil, kube.Requeue(err)
		}
		return stored, err
	}
}

func (c *BySelector) mayAdopt(ctx context.Context, parent *object.Object) error {
	fresh, err := c.Live(ctx, parent)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s is gone by now: %w", object.Describe(parent), kube.ErrRequeue)
	case err != nil:
		return fmt.Errorf("read %s before it adopts: %w", object.Describe(parent), err)
	case fresh.GetUID() != parent.GetUID():
		return fmt.Errorf("%s: its uid is now %s: %w", object.Describe(parent), fresh.GetUID(), kube.ErrRequeue)
	case object.Deleting(fresh):
		return fmt.Errorf("%s: it is being deleted by now: %w", object.Describe(parent), kube.ErrRequeue)
	}
	return nil
}

// release takes the parent's reference off o.
func release(ctx context.Context, parent, o *object.Object, write plan.Writer) error {
	if object.Deleting(o) {
		return nil
	}
	free := object.Copy(o)
	refs := free.GetOwnerReferences()[:0]
	for _, ref := range o.GetOwnerReferences() {
		if ref.UID != parent.GetUID() {
			refs = append(refs, ref)
		}
	}
	free.SetOwnerReferences(refs)
	_, err := write.Do(ctx, plan.Op{Verb: plan.Update, Object: free, Why: "released by " + object.Describe(parent) + ", whose selector it does not match"})
	if kube.Outdated(err) {
		return nil
	}
	return err
}

// A mark owns by controller reference and annotations. It adopts nothing and releases nothing: an attachment that lost
// its mark is somebody else's, and one that is to be attached bears it from the beginning.
type ByAnnotations struct {
	Children    []Cache
	Annotations map[string]string
}

// decoratorMark is the annotation on an attachment that names its DecoratorController.
const DecoratorAnnotation = "metacontroller.k8s.io/decorator-controller"

// Mark adds the controller reference. The annotations are part of what is wanted already.
func (m *ByAnnotations) Mark(parent, child *object.Object) error { return control(parent, child) }

// Claim implements Owner.
func (m *ByAnnotations) Claim(_ context.Context, parent *object.Object, _ plan.Writer) (*object.Set, error) {
	set := &object.Set{}
	for _, child := range m.Children {
		set.Declare(child.Kind)
		mine := slices.DeleteFunc(child.Informer.OwnedBy(parent.GetUID()), func(o *object.Object) bool {
			return o.GetUID() == parent.GetUID() || !HasAnnotations(o, m.Annotations)
		})
		for _, o := range object.Sorted(mine) {
			set.Put(o)
		}
	}
	return set, nil
}

// carries reports whether o has all these annotations.
func HasAnnotations(o *object.Object, marks map[string]string) bool {
	have := o.GetAnnotations()
	for key, value := range marks {
		if have[key] != value {
			return false
		}
	}
	return true
}

// generatedLabel is the label by which a generated selector recognises a parent's children.
const GeneratedLabel = "controller-uid"

// generatedSelector matches the children that carry the parent's UID.
func GeneratedSelector(parent *object.Object) (labels.Selector, error) {
	return labels.SelectorFromSet(GeneratedLabels(parent)), nil
}

// generatedLabels are those that generatedSelector matches.
func GeneratedLabels(parent *object.Object) map[string]string {
	return map[string]string{GeneratedLabel: string(parent.GetUID())}
}

// specSelector is the selector in the parent's spec. An empty one would match everything and is refused.
func SpecSelector(parent *object.Object) (labels.Selector, error) {
	m, found, err := unstructured.NestedMap(parent.Object, "spec", "selector")
	if err != nil || !found || len(m) == 0 {
		return nil, fmt.Errorf("%s: spec.selector is missing or empty: give it one that matches its children's labels, or set generateSelector on the controller", object.Describe(parent))
	}
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &selector); err != nil {
		return nil, fmt.Errorf("%s: spec.selector: %w", object.Describe(parent), err)
	}
	compiled, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return nil, fmt.Errorf("%s: spec.selector: %w", object.Describe(parent), err)
	}
	if compiled.Empty() {
		return nil, fmt.Errorf("%s: spec.selector matches everything: give it matchLabels or matchExpressions", object.Describe(parent))
	}
	return compiled, nil
}
