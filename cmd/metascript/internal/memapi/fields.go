package memapi

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"metascript/controller/object"
)

// empty returns an object of the kind without content.
func (k *kind) empty() *object.Object {
	o := object.New(map[string]any{})
	o.SetGroupVersionKind(k.gvk())
	return o
}

// recordUpdate returns o with the managed fields after a manager has changed before to o.
func (k *kind) recordUpdate(before, o *object.Object, manager, subresource string) (*object.Object, error) {
	fields, err := k.fieldManager(subresource)
	if err != nil {
		return nil, err
	}
	changed, err := fields.Update(before.Unstructured(), o.Unstructured(), manager)
	if err != nil {
		o.SetManagedFields(before.GetManagedFields())
		return o, nil // as the API server does: the fields of an object that has no schema are not known
	}
	return object.Of(changed.(*unstructured.Unstructured)), nil
}

// recordApply returns the result of applying config to before, with the managed fields.
func (k *kind) recordApply(before, config *object.Object, manager string, force bool, subresource string) (*object.Object, error) {
	fields, err := k.fieldManager(subresource)
	if err != nil {
		return nil, err
	}
	applied, err := fields.Apply(before.Unstructured(), config.Unstructured(), manager, force)
	if err != nil {
		return nil, err
	}
	return object.Of(applied.(*unstructured.Unstructured)), nil
}

// fieldManager returns what computes the managed fields of objects of the kind.
func (k *kind) fieldManager(subresource string) (*managedfields.FieldManager, error) {
	reset := map[fieldpath.APIVersion]fieldpath.Filter{}
	version := fieldpath.APIVersion(k.GroupVersion().String())
	switch {
	case subresource == "status":
		reset[version] = fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec")))
	case k.HasStatus:
		reset[version] = fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie("status")))
	}
	return managedfields.NewDefaultCRDFieldManager(k.types(), versions{}, k, k, k.gvk(), k.GroupVersion(), subresource, reset)
}

// Default implements runtime.ObjectDefaulter.
func (k *kind) Default(in runtime.Object) {
	if u, ok := in.(*unstructured.Unstructured); ok {
		o := object.Of(u)
		_, _ = k.strategy.normalize(o) // an object that cannot be decoded is refused later
		u.Object = o.Map()
	}
}

// New implements runtime.ObjectCreater.
func (k *kind) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u, nil
}

// versions implements runtime.ObjectConvertor. The versions of a kind differ only in their names.
type versions struct{}

// Convert implements runtime.ObjectConvertor.
func (versions) Convert(_, _, _ any) error {
	return fmt.Errorf("objects of versions are not converted in place")
}

// ConvertToVersion implements runtime.ObjectConvertor.
func (versions) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	o, ok := in.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("convert %T: it is not unstructured", in)
	}
	gvk, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{o.GroupVersionKind()})
	if !ok {
		return nil, fmt.Errorf("%s is not in %s", o.GroupVersionKind(), target.Identifier())
	}
	if gvk == o.GroupVersionKind() {
		return o, nil
	}
	converted := o.DeepCopy()
	converted.SetGroupVersionKind(gvk)
	return converted, nil
}

// ConvertFieldLabel implements runtime.ObjectConvertor.
func (versions) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}
