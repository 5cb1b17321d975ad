package offline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/binding"
	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/redact"
	"metascript/controller/related"
	"metascript/controller/selection"
	"metascript/controller/spec"
	"metascript/engine"
	"metascript/scripts"
)

// A Trial is one sync without a cluster: what would the controller's hook answer?
type Sync struct {
	Controller *object.Object   // a CompositeController or DecoratorController
	Parent     *object.Object   // or what is decorated
	Children   []*object.Object // as they would be observed
	Related    []*object.Object // what there is beside them, of which the customize hook picks
	Finalizing bool             // ask the finalize hook
	Now        time.Time        // request.now; zero is the clock
	Resources  *kube.Offline
	Sandbox    build.Sandbox
	Sources    scripts.Sources                         // where scripts are that are not in the controller object
	Log        func(hookName string, m engine.Message) // what scripts print; nil drops it
}

// Run asks the hook. It checks the spec and the answer as the server does.
func (t *Sync) Run(ctx context.Context) (*hook.Response, error) {
	d, err := spec.Read(t.Controller)
	if err != nil {
		return nil, err
	}
	if err := t.mayBeParent(d); err != nil {
		return nil, err
	}
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", object.Describe(t.Controller), err)
	}
	hooks, err := t.loader().Read(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.Describe(t.Controller), err)
	}
	found, err := spec.Resolve(d, t.resources(d))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.Describe(t.Controller), err)
	}
	b, err := binding.Bind(d, found)
	if err != nil {
		return nil, err
	}
	b.Customize = hooks.Customize
	hidden := redact.New(t.Parent.GetKind(), t.Parent.GetNamespace(), t.Parent.GetName())
	hidden.Add(t.Parent)
	hidden.Add(t.Children...)
	hidden.Add(t.Related...)
	ctx = redact.NewContext(ctx, hidden)
	req, err := t.request(ctx, d, found, b)
	if err != nil {
		return nil, hidden.Error(err)
	}
	ask, name := hooks.Sync, hook.Sync
	if t.Finalizing {
		ask, name = hooks.Finalize, hook.Finalize
	}
	if ask == nil {
		return nil, fmt.Errorf("%s has no %s hook", object.Describe(t.Controller), name)
	}
	answer, err := ask.Call(ctx, req)
	if err == nil {
		answer.Warnings = hidden.Texts(answer.Warnings)
	}
	return answer, hidden.Error(err)
}

// mayBeParent reports as an error that no rule is about the parent's group and version.
func (t *Sync) mayBeParent(d *spec.Declaration) error {
	have, want := t.Parent.GetAPIVersion(), []string(nil)
	for _, rule := range d.Parents {
		if rule.APIVersion == have {
			return nil
		}
		want = append(want, rule.Resource+" in "+rule.APIVersion)
	}
	return fmt.Errorf("%s is of %s, and %s is about %s", object.Describe(t.Parent), have, object.Describe(t.Controller), strings.Join(want, ", "))
}

// resources takes the parent's kind for the only one that the rules name in its group and version; no definition says
// otherwise, or else that is found out.
func (t *Sync) resources(d *spec.Declaration) *kube.Offline {
	with, kind := *t.Resources, t.Parent.GroupVersionKind()
	var named []v1alpha1.ResourceRule
	for _, rule := range d.Parents {
		if rule.APIVersion == kind.GroupVersion().String() {
			named = append(named, rule.ResourceRule)
		}
	}
	if len(named) == 1 {
		with.Known = map[schema.GroupVersionResource]object.Kind{kind.GroupVersion().WithResource(named[0].Resource): kind}
	}
	return &with
}

func (t *Sync) loader() *build.Loader {
	l := &build.Loader{Sandbox: t.Sandbox.WithDefaults(), Sources: t.Sources}
	if t.Log != nil {
		l.Log = func(name string, _ *hook.Request, m engine.Message) { t.Log(name, m) }
	}
	if !t.Now.IsZero() {
		l.Now = func() time.Time { return t.Now }
	}
	return l
}

