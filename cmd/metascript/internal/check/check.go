// Package check checks objects in files, without a cluster: it validates them against the CustomResourceDefinitions of their kinds,
// like the API server, and compiles the scripts of controllers, like the metascript server.
package check

import (
	"context"
	"fmt"
	"io"
	"strings"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
	"metascript/controller/offline"
	"metascript/engine"
	"metascript/scripts"
)

// A Checker checks documents one by one, and prints for each its errors, or that it has none.
type Checker struct {
	Out     io.Writer
	Rules   *Rules
	Sandbox *sandbox.Sandbox // where scripts are compiled
	Sources scripts.Sources  // of scripts that are not in the controller object
}

// Check checks a document. It reports whether the document is valid.
//
// A document of an unknown kind is valid: its definition need not be in the files. In the group of metascript all kinds are known, so
// an unknown kind is a spelling error. A definition itself is not checked: it could be decoded, which is sufficient.
func (c *Checker) Check(ctx context.Context, doc manifest.Document) bool {
	name := fmt.Sprintf("%s: %s", doc.File, object.Describe(doc.Object))
	if doc.GetKind() == manifest.KindCRD {
		c.print(name, "ok, its objects are validated against it")
		return true
	}
	errs, known := c.Rules.Validate(doc)
	switch {
	case known && len(errs) == 0 && manifest.IsController(doc.Object):
		return c.compile(ctx, name, doc.Object)
	case known && len(errs) == 0:
		c.print(name, "ok")
		return true
	case known:
		for _, err := range errs {
			c.print(name, err.Error())
		}
		return false
	case doc.GroupVersionKind().Group == v1alpha1.Group:
		c.print(name, "there is no such kind in "+v1alpha1.Group)
		return false
	}
	c.print(name, "not checked, its definition is not in the files")
	return true
}

// compile compiles the scripts of a controller, and prints the warnings that the server would report in the condition SpecSound. It
// also prints the names of the hooks, so that an author notices a misspelled function.
func (c *Checker) compile(ctx context.Context, name string, o *object.Object) bool {
	hooks, warnings, err := offline.Check(ctx, o, c.Sandbox.Sandbox, c.Sources)
	if err != nil {
		c.print(name, engine.DetailOf(err))
		return false
	}
	for _, warning := range warnings {
		c.print(name, "warning: "+warning)
	}
	c.print(name, "ok, hooks: "+strings.Join(hooks, ", "))
	return true
}

// print prints a text after the name. If the text has several lines, like an error of a script, only the first has the name.
func (c *Checker) print(name, text string) { fmt.Fprintf(c.Out, "%s: %s\n", name, text) }

// Warnings returns what a Checker would report about a controller, except for its scripts. The command run prints them and
// continues, so that an author can try a draft that the API server would reject.
func Warnings(doc manifest.Document, in *sandbox.Sandbox) ([]string, error) {
	rules, err := NewRules()
	if err != nil {
		return nil, err
	}
	all := rules.Refusals(doc)
	for _, warning := range offline.Warnings(doc.Object, in.Sandbox) {
		all = append(all, doc.File+": "+warning)
	}
	return all, nil
}
