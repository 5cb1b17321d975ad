package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"metascript/controller/hook"
	"metascript/engine"
)

type runFlags struct {
	files, parents, children, related []string
	finalizing                        bool
	now                               string
	sandbox                           sandboxFlags
}

func runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run -f controller.yaml --parent parent.yaml",
		Short: "Run one sync offline and print what the hook wants",
		Long: `Run one sync offline: ask the hook of a controller what a parent's children and status should be, and print its
answer as YAML. No cluster is needed and nothing is written. What the script prints goes to standard error.

Kinds of Kubernetes itself are known. Give the CustomResourceDefinition of another child kind with -f as well,
unless an object of the kind is given. With the parent's definition among the files, its defaults are set.`,
		Example: `  metascript run -f examples/pythonlambda/controller.yaml --parent examples/pythonlambda/parent.yaml`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runOffline(cmd, f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&f.files, "filename", "f", nil, `files or folders with the controller, and with definitions; "-" is standard input`)
	flags.StringSliceVar(&f.parents, "parent", nil, "file with the parent")
	flags.StringSliceVar(&f.children, "children", nil, "files with the children that are observed")
	flags.StringSliceVar(&f.related, "related", nil, "files with what there is beside them, of which the customize hook picks")
	flags.BoolVar(&f.finalizing, "finalizing", false, "ask the finalize hook")
	flags.StringVar(&f.now, "now", "", "the time that the script sees as request.now, such as 2026-01-02T15:04:05Z; the clock when absent")
	f.sandbox.register(flags)
	_ = cmd.MarkFlagRequired("filename")
	_ = cmd.MarkFlagRequired("parent")
	return cmd
}

func runOffline(cmd *cobra.Command, f runFlags) error {
	q, err := f.question(cmd.InOrStdin())
	if err != nil {
		return err
	}
	sandbox, err := f.sandbox.open(nil, asksForWorkers([]document{q.controller}))
	if err != nil {
		return err
	}
	defer sandbox.close()
	if err := warn(cmd.ErrOrStderr(), q.controller, sandbox.Sandbox); err != nil {
		return err
	}
	answer, err := q.ask(cmd.Context(), sandbox.Sandbox, cmd.ErrOrStderr())
	if err != nil {
		return errors.New(engine.DetailOf(err))
	}
	for _, warning := range answer.Warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning:", warning)
	}
	return printAnswer(cmd.OutOrStdout(), answer)
}

// question reads the files.
func (f *runFlags) question(stdin io.Reader) (*question, error) {
	docs, err := readFiles(f.files, stdin)
	if err != nil {
		return nil, err
	}
	q := &question{finalizing: f.finalizing, now: f.now, sources: offlineSources(f.sandbox.folders, docs)}
	if q.definitions, err = definitions(docs); err != nil {
		return nil, err
	}
	parents, err := readFiles(f.parents, stdin)
	if err != nil {
		return nil, err
	}
	if q.children, err = readFiles(f.children, stdin); err != nil {
		return nil, err
	}
	if q.related, err = readFiles(f.related, stdin); err != nil {
		return nil, err
	}
	found := controllers(docs)
	if len(found) != 1 {
		return nil, fmt.Errorf("-f has %d controllers, want one", len(found))
	}
	if len(parents) != 1 {
		return nil, fmt.Errorf("--parent has %d objects, want one", len(parents))
	}
	q.controller, q.parent = found[0], parents[0]
	return q, nil
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
