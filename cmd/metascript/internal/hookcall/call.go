// Package hookcall calls a hook of a controller without a cluster, with a parent, children and related objects from files. The request
// of the hook and the checks of its answer are the same as in a cluster that has these objects.
package hookcall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/place"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/offline"
	"metascript/controller/schemas"
	"metascript/engine"
)

// A Call is one call of a hook. The kinds of its objects need not be in Schemas.
type Call struct {
	Controller, Parent manifest.Document
	Children           []manifest.Document // the observed children
	Related            []manifest.Document // the objects from which the customize hook selects
	Finalizing         bool                // call the finalize hook, not the sync hook
	Now                string              // request.now, in RFC 3339; "" means the time of the call

	Schemas *schemas.Set                                // the kinds, for their names, defaults and schemas
	Known   map[schema.GroupVersionResource]object.Kind // more kinds without an object; may be nil
	Sources manifest.Sources                            // of scripts that are not in the controller object

	warnings []error // about the parent
}

// Do calls the hook and returns its answer. It writes what the script prints to log. It modifies the objects of the call: it sets
// their defaults, like the API server. So Do must be called only once.
func (c *Call) Do(ctx context.Context, in *sandbox.Sandbox, log io.Writer) (*hook.Response, error) {
	sync, err := c.sync(in, log)
	if err != nil {
		return nil, err
	}
	answer, err := sync.Run(ctx)
	return answer, c.located(err)
}

// DoChecked validates the objects, calls the hook as Do does, and validates the answer. It passes what is wrong with the objects to warn
// before the call, and what is wrong with the answer after it, with the warnings of the call: the first ones, as package place limits them. failed is the error of the call; err is why a schema cannot be used.
func (c *Call) DoChecked(ctx context.Context, in *sandbox.Sandbox, log io.Writer, warn func([]*place.Error)) (answer *hook.Response, failed, err error) {
	problems, err := c.InputProblems()
	if err != nil {
		return nil, nil, err
	}
	warn(problems)
	answer, failed = c.Do(ctx, in, log)
	warnings := c.Warnings(answer)
	if failed != nil {
		warn(warnings)
		return nil, failed, nil
	}
	if problems, err = c.AnswerProblems(answer); err != nil {
		return nil, nil, err
	}
	warn(place.First(slices.Concat(warnings, problems)))
	return answer, nil, nil
}

// Customize calls only the customize hook, and returns its rules; none if there is no such hook. It is otherwise like Do, and is called
// in place of it.
func (c *Call) Customize(ctx context.Context, in *sandbox.Sandbox, log io.Writer) ([]hook.RelatedRule, error) {
	sync, err := c.sync(in, log)
	if err != nil {
		return nil, err
	}
	rules, err := sync.Customize(ctx)
	return rules, c.located(err)
}

// located returns an error of the call with its place in the files.
func (c *Call) located(err error) error {
	var other *offline.ObjectError
	if !errors.As(err, &other) {
		return c.Sources.Located(c.Controller, err)
	}
	for _, doc := range slices.Concat([]manifest.Document{c.Parent}, c.Children) {
		if doc.Object == other.Object {
			e := doc.Errorf(other.Field, "%v", err)
			e.About = "" // the text names the object
			return e
		}
	}
	return err
}

// sync returns the call in the form of package offline, with the defaults of the objects.
func (c *Call) sync(in *sandbox.Sandbox, log io.Writer) (*offline.Sync, error) {
	objects := slices.Concat([]manifest.Document{c.Parent}, c.Children, c.Related)
	if err := setDefaults(c.Schemas, objects); err != nil {
		return nil, err
	}
	now, err := c.now()
	if err != nil {
		return nil, err
	}
	// Without a cluster there is no discovery. Instead the kinds of the objects are used, with those of Schemas.
	resources := &kube.Offline{Kinds: c.Schemas.Kinds(), Known: c.Known}
	for _, doc := range objects {
		resources.Seen = append(resources.Seen, doc.GroupVersionKind())
	}
	return &offline.Sync{
		Controller: c.Controller.Object, Parent: c.Parent.Object, Children: objectsOf(c.Children), Related: objectsOf(c.Related),
		Finalizing: c.Finalizing, Now: now, Resources: resources, Sandbox: in.Sandbox, Sources: c.Sources.Sources,
		Warn: func(warning error) { c.warnings = append(c.warnings, warning) },
		Log: func(name string, m engine.Message) {
			fmt.Fprintf(log, "%s: %s: in %s: %s\n", m.Pos, m.Level, name, strings.ReplaceAll(m.Text, "\n", "\n  | ")) // no line looks like another message
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

// setDefaults sets the defaults of custom resources. Objects of the kinds of Kubernetes get no defaults: most of those are in the code
// of the API server, and not in a schema.
func setDefaults(in *schemas.Set, docs []manifest.Document) error {
	for _, doc := range docs {
		kind, err := in.Kind(doc.GroupVersionKind())
		if err != nil || !kind.Custom {
			continue // a kind that is not known has no defaults
		}
		content, err := kind.Default(doc.Object.Map())
		if err != nil {
			return fmt.Errorf("%s: %s: %w", doc.File, object.Describe(doc.Object), err)
		}
		*doc.Object = *object.New(content)
	}
	return nil
}
