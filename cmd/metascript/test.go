package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/cases"
	"metascript/cmd/metascript/internal/completion"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/output"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/cmd/metascript/internal/schemaflags"
	"metascript/cmd/metascript/internal/style"
)

// testFlags are the flags of the command test.
type testFlags struct {
	update, verbose bool
	only, junit     string
	output          output.Format
	sandbox         sandbox.Flags
	schemas         schemaflags.Flags
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
  contains: {...}              # instead of answer: a part of the expected answer
  error: missing key           # instead of answer: a text that the error must contain

With "contains", other fields of the answer are ignored, and other items of its lists. The items of a list are compared with
those of the same kind and name, or of the same name or type. A field that is null must not exist.

The children and the status in an answer are validated too. A case fails if the API server would reject or drop a part of
them, also if the answer is the expected one. For the objects in the case this is only a warning, and fields may be missing.
A probable mistake in the answer, such as a name that contains None, is a warning too. The command knows the kinds of
Kubernetes and those in crd.yaml; with --cluster, those of a cluster.

With --update, the answer of each case that differs is replaced. The text above it does not change. An error is never
written: if the script does not load or the function fails, the case stays as it is, and the exit code is 1. To expect an
error, write "error:" yourself. A case with "contains:" stays as it is too.

With --output json or yaml, the output is an object with the numbers run, failed, invalid and updated, and the list cases.
Each case has suite, case, file, result (passed, failed, invalid or updated), difference, problems (of the answer), warnings
(about the objects in the case, and about the answer), printed, seconds, and diagnostics, which has the errors and warnings
with severity, file, line, column, field, message and hint. If controller.yaml of a directory, or another file that its cases
need, cannot be read, the directory has one result, with the case controller, and the cases of the others are run.`,
		Example: `  metascript test .
  metascript test examples/immortalcontainer
  metascript test --update examples
  metascript test --run catset/ -v examples
  metascript test --junit report.xml examples`,
		Args:              arguments.Some("a directory with controller.yaml and cases"),
		ValidArgsFunction: completion.Directories,
		RunE:              func(cmd *cobra.Command, dirs []string) error { return runCases(cmd, dirs, &f) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.update, "update", false, "replace the expected answer of the cases that differ")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print all cases, and what their scripts print")
	flags.StringVar(&f.only, "run", "", "run only the cases whose name DIRECTORY/CASE matches this regular expression")
	flags.StringVar(&f.junit, "junit", "", "also write the results into this file, in JUnit's XML format for CI systems")
	f.output.Register(flags)
	f.schemas.Register(flags)
	f.sandbox.Register(flags)
	return cmd
}

// runCases reads all suites before it runs the first case, to find out whether a controller needs worker processes: all cases use the
// same sandbox.
func runCases(cmd *cobra.Command, dirs []string, f *testFlags) error {
	if err := manifest.CheckScriptsDirs(f.sandbox.Folders); err != nil {
		return err
	}
	runner := &cases.Runner{Folders: f.sandbox.Folders, Update: f.update}
	err := manifest.CheckDir(filepath.Dir(f.junit))
	if err != nil {
		return fmt.Errorf("--junit: %w", err)
	}
	if f.only != "" {
		if runner.Only, err = regexp.Compile(f.only); err != nil {
			return fmt.Errorf("--run %q is not a regular expression: %s", f.only, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		}
	}
	suites, err := cases.ReadSuites(dirs)
	if err != nil {
		return err
	}
	if runner.Sandbox, err = f.sandbox.Open(nil, cases.NeedWorkers(suites)); err != nil {
		return err
	}
	defer runner.Sandbox.Close()
	if runner.Schemas, err = f.schemas.Schemas(cmd.Context()); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	styler := style.For(out)
	if f.output.IsText() {
		runner.Done = func(r cases.Result) { fmt.Fprint(out, r.Text(styler, f.verbose)) }
	}
	results, err := runner.Run(cmd.Context(), suites)
	if err != nil {
		return err
	}
	if err := f.report(cmd, results); err != nil {
		return err
	}
	return results.Err()
}

// report prints the results of all cases, and writes them into the file of --junit.
func (f *testFlags) report(cmd *cobra.Command, results *cases.Results) error {
	if f.junit != "" {
		var document strings.Builder
		if err := results.WriteJUnit(&document); err != nil {
			return err
		}
		if err := os.WriteFile(f.junit, []byte(document.String()), 0o644); err != nil {
			return err
		}
	}
	out := cmd.OutOrStdout()
	if !f.output.IsText() {
		return f.output.Print(out, results)
	}
	_, err := fmt.Fprintln(out, results.Summary(style.For(out)))
	return err
}
