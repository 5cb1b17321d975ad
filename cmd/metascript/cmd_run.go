package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"metascript/controller"
	"metascript/controller/api/validation"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/engine"
)

type runFlags struct {
	files, parents, children []string
	finalizing               bool
	now                      string
	sandbox                  sandboxFlags
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
	flags.BoolVar(&f.finalizing, "finalizing", false, "ask the finalize hook")
	flags.StringVar(&f.now, "now", "", "the time that the script sees as request.now, such as 2026-01-02T15:04:05Z; the clock when absent")
	f.sandbox.register(flags)
	_ = cmd.MarkFlagRequired("filename")
	_ = cmd.MarkFlagRequired("parent")
	return cmd
}

func runOffline(cmd *cobra.Command, f runFlags) error {
	trial, err := newTrial(f, cmd.InOrStdin())
	if err != nil {
		return err
	}
	sandbox, err := f.sandbox.open(nil, asksForWorkers([]document{{Object: trial.Controller}}))
	if err != nil {
		return err
	}
	defer sandbox.close()
	trial.Sandbox = sandbox.Sandbox
	trial.Log = func(name string, m engine.Message) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s: in %s: %s\n", m.Pos, m.Level, name, m.Text)
	}
	answer, err := trial.Run(cmd.Context())
	if err != nil {
		return errors.New(engine.DetailOf(err))
	}
	for _, warning := range answer.Warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning:", warning)
	}
	return printAnswer(cmd.OutOrStdout(), answer)
}

// newTrial reads the files.
func newTrial(f runFlags, stdin io.Reader) (*controller.Trial, error) {
	docs, err := readFiles(f.files, stdin)
	if err != nil {
		return nil, err
	}
	defs, err := definitions(docs)
	if err != nil {
		return nil, err
	}
	parents, err := readFiles(f.parents, stdin)
	if err != nil {
		return nil, err
	}
	children, err := readFiles(f.children, stdin)
	if err != nil {
		return nil, err
	}
	found := controllers(docs)
	if len(found) != 1 {
		return nil, fmt.Errorf("-f has %d controllers, want one", len(found))
	}
	if len(parents) != 1 {
		return nil, fmt.Errorf("--parent has %d objects, want one", len(parents))
	}
	trial := &controller.Trial{
		Controller: found[0].Object, Finalizing: f.finalizing,
		Resources: &kube.Offline{Definitions: defs},
	}
	if err := setDefaults(defs, slices.Concat(parents, children)); err != nil {
		return nil, err
	}
	trial.Parent = parents[0].Object
	for _, doc := range slices.Concat(parents, children) {
		trial.Resources.Seen = append(trial.Resources.Seen, doc.GroupVersionKind())
	}
	for _, child := range children {
		trial.Children = append(trial.Children, child.Object)
	}
	if f.now != "" {
		if trial.Now, err = time.Parse(time.RFC3339, f.now); err != nil {
			return nil, fmt.Errorf("--now %q: want a time such as 2026-01-02T15:04:05Z", f.now)
		}
	}
	return trial, nil
}

// setDefaults completes objects as the API server would, by the definitions that are given.
func setDefaults(defs []*apiextensionsv1.CustomResourceDefinition, docs []document) error {
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
				return fmt.Errorf("%s: %s: %w", doc.file, object.Describe(doc.Object), err)
			}
		}
	}
	return nil
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
