package rbac

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/cmd/metascript/internal/hookcall"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/related"
	"metascript/controller/rights"
	"metascript/engine"
)

// Asked is what a customize hook asked for, for one parent.
type Asked struct {
	Parent object.Ref
	Rules  []related.Rule
}

// ask calls the customize hooks of controllers with the parents of the cases, and with the other parents. It returns an error if one of
// the others is not a parent of a controller: most likely its file is not the one that the user meant.
func (l *Loader) ask(ctx context.Context, controllers []*Controller) error {
	for _, c := range controllers {
		if err := l.askCases(ctx, c); err != nil {
			return err
		}
	}
	for _, doc := range l.Parents {
		isParent := false
		for _, c := range controllers {
			if c.parentResource(doc.GroupVersionKind()) == nil {
				continue
			}
			isParent = true
			call := &hookcall.Call{Parent: doc.Copy()}
			if err := l.customize(ctx, c, call); err != nil {
				return fmt.Errorf("%s: %s: the customize hook of %s fails: %s", doc.File, object.Describe(doc.Object), c.ID, engine.DetailOf(err))
			}
		}
		if !isParent {
			return fmt.Errorf("%s: %s is not a parent of a controller in the files", doc.File, object.Describe(doc.Object))
		}
	}
	return nil
}

// askCases calls the customize hook of c with the parent and the children of each case about c. If a call fails, that is a warning,
// unless the case expects an error.
func (l *Loader) askCases(ctx context.Context, c *Controller) error {
	for _, s := range l.Suites {
		calls, err := s.Calls()
		if err != nil {
			return err
		}
		for _, call := range calls {
			if call.Controller.GetKind() != c.Kind || call.Controller.GetName() != c.Name {
				continue
			}
			if err := l.customize(ctx, c, call.Call); err != nil && !call.Fails {
				fmt.Fprintf(l.Log, "warning: %s: the customize hook of %s fails: %s\n", call.File, c.ID, engine.DetailOf(err))
			}
		}
	}
	return nil
}

// parentResource returns the resource of parents of that kind, or nil.
func (c *Controller) parentResource(kind object.Kind) *kube.Resource {
	for _, r := range c.declared.resolved.Parents {
		if r.ObjectKind() == kind {
			return &r
		}
	}
	return nil
}

// customize calls the customize hook of c for the parent of call, and adds what it asks for to c. It does nothing if there is no hook
// that can be called.
func (l *Loader) customize(ctx context.Context, c *Controller, call *hookcall.Call) error {
	if c.declared.Hooks.Customize == nil || c.hasWebhook() {
		return nil
	}
	resource, parent := c.parentResource(call.Parent.GroupVersionKind()), call.Parent.Object
	if resource != nil && resource.Namespaced && parent.GetNamespace() == "" {
		parent.SetNamespace(metav1.NamespaceDefault)
	}
	call.Controller = c.declared.document
	call.Schemas, call.Known, call.Sources = l.Schemas, c.known(), l.Sources
	returned, err := call.Customize(ctx, l.Sandbox, l.Log)
	if err != nil {
		return err
	}
	rules, err := related.Rules(parent, returned, l.Finder, c.declared.binding.RelatedScope)
	if err == nil {
		c.asked = append(c.asked, Asked{object.RefOf(parent), rules})
	}
	return err
}

// relatedOf returns the resources that customize hooks asked for, each once.
//
// A namespace that is that of the parent is most often computed from it. So it stands for the namespace of each parent, unless a
// parent in another namespace asked for it too.
func relatedOf(asked []Asked) []rights.Related {
	var all []rights.Related
	for _, a := range asked {
		for _, rule := range a.Rules {
			r := rights.Related{Resource: rule.Resource, Namespace: rule.Query.Namespace, Labelled: rule.Query.Namespaces != nil}
			if r.Namespace != "" && r.Namespace == a.Parent.Namespace && !askedElsewhere(asked, r) {
				r.Namespace, r.ParentsNamespace = "", true
			}
			if !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	return all
}

// askedElsewhere reports whether a parent in another namespace asked for objects of a resource in the namespace of r.
func askedElsewhere(asked []Asked, r rights.Related) bool {
	return slices.ContainsFunc(asked, func(a Asked) bool {
		return a.Parent.Namespace != r.Namespace && slices.ContainsFunc(a.Rules, func(rule related.Rule) bool {
			return rule.Resource == r.Resource && rule.Query.Namespace == r.Namespace
		})
	})
}
