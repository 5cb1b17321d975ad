// Package hookcall calls a hook of a controller without a cluster, with a parent, children and related objects from files. The request
// of the hook and the checks of its answer are the same as in a cluster that has these objects.
package hookcall

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/controller/api/validation"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/offline"
	"metascript/engine"
	"metascript/scripts"
)

// A Call is one call of a hook. The kinds of its objects need no definition.
type Call struct {
	Controller, Parent manifest.Document
	Children           []manifest.Document // the observed children
	Related            []manifest.Document // the objects from which the customize hook selects
	Finalizing         bool                // call the finalize hook, not the sync hook
	Now                string              // request.now, in RFC 3339; "" means the time of the call

	Definitions []*apiextensionsv1.CustomResourceDefinition // for the defaults of objects, and for kinds without an object
	Known       map[schema.GroupVersionResource]object.Kind // more kinds without an object; may be nil
	Sources     scripts.Sources                             // of scripts that are not in the controller object
}

// Do calls the hook and returns its answer. It writes what the script prints to log. It modifies the objects of the call: it sets
// their defaults, like the API server. So Do must be called only once.
func (c *Call) Do(ctx context.Context, in *sandbox.Sandbox, log io.Writer) (*hook.Response, error) {
	sync, err := c.sync(in, log)
	if err != nil {
		return nil, err
	}
	return sync.Run(ctx)
}

// Customize calls only the customize hook, and returns its rules; none if there is no such hook. It is otherwise like Do, and is called
// in place of it.
func (c *Call) Customize(ctx context.Context, in *sandbox.Sandbox, log io.Writer) ([]hook.RelatedRule, error) {
	sync, err := c.sync(in, log)
	if err != nil {
		return nil, err
	}
	return sync.Customize(ctx)
}

// sync returns the call in the form of package offline, with the defaults of the objects.
func (c *Call) sync(in *sandbox.Sandbox, log io.Writer) (*offline.Sync, error) {
	objects := slices.Concat([]manifest.Document{c.Parent}, c.Children, c.Related)
	if err := setDefaults(c.Definitions, objects); err != nil {
		return nil, err
	}
	now, err := c.now()
	if err != nil {
		return nil, err
	}
	// Without a cluster there is no discovery. Instead the kinds of the objects are used, with those of Definitions and of Kubernetes.
	resources := &kube.Offline{Definitions: c.Definitions, Known: c.Known}
	for _, doc := range objects {
		resources.Seen = append(resources.Seen, doc.GroupVersionKind())
	}
	return &offline.Sync{
		Controller: c.Controller.Object, Parent: c.Parent.Object, Children: objectsOf(c.Children), Related: objectsOf(c.Related),
		Finalizing: c.Finalizing, Now: now, Resources: resources, Sandbox: in.Sandbox, Sources: c.Sources,
		Log: func(name string, m engine.Message) {
			fmt.Fprintf(log, "%s: %s: in %s: %s\n", m.Pos, m.Level, name, m.Text)
		},
	}, nil
}

// now returns request.now; the zero time means the time of the call.
func (c *Call) now() (time.Time, error) {
	if c.Now == "" {
		return time.Time{}, nil
	}
	now, err := time.Parse(time.RFC3339, c.Now)
	if err != nil {
		return time.Time{}, fmt.Errorf("now is %q: want a time such as 2026-01-02T15:04:05Z", c.Now)
	}
	return now, nil
}

// objectsOf returns the objects of documents.
func objectsOf(docs []manifest.Document) []*object.Object {
	var all []*object.Object
	for _, doc := range docs {
		all = append(all, doc.Object)
	}
	return all
}

// setDefaults sets the defaults of the objects whose kind is in defs. Objects of the kinds of Kubernetes get no defaults: those are in
// the code of the API server, and not in a definition.
func setDefaults(defs []*apiextensionsv1.CustomResourceDefinition, docs []manifest.Document) error {
	for _, crd := range defs {
		validator, err := validation.New(crd)
		if err != nil {
			return fmt.Errorf("CustomResourceDefinition %s: %w", crd.Name, err)
		}
		for _, doc := range docs {
			if kind := doc.GroupVersionKind(); kind.Group != crd.Spec.Group || kind.Kind != crd.Spec.Names.Kind {
				continue
			}
			if doc.Object.Object, err = validator.Default(doc.Object.Object); err != nil {
				return fmt.Errorf("%s: %s: %w", doc.File, object.Describe(doc.Object), err)
			}
		}
	}
	return nil
}
