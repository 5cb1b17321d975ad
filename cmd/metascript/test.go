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
		Short: "Run the cases of controllers offline and compare the answers",
		Long: `Run the cases of controllers offline: call the hook with what each case says and compare the answer with the expected one.
No cluster is needed and nothing is written. A difference is printed, and the exit code is 1.

DIR has a controller.yaml, a crd.yaml if its kinds have definitions, and cases/*.yaml; or it is a folder of such folders.
Scripts in files are looked for below --scripts-dir, and then in DIR itself. A case is one document:

  controller: widgets          # which one, if controller.yaml has several
  parent: {...}                # or "object:"; without it, the object in parent.yaml
  children: [...]              # or "attachments:"; what is observed
  related: [...]               # other objects, from which the customize hook selects
  finalizing: true             # call the finalize hook
  now: 2026-01-02T15:04:05Z    # what the script sees as request.now
  answer: {...}                # what is expected, as "metascript run" prints it; it comes last
  error: missing key           # or, in its place, a part of the error that is expected

With --update the expected part of a case that differs is replaced by the answer; what is above it stays as it is.`,
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
