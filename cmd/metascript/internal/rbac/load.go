// Package rbac prints the RBAC objects that permit the ServiceAccounts of controllers what they need, and compares them with those in a
// cluster. Package rights has what a controller needs.
//
// A [Loader] reads controllers and finds their rights. What a customize hook asks for is known only when it is called: with the
// objects of test cases, with other parents, or, by an [Observer], with those in a cluster. [Print] prints the objects, and a
// [Checker] compares rights with those that a cluster grants.
package rbac

import (
	"cmp"
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"metascript/cmd/metascript/internal/cases"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/binding"
	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/controller/kinds"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/offline"
	"metascript/controller/rights"
	"metascript/controller/schemas"
	"metascript/controller/spec"
	"metascript/scripts"
)

// An Account is a ServiceAccount.
type Account = v1alpha1.ServiceAccountRef

// A Loader finds the rights of controllers.
type Loader struct {
	Finder  kube.Finder // finds the resources that controllers name
	Schemas *schemas.Set
	Sandbox *sandbox.Sandbox
	Sources manifest.Sources

	Strategy   v1alpha1.ApplyStrategy // of controllers that do not set it
	Namespaces []string               // of the parents; none means all
	Watched    bool                   // the server watches only Namespaces
	Account    *Account               // of controllers without spec.serviceAccount; nil: that is an error

	// These are for controllers with a customize hook.

	Suites   []*cases.Suite      // the hook is called with the parents of their cases
	Parents  []manifest.Document // and with these
	Observer *Observer           // runs the controllers against a cluster; may be nil

	Log io.Writer // gets what scripts print, and a line for each case whose customize hook fails
}

// A Controller is a controller with what it needs.
type Controller struct {
	spec.ID
	Account  Account
	Proposed bool // the object has no spec.serviceAccount, and Account is that of the Loader
	Rights   rights.Rights

	Incomplete string // what is not known of the rights, and how to find it; "" if nothing is missing

	declared *declared
	asked    []Asked // what the customize hook asked for
}

// declared is what the object of a controller says.
type declared struct {
	*offline.Loaded
	document manifest.Document
	resolved spec.Resolved
	binding  *binding.Binding
}

// Load reads controllers and finds their rights. If ctx ends while the Observer runs, the result has what was observed until then.
func (l *Loader) Load(ctx context.Context, docs []manifest.Document) ([]*Controller, error) {
	var all []*Controller
	for _, doc := range docs {
		c, err := l.load(ctx, doc)
		if err != nil {
			return nil, l.Sources.Explain(doc, err)
		}
		all = append(all, c)
	}
	if err := l.ask(ctx, all); err != nil {
		return nil, err
	}
	if l.Observer != nil {
		if err := l.Observer.observe(ctx, docs, l.Sources, l.Namespaces); err != nil {
			return nil, err
		}
	}
	for _, c := range all {
		if l.Observer != nil {
			c.asked = append(c.asked, l.Observer.asked[c.ID]...)
		}
		l.derive(c)
	}
	return all, nil
}

// load reads one controller.
func (l *Loader) load(ctx context.Context, doc manifest.Document) (*Controller, error) {
	loaded, err := offline.Load(ctx, doc.Object, l.Sandbox.Sandbox, l.Sources.Sources)
	if err != nil {
		return nil, err
	}
	d := &declared{Loaded: loaded, document: doc}
	if d.resolved, err = spec.Resolve(loaded.Declaration, l.Finder); err != nil {
		return nil, err
	}
	if d.binding, err = binding.Bind(loaded.Declaration, d.resolved); err != nil {
		return nil, err
	}
	c := &Controller{ID: loaded.Declaration.ID(), declared: d}
	account := cmp.Or(loaded.Declaration.Settings.ServiceAccount, l.Account)
	if account == nil {
		return nil, fmt.Errorf("it has no spec.serviceAccount: set it, or propose one with --service-account NAMESPACE/NAME")
	}
	c.Account, c.Proposed = *account, loaded.Declaration.Settings.ServiceAccount == nil
	return c, nil
}

// derive finds the rights of a controller.
func (l *Loader) derive(c *Controller) {
	d := c.declared
	strategy := cmp.Or(d.Declaration.Settings.ApplyStrategy, l.Strategy)
	c.Rights = rights.Of(&rights.Controller{
		Shape: d.Declaration.Shape, Parents: d.resolved.Parents, Children: d.resolved.Children,
		Finalizes: d.Hooks.Finalize != nil, ServerSide: strategy == v1alpha1.ServerSideApply,
		References: d.References, Related: relatedOf(c.asked), Namespaces: l.Namespaces, Watched: l.Watched, AccountNamespace: c.Account.Namespace,
	})
	if d.Hooks.Customize != nil && len(c.asked) == 0 {
		c.Incomplete = "what its customize hook asks for is known only when the hook is called, and is missing: " + l.howToCustomize(c)
	}
}

// howToCustomize says how the customize hook, which was not called, can be called.
func (l *Loader) howToCustomize(c *Controller) string {
	const observe = "run the controllers against a cluster for some time with --observe 10m"
	switch {
	case l.Observer != nil:
		return fmt.Sprintf("in %s it was not called without an error, or there is no parent in the cluster", l.Observer.Period)
	case c.hasWebhook():
		return "it is a webhook; " + observe
	}
	return "name parents with --parent FILE, or directories of test cases with --cases DIR, or " + observe
}

// hasWebhook reports whether the customize hook is only a webhook. A webhook is not called with objects of files.
func (c *Controller) hasWebhook() bool {
	h := c.declared.Declaration.Hook(hook.Customize)
	return h != nil && h.Webhook != nil && h.Script == nil
}

// known returns the kinds of the parents and children, for a call without a cluster.
func (c *Controller) known() map[schema.GroupVersionResource]object.Kind {
	all := map[schema.GroupVersionResource]object.Kind{}
	for _, r := range c.declared.resolved.Parents {
		all[r.GroupVersionResource] = r.ObjectKind()
	}
	for _, r := range c.declared.resolved.Children {
		all[r.GroupVersionResource] = r.ObjectKind()
	}
	return all
}

// ConfigMaps returns a function that reads a ConfigMap with scripts among the files, or else in the cluster of config.
func ConfigMaps(ctx context.Context, files scripts.ConfigMaps, config *rest.Config) (scripts.ConfigMaps, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	resource := corev1.SchemeGroupVersion.WithResource("configmaps")
	return func(namespace, name string) (*scripts.ConfigMap, error) {
		if found, err := files(namespace, name); err == nil {
			return found, nil
		}
		o, err := client.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("it is not among the files, and cannot be read in the cluster: %w", err)
		}
		return build.ConfigMapContent(object.Of(o)), nil
	}, nil
}

// Kinds is a Finder that knows only the resources in a table. Unlike kube.Offline it guesses nothing, since the scope of a resource
// decides which objects are printed.
type Kinds kinds.Table

// ByName implements kube.Finder.
func (k Kinds) ByName(apiVersion, plural string) (kube.Resource, error) {
	found, err := (&kube.Offline{Kinds: kinds.Table(k)}).ByName(apiVersion, plural)
	if err != nil && kinds.MayExist(apiVersion) {
		err = fmt.Errorf("the scope of resource %q in %s is not known: give its CustomResourceDefinition with -f too", plural, apiVersion)
	}
	return found, err
}
