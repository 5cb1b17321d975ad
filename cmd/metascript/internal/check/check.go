// Package check checks objects in files: it validates them against the schemas of their kinds, like the API server, and compiles the
// scripts of controllers, like the metascript server.
package check

import (
	"context"
	"errors"
	"reflect"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/place"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
	"metascript/controller/offline"
	"metascript/controller/schemas"
	"metascript/controller/spec"
)

// A Checker checks documents one by one.
type Checker struct {
	Schemas *schemas.Set     // the kinds that are known
	Sandbox *sandbox.Sandbox // where scripts are compiled
	Sources manifest.Sources // of scripts that are not in the controller object

	controllers []manifest.Document // that were checked
}

// Check checks a document.
//
// A document of an unknown kind is not invalid if the kind may exist: its definition need not be in the files. In the group of metascript
// and in those of Kubernetes all kinds are known, so an unknown kind is a spelling error, or of an old version.
func (c *Checker) Check(ctx context.Context, doc manifest.Document) Result {
	r := c.check(ctx, doc)
	r.finish()
	return r
}

// check is Check without what the output for programs has of the errors and warnings.
func (c *Checker) check(ctx context.Context, doc manifest.Document) Result {
	r := newResult(doc)
	problems, err := c.validate(doc.Object)
	if unknown := (*schemas.UnknownKindError)(nil); errors.As(err, &unknown) {
		if unknown.MayExist && unknown.Kind.Group != v1alpha1.Group && unknown.Kind.Group != apiextensionsv1.GroupName {
			r.Result, r.note = Unchecked, strings.TrimSuffix("not checked, its definition is not in the files; "+unknown.Hint, "; ")
			return r
		}
		unknown.MayExist = false
	}
	for _, e := range doc.Problems(problems) {
		r.fail(e)
	}
	switch {
	case err != nil:
		r.fail(unknownKind(doc, err))
	case len(problems) > 0:
	case manifest.IsController(doc.Object):
		c.compile(ctx, doc, &r)
		c.checkName(doc, &r)
	case doc.GetKind() == manifest.KindCRD:
		for _, e := range definitionWarnings(doc) {
			r.warn(e)
		}
		r.note = "ok, its objects are validated against it"
	}
	return r
}

