package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"metascript/cmd/metascript/internal/check"
	"metascript/cmd/metascript/internal/hookcall"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/controller/hook"
	"metascript/engine"
)

// runFlags are the flags of the command run. Each list has files or folders; "-" means standard input, and can be in one of the lists.
type runFlags struct {
	files, parents, children, related []string
	finalizing                        bool
	now                               string
	sandbox                           sandbox.Flags
}

// runCommand returns the command run, which calls a hook once, with objects from files.
func runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run -f controller.yaml --parent parent.yaml",
		Short: "Call a hook once, without a cluster, and print its answer",
		Long: `Call the hook of a controller once, with a parent and children from files, and print its answer as YAML: the desired
children, and the status of the parent. The command needs no cluster and writes nothing. Text that the script prints goes
to standard error.

The kinds of Kubernetes are known. For a child of another kind, also pass the CustomResourceDefinition with -f, unless
the files contain an object of this kind. If the files contain the CustomResourceDefinition of the parent, its defaults
are set.`,
		Example: `  metascript run -f examples/pythonlambda/controller.yaml --parent examples/pythonlambda/parent.yaml`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runHook(cmd, &f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&f.files, "filename", "f", nil, `files or directories with the controller, and with CustomResourceDefinitions; "-" is standard input`)
	flags.StringSliceVar(&f.parents, "parent", nil, "file with the parent")
	flags.StringSliceVar(&f.children, "children", nil, "files with the observed children")
	flags.StringSliceVar(&f.related, "related", nil, "files with other objects, from which the customize hook selects")
	flags.BoolVar(&f.finalizing, "finalizing", false, "call the finalize hook")
	flags.StringVar(&f.now, "now", "", "the time that the script sees as request.now, such as 2026-01-02T15:04:05Z; defaults to the current time")
	f.sandbox.Register(flags)
	_ = cmd.MarkFlagRequired("filename")
	_ = cmd.MarkFlagRequired("parent")
	return cmd
}

// runHook prints only the answer to standard output, so that another program can read it. It prints warnings, errors and what the
// script prints to standard error.
func runHook(cmd *cobra.Command, f *runFlags) error {
	call, err := f.call(cmd.InOrStdin())
	if err != nil {
		return err
	}
	sandbox, err := f.sandbox.Open(nil, manifest.NeedWorkers([]manifest.Document{call.Controller}))
	if err != nil {
		return err
	}
	defer sandbox.Close()
	warnings, err := check.Warnings(call.Controller, sandbox)
	if err != nil {
		return err
	}
	printWarnings(cmd.ErrOrStderr(), warnings)
	answer, err := call.Do(cmd.Context(), sandbox, cmd.ErrOrStderr())
	if err != nil {
		return errors.New(engine.DetailOf(err))
	}
	printWarnings(cmd.ErrOrStderr(), answer.Warnings)
	return printAnswer(cmd.OutOrStdout(), answer)
}

// call returns the call that the files describe. It reads all files before it checks that there is a controller and a parent, since a
// file that cannot be read may have them.
func (f *runFlags) call(stdin io.Reader) (*hookcall.Call, error) {
	docs, err := manifest.Read(f.files, stdin)
	if err != nil {
		return nil, err
	}
	call := &hookcall.Call{Finalizing: f.finalizing, Now: f.now, Sources: manifest.ScriptSources(f.sandbox.Folders, docs)}
	if call.Definitions, err = manifest.CRDs(docs); err != nil {
		return nil, err
	}
	parents, err := manifest.Read(f.parents, stdin)
	if err != nil {
		return nil, err
	}
	if call.Children, err = manifest.Read(f.children, stdin); err != nil {
		return nil, err
	}
	if call.Related, err = manifest.Read(f.related, stdin); err != nil {
		return nil, err
	}
	controllers := manifest.Controllers(docs)
	if len(controllers) != 1 {
		return nil, fmt.Errorf("-f has %d controllers, want one", len(controllers))
	}
	if len(parents) != 1 {
		return nil, fmt.Errorf("--parent has %d objects, want one", len(parents))
	}
	call.Controller, call.Parent = controllers[0], parents[0]
	return call, nil
}

// printWarnings prints a line for each warning.
func printWarnings(w io.Writer, warnings []string) {
	for _, warning := range warnings {
		fmt.Fprintln(w, "warning:", warning)
	}
}

// printAnswer prints an answer as the document that a hook returns.
func printAnswer(w io.Writer, answer *hook.Response) error {
	text, err := yaml.Marshal(answer.Document())
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}
