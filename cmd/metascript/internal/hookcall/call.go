// Package hookcall calls a hook of a controller without a cluster: with a parent, children and related objects that are in
// files. The hook is given what it would be given in a cluster that has these objects, and its answer is checked as there.
package hookcall

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

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

// A Call is one call of a hook, with all that the hook is to know. Kinds need no definition: those of Kubernetes are known, and
// that an object of another kind is given says enough about its kind.
type Call struct {
	Controller, Parent manifest.Document
	Children           []manifest.Document // as they are observed
	Related            []manifest.Document // those that the customize hook selects from
	Finalizing         bool                // call the finalize hook, not the sync hook
	Now                string              // request.now, as RFC 3339; "" is the time of the call

	Definitions []*apiextensionsv1.CustomResourceDefinition // of kinds that Kubernetes does not have
	Sources     scripts.Sources                             // where scripts are that are not in the controller object
}

// Do calls the hook and returns its answer. It writes what the script prints to log. It changes the objects of the call: it
// sets their defaults, as the API server does, so a Call is for one Do.
func (c *Call) Do(ctx context.Context, in *sandbox.Sandbox, log io.Writer) (*hook.Response, error) {
	objects := slices.Concat([]manifest.Document{c.Parent}, c.Children, c.Related)
	if err := setDefaults(c.Definitions, objects); err != nil {
		return nil, err
	}
	now, err := c.now()
	if err != nil {
		return nil, err
	}
	// Without a cluster there is no discovery. The kinds of the objects stand in for it, beside definitions and Kubernetes' own.
	resources := &kube.Offline{Definitions: c.Definitions}
	for _, doc := range objects {
		resources.Seen = append(resources.Seen, doc.GroupVersionKind())
	}
	sync := &offline.Sync{
		Controller: c.Controller.Object, Parent: c.Parent.Object, Children: objectsOf(c.Children), Related: objectsOf(c.Related),
		Finalizing: c.Finalizing, Now: now, Resources: resources, Sandbox: in.Sandbox, Sources: c.Sources,
		Log: func(name string, m engine.Message) {
			fmt.Fprintf(log, "%s: %s: in %s: %s\n", m.Pos, m.Level, name, m.Text)
		},
	}
	return sync.Run(ctx)
}

// now is what the hook is given as the time; zero is the time of the call.
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

// objectsOf leaves out the files.
func objectsOf(docs []manifest.Document) []*object.Object {
	var all []*object.Object
	for _, doc := range docs {
		all = append(all, doc.Object)
	}
	return all
}

// setDefaults sets the defaults of those objects whose definition is given. Of an object of Kubernetes itself the defaults are
// missing: they are in the code of the API server, not in a definition.
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
