// Package offline calls the hooks of a controller without a cluster, for the command line.
//
//   - A [Sync] calls the sync or the finalize hook once, or only the customize hook.
//   - [Load] makes the hooks of a controller object, without calling them.
//   - [Check] compiles the scripts of a controller object; [Warnings] checks only the object, [CheckScripts] only the scripts.
package offline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	"metascript/controller/kinds"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/random"
	"metascript/controller/redact"
	"metascript/controller/related"
	"metascript/controller/selection"
	"metascript/controller/spec"
	"metascript/engine"
	"metascript/engine/packed"
	"metascript/scripts"
)

// A Sync is one sync of a parent without a cluster. Run changes neither it nor its objects.
type Sync struct {
	Controller *object.Object   // a CompositeController or a DecoratorController
	Parent     *object.Object   // the parent, or the decorated object
	Children   []*object.Object // the observed children; their kinds must be declared by the controller
	Related    []*object.Object // the objects from which the customize hook selects; nil if there is no such hook
	Finalizing bool             // call the finalize hook instead of the sync hook
	Now        time.Time        // request.now; zero: the current time
	Resources  *kube.Offline    // replaces discovery
	Sandbox    build.Sandbox
	Sources    scripts.Sources                         // reads scripts that are not in the controller object
	Log        func(hookName string, m engine.Message) // called with each line that a script prints; nil: they are dropped
	Warn       func(error)                             // called before the hook if the controller does not select the parent, and with the warnings about customize; may be nil
}

// Run calls the customize hook, if there is one, and then the sync or the finalize hook. It returns the response of the latter.
// It validates the controller object and the responses as the server does. The
// hooks get values for fields that the parent does not have: a UID of zeros, generation 1, Now as the creationTimestamp, and the
// namespace "default". Errors and warnings do not contain values of Secrets.
func (s *Sync) Run(ctx context.Context) (*hook.Response, error) {
	b, req, err := s.prepare(ctx)
	if err != nil {
		return nil, err
	}
	if unlike := b.Rule(req.Parent.GroupVersionKind()).Unlike(req.Parent); s.Warn != nil && unlike != "" && !s.Finalizing {
		s.Warn(&ObjectError{s.Parent, "metadata", fmt.Sprintf("the controller does not select %s: %s", object.Describe(s.Parent), unlike)})
	}
	redactor := s.redactor()
	ctx = redact.NewContext(ctx, redactor)
	if req.Related, err = s.relate(ctx, b, req); err != nil {
		return nil, redactor.Error(err)
	}
	return s.call(ctx, b, req, redactor)
}

// Customize calls only the customize hook, and returns its rules. It returns none if there is no customize hook.
func (s *Sync) Customize(ctx context.Context) ([]hook.RelatedRule, error) {
	b, req, err := s.prepare(ctx)
	if err != nil || b.Customize == nil {
		return nil, err
	}
	redactor := s.redactor()
	response, err := s.customize(redact.NewContext(ctx, redactor), b, req)
	if err != nil {
		return nil, redactor.Error(err)
	}
	return response.Related, nil
}

// prepare makes the hooks of the controller, and the request, without related objects.
func (s *Sync) prepare(ctx context.Context) (*binding.Binding, *hook.Request, error) {
	d, err := s.declaration()
	if err != nil {
		return nil, nil, err
	}
	built, err := s.builder().ReadAndBuild(ctx, d)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", object.Describe(s.Controller), withoutHooks(err))
	}
	resolved, err := spec.Resolve(d, s.resources(d))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", object.Describe(s.Controller), err)
	}
	b, err := binding.Bind(d, resolved)
	if err != nil {
		return nil, nil, err
	}
	b.Hooks = built.Hooks()
	req, err := s.request(d, resolved, b)
	return b, req, s.redactor().Error(err)
}

// declaration reads and validates the controller object.
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

// redactor returns a Redactor with the values of the Secrets that the hook sees.
func (s *Sync) redactor() *redact.Redactor {
	r := redact.New(s.Parent.GetKind(), s.Parent.GetNamespace(), s.Parent.GetName())
	r.Add(s.Children...)
	r.Add(s.Related...)
	r.Add(s.Parent)
	r.AddPublic(s.Parent)
	return r
}

