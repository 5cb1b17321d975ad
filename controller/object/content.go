package object

import (
	"encoding/json"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"metascript/engine/packed"
	"metascript/engine/tree"
)

// An Object is any Kubernetes object. It has its content as a map, like unstructured.Unstructured, or packed, as in caches.
//
// A packed object cannot be changed: its setters panic. It is read with the getters and with [Object.At], which do not build a map, or
// by scripts with [Object.Value]. [Object.Map] and [Copy] build one, which takes some ten microseconds for a Pod.
//
// The zero value has no content. It can be changed.
type Object struct {
	content map[string]any // nil if packed
	packed  packed.Map     // the zero value if it is made of a map

	// These are parts of packed, which are read often. They are not set if it is made of a map.
	meta            packed.Map // the zero value if there is none
	name, namespace string
}

var (
	_ metav1.Object  = (*Object)(nil)
	_ runtime.Object = (*Object)(nil)
)

// New returns an object whose content is the map. They share it.
func New(content map[string]any) *Object { return &Object{content: content} }

// Of returns an object with the content of u, which they share; nil if u is nil.
func Of(u *unstructured.Unstructured) *Object {
	if u == nil {
		return nil
	}
	return New(u.Object)
}

// Result is Of for the results of a request of client-go.
func Result(u *unstructured.Unstructured, err error) (*Object, error) { return Of(u), err }

// OfPacked returns an object whose content is packed.
func OfPacked(content packed.Map) *Object {
	o := MakePacked(content)
	return &o
}

// MakePacked is OfPacked for an object that is a part of another value.
func MakePacked(content packed.Map) Object {
	o := Object{packed: content}
	if meta, ok := content.Map("metadata"); ok {
		o.meta, o.name, o.namespace = meta, meta.Text("name"), meta.Text("namespace")
	}
	return o
}

// Packed returns the packed content of o; the zero value if it is made of a map.
func (o *Object) Packed() packed.Map { return o.packed }

// isPacked reports whether the content of o is packed.
func (o *Object) isPacked() bool { return !o.packed.IsZero() }

// Map returns the content. If o is packed, it is built by each call, and a change of it does not change o.
func (o *Object) Map() map[string]any {
	if o.isPacked() {
		return o.packed.Build()
	}
	return o.content
}

// Value returns the content for a script: a packed.Map or a map[string]any.
func (o *Object) Value() any {
	if o.isPacked() {
		return o.packed
	}
	return o.content
}

// Same reports whether v is the Value of o, and not only equal to it.
func (o *Object) Same(v any) bool {
	switch v := v.(type) {
	case packed.Map:
		return o.packed == v && o.isPacked()
	case map[string]any:
		return !o.isPacked() && reflect.ValueOf(v).UnsafePointer() == reflect.ValueOf(o.content).UnsafePointer()
	case tree.GoMap:
		return o.Same(map[string]any(v))
	}
	return false
}

// At returns the value at a path of keys, and whether there is one. It may be a packed.Map or a packed.Array, and must not be changed.
func (o *Object) At(path ...string) (any, bool) {
	if o.isPacked() {
		return o.packed.At(path...)
	}
	var v any = o.content
	for _, key := range path {
		m, _ := v.(map[string]any)
		next, found := m[key]
		if !found {
			return nil, false
		}
		v = next
	}
	return v, true
}

// Field is At with maps and slices in place of packed ones.
func (o *Object) Field(path ...string) (any, bool) {
	v, found := o.At(path...)
	return tree.Native(v), found
}

// TextAt returns the string at a path of keys; "" if there is none.
func (o *Object) TextAt(path ...string) string {
	if o.isPacked() {
		return o.packed.Text(path...)
	}
	v, _ := o.At(path...)
	text, _ := v.(string)
	return text
}

// Unstructured returns an object for client-go. It shares the content of o if that is a map.
func (o *Object) Unstructured() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: o.Map()}
}

// only returns an object that has a field of the metadata of o, for getters that convert it.
func (o *Object) only(field string) *unstructured.Unstructured {
	v, found := o.At("metadata", field)
	if !found {
		return &unstructured.Unstructured{}
	}
	return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{field: tree.Native(v)}}}
}

// change calls f with the content as client-go has it.
func (o *Object) change(f func(u *unstructured.Unstructured)) {
	if o.isPacked() {
		panic("a packed object cannot be changed: " + Describe(o))
	}
	u := &unstructured.Unstructured{Object: o.content}
	f(u)
	o.content = u.Object
}

// DeepCopy returns a copy that shares nothing with o, and may be changed. It is made of a map.
func (o *Object) DeepCopy() *Object {
	if o == nil {
		return nil
	}
	if o.isPacked() || o.content == nil {
		return New(o.Map())
	}
	return New(runtime.DeepCopyJSON(o.content))
}

// DeepCopyObject implements runtime.Object.
func (o *Object) DeepCopyObject() runtime.Object { return o.DeepCopy() }

// Equal reports whether two objects have the same content.
func (o *Object) Equal(other *Object) bool {
	if o == nil || other == nil || o == other {
		return o == other
	}
	if o.isPacked() && other.isPacked() && o.packed.Equal(other.packed) {
		return true
	}
	return reflect.DeepEqual(o.Map(), other.Map())
}

// MarshalJSON implements json.Marshaler.
func (o *Object) MarshalJSON() ([]byte, error) { return json.Marshal(o.Value()) }

