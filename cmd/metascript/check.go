package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/check"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/output"
	"metascript/cmd/metascript/internal/place"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/cmd/metascript/internal/schemaflags"
	"metascript/cmd/metascript/internal/style"
	"metascript/controller/kinds"
)

// checkFlags are the flags of the command check.
type checkFlags struct {
	files   []string
	output  output.Format
	sandbox sandbox.Flags
	schemas schemaflags.Flags
}

// checkCommand returns the command check, for hooks of editors and of git: it needs no cluster, and its exit code is 1 if an object
// is not valid.
func checkCommand() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:        "check -f controller.yaml",
		SuggestFor: []string{"lint", "validate", "verify", "compile", "vet"},
		Short:      "Check controllers, and other objects, without a cluster",
		Long: `Check the objects in files without a cluster. A controller is validated as the API server would validate it, and its
scripts are compiled. Other objects are validated too: unknown fields, missing fields, wrong types and other values that
the API server would reject or drop. The command knows the kinds of Kubernetes ` + kinds.KubernetesSource().Kubernetes + `, and those of
CustomResourceDefinitions in the files, or in a file crd.yaml in the directory of a controller. An object of another kind is
not checked. With --cluster, the command uses the kinds and CustomResourceDefinitions of a cluster instead. The exit code is 1
if an object is not valid. For a valid controller, the output has its hooks, and the objects that the server keeps in memory.

With --output json or yaml, the output is an object with the field valid and the list objects. Each object has file,
apiVersion, kind, namespace, name, result (valid, invalid or unchecked), errors, warnings, hooks, caches, extensions (the
fields to remove before Metacontroller 4.17 runs the controller again) and diagnostics, which has the errors and warnings with severity, file, line, column, field, message and hint. If a file cannot be read, there are no objects,
and the output itself has diagnostics.`,
		Example: `  metascript check -f controller.yaml
  metascript check -f examples/pythonlambda/controller.yaml -f examples/pythonlambda/crd.yaml
  metascript check -f 'examples/*/controller.yaml' -o json`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCheck(cmd, &f) },
	}
	cmd.Flags().StringSliceVarP(&f.files, "filename", "f", nil, `files, directories or quoted patterns such as "*.yaml" with the objects; "-" is standard input`)
	f.output.Register(cmd.Flags())
	f.schemas.Register(cmd.Flags())
	f.sandbox.Register(cmd.Flags())
	_ = cmd.MarkFlagRequired("filename")
	return cmd
}

// errInvalid makes the exit code 1 after check has printed the errors.
var errInvalid = errors.New("not all objects are valid")

// runCheck checks every document, also after one that is invalid. It collects the definitions first, so that their order in the
// files does not matter.
func runCheck(cmd *cobra.Command, f *checkFlags) error {
	if err := manifest.CheckScriptsDirs(f.sandbox.Folders); err != nil {
		return err
	}
	docs, err := manifest.Read(f.files, cmd.InOrStdin())
	if err != nil {
		return f.unreadable(cmd, err)
	}
	if len(docs) == 0 {
		return fmt.Errorf("no objects in %s%s", strings.Join(f.files, ", "), manifest.HintNested(f.files))
	}
	sandbox, err := f.sandbox.Open(nil, manifest.NeedWorkers(docs))
	if err != nil {
		return err
	}
	defer sandbox.Close()
	neighbors, err := manifest.Neighbors(docs)
	if err != nil {
		return f.unreadable(cmd, err)
	}
	invalid := slices.DeleteFunc(slices.Clone(neighbors), check.Usable) // they are checked too
	crds, err := manifest.CRDs(slices.DeleteFunc(append(neighbors, docs...), func(doc manifest.Document) bool { return !check.Usable(doc) }))
	if err != nil {
		return err
	}
	known, err := f.schemas.Schemas(cmd.Context(), crds...)
	if err != nil {
		return err
	}
	checker := &check.Checker{
		Schemas: known, Sandbox: sandbox, Sources: manifest.ScriptSources(f.sandbox.Folders, docs),
	}
	out, results := cmd.OutOrStdout(), check.Results{Valid: true}
	styler := style.For(out)
	for _, doc := range append(invalid, docs...) {
		result := checker.Check(cmd.Context(), doc)
		results.Valid = results.Valid && result.Result != check.Invalid
		results.Objects = append(results.Objects, result)
		if f.output.IsText() {
			fmt.Fprint(out, result.Text(styler))
		}
	}
	if !f.output.IsText() {
		if err := f.output.Print(out, results); err != nil {
			return err
		}
	}
	if !results.Valid {
		return errInvalid
	}
	return nil
}

// unreadable prints for programs why a file cannot be read, and returns that error.
func (f *checkFlags) unreadable(cmd *cobra.Command, why error) error {
	if f.output.IsText() {
		return why
	}
	results := check.Results{Objects: []check.Result{}, Diagnostics: place.Diagnostics(why, "error")}
	return cmp.Or(f.output.Print(cmd.OutOrStdout(), results), why)
}