// validate returns the problems of an object, as it would be sent to the API server.
func (c *Checker) validate(o *object.Object) ([]schemas.Problem, error) {
	kind, err := c.Schemas.Kind(o.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	problems := kind.Validate(o.Map())
	if !kind.Custom {
		problems = schemas.OfNew(problems)
	}
	return problems, nil
}

// compile compiles the scripts of a controller. Its warnings are those that the server would report in the condition SpecSound, and
// those about groups of objects that its scripts look for. The result has the names of the hooks too, so that an author notices a misspelled function, and
// what the server will have in its caches.
func (c *Checker) compile(ctx context.Context, doc manifest.Document, into *Result) {
	hooks, warnings, err := offline.Check(ctx, doc.Object, c.Sandbox.Sandbox, c.Sources.Sources)
	if err == nil {
		var more []string
		more, err = offline.CheckResources(doc.Object, c.Schemas)
		warnings = append(warnings, more...)
	}
	var served []string
	if err == nil {
		served, err = offline.CheckShadow(ctx, doc.Object, c.Sandbox.Sandbox, c.Sources.Sources)
	}
	if err != nil {
		into.fail(c.Sources.Explain(doc, err))
		return
	}
	for _, warning := range warnings {
		into.warn(c.Sources.Explain(doc, errors.New(warning)))
	}
	for _, warning := range offline.CheckScripts(ctx, doc.Object, c.Sandbox.Sandbox, c.Sources.Sources, c.Schemas) {
		into.warn(c.Sources.Explain(doc, warning))
	}
	into.Hooks, into.note = hooks, "ok, hooks: "+strings.Join(hooks, ", ")
	if len(served) > 0 {
		into.note += "; hooks of the candidate in spec.shadow: " + strings.Join(served, ", ")
	}
	into.Caches = offline.Caches(doc.Object, hooks, c.Schemas)
	if declared, err := spec.Read(doc.Object); err == nil {
		into.Extensions = declared.Extensions()
	}
}

// unknownKind returns the error that the kind of an object does not exist.
func unknownKind(doc manifest.Document, err error) *place.Error {
	field := "kind"
	if unknown := (*schemas.UnknownKindError)(nil); errors.As(err, &unknown) && strings.HasPrefix(unknown.Hint, `did you mean "apiVersion:`) {
		field = "apiVersion"
	}
	return doc.Errorf(field, "%v", err)
}

// checkName adds an error if another controller of the same kind had the same name: in a cluster, the one that is applied last would
// replace the other.
func (c *Checker) checkName(doc manifest.Document, into *Result) {
	for _, other := range c.controllers {
		if other.GetKind() == doc.GetKind() && other.GetName() == doc.GetName() && !reflect.DeepEqual(other.Object, doc.Object) {
			into.fail(doc.Errorf("metadata.name", "%s has another %s of this name, and in a cluster one would replace the other: rename one", other.File, doc.GetKind()))
			return
		}
	}
	c.controllers = append(c.controllers, doc)
}

// Usable reports whether a document can be used to check others: it is no CustomResourceDefinition, or a valid one.
func Usable(doc manifest.Document) bool {
	return doc.GetKind() != manifest.KindCRD || len(Refusals(doc, schemas.Kubernetes())) == 0
}

// Definitions returns an error with what is wrong with the CustomResourceDefinitions among documents.
func Definitions(docs []manifest.Document) error {
	var all []string
	for _, doc := range docs {
		if doc.GetKind() == manifest.KindCRD {
			all = append(all, Errors(doc, schemas.Kubernetes())...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return errors.New(strings.Join(all, "\n"))
}

// Warnings returns what a Checker would report about a controller, except for its scripts. The command run prints them and
// continues, so that an author can try a draft that the API server would reject.
func Warnings(doc manifest.Document, in *sandbox.Sandbox, known *schemas.Set) []string {
	all := Refusals(doc, known)
	for _, warning := range offline.Warnings(doc.Object, in.Sandbox) {
		all = append(all, manifest.Sources{}.Explain(doc, errors.New(warning)).Error())
	}
	return all
}

// ScriptWarnings returns the warnings that a Checker would report about the scripts of a controller.
func (c *Checker) ScriptWarnings(ctx context.Context, doc manifest.Document) []string {
	var all []string
	for _, warning := range offline.CheckScripts(ctx, doc.Object, c.Sandbox.Sandbox, c.Sources.Sources, c.Schemas) {
		all = append(all, c.Sources.Explain(doc, warning).Error())
	}
	return all
}

// Refusals returns why the API server would not store an object unchanged. Each text begins with the place in the file.
func Refusals(doc manifest.Document, known *schemas.Set) []string {
	var all []string
	for _, e := range (&Checker{Schemas: known}).errors(doc) {
		if e.Field != "kind" && e.Field != "apiVersion" {
			e.Msg = "the API server would reject it, or drop it: " + e.Msg
		}
		all = append(all, e.Error())
	}
	return all
}

// Errors returns the errors of an object as the command check prints them: with the place in the file and the name of the object.
func Errors(doc manifest.Document, known *schemas.Set) []string {
	var all []string
	for _, e := range (&Checker{Schemas: known}).errors(doc) {
		all = append(all, e.Error())
	}
	return all
}

// errors returns the problems of an object with their places.
func (c *Checker) errors(doc manifest.Document) []*place.Error {
	problems, err := c.validate(doc.Object)
	if err != nil {
		return []*place.Error{unknownKind(doc, err)}
	}
	return doc.Problems(problems)
}
