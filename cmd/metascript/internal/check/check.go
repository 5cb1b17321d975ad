// Package check finds what is wrong with objects in files, without a cluster: it validates them against the definitions of
// their kinds, as the API server does, and compiles the scripts of controllers, as the server of controllers does.
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

// A Checker checks documents one by one, and prints for each what is wrong with it, or that nothing is.
type Checker struct {
	Out     io.Writer
	Rules   *Rules
	Sandbox *sandbox.Sandbox // where scripts are compiled
	Sources scripts.Sources  // where scripts are that are not in the controller object
}

// Check checks a document. It reports whether the document is valid.
//
// A document of an unknown kind is valid: its definition need not be among the files. In our own group all kinds are known, so
// there it is a misspelt kind. A definition is not checked itself: it could be read, which is all that checking others needs.
func (c *Checker) Check(ctx context.Context, doc manifest.Document) bool {
	name := fmt.Sprintf("%s: %s", doc.File, object.Describe(doc.Object))
	if doc.GetKind() == manifest.KindCRD {
		c.print(name, "ok, its objects are held against it")
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
	c.print(name, "passed over, its definition is not among the files")
	return true
}

// compile checks what no definition can say: that the scripts compile, and define the functions of the hooks; and what the
// server would warn of in SpecSound. It prints the names of the hooks, by which an author sees a misspelt function.
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

// print prints a line. An error of a script has several, of which only the first has the name.
func (c *Checker) print(name, text string) { fmt.Fprintf(c.Out, "%s: %s\n", name, text) }

// Warnings are what a Checker would report about a controller, except for its scripts. The verb run prints them and goes on: a
// draft that the API server would refuse can be tried.
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