// call calls the sync or the finalize hook.
func (s *Sync) call(ctx context.Context, b *binding.Binding, req *hook.Request, redactor *redact.Redactor) (*hook.Response, error) {
	called, name := b.Sync, hook.Sync
	if s.Finalizing {
		called, name = b.Finalize, hook.Finalize
	}
	if called == nil {
		return nil, fmt.Errorf("%s has no %s hook", object.Describe(s.Controller), name)
	}
	if content, err := packed.Pack(req.Parent.Map()); err == nil {
		req.Parent = object.OfPacked(content) // so that it is known what a script reads of it
	}
	response, err := called.Call(ctx, req)
	if err == nil {
		for i, warning := range response.Warnings {
			response.Warnings[i] = redactor.Error(warning)
		}
		if response.Unread != nil {
			response.Warnings = append(response.Warnings, redactor.Error(response.Unread))
		}
	}
	return response, redactor.Error(err)
}

// mayBeParent returns an error if no parent resource of the controller has the apiVersion of the parent.
func (s *Sync) mayBeParent(d *spec.Declaration) error {
	have, want := s.Parent.GetAPIVersion(), []string(nil)
	for _, rule := range d.Parents {
		if rule.APIVersion == "" || rule.Resource == "" {
			return fmt.Errorf("%s: spec.%s has no apiVersion or no resource: for this parent write {apiVersion: %s, resource: %s}",
				object.Describe(s.Controller), rule.Field, have, kinds.Plural(s.Parent.GetKind()))
		}
		if rule.APIVersion == have {
			return nil
		}
		want = append(want, rule.Resource+" in "+rule.APIVersion)
	}
	if len(want) == 0 {
		return fmt.Errorf("%s has no resources: for this parent add {apiVersion: %s, resource: %s} to spec.resources", object.Describe(s.Controller), have, kinds.Plural(s.Parent.GetKind()))
	}
	return &ObjectError{s.Parent, "apiVersion", fmt.Sprintf("%s is of %s, but the parents of %s are %s", object.Describe(s.Parent), have, object.Describe(s.Controller), strings.Join(want, ", "))}
}

// resources returns Resources, with the kind of the parent if it can be derived: if the controller has exactly one parent
// resource in the apiVersion of the parent, the parent is of that resource, unless a CustomResourceDefinition gives another
// kind.
func (s *Sync) resources(d *spec.Declaration) *kube.Offline {
	resources, kind := *s.Resources, s.Parent.GroupVersionKind()
	var named []v1alpha1.ResourceRule
	for _, rule := range d.Parents {
		if rule.APIVersion == kind.GroupVersion().String() {
			named = append(named, rule.ResourceRule)
		}
	}
	if len(named) == 1 {
		known := map[schema.GroupVersionResource]object.Kind{kind.GroupVersion().WithResource(named[0].Resource): kind}
		maps.Copy(known, resources.Known)
		resources.Known = known
	}
	return &resources
}

// builder returns the Builder for the scripts.
func (s *Sync) builder() *build.Builder {
	b := &build.Builder{Sandbox: Sandbox(s.Sandbox), Sources: s.Sources}
	if s.Log != nil {
		b.Log = func(name string, _ *hook.Request, m engine.Message) { s.Log(name, m) }
	}
	if !s.Now.IsZero() {
		b.Now = func() time.Time { return s.Now }
	}
	return b
}

// Sandbox returns a sandbox for scripts that are called without a cluster, with the defaults for what is not set: their random values are
// derived from a key that everybody knows.
func Sandbox(s build.Sandbox) *build.Sandbox {
	if s.Random == nil {
		s.Random = random.Offline
	}
	return s.WithDefaults()
}

// stored returns a copy of the parent with the fields that the API server sets on each object, unless it has them.
func (s *Sync) stored() *object.Object {
	parent := object.Copy(s.Parent)
	if parent.GetUID() == "" {
		parent.SetUID("00000000-0000-0000-0000-000000000000")
	}
	if parent.GetGeneration() == 0 {
		parent.SetGeneration(1)
	}
	if created := parent.GetCreationTimestamp(); created.IsZero() {
		now := s.Now
		if now.IsZero() {
			now = time.Now()
		}
		parent.SetCreationTimestamp(metav1.NewTime(now))
	}
	return parent
}

// request returns the request for the hook, without related objects.
func (s *Sync) request(d *spec.Declaration, resolved spec.Resolved, b *binding.Binding) (*hook.Request, error) {
	rule := b.Rule(s.Parent.GroupVersionKind())
	if rule == nil {
		return nil, s.otherParent(b)
	}
	parent := s.stored()
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
	for _, rule := range resolved.Children {
		req.Children.Declare(rule.ObjectKind())
	}
	return req, s.observe(req, d.Field)
}

