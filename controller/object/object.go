// Package object names Kubernetes objects and keeps them in sets of stable order.
//
// An [Object] is an unstructured object, as caches hold it; a [Set] groups objects by kind. Objects in a Set may be
// shared with informer caches: they are read-only, and [Copy] comes before any change.
package object

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An Object is any Kubernetes object.
type Object = unstructured.Unstructured

// A Kind is an object's group, version and kind.
type Kind = schema.GroupVersionKind

// A Key names an object within its kind. Namespace is empty for cluster-scoped objects.
type Key struct{ Namespace, Name string }

// KeyOf names o.
func KeyOf(o *Object) Key { return Key{o.GetNamespace(), o.GetName()} }

// String gives "namespace/name", or "name" for a cluster-scoped object.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// A Ref names an object among those of all kinds. Its text is that of the Key.
type Ref struct {
	Kind Kind
	Key
}

// RefOf names o.
func RefOf(o *Object) Ref { return Ref{o.GroupVersionKind(), KeyOf(o)} }

// Describe names o for people: "Pod default/web-0".
func Describe(o *Object) string { return o.GetKind() + " " + KeyOf(o).String() }

// Copy is a deep copy, for whoever wants to change a shared object.
func Copy(o *Object) *Object { return o.DeepCopy() }

// CopyValue is a deep copy of a JSON-shaped value. It panics on anything else, such as a plain int, of which there
// are none in what caches hold and engines return.
func CopyValue(v any) any { return runtime.DeepCopyJSONValue(v) }

// ControllerOf is o's controller reference, or nil.
func ControllerOf(o *Object) *metav1.OwnerReference { return metav1.GetControllerOfNoCopy(o) }

// ControllerRef is the owner reference that makes parent the controller of a child.
func ControllerRef(parent *Object) metav1.OwnerReference {
	return *metav1.NewControllerRef(parent, parent.GroupVersionKind())
}

// Deleting reports whether o is being deleted.
func Deleting(o *Object) bool { return o.GetDeletionTimestamp() != nil }

// StatusOf is an object with the status of o alone, nil if o has none, to compare it with that of another object.
func StatusOf(o *Object) map[string]any { return map[string]any{"status": o.Object["status"]} }
