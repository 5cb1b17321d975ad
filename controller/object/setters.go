package object

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// The setters below are those of unstructured.Unstructured. They panic if the object is packed.

// SetAPIVersion changes an object that is made of a map.
func (o *Object) SetAPIVersion(v string) {
	o.change(func(u *unstructured.Unstructured) { u.SetAPIVersion(v) })
}

// SetKind changes an object that is made of a map.
func (o *Object) SetKind(v string) {
	o.change(func(u *unstructured.Unstructured) { u.SetKind(v) })
}

// SetNamespace changes an object that is made of a map.
func (o *Object) SetNamespace(v string) {
	o.change(func(u *unstructured.Unstructured) { u.SetNamespace(v) })
}

// SetName changes an object that is made of a map.
func (o *Object) SetName(v string) {
	o.change(func(u *unstructured.Unstructured) { u.SetName(v) })
}

// SetGenerateName changes an object that is made of a map.
func (o *Object) SetGenerateName(v string) {
	o.change(func(u *unstructured.Unstructured) { u.SetGenerateName(v) })
}

// SetUID changes an object that is made of a map.
func (o *Object) SetUID(v types.UID) {
	o.change(func(u *unstructured.Unstructured) { u.SetUID(v) })
}

// SetResourceVersion changes an object that is made of a map.
func (o *Object) SetResourceVersion(v string) {
	o.change(func(u *unstructured.Unstructured) { u.SetResourceVersion(v) })
}

// SetGeneration changes an object that is made of a map.
func (o *Object) SetGeneration(v int64) {
	o.change(func(u *unstructured.Unstructured) { u.SetGeneration(v) })
}

// SetSelfLink changes an object that is made of a map.
func (o *Object) SetSelfLink(v string) {
	o.change(func(u *unstructured.Unstructured) { u.SetSelfLink(v) })
}

// SetCreationTimestamp changes an object that is made of a map.
func (o *Object) SetCreationTimestamp(v metav1.Time) {
	o.change(func(u *unstructured.Unstructured) { u.SetCreationTimestamp(v) })
}

// SetDeletionTimestamp changes an object that is made of a map.
func (o *Object) SetDeletionTimestamp(v *metav1.Time) {
	o.change(func(u *unstructured.Unstructured) { u.SetDeletionTimestamp(v) })
}

// SetDeletionGracePeriodSeconds changes an object that is made of a map.
func (o *Object) SetDeletionGracePeriodSeconds(v *int64) {
	o.change(func(u *unstructured.Unstructured) { u.SetDeletionGracePeriodSeconds(v) })
}

// SetLabels changes an object that is made of a map.
func (o *Object) SetLabels(v map[string]string) {
	o.change(func(u *unstructured.Unstructured) { u.SetLabels(v) })
}

// SetAnnotations changes an object that is made of a map.
func (o *Object) SetAnnotations(v map[string]string) {
	o.change(func(u *unstructured.Unstructured) { u.SetAnnotations(v) })
}

// SetFinalizers changes an object that is made of a map.
func (o *Object) SetFinalizers(v []string) {
	o.change(func(u *unstructured.Unstructured) { u.SetFinalizers(v) })
}

// SetOwnerReferences changes an object that is made of a map.
func (o *Object) SetOwnerReferences(v []metav1.OwnerReference) {
	o.change(func(u *unstructured.Unstructured) { u.SetOwnerReferences(v) })
}

// SetManagedFields changes an object that is made of a map.
func (o *Object) SetManagedFields(v []metav1.ManagedFieldsEntry) {
	o.change(func(u *unstructured.Unstructured) { u.SetManagedFields(v) })
}
