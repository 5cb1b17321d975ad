package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"metascript/cmd/metascript/internal/check"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/sandbox"
)

// checkFlags are the flags of the command check.
type checkFlags struct {
	files   []string
	sandbox sandbox.Flags
}

// checkCommand returns the command check, for hooks of editors and of git: it needs no cluster, and its exit code is 1 if an object
// is not valid.
func checkCommand() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check -f FILE",
		Short: "Check controllers, and other objects, without a cluster",
		Long: `Check the objects in files without a cluster. A controller is validated as the API server would validate it, and its
scripts are compiled. Other objects are validated against the CustomResourceDefinitions in the files. An object whose
kind has no CustomResourceDefinition in the files is not checked.`,
		Example: `  metascript check -f examples/pythonlambda/controller.yaml -f examples/pythonlambda/crd.yaml`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runCheck(cmd, &f) },
	}
	cmd.Flags().StringSliceVarP(&f.files, "filename", "f", nil, `files or directories with the objects; "-" is standard input`)
	f.sandbox.Register(cmd.Flags())
	_ = cmd.MarkFlagRequired("filename")
	return cmd
}

// errInvalid makes the exit code 1 after check has printed the errors.
var errInvalid = errors.New("not all objects are valid")

// runCheck checks every document, also after one that is invalid. It collects the definitions first, so that their order in the
// files does not matter.
func runCheck(cmd *cobra.Command, f *checkFlags) error {
	docs, err := manifest.Read(f.files, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if len(docs) == 0 {
		return fmt.Errorf("no objects in %s%s", strings.Join(f.files, ", "), manifest.HintNested(f.files))
	}
	sandbox, err := f.sandbox.Open(nil, manifest.NeedWorkers(docs))
	if err != nil {
		return err
	}
	defer sandbox.Close()
	crds, err := manifest.CRDs(docs)
	if err != nil {
		return err
	}
	rules, err := check.NewRules(crds...)
	if err != nil {
		return err
	}
	checker := &check.Checker{
		Out: cmd.OutOrStdout(), Rules: rules, Sandbox: sandbox, Sources: manifest.ScriptSources(f.sandbox.Folders, docs),
	}
	valid := true
	for _, doc := range docs {
		valid = checker.Check(cmd.Context(), doc) && valid
	}
	if !valid {
		return errInvalid
	}
	return nil
}
