// Package spec reads controller objects: what a CompositeController or a DecoratorController declares, in one form for both, with
// the resources that discovery finds for it. It is pure, apart from the [kube.Finder] that it is given.
package spec

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/account"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// A Declaration is what a controller object declares, in one form for both kinds of controllers. It must not be changed.
type Declaration struct {
	Kind   string
	Object metav1.ObjectMeta
	Shape  hook.Shape

	Parents  []Parent
	Children []Child
	Field    ChildField // the field of the spec that has the Children

	Script *v1alpha1.ControllerScript
	Hooks  []NamedHook

	EndpointConfigs     []v1alpha1.EndpointConfig
	ResyncPeriodSeconds *int32
	GenerateSelector    bool
	ScriptRevisions     bool
	FieldPaths          []string // the fields of the parent whose changes roll out
	Settings            v1alpha1.ControllerSettings

	ShadowErr error // why spec.shadow cannot be read, or nil; then Settings.Shadow is nil

	Status v1alpha1.ControllerStatus // the current status of the controller object
}

// A Parent is a rule that names a resource whose objects are parents.
type Parent struct {
	v1alpha1.ResourceRule
	Field               string // its path in the spec
	Labels              *metav1.LabelSelector
	Annotations         *v1alpha1.AnnotationSelector
	IgnoreStatusChanges bool
}

// A Child is a rule that names a resource of children.
type Child struct {
	v1alpha1.ResourceRule
	Method plan.Method
	Plain  bool // the parent is the owner of the children, but not their controller
	Adopts v1alpha1.AdoptionPolicy
	Checks []v1alpha1.StatusConditionCheck
}

// A ChildField is the field with the rules about children: childResources or attachments.
type ChildField string

// at returns the path of the i-th rule.
func (f ChildField) at(i int) string { return fmt.Sprintf("%s[%d]", f, i) }

// A NamedHook is an entry of spec.hooks. Its Hook is nil if the entry is not set.
type NamedHook struct {
	Name string
	*v1alpha1.Hook
}

// An ID names a controller object of either kind.
type ID struct{ Kind, Name string }

// IDOf returns the ID of a controller object.
func IDOf(o *object.Object) ID { return ID{o.GetKind(), o.GetName()} }

func (i ID) String() string { return i.Kind + " " + i.Name }

// QueueName returns the name of the controller's queue in metrics, the same as in Metacontroller.
func (i ID) QueueName() string { return i.Kind + "-" + i.Name }

// Resource returns the plural name of the controller's kind, for kubectl.
func (i ID) Resource() string { return Resources[i.Kind].Resource }

// Finalizer returns the finalizer that the controller adds to its parents.
func (i ID) Finalizer() string { return FinalizerPrefixes[i.Kind] + i.Name }

// FinalizerPrefixes are the prefixes of the finalizers of controllers, by kind. The rest is the name of the controller
// object.
var FinalizerPrefixes = map[string]string{
	v1alpha1.KindCompositeController: "metacontroller.io/compositecontroller-",
	v1alpha1.KindDecoratorController: "metacontroller.io/decoratorcontroller-",
}

// GoogleFinalizerPrefixes are the same for Google's Metacontroller, before version 1.0. No other server adds or removes these finalizers.
var GoogleFinalizerPrefixes = map[string]string{
	v1alpha1.KindCompositeController: "metacontroller.app/compositecontroller-",
	v1alpha1.KindDecoratorController: "metacontroller.app/decoratorcontroller-",
}

// ID returns the ID of the controller object.
func (d *Declaration) ID() ID { return ID{d.Kind, d.Object.Name} }

// Hook returns the hook of that name in spec.hooks, or nil.
func (d *Declaration) Hook(name string) *v1alpha1.Hook {
	for _, h := range d.Hooks {
		if h.Name == name {
			return h.Hook
		}
	}
	return nil
}

// UsesConfigMaps reports whether a script or a library is in a ConfigMap.
func (d *Declaration) UsesConfigMaps() bool {
	if usesConfigMaps(d.Script) || d.Settings.Shadow != nil && usesConfigMaps(&d.Settings.Shadow.Script) {
		return true
	}
	return slices.ContainsFunc(d.Hooks, func(h NamedHook) bool { return h.Hook != nil && h.Script != nil && h.Script.ConfigMapRef != nil })
}

func usesConfigMaps(s *v1alpha1.ControllerScript) bool {
	if s == nil {
		return false
	}
	inLibrary := func(l v1alpha1.ScriptLibrary) bool { return l.ConfigMapRef != nil }
	return s.ConfigMapRef != nil || slices.ContainsFunc(s.Libraries, inLibrary)
}

// HasScript reports whether the spec has a script, for the controller or for one of its hooks.
func (d *Declaration) HasScript() bool {
	if d.Script != nil {
		return true
	}
	for _, h := range d.Hooks {
		if h.Hook != nil && h.Script != nil {
			return true
		}
	}
	return false
}

