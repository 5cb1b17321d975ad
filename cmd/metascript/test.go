package main

import (
	"github.com/spf13/cobra"

	"metascript/cmd/metascript/internal/cases"
	"metascript/cmd/metascript/internal/sandbox"
)

// testFlags are the flags of the command test.
type testFlags struct {
	update  bool
	sandbox sandbox.Flags
}

// testCommand returns the command test. Its help is the reference of the format of cases.
func testCommand() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test DIR...",
		Short: "Run test cases of controllers, without a cluster",
		Long: `Run test cases of controllers: call the hook with the input in each case, and compare the answer with the expected answer.
The command needs no cluster. It prints the differences, and exits with 1 if there are any.

DIR contains controller.yaml, crd.yaml if the kinds are custom resources, and cases/*.yaml. It can also be a directory of
such directories. Scripts in files are read from --scripts-dir, or else from DIR. A case is one document:

  controller: widgets          # the name of the controller, if controller.yaml has several
  parent: {...}                # or "object:"; defaults to the object in parent.yaml
  children: [...]              # or "attachments:"; the observed children; defaults to none
  related: [...]               # other existing objects, from which the customize hook selects
  finalizing: true             # call the finalize hook
  now: 2026-01-02T15:04:05Z    # the time that the script gets
  answer: {...}                # the expected answer, as "metascript run" prints it; must be the last field
  error: missing key           # instead of answer: a text that the error must contain

With --update, the expected part of each case that differs is replaced. The text above it does not change.`,
		Example: `  metascript test examples/immortalcontainer
  metascript test --update examples`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, dirs []string) error { return runCases(cmd, dirs, &f) },
	}
	cmd.Flags().BoolVar(&f.update, "update", false, "replace the expected part of the cases that differ")
	f.sandbox.Register(cmd.Flags())
	return cmd
}

// runCases reads all suites before it runs the first case, to find out whether a controller needs worker processes: all cases use the
// same sandbox.
func runCases(cmd *cobra.Command, dirs []string, f *testFlags) error {
	suites, err := cases.ReadSuites(dirs)
	if err != nil {
		return err
	}
	sandbox, err := f.sandbox.Open(nil, cases.NeedWorkers(suites))
	if err != nil {
		return err
	}
	defer sandbox.Close()
	runner := &cases.Runner{Out: cmd.OutOrStdout(), Sandbox: sandbox, Folders: f.sandbox.Folders, Update: f.update}
	return runner.Run(cmd.Context(), suites)
}
