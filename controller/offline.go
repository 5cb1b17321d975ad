package controller

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/engine"
)

// A Trial is one sync without a cluster: what would the controller's hook answer?
type Trial struct {
	Controller *object.Object // a CompositeController
	Parent     *object.Object
	Children   []*object.Object // as they would be observed
	Finalizing bool             // ask the finalize hook
	Now        time.Time        // request.now; zero is the clock
	Resources  *kube.Offline
	Sandbox    Sandbox
	Log        func(hookName string, m engine.Message) // what scripts print; nil drops it
}

// Run asks the hook. It checks the spec and the answer as the server does.
func (t *Trial) Run(ctx context.Context) (*hook.Response, error) {
	cc, err := decode(t.Controller)
	if err != nil {
		return nil, err
	}
	if want, have := cc.Spec.ParentResource, t.Parent.GetAPIVersion(); have != want.APIVersion {
		return nil, fmt.Errorf("%s is of %s, and parentResource of %s is %s in %s", object.Describe(t.Parent), have, object.Describe(t.Controller), want.Resource, want.APIVersion)
	}
	if err := refuse(&cc.Spec); err != nil {
		return nil, fmt.Errorf("%s: %w", object.Describe(t.Controller), err)
	}
	hooks, err := t.loader().load(ctx, &cc.Spec)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.Describe(t.Controller), err)
	}
	found, err := resolve(&cc.Spec, t.resources(&cc.Spec))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.Describe(t.Controller), err)
	}
	req, err := t.request(cc, found)
	if err != nil {
		return nil, err
	}
	ask := hooks.sync
	if t.Finalizing {
		ask = hooks.finalize
	}
	if ask == nil {
		return nil, fmt.Errorf("%s has no finalize hook", object.Describe(t.Controller))
	}
	return ask.Call(ctx, req)
}

// resources takes the parent's kind for the one that parentResource names; no definition says otherwise, or else that
// is found out.
func (t *Trial) resources(spec *v1alpha1.CompositeControllerSpec) *kube.Offline {
	with, kind := *t.Resources, t.Parent.GroupVersionKind()
	with.Known = map[schema.GroupVersionResource]object.Kind{kind.GroupVersion().WithResource(spec.ParentResource.Resource): kind}
	return &with
}

func (t *Trial) loader() *hookLoader {
	l := &hookLoader{sandbox: t.Sandbox.withDefaults(), owner: ownerOf(t.Controller.GetName())}
	if t.Log != nil {
		l.log = func(name string, _ *hook.Request, m engine.Message) { t.Log(name, m) }
	}
	if !t.Now.IsZero() {
		l.now = func() time.Time { return t.Now }
	}
	return l
}

// request is what the hook would be asked.
func (t *Trial) request(cc *v1alpha1.CompositeController, found resolved) (*hook.Request, error) {
	if want := found.parent.ObjectKind(); t.Parent.GroupVersionKind() != want {
		return nil, fmt.Errorf("the parent is a %s, and the controller's parentResource a %s", t.Parent.GroupVersionKind(), want)
	}
	parent := object.Copy(t.Parent)
	if parent.GetUID() == "" {
		parent.SetUID("00000000-0000-0000-0000-000000000000")
	}
	if found.parent.Namespaced && parent.GetNamespace() == "" {
		parent.SetNamespace("default")
	}
	b := binding(cc, found)
	req := &hook.Request{
		Controller: asHooksSee(t.Controller), Parent: parent, Children: &object.Set{}, Finalizing: t.Finalizing,
	}
	var err error
	if req.Expect, err = b.expect(parent); err != nil {
		return nil, err
	}
	for _, rule := range found.children {
		req.Children.Declare(rule.ObjectKind())
	}
	for _, child := range t.Children {
		if _, declared := req.Expect.Kinds[child.GroupVersionKind()]; !declared {
			return nil, fmt.Errorf("the observed child %s is not of a kind among the controller's childResources", object.Describe(child))
		}
		o := object.Copy(child)
		if req.Expect.Kinds[child.GroupVersionKind()] && o.GetNamespace() == "" {
			o.SetNamespace(parent.GetNamespace())
		}
		req.Children.Put(o)
	}
	return req, nil
}

// Check compiles the scripts of a CompositeController and finds its hooks, without a cluster. It gives the hooks'
// names and what is accepted but probably not meant.
func Check(ctx context.Context, o *object.Object, in Sandbox) (hooks, doubts []string, err error) {
	cc, err := decode(o)
	if err != nil {
		return nil, nil, err
	}
	if err := refuse(&cc.Spec); err != nil {
		return nil, nil, err
	}
	sandbox := in.withDefaults()
	loaded, err := (&hookLoader{sandbox: sandbox, owner: ownerOf(cc.Name)}).load(ctx, &cc.Spec)
	return loaded.names, append(doubtsOf(&cc.Spec, sandbox), loaded.doubts...), err
}
