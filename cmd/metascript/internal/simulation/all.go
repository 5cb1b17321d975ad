package simulation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"metascript/cmd/metascript/internal/check"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/output"
	"metascript/cmd/metascript/internal/schemaflags"
	"metascript/controller/object"
	"metascript/controller/schemas"
)

// RunAll does the steps of several files, each in a new cluster. It returns an error if an expectation is not met.
func RunAll(ctx context.Context, files []*File, o Options) error {
	var all Result
	for i, f := range files {
		if len(files) > 1 && !o.Objects {
			fmt.Fprintf(o.Out, "%s# %s\n\n", strings.Repeat("\n", min(i, 1)), f.path)
		}
		if err := f.check(); err != nil {
			return err
		}
		result, err := Run(ctx, f, o)
		if err != nil {
			return err
		}
		all.Expectations += result.Expectations
		all.Failed += result.Failed
	}
	switch {
	case all.Failed > 0:
		return fmt.Errorf("%d of %d expectations are not met", all.Failed, all.Expectations)
	case all.Expectations > 0 && !o.Objects:
		fmt.Fprintf(o.Out, "\n%d expectations: all are met\n", all.Expectations)
	}
	return nil
}

// check returns what the API server would refuse of the controllers and the definitions, as the command check prints it. Without it, the
// API of the simulation would refuse them with less to say.
func (f *File) check() error {
	var paths []string
	for _, name := range []string{"crd.yaml", controllerFile} {
		if path := filepath.Join(f.dir, name); name == controllerFile || fileExists(path) {
			paths = append(paths, path)
		}
	}
	docs, err := manifest.Read(paths, nil)
	if err != nil {
		return err
	}
	crds, err := manifest.CRDs(docs)
	if err != nil {
		return err
	}
	known, err := schemaflags.WithOwn(schemas.Kubernetes(), crds...)
	if err != nil {
		return err
	}
	var all []string
	for _, doc := range docs {
		if manifest.IsController(doc.Object) || doc.GetKind() == manifest.KindCRD {
			all = append(all, check.Errors(doc, known)...)
		}
	}
	if len(all) > 0 {
		return errors.New(strings.Join(all, "\n"))
	}
	return nil
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// printObjects prints the objects that exist, without definitions, what the server stores for itself, and managed fields.
func (s *simulation) printObjects(out io.Writer) error {
	all := slices.DeleteFunc(s.api.All(), func(o *object.Object) bool {
		return o.GetKind() == manifest.KindCRD || o.GetNamespace() == serverNamespace ||
			o.GetKind() == "Namespace" && (o.GetName() == defaultNamespace || o.GetName() == serverNamespace)
	})
	slices.SortFunc(all, func(a, b *object.Object) int { return strings.Compare(sortKey(a), sortKey(b)) })
	for _, o := range all {
		o = object.Copy(o)
		o.SetManagedFields(nil)
		text, err := output.YAML(o.Map())
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "---\n%s", text)
	}
	return nil
}

func sortKey(o *object.Object) string { return object.Describe(o) + " " + o.GetAPIVersion() }
