// Package offline calls the hooks of a controller once without a cluster, for the command line.
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

// A Sync is one sync of a parent without a cluster.
type Sync struct {
	Controller *object.Object   // a CompositeController or DecoratorController
	Parent     *object.Object   // or the object that is decorated
	Children   []*object.Object // that are observed
	Related    []*object.Object // that exist beside the children, of which the customize hook selects
	Finalizing bool             // call the finalize hook in place of the sync hook
	Now        time.Time        // request.now; zero: the current time
	Resources  *kube.Offline
	Sandbox    build.Sandbox
	Sources    scripts.Sources                         // of scripts that are not in the controller object
	Log        func(hookName string, m engine.Message) // is called with what scripts print; nil: nothing is
}

// Run calls the hook. It checks the spec and the response as the server does.
func (s *Sync) Run(ctx context.Context) (*hook.Response, error) {
	d, err := s.declaration()
	if err != nil {
		return nil, err
	}
	built, err := s.loader().ReadAndLoad(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.Describe(s.Controller), err)
	}
	found, err := spec.Resolve(d, s.resources(d))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.Describe(s.Controller), err)
	}
	b, err := binding.Bind(d, found)
	if err != nil {
		return nil, err
	}
	b.Customize = built.Customize
	hidden := s.redactor()
	ctx = redact.NewContext(ctx, hidden)
	req, err := s.request(ctx, d, found, b)
	if err != nil {
		return nil, hidden.Error(err)
	}
	return s.call(ctx, &built, req, hidden)
}

// declaration reads and checks the controller object.
func (s *Sync) declaration() (*spec.Declaration, error) {
	d, err := spec.Read(s.Controller)
	if err != nil {
		return nil, err
	}
	if err := s.mayBeParent(d); err != nil {
		return nil, err
	}
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", object.Describe(s.Controller), err)
	}
	return d, nil
}

// redactor hides what the Secrets hold that the hook sees.
func (s *Sync) redactor() *redact.Redactor {
	hidden := redact.New(s.Parent.GetKind(), s.Parent.GetNamespace(), s.Parent.GetName())
	hidden.Add(s.Parent)
	hidden.Add(s.Children...)
	hidden.Add(s.Related...)
	return hidden
}

// call calls the sync or the finalize hook.
func (s *Sync) call(ctx context.Context, built *build.Built, req *hook.Request, hidden *redact.Redactor) (*hook.Response, error) {
	called, name := built.Sync, hook.Sync
	if s.Finalizing {
		called, name = built.Finalize, hook.Finalize
	}
	if called == nil {
		return nil, fmt.Errorf("%s has no %s hook", object.Describe(s.Controller), name)
	}
	answer, err := called.Call(ctx, req)
	if err == nil {
		answer.Warnings = hidden.Texts(answer.Warnings)
	}
	return answer, hidden.Error(err)
}

// mayBeParent is an error if no rule names the parent's group and version.
func (s *Sync) mayBeParent(d *spec.Declaration) error {
	have, want := s.Parent.GetAPIVersion(), []string(nil)
	for _, rule := range d.Parents {
		if rule.APIVersion == have {
			return nil
		}
		want = append(want, rule.Resource+" in "+rule.APIVersion)
	}
	return fmt.Errorf("%s is of %s, and %s is about %s", object.Describe(s.Parent), have, object.Describe(s.Controller), strings.Join(want, ", "))
}