// Read reads a controller object. If the spec cannot be read, for example because of a duration of "1 day", it returns an error
// and a Declaration of the rest: metadata, status, spec.paused and spec.serviceAccount. If only spec.shadow cannot be read, it returns a
// Declaration without it, with ShadowErr.
func Read(o *object.Object) (*Declaration, error) {
	content := o.Map()
	d, err := convert(o.GetKind(), content)
	if err == nil {
		return d, nil
	}
	rest := maps.Clone(content)
	if declared, isMap := content["spec"].(map[string]any); isMap && declared["shadow"] != nil {
		declared = maps.Clone(declared)
		delete(declared, "shadow")
		rest["spec"] = declared
		if d, unreadable := convert(o.GetKind(), rest); unreadable == nil {
			d.ShadowErr = explain(o.GetKind(), content, err)
			return d, nil
		}
	}
	delete(rest, "spec")
	d, _ = convert(o.GetKind(), rest) // the error to return is the first one
	d.Settings.Paused, _, _ = unstructured.NestedBool(content, "spec", "paused")
	if _, has, _ := unstructured.NestedFieldNoCopy(content, "spec", "serviceAccount"); has {
		d.Settings.ServiceAccount = &v1alpha1.ServiceAccountRef{Namespace: TenantOf(o), Name: unreadable}
		if name, _, err := unstructured.NestedString(content, "spec", "serviceAccount", "name"); err == nil && name != "" {
			d.Settings.ServiceAccount.Name = name
		}
	}
	return d, fmt.Errorf("%s: the spec cannot be read: %w", object.Describe(o), explain(o.GetKind(), content, err))
}

// unreadable is the name of an account that cannot be read. No ServiceAccount has it.
const unreadable = "?"

// convert returns the Declaration of a controller object with this content.
func convert(kind string, content map[string]any) (*Declaration, error) {
	if kind == v1alpha1.KindDecoratorController {
		dc := &v1alpha1.DecoratorController{}
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, dc)
		return Decorator(dc), err
	}
	cc := &v1alpha1.CompositeController{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, cc)
	return Composite(cc), err
}

// IsTrue reports whether an optional field is set to true.
func IsTrue(b *bool) bool { return b != nil && *b }

// Resources are the resources of controller objects, by kind.
var Resources = map[string]schema.GroupVersionResource{
	v1alpha1.KindCompositeController: v1alpha1.CompositeControllers,
	v1alpha1.KindDecoratorController: v1alpha1.DecoratorControllers,
}

// HasFallback reports whether a hook has a webhook that can be called in place of its script.
func (d *Declaration) HasFallback() bool {
	return slices.ContainsFunc(d.Hooks, func(h NamedHook) bool { return FallsBack(h.Hook) })
}

// FallsBack reports whether the webhook of a hook can be called in place of its script.
func FallsBack(set *v1alpha1.Hook) bool {
	return set != nil && set.Script != nil && set.Webhook != nil && set.Fallback != v1alpha1.FallbackNever
}

// Tenant returns the tenant of the controller: the namespace of its account, or "" if it has none. Controllers of different tenants
// may not find out anything about each other's objects and scripts; see engine.Env.
func (d *Declaration) Tenant() string {
	if account := d.Settings.ServiceAccount; account != nil {
		return account.Namespace
	}
	return ""
}

// TenantOf returns the tenant of a controller object, also if the rest of its spec cannot be read; "" if o is nil.
func TenantOf(o *object.Object) string {
	if o == nil {
		return ""
	}
	return AccountOf(o).Namespace
}

// AccountOf returns the account of a controller object, also if the rest of its spec cannot be read.
func AccountOf(o *object.Object) account.Account {
	return account.Account{Namespace: o.TextAt("spec", "serviceAccount", "namespace"), Name: o.TextAt("spec", "serviceAccount", "name")}
}

// Owner returns the name of the controller for the script engine; see engine.Env.
func (i ID) Owner() string { return i.Kind + "/" + i.Name }

// ForHooks returns a copy of the controller object for hooks: without managedFields and status, which change while the spec
// does not, and without the shadow, which is edited while the hooks run on.
func ForHooks(o *object.Object) *object.Object {
	given := object.Copy(o)
	given.SetManagedFields(nil)
	delete(given.Map(), "status")
	unstructured.RemoveNestedField(given.Map(), "spec", "shadow")
	return given
}

// defaultRollbackPercent is the default of rollbackPercent.
const defaultRollbackPercent = 20

// RollbackPercent returns the percentage of parents for which a new version of a script may fail before it is rolled back.
func RollbackPercent(script *v1alpha1.ControllerScript) int {
	if script.RollbackPercent == nil {
		return defaultRollbackPercent
	}
	return int(*script.RollbackPercent)
}
