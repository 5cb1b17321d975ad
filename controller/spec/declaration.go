package spec

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// A declaration is what a controller object says, in one form for both kinds of controllers. composite.go and
// decorator.go write it; all else reads it.
type Declaration struct {
	Kind   string
	Object metav1.ObjectMeta
	Shape  hook.Shape

	Parents  []Parent
	Children []Child
	Field    ChildField // where Children stand in the spec

	Script *v1alpha1.ControllerScript
	Hooks  []NamedHook

	EndpointConfigs     []v1alpha1.EndpointConfig
	ResyncPeriodSeconds *int32
	GenerateSelector    bool
	ScriptRevisions     bool
	FieldPaths          []string // that are revisioned
	Settings            v1alpha1.ControllerSettings

	Status v1alpha1.ControllerStatus // as it was written last
}

// A parentDeclaration is a rule that names a resource whose objects are parents.
type Parent struct {
	v1alpha1.ResourceRule
	Field               string // its path in the spec
	Labels              *metav1.LabelSelector
	Annotations         *v1alpha1.AnnotationSelector
	IgnoreStatusChanges bool
}

// A childDeclaration is a rule that names a resource of children.
type Child struct {
	v1alpha1.ResourceRule
	Method plan.Method
	Checks []v1alpha1.StatusConditionCheck
}

// A childField is the name of a list of rules about children: childResources or attachments.
type ChildField string

// at is the path of a rule.
func (f ChildField) At(i int) string { return fmt.Sprintf("%s[%d]", f, i) }

// A listedHook is an entry in spec.hooks; its Hook is nil when it is not there.
type NamedHook struct {
	Name string
	*v1alpha1.Hook
}

// id names a controller object among both kinds.
type ID struct{ Kind, Name string }

func IDOf(o *object.Object) ID { return ID{o.GetKind(), o.GetName()} }

func (i ID) String() string { return i.Kind + " " + i.Name }

// queue is the name of its queue in metrics, as Metacontroller has it.
func (i ID) QueueName() string { return i.Kind + "-" + i.Name }

// resource is what kubectl calls it.
func (i ID) Resource() string { return Resources[i.Kind].Resource }

// finalizer is the name of the one that a controller puts on its parents.
func (i ID) Finalizer() string { return FinalizerPrefixes[i.Kind] + i.Name }

// finalizerPrefixes are followed by the name of the controller object.
var FinalizerPrefixes = map[string]string{
	v1alpha1.KindCompositeController: "metacontroller.io/compositecontroller-",
	v1alpha1.KindDecoratorController: "metacontroller.io/decoratorcontroller-",
}

func (d *Declaration) ID() ID { return ID{d.Kind, d.Object.Name} }

// listed is the entry in spec.hooks of that name, or nil.
func (d *Declaration) Hook(name string) *v1alpha1.Hook {
	for _, h := range d.Hooks {
		if h.Name == name {
			return h.Hook
		}
	}
	return nil
}

// hasScript reports whether any hook is to be served by a script.
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

// declare reads a controller object. Of one whose spec cannot be read, a duration of "1 day" for example, it gives
// the rest beside the error.
func Read(o *object.Object) (*Declaration, error) {
	d, err := convert(o.GetKind(), o.Object)
	if err == nil {
		return d, nil
	}
	rest := maps.Clone(o.Object)
	delete(rest, "spec")
	d, _ = convert(o.GetKind(), rest) // the first error is the one to tell
	d.Settings.Paused, _, _ = unstructured.NestedBool(o.Object, "spec", "paused")
	return d, fmt.Errorf("%s: the spec cannot be read: %w", object.Describe(o), err)
}

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

func IsTrue(b *bool) bool { return b != nil && *b }

// kinds are those of controller objects.
var Resources = map[string]schema.GroupVersionResource{
	v1alpha1.KindCompositeController: v1alpha1.CompositeControllers,
	v1alpha1.KindDecoratorController: v1alpha1.DecoratorControllers,
}

// hasFallback reports whether there is a hook that a webhook answers while its script is not loaded.
func (d *Declaration) HasFallback() bool {
	return slices.ContainsFunc(d.Hooks, func(h NamedHook) bool { return FallsBack(h.Hook) })
}

func FallsBack(set *v1alpha1.Hook) bool {
	return set != nil && set.Script != nil && set.Webhook != nil && set.Fallback != v1alpha1.FallbackNever
}

// owner names a controller object to the engine; see engine.Env.
func (i ID) Owner() string { return i.Kind + "/" + i.Name }

// asHooksSee is the controller object without what changes while nothing of its meaning does.
func ForHooks(o *object.Object) *object.Object {
	seen := object.Copy(o)
	seen.SetManagedFields(nil)
	delete(seen.Object, "status")
	return seen
}