// String returns the content for messages of tests.
func (o *Object) String() string {
	if o == nil {
		return "nil"
	}
	return fmt.Sprint(o.Map())
}

// GetObjectKind implements runtime.Object.
func (o *Object) GetObjectKind() schema.ObjectKind { return o }

// GroupVersionKind returns the kind of o; the zero value if it has no valid one.
func (o *Object) GroupVersionKind() schema.GroupVersionKind {
	gv, err := schema.ParseGroupVersion(o.GetAPIVersion())
	if err != nil {
		return schema.GroupVersionKind{}
	}
	return gv.WithKind(o.GetKind())
}

// SetGroupVersionKind sets the kind of o.
func (o *Object) SetGroupVersionKind(kind schema.GroupVersionKind) {
	o.change(func(u *unstructured.Unstructured) { u.SetGroupVersionKind(kind) })
}

// GetAPIVersion returns the API version of o.
func (o *Object) GetAPIVersion() string { return o.TextAt("apiVersion") }

// GetKind returns the name of the kind of o.
func (o *Object) GetKind() string { return o.TextAt("kind") }

// GetName implements metav1.Object.
func (o *Object) GetName() string {
	if o.isPacked() {
		return o.name
	}
	return o.TextAt("metadata", "name")
}

// GetNamespace implements metav1.Object.
func (o *Object) GetNamespace() string {
	if o.isPacked() {
		return o.namespace
	}
	return o.TextAt("metadata", "namespace")
}

// GetUID implements metav1.Object.
func (o *Object) GetUID() types.UID { return types.UID(o.metaText("uid")) }

// GetResourceVersion implements metav1.Object.
func (o *Object) GetResourceVersion() string { return o.metaText("resourceVersion") }

// metaText returns a string in the metadata; "" if there is none.
func (o *Object) metaText(field string) string {
	switch {
	case !o.isPacked():
		return o.TextAt("metadata", field)
	case o.meta.IsZero():
		return ""
	}
	return o.meta.Text(field)
}

// GetGeneration implements metav1.Object.
func (o *Object) GetGeneration() int64 {
	v, _ := o.At("metadata", "generation")
	n, _ := v.(int64)
	return n
}

// GetLabels implements metav1.Object. The result may be changed, without an effect on o.
func (o *Object) GetLabels() map[string]string { return o.TextsAt("metadata", "labels") }

// GetAnnotations implements metav1.Object. The result may be changed, without an effect on o.
func (o *Object) GetAnnotations() map[string]string { return o.TextsAt("metadata", "annotations") }

// Label returns a label, and whether there is one. It does not copy the others, as GetLabels does.
func (o *Object) Label(key string) (string, bool) {
	v, _ := o.At("metadata", "labels", key)
	text, ok := v.(string)
	return text, ok
}

// LabelsOf returns the labels of o for selectors, which read them where they are.
func LabelsOf(o *Object) labels.Labels { return labelsOf{o} }

type labelsOf struct{ *Object }

// Has implements labels.Labels.
func (l labelsOf) Has(key string) bool { _, found := l.Label(key); return found }

// Get implements labels.Labels.
func (l labelsOf) Get(key string) string { value, _ := l.Label(key); return value }

// Lookup implements labels.Labels.
func (l labelsOf) Lookup(key string) (string, bool) { return l.Label(key) }

// Annotation returns an annotation; "" if there is none.
func (o *Object) Annotation(key string) string { return o.TextAt("metadata", "annotations", key) }

// TextsAt returns the map of strings at a path of keys; nil if there is none, or if it has other values. It may be changed, without an
// effect on o.
func (o *Object) TextsAt(path ...string) map[string]string {
	v, _ := o.At(path...)
	m, ok := tree.MapOf(v)
	if !ok {
		return nil
	}
	out := make(map[string]string, m.Len())
	for key, value := range m.All() {
		text, ok := value.(string)
		if !ok {
			return nil
		}
		out[key] = text
	}
	return out
}

// GetFinalizers implements metav1.Object.
func (o *Object) GetFinalizers() []string {
	return o.only("finalizers").GetFinalizers()
}

// GetOwnerReferences implements metav1.Object.
func (o *Object) GetOwnerReferences() []metav1.OwnerReference {
	return o.only("ownerReferences").GetOwnerReferences()
}

// GetDeletionTimestamp implements metav1.Object.
func (o *Object) GetDeletionTimestamp() *metav1.Time {
	return o.only("deletionTimestamp").GetDeletionTimestamp()
}

// GetGenerateName implements metav1.Object.
func (o *Object) GetGenerateName() string { return o.metaText("generateName") }

// GetSelfLink implements metav1.Object.
func (o *Object) GetSelfLink() string { return o.metaText("selfLink") }

// GetCreationTimestamp implements metav1.Object.
func (o *Object) GetCreationTimestamp() metav1.Time {
	return o.only("creationTimestamp").GetCreationTimestamp()
}

// GetDeletionGracePeriodSeconds implements metav1.Object.
func (o *Object) GetDeletionGracePeriodSeconds() *int64 {
	return o.only("deletionGracePeriodSeconds").GetDeletionGracePeriodSeconds()
}

// GetManagedFields implements metav1.Object. A packed object has none.
func (o *Object) GetManagedFields() []metav1.ManagedFieldsEntry {
	return o.only("managedFields").GetManagedFields()
}
