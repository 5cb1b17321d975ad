package objecttest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/object"
)

// The resources of the parents and children that tests are about.
var (
	Widgets    = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	ConfigMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

// WidgetRef names a widget.
func WidgetRef(namespace, name string) object.Ref {
	return object.Ref{Kind: Widgets.GroupVersion().WithKind("Widget"), Key: object.Key{Namespace: namespace, Name: name}}
}

// Widget is the Widget default/w with UID u1 and generation 1, changed by change unless that is nil.
func Widget(change func(*object.Object)) *object.Object {
	o := object.New(map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "w", "namespace": "default", "uid": "u1", "resourceVersion": "1", "generation": int64(1)},
	})
	if change != nil {
		change(o)
	}
	return o
}

// ConfigMap is a ConfigMap in namespace default. With a parent it has a UID, the controller reference to the parent, and
// the label of a generated selector.
func ConfigMap(name string, parent *object.Object) *object.Object {
	o := object.New(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "default"},
	})
	if parent != nil {
		o.SetUID(types.UID("uid-of-" + name))
		o.SetLabels(map[string]string{"controller-uid": string(parent.GetUID())})
		o.SetOwnerReferences([]metav1.OwnerReference{object.ControllerRef(parent)})
	}
	return o
}

// Deleting gives o a deletion timestamp.
func Deleting(o *object.Object) {
	now := metav1.Now()
	o.SetDeletionTimestamp(&now)
}

// WithFinalizers gives an object these finalizers.
func WithFinalizers(names ...string) func(*object.Object) {
	return func(o *object.Object) { o.SetFinalizers(names) }
}

// All makes several changes, one after the other.
func All(changes ...func(*object.Object)) func(*object.Object) {
	return func(o *object.Object) {
		for _, change := range changes {
			change(o)
		}
	}
}

// With returns o after the changes.
func With(o *object.Object, changes ...func(*object.Object)) *object.Object {
	All(changes...)(o)
	return o
}

// OwnedBy gives an object these owner references.
func OwnedBy(refs ...metav1.OwnerReference) func(*object.Object) {
	return func(o *object.Object) { o.SetOwnerReferences(refs) }
}

// Matching is a ConfigMap with the label by which parent recognizes its children, and no owner.
func Matching(name string, parent *object.Object) *object.Object {
	return With(ConfigMap(name, parent), OwnedBy())
}

// InNamespace puts o into a namespace.
func InNamespace(namespace string, o *object.Object) *object.Object {
	o.SetNamespace(namespace)
	return o
}