// request is what the hook would be asked.
func (t *Sync) request(ctx context.Context, d *spec.Declaration, found spec.Resolved, b *binding.Binding) (*hook.Request, error) {
	rule := b.Rule(t.Parent.GroupVersionKind())
	if rule == nil {
		return nil, fmt.Errorf("%s is a %s, and %s is about %s", object.Describe(t.Parent), t.Parent.GroupVersionKind(), object.Describe(t.Controller), kindsOf(b.Parents))
	}
	parent := object.Copy(t.Parent)
	if parent.GetUID() == "" {
		parent.SetUID("00000000-0000-0000-0000-000000000000")
	}
	if rule.Namespaced && parent.GetNamespace() == "" {
		parent.SetNamespace("default")
	}
	req := &hook.Request{
		Shape: d.Shape, Controller: spec.ForHooks(t.Controller), Parent: parent, Children: &object.Set{}, Finalizing: t.Finalizing,
	}
	var err error
	if req.Expect, err = b.Expect(parent); err != nil {
		return nil, err
	}
	for _, rule := range found.Children {
		req.Children.Declare(rule.ObjectKind())
	}
	if err := t.observe(req, d.Field); err != nil {
		return nil, err
	}
	req.Related, err = t.relate(ctx, b, req)
	return req, err
}

// observe puts the observed children into a request.
func (t *Sync) observe(req *hook.Request, field spec.ChildField) error {
	for _, child := range t.Children {
		namespaced, declared := req.Expect.Kinds[child.GroupVersionKind()]
		if !declared {
			return fmt.Errorf("the observed child %s is not of a kind among the controller's %s", object.Describe(child), field)
		}
		o := object.Copy(child)
		if namespaced && o.GetNamespace() == "" {
			o.SetNamespace(req.Parent.GetNamespace())
		}
		req.Children.Put(o)
	}
	return nil
}

// relate picks the related objects that the customize hook asks for.
func (t *Sync) relate(ctx context.Context, b *binding.Binding, req *hook.Request) (*object.Set, error) {
	if b.Customize == nil {
		if len(t.Related) > 0 {
			return nil, fmt.Errorf("%s has no customize hook, which would ask for related objects", object.Describe(t.Controller))
		}
		return nil, nil
	}
	answer, err := b.Customize.Call(ctx, &hook.Request{Shape: hook.Customizing, Controller: req.Controller, Parent: req.Parent, Children: req.Children})
	if err != nil {
		return nil, err
	}
	rules, err := related.Rules(req.Parent, answer.Related, t.Resources, b.HomeOnly)
	if err != nil {
		return nil, err
	}
	return related.Select(rules, t.find), nil
}

// find gives the related objects that a rule is about.
func (t *Sync) find(rule related.Rule) []*object.Object {
	var found []*object.Object
	for _, given := range t.Related {
		o := object.Copy(given)
		if rule.Namespaced && o.GetNamespace() == "" {
			o.SetNamespace(cmp.Or(t.Parent.GetNamespace(), metav1.NamespaceDefault))
		}
		subject := selection.Subject{
			Namespace: o.GetNamespace(), Name: o.GetName(), Labels: o.GetLabels(), NamespaceLabels: t.namespaceLabels(o.GetNamespace()),
		}
		if o.GroupVersionKind() == rule.ObjectKind() && rule.Query.Matches(&subject) {
			found = append(found, o)
		}
	}
	return found
}

// namespaceLabels gives the labels of a namespace that is among the related objects. Every namespace has its name as one.
func (t *Sync) namespaceLabels(name string) labels.Set {
	found := labels.Set{corev1.LabelMetadataName: name}
	for _, o := range t.Related {
		if o.GroupVersionKind() == related.Namespaces.ObjectKind() && o.GetName() == name {
			maps.Copy(found, o.GetLabels())
		}
	}
	return found
}

// kindsOf names the kinds of parents for people.
func kindsOf(rules []*binding.ParentResource) string {
	var names []string
	for _, rule := range rules {
		names = append(names, rule.ObjectKind().String())
	}
	return strings.Join(names, "; ")
}

// Doubts are what a controller object says that is accepted but has no effect, or less than it says, as far as that
// shows without its scripts. One that cannot be read has none.
func Warnings(o *object.Object, in build.Sandbox) []string {
	d, err := spec.Read(o)
	if err != nil {
		return nil
	}
	return append(in.WithDefaults().Warnings(d), d.Warnings()...)
}

// Check compiles the scripts of a controller object and finds its hooks, without a cluster. It gives the hooks' names
// and what is accepted but probably not meant.
func Check(ctx context.Context, o *object.Object, in build.Sandbox, from scripts.Sources) (hooks, doubts []string, err error) {
	d, err := spec.Read(o)
	if err != nil {
		return nil, nil, err
	}
	if err := d.Validate(); err != nil {
		return nil, nil, err
	}
	sandbox := in.WithDefaults()
	loaded, err := (&build.Loader{Sandbox: sandbox, Sources: from}).Read(ctx, d)
	return loaded.Names, append(append(sandbox.Warnings(d), d.Warnings()...), loaded.Warnings...), err
}
