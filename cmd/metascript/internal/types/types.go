// Package types writes the types of controllers, from the schemas of their parents, children and related objects: declarations for
// TypeScript, which also check JavaScript, classes for the language server of Starlark, and functions for Jsonnet.
//
// A [Controller] is what the types depend on. [Of] makes it of a controller object, and [Generate] writes the texts.
package types

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/kinds"
	"metascript/controller/schemas"
	"metascript/controller/spec"
)

// A Controller is a controller with the kinds of the objects that its functions get and return.
type Controller struct {
	spec.ID
	Parents  []Kind
	Children []Kind
	Related  []Kind

	AnyRelated bool // its customize hook may ask for other kinds too
}

// A Kind is the resource of objects. It has no Kind, but only an API version and a plural name, if nothing else is known; then any
// fields are valid.
type Kind kinds.Resource

// known reports whether the kind has a schema.
func (k Kind) known() bool { return k.Kind != "" }

// gvk returns the group, version and kind.
func (k Kind) gvk() schema.GroupVersionKind { return kinds.Resource(k).GVK() }

// group returns the key of the objects in a request, such as Deployment.apps/v1.
func (k Kind) group() string { return k.Kind + "." + k.APIVersion }

// Of returns the controller that an object declares. Related is empty: which objects a customize hook asks for is known when it is
// called.
func Of(d *spec.Declaration, in kinds.Table) Controller {
	c := Controller{ID: d.ID()}
	for _, p := range d.Parents {
		c.Parents = appendNew(c.Parents, Find(in, p.ResourceRule))
	}
	for _, child := range d.Children {
		c.Children = appendNew(c.Children, Find(in, child.ResourceRule))
	}
	return c
}

// Find returns the kind of a resource.
func Find(in kinds.Table, rule v1alpha1.ResourceRule) Kind {
	if r, ok := in.ByName(rule.APIVersion, rule.Resource); ok {
		return Kind(r)
	}
	return Kind{APIVersion: rule.APIVersion, Plural: rule.Resource}
}

// AddRelated adds kinds of related objects.
func (c *Controller) AddRelated(all ...Kind) {
	for _, k := range all {
		c.Related = appendNew(c.Related, k)
	}
}

func appendNew(all []Kind, k Kind) []Kind {
	if slices.ContainsFunc(all, func(other Kind) bool {
		return other.APIVersion == k.APIVersion && other.Kind == k.Kind && other.Plural == k.Plural
	}) {
		return all
	}
	return append(all, k)
}

// decorator reports whether it is a DecoratorController.
func (c *Controller) decorator() bool { return c.Kind == v1alpha1.KindDecoratorController }

// kinds returns all its kinds.
func (c *Controller) kinds() []Kind { return slices.Concat(c.Parents, c.Children, c.Related) }

// Unknown returns a text for each kind that is not known: which one, and what to do.
func (c *Controller) Unknown(in kinds.Table) []string {
	var texts []string
	for _, k := range c.kinds() {
		if k.known() {
			continue
		}
		text := fmt.Sprintf("resource %q in %s is not known, so its objects are not checked: ", k.Plural, k.APIVersion)
		if hint := in.ResourceHint(k.APIVersion, k.Plural); hint != "" {
			text += hint
		} else {
			text += "give the file of its CustomResourceDefinition with -f too, or use --cluster"
		}
		texts = append(texts, text)
	}
	return texts
}

// Parse returns the kind with the name of a group of related objects, such as Secret.v1 or Deployment.apps/v1.
func Parse(in kinds.Table, group string) (Kind, error) {
	kind, apiVersion, found := strings.Cut(group, ".")
	if !found || kind == "" || apiVersion == "" {
		return Kind{}, fmt.Errorf("%q: want a kind and its API version, such as Secret.v1 or Deployment.apps/v1", group)
	}
	of := schema.FromAPIVersionAndKind(apiVersion, kind)
	r, ok := in.ByKind(of)
	if !ok {
		hint := in.KindHint(of)
		if hint == "" {
			hint = "give the file of its CustomResourceDefinition with -f too, or use --cluster"
		}
		return Kind{}, fmt.Errorf("%q: the kind %s in %s is not known: %s", group, kind, apiVersion, hint)
	}
	return Kind(r), nil
}

// Texts are the generated texts.
type Texts struct {
	TypeScript string // the part of metascript.d.ts that has the types of requests and answers
	Starlark   string // classes
	Jsonnet    string // kinds.libsonnet
}

// Generate writes the types of controllers. If strict, scripts are in TypeScript with all its checks. Otherwise they are in JavaScript,
// where TypeScript permits the use of unknown keys, unless the types say what an unknown key has.
func Generate(set *schemas.Set, controllers []Controller, strict bool) (*Texts, error) {
	model, err := newModel(set, controllers)
	if err != nil {
		return nil, err
	}
	return &Texts{typescriptOf(model, strict), starlarkOf(model), jsonnetOf(model)}, nil
}
