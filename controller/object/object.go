// Package object has types for Kubernetes objects, for their names, and for ordered sets of objects.
//
// An [Object] is any object: one of a cache, which is packed and cannot be changed, or one made of a map. A [Set] has objects in groups
// by kind. Objects in a Set may be shared with informer caches, so they must not be changed; [Copy] returns a copy that may be
// changed.
package object

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"metascript/engine/packed"
	"metascript/engine/tree"
)

// A Kind is an object's group, version and kind.
type Kind = schema.GroupVersionKind

// PrivateSecret is the type of Secrets that only the server itself reads. The API server does not let anybody change the type of a Secret.
const PrivateSecret = "metacontroller.k8s.io/random-key"

// IsPrivate reports whether o is a Secret that only the server itself reads.
func IsPrivate(o *Object) bool {
	kind := o.GroupVersionKind()
	return kind.Group == "" && kind.Kind == "Secret" && o.TextAt("type") == PrivateSecret
}

// A Key names an object within its kind. Namespace is empty for cluster-scoped objects.
type Key struct{ Namespace, Name string }

// KeyOf returns the Key of o.
func KeyOf(o *Object) Key { return Key{o.GetNamespace(), o.GetName()} }

// String returns "namespace/name", or "name" for a cluster-scoped object.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// A Ref identifies an object by its kind, namespace and name. Its String is that of the Key.
type Ref struct {
	Kind Kind
	Key
}

// UIDOf returns a copy of the UID of o, which does not keep o in memory.
func UIDOf(o *Object) types.UID { return types.UID(strings.Clone(string(o.GetUID()))) }

// RefOf returns the Ref of o.
func RefOf(o *Object) Ref { return Ref{o.GroupVersionKind(), KeyOf(o)} }

// Clone returns r with copies of its texts, which do not keep the object of RefOf in memory. What is remembered for longer than the object
// has such a Ref.
func (r Ref) Clone() Ref {
	text := r.Kind.Group + r.Kind.Version + r.Kind.Kind + r.Namespace + r.Name // one block of memory for all
	cut := func(like string) (part string) {
		part, text = text[:len(like)], text[len(like):]
		return part
	}
	return Ref{Kind{Group: cut(r.Kind.Group), Version: cut(r.Kind.Version), Kind: cut(r.Kind.Kind)}, Key{cut(r.Namespace), cut(r.Name)}}
}

// Describe returns the kind and name of o for messages, such as "Pod default/web-0".
func Describe(o *Object) string { return o.GetKind() + " " + KeyOf(o).String() }

// Copy returns a deep copy of o, which is made of a map and may be changed.
func Copy(o *Object) *Object { return o.DeepCopy() }

// CopyValue returns a deep copy of a JSON value. It panics for other types, such as int, which neither caches nor engines
// return.
func CopyValue(v any) any { return runtime.DeepCopyJSONValue(v) }

// ControllerOf returns the controller reference of o, or nil. If o is packed, only this reference is converted.
func ControllerOf(o *Object) *metav1.OwnerReference {
	if !o.isPacked() {
		return metav1.GetControllerOfNoCopy(o)
	}
	v, _ := o.At("metadata", "ownerReferences")
	refs, _ := v.(packed.Array)
	if v == nil || refs == (packed.Array{}) {
		return nil
	}
	for item := range refs.All() {
		ref, ok := item.(packed.Map)
		if !ok {
			continue
		}
		if controller, _ := ref.Get("controller"); controller == true {
			yes := true
			found := &metav1.OwnerReference{APIVersion: ref.Text("apiVersion"), Kind: ref.Text("kind"), Name: ref.Text("name"), UID: types.UID(ref.Text("uid")), Controller: &yes}
			if block, ok := ref.Get("blockOwnerDeletion"); ok {
				if value, ok := block.(bool); ok {
					found.BlockOwnerDeletion = &value
				}
			}
			return found
		}
	}
	return nil
}

// OwnerAnnotation is an annotation with the UID of the owner of a child that has an owner reference to it without controller: true.
const OwnerAnnotation = "metacontroller.k8s.io/owner-uid"

// OwnerOf returns the reference to the parent of o, or nil: that of OwnerAnnotation, or else the controller reference.
func OwnerOf(o *Object) *metav1.OwnerReference {
	if uid := o.Annotation(OwnerAnnotation); uid != "" {
		if ref := referenceTo(o.GetOwnerReferences(), uid); ref != nil {
			return ref
		}
	}
	return ControllerOf(o)
}

// OwnerOfMetadata is OwnerOf for the metadata of an object.
func OwnerOfMetadata(o metav1.Object) *metav1.OwnerReference {
	if ref := referenceTo(o.GetOwnerReferences(), o.GetAnnotations()[OwnerAnnotation]); ref != nil {
		return ref
	}
	return metav1.GetControllerOfNoCopy(o)
}

// referenceTo returns the reference with this UID, or nil.
func referenceTo(refs []metav1.OwnerReference, uid string) *metav1.OwnerReference {
	if i := slices.IndexFunc(refs, func(ref metav1.OwnerReference) bool { return ref.UID != "" && string(ref.UID) == uid }); i >= 0 {
		return &refs[i]
	}
	return nil
}

// ControllerRef returns the owner reference that makes parent the controller of a child.
func ControllerRef(parent *Object) metav1.OwnerReference {
	return *metav1.NewControllerRef(parent, parent.GroupVersionKind())
}

// Deleting reports whether o is being deleted.
func Deleting(o *Object) bool {
	if v, found := o.At("metadata", "deletionTimestamp"); !found || v == nil {
		return false
	}
	return o.GetDeletionTimestamp() != nil
}

// StatusOf returns a map with only the status of o, which is nil if o has none, for a comparison with that of another
// object.
func StatusOf(o *Object) map[string]any {
	status, _ := o.At("status")
	return map[string]any{"status": tree.Native(status)}
}

// Emptied returns a copy of o in which the maps at the paths are empty; nil if all of them are empty or missing in o.
func Emptied(o *Object, paths ...[]string) *Object {
	emptied, changed := Copy(o), false
	for _, path := range paths {
		in, last := emptied.Map(), len(path)-1
		for _, key := range path[:last] {
			in, _ = in[key].(map[string]any)
		}
		if fields, _ := in[path[last]].(map[string]any); len(fields) > 0 {
			in[path[last]], changed = map[string]any{}, true
		}
	}
	if !changed {
		return nil
	}
	return emptied
}