// observe adds the observed children to a request. A child of a kind that is not declared is an error.
func (s *Sync) observe(req *hook.Request, field spec.ChildField) error {
	for _, child := range s.Children {
		namespaced, declared := req.Expect.Kinds[child.GroupVersionKind()]
		if !declared {
			return &ObjectError{child, "kind", fmt.Sprintf("the observed child %s is of a kind that is not in the controller's %s%s", object.Describe(child), field, likeKind(child, slices.Collect(maps.Keys(req.Expect.Kinds))))}
		}
		o := object.Copy(child)
		if namespaced && o.GetNamespace() == "" {
			o.SetNamespace(req.Parent.GetNamespace())
		}
		req.Children.Put(o)
	}
	return nil
}

// relate calls the customize hook and returns the related objects that it selects. Without a customize hook it returns nil, and
// an error if there are related objects.
func (s *Sync) relate(ctx context.Context, b *binding.Binding, req *hook.Request) (*object.Set, error) {
	if b.Customize == nil {
		if len(s.Related) > 0 {
			return nil, fmt.Errorf("%s has no customize hook, which would select related objects", object.Describe(s.Controller))
		}
		return nil, nil
	}
	response, err := s.customize(ctx, b, req)
	if err != nil {
		return nil, err
	}
	for _, warning := range response.Warnings {
		if s.Warn != nil {
			s.Warn(warning)
		}
	}
	rules, err := related.Rules(req.Parent, response.Related, s.Resources, b.RelatedScope)
	if wrong := (*related.RuleError)(nil); errors.As(err, &wrong) {
		return nil, response.Problem(wrong.Path(), wrong.Error(), "")
	}
	if err != nil {
		return nil, err
	}
	return related.Select(rules, s.find), nil
}

// customize calls the customize hook, which must exist.
func (s *Sync) customize(ctx context.Context, b *binding.Binding, req *hook.Request) (*hook.Response, error) {
	return b.Customize.Call(ctx, &hook.Request{Shape: hook.Customizing, Controller: req.Controller, Parent: req.Parent, Children: req.Children})
}

// find returns copies of the related objects that a rule selects. One without a namespace is in that of the parent.
func (s *Sync) find(rule related.Rule) []*object.Object {
	var found []*object.Object
	for _, unselected := range s.Related {
		o := object.Copy(unselected)
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

// namespaceLabels returns the labels of a namespace: those of the Namespace among the related objects, if there is one, and the
// label kubernetes.io/metadata.name, which the API server sets on each namespace.
func (s *Sync) namespaceLabels(name string) labels.Set {
	all := labels.Set{corev1.LabelMetadataName: name}
	for _, o := range s.Related {
		if o.GroupVersionKind() == related.Namespaces.ObjectKind() && o.GetName() == name {
			maps.Copy(all, o.GetLabels())
		}
	}
	return all
}

// An ObjectError says that an object does not suit the controller.
type ObjectError struct {
	Object *object.Object
	Field  string // of the object, that is wrong
	msg    string
}

// Error returns what is wrong.
func (e *ObjectError) Error() string { return e.msg }

// otherParent returns the error that the parent is of none of the kinds of the parents.
func (s *Sync) otherParent(b *binding.Binding) error {
	var all []object.Kind
	var names []string
	for _, rule := range b.Parents {
		all, names = append(all, rule.ObjectKind()), append(names, kindName(rule.ObjectKind()))
	}
	return &ObjectError{s.Parent, "kind", fmt.Sprintf("%s is of the kind %s, but the parents of %s are %s%s", object.Describe(s.Parent), kindName(s.Parent.GroupVersionKind()),
		object.Describe(s.Controller), strings.Join(names, " or "), likeKind(s.Parent, all))}
}

// likeKind returns the end of a message about the kind of an object: the kind that was probably meant.
func likeKind(o *object.Object, among []object.Kind) string {
	var names []string
	for _, kind := range among {
		if kind.GroupVersion().String() == o.GetAPIVersion() {
			names = append(names, kind.Kind)
		}
	}
	slices.Sort(names)
	if like := engine.Nearest(o.GetKind(), names); like != "" {
		return fmt.Sprintf(": did you mean \"kind: %s\"?", like)
	}
	return ""
}

// kindName returns a kind for error messages.
func kindName(of object.Kind) string { return of.Kind + " in " + of.GroupVersion().String() }

// Warnings returns warnings about fields of a controller object that are accepted but have no effect, or less effect than they
// say. It does not read the scripts. It returns none if the object cannot be read.
func Warnings(o *object.Object, sandbox build.Sandbox) []string {
	d, err := spec.Read(o)
	if err != nil {
		return nil
	}
	return append(sandbox.WithDefaults().Warnings(d), d.Warnings()...)
}