// resources are the known ones. If the rules name a single resource in the parent's group and version, the parent is taken
// for one of these, unless a definition says otherwise.
func (s *Sync) resources(d *spec.Declaration) *kube.Offline {
	with, kind := *s.Resources, s.Parent.GroupVersionKind()
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

func (s *Sync) loader() *build.Loader {
	l := &build.Loader{Sandbox: s.Sandbox.WithDefaults(), Sources: s.Sources}
	if s.Log != nil {
		l.Log = func(name string, _ *hook.Request, m engine.Message) { s.Log(name, m) }
	}
	if !s.Now.IsZero() {
		l.Now = func() time.Time { return s.Now }
	}
	return l
}

// request is the one with which the hook is called.
func (s *Sync) request(ctx context.Context, d *spec.Declaration, found spec.Resolved, b *binding.Binding) (*hook.Request, error) {
	rule := b.Rule(s.Parent.GroupVersionKind())
	if rule == nil {
		return nil, fmt.Errorf("%s is a %s, and %s is about %s", object.Describe(s.Parent), s.Parent.GroupVersionKind(), object.Describe(s.Controller), kindsOf(b.Parents))
	}
	parent := object.Copy(s.Parent)
	if parent.GetUID() == "" {
		parent.SetUID("00000000-0000-0000-0000-000000000000")
	}
	if rule.Namespaced && parent.GetNamespace() == "" {
		parent.SetNamespace("default")
	}
	req := &hook.Request{
		Shape: d.Shape, Controller: spec.ForHooks(s.Controller), Parent: parent, Children: &object.Set{}, Finalizing: s.Finalizing,
	}
	var err error
	if req.Expect, err = b.Expect(parent); err != nil {
		return nil, err
	}
	for _, rule := range found.Children {
		req.Children.Declare(rule.ObjectKind())
	}
	if err := s.observe(req, d.Field); err != nil {
		return nil, err
	}
	req.Related, err = s.relate(ctx, b, req)
	return req, err
}

// observe puts the observed children into a request.
func (s *Sync) observe(req *hook.Request, field spec.ChildField) error {
	for _, child := range s.Children {
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

// relate selects the related objects that the customize hook asks for.
func (s *Sync) relate(ctx context.Context, b *binding.Binding, req *hook.Request) (*object.Set, error) {
	if b.Customize == nil {
		if len(s.Related) > 0 {
			return nil, fmt.Errorf("%s has no customize hook, which would ask for related objects", object.Describe(s.Controller))
		}
		return nil, nil
	}
	answer, err := b.Customize.Call(ctx, &hook.Request{Shape: hook.Customizing, Controller: req.Controller, Parent: req.Parent, Children: req.Children})
	if err != nil {
		return nil, err
	}
	rules, err := related.Rules(req.Parent, answer.Related, s.Resources, b.ParentNamespaceOnly)
	if err != nil {
		return nil, err
	}
	return related.Select(rules, s.find), nil
}

// find returns the related objects that a rule selects.
func (s *Sync) find(rule related.Rule) []*object.Object {
	var found []*object.Object
	for _, given := range s.Related {
		o := object.Copy(given)
		if rule.Namespaced && o.GetNamespace() == "" {
			o.SetNamespace(cmp.Or(s.Parent.GetNamespace(), metav1.NamespaceDefault))
		}
		subject := selection.Subject{
			Namespace: o.GetNamespace(), Name: o.GetName(), Labels: o.GetLabels(), NamespaceLabels: s.namespaceLabels(o.GetNamespace()),
		}
		if o.GroupVersionKind() == rule.ObjectKind() && rule.Query.Matches(&subject) {
			found = append(found, o)
		}
	}
	return found
}

// namespaceLabels returns the labels of a namespace that is among the related objects. Every namespace has its name as one.
func (s *Sync) namespaceLabels(name string) labels.Set {
	found := labels.Set{corev1.LabelMetadataName: name}
	for _, o := range s.Related {
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

// Warnings are about what a controller object sets that is accepted but has no effect, or less effect than it says, as far as
// that can be known without its scripts. There are none about an object that cannot be read.
func Warnings(o *object.Object, in build.Sandbox) []string {
	d, err := spec.Read(o)
	if err != nil {
		return nil
	}
	return append(in.WithDefaults().Warnings(d), d.Warnings()...)
}

// Check compiles the scripts of a controller object, without a cluster. It returns the names of the hooks, and warnings about
// what is accepted but probably not meant.
func Check(ctx context.Context, o *object.Object, in build.Sandbox, from scripts.Sources) (hooks, warnings []string, err error) {
	d, err := spec.Read(o)
	if err != nil {
		return nil, nil, err
	}
	if err := d.Validate(); err != nil {
		return nil, nil, err
	}
	sandbox := in.WithDefaults()
	loaded, err := (&build.Loader{Sandbox: sandbox, Sources: from}).ReadAndLoad(ctx, d)
	return loaded.Names, append(append(sandbox.Warnings(d), d.Warnings()...), loaded.Warnings...), err
}
