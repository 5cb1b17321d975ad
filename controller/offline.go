package controller

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
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/redact"
	"metascript/controller/related"
	"metascript/controller/selection"
	"metascript/engine"
	"metascript/scripts"
)

// A Trial is one sync without a cluster: what would the controller's hook answer?
type Trial struct {
	Controller *object.Object   // a CompositeController or DecoratorController
	Parent     *object.Object   // or what is decorated
	Children   []*object.Object // as they would be observed
	Related    []*object.Object // what there is beside them, of which the customize hook picks
	Finalizing bool             // ask the finalize hook
	Now        time.Time        // request.now; zero is the clock
	Resources  *kube.Offline
	Sandbox    Sandbox
	Sources    scripts.Sources                         // where scripts are that are not in the controller object
	Log        func(hookName string, m engine.Message) // what scripts print; nil drops it
}

// Run asks the hook. It checks the spec and the answer as the server does.
func (t *Trial) Run(ctx context.Context) (*hook.Response, error) {
	d, err := declare(t.Controller)
	if err != nil {
		return nil, err
	}
	if err := t.mayBeParent(d); err != nil {
		return nil, err
	}
	if err := d.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", object.Describe(t.Controller), err)
	}
	hooks, err := t.loader().read(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.Describe(t.Controller), err)
	}
	found, err := resolve(d, t.resources(d))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.Describe(t.Controller), err)
	}
	b, err := binding(d, found)
	if err != nil {
		return nil, err
	}
	b.Customize = hooks.customize
	hidden := redact.New(t.Parent.GetKind(), t.Parent.GetNamespace(), t.Parent.GetName())
	hidden.Add(t.Parent)
	hidden.Add(t.Children...)
	hidden.Add(t.Related...)
	ctx = redact.NewContext(ctx, hidden)
	req, err := t.request(ctx, d, found, b)
	if err != nil {
		return nil, hidden.Error(err)
	}
	ask, name := hooks.sync, hook.Sync
	if t.Finalizing {
		ask, name = hooks.finalize, hook.Finalize
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
func (t *Trial) mayBeParent(d *declaration) error {
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
func (t *Trial) resources(d *declaration) *kube.Offline {
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

func (t *Trial) loader() *hookLoader {
	l := &hookLoader{sandbox: t.Sandbox.withDefaults(), sources: t.Sources}
	if t.Log != nil {
		l.log = func(name string, _ *hook.Request, m engine.Message) { t.Log(name, m) }
	}
	if !t.Now.IsZero() {
		l.now = func() time.Time { return t.Now }
	}
	return l
}

// request is what the hook would be asked.
func (t *Trial) request(ctx context.Context, d *declaration, found resolved, b *Binding) (*hook.Request, error) {
	rule := b.rule(t.Parent.GroupVersionKind())
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
		Shape: d.Shape, Controller: asHooksSee(t.Controller), Parent: parent, Children: &object.Set{}, Finalizing: t.Finalizing,
	}
	var err error
	if req.Expect, err = b.expect(parent); err != nil {
		return nil, err
	}
	for _, rule := range found.children {
		req.Children.Declare(rule.ObjectKind())
	}
	if err := t.observe(req, d.Field); err != nil {
		return nil, err
	}
	req.Related, err = t.relate(ctx, b, req)
	return req, err
}

// observe puts the observed children into a request.
func (t *Trial) observe(req *hook.Request, field childField) error {
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
func (t *Trial) relate(ctx context.Context, b *Binding, req *hook.Request) (*object.Set, error) {
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
func (t *Trial) find(rule related.Rule) []*object.Object {
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
func (t *Trial) namespaceLabels(name string) labels.Set {
	found := labels.Set{corev1.LabelMetadataName: name}
	for _, o := range t.Related {
		if o.GroupVersionKind() == related.Namespaces.ObjectKind() && o.GetName() == name {
			maps.Copy(found, o.GetLabels())
		}
	}
	return found
}

// kindsOf names the kinds of parents for people.
func kindsOf(rules []*parentResource) string {
	var names []string
	for _, rule := range rules {
		names = append(names, rule.ObjectKind().String())
	}
	return strings.Join(names, "; ")
}

// Doubts are what a controller object says that is accepted but has no effect, or less than it says, as far as that
// shows without its scripts. One that cannot be read has none.
func Doubts(o *object.Object, in Sandbox) []string {
	d, err := declare(o)
	if err != nil {
		return nil
	}
	return append(in.withDefaults().doubts(d), d.warnings()...)
}

// Check compiles the scripts of a controller object and finds its hooks, without a cluster. It gives the hooks' names
// and what is accepted but probably not meant.
func Check(ctx context.Context, o *object.Object, in Sandbox, from scripts.Sources) (hooks, doubts []string, err error) {
	d, err := declare(o)
	if err != nil {
		return nil, nil, err
	}
	if err := d.validate(); err != nil {
		return nil, nil, err
	}
	sandbox := in.withDefaults()
	loaded, err := (&hookLoader{sandbox: sandbox, sources: from}).read(ctx, d)
	return loaded.names, append(append(sandbox.doubts(d), d.warnings()...), loaded.doubts...), err
}
