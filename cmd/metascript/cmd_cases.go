package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"metascript/controller"
	"metascript/engine"
)

type casesFlags struct {
	update  bool
	sandbox sandboxFlags
}

func testCommand() *cobra.Command {
	var f casesFlags
	cmd := &cobra.Command{
		Use:   "test DIR...",
		Short: "Run the cases of controllers offline and compare the answers",
		Long: `Run the cases of controllers offline: ask the hook what each says and compare the answer with the expected one.
No cluster is needed and nothing is written. A difference is printed, and the exit code is 1.

DIR has a controller.yaml, a crd.yaml if its kinds have definitions, and cases/*.yaml; or it is a folder of such folders.
Scripts in files are looked for below --scripts-dir, and then in DIR itself. A case is one document:

  controller: widgets          # which one, if controller.yaml has several
  parent: {...}                # or "object:"; without it, the object in parent.yaml
  children: [...]              # or "attachments:"; what is observed
  related: [...]               # what there is beside them, of which the customize hook picks
  finalizing: true             # ask the finalize hook
  now: 2026-01-02T15:04:05Z    # what the script sees as request.now
  answer: {...}                # what is expected, as "metascript run" prints it; it comes last
  error: missing key           # or, in its place, a part of the error that is expected

With --update the expected part of a case that differs is written anew; what stands above it stays as it is.`,
		Example: `  metascript test examples/immortalcontainer
  metascript test --update examples`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, dirs []string) error { return runCases(cmd, dirs, f) },
	}
	cmd.Flags().BoolVar(&f.update, "update", false, "write the expected part of the cases that differ anew")
	f.sandbox.register(cmd.Flags())
	return cmd
}

// errDiffers is what test exits with after it told what differs.
var errDiffers = errors.New("not every answer is the expected one")

func runCases(cmd *cobra.Command, dirs []string, f casesFlags) error {
	suites, err := readSuites(dirs)
	if err != nil {
		return err
	}
	var all []document
	for _, s := range suites {
		all = append(all, s.controllers...)
	}
	sandbox, err := f.sandbox.open(nil, asksForWorkers(all))
	if err != nil {
		return err
	}
	defer sandbox.close()
	r := &caseRunner{cmd: cmd, sandbox: sandbox.Sandbox, update: f.update, folders: f.sandbox.folders}
	for _, s := range suites {
		if err := r.suite(s); err != nil {
			return err
		}
	}
	fmt.Fprintln(cmd.OutOrStdout(), r.summary())
	if r.differ > 0 {
		return errDiffers
	}
	return nil
}

// A suite is a controller's folder: what its cases have in common.
type suite struct {
	dir         string
	controllers []document
	others      []document // of controller.yaml
	definitions []*apiextensionsv1.CustomResourceDefinition
	parents     []document // of parent.yaml
	cases       []string   // the files
}

// readSuites reads the folders, or the folders in them, that have cases.
func readSuites(dirs []string) ([]*suite, error) {
	var all []*suite
	for _, dir := range dirs {
		with, err := filepath.Glob(filepath.Join(dir, "*", "cases"))
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(filepath.Join(dir, "cases")); err == nil && info.IsDir() {
			with = []string{filepath.Join(dir, "cases")}
		}
		if len(with) == 0 {
			return nil, fmt.Errorf("%s: there is no folder cases in it, nor in a folder of it", dir)
		}
		for _, cases := range with {
			s, err := readSuite(filepath.Dir(cases))
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
	}
	return all, nil
}

func readSuite(dir string) (*suite, error) {
	docs, err := readFiles([]string{filepath.Join(dir, "controller.yaml")}, nil)
	if err != nil {
		return nil, err
	}
	s := &suite{dir: dir, controllers: controllers(docs), others: docs}
	crds, err := readIfThere(filepath.Join(dir, "crd.yaml"))
	if err != nil {
		return nil, err
	}
	if s.definitions, err = definitions(slices.Concat(docs, crds)); err != nil {
		return nil, err
	}
	if s.parents, err = readIfThere(filepath.Join(dir, "parent.yaml")); err != nil {
		return nil, err
	}
	if s.cases, err = expand([]string{filepath.Join(dir, "cases")}); err != nil {
		return nil, err
	}
	if len(s.cases) == 0 {
		return nil, fmt.Errorf("%s: there are no cases", filepath.Join(dir, "cases"))
	}
	return s, nil
}

func readIfThere(path string) ([]document, error) {
	docs, err := readFiles([]string{path}, nil)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return docs, err
}

// A caseRunner runs cases, tells what differs, and counts.
type caseRunner struct {
	cmd     *cobra.Command
	sandbox controller.Sandbox
	update  bool
	folders []string

	cases, differ, updated int
}

func (r *caseRunner) suite(s *suite) error {
	for _, file := range s.cases {
		c, err := readCase(file)
		if err != nil {
			return err
		}
		q, err := c.question(s)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		q.sources = offlineSources(append(slices.Clone(r.folders), s.dir), s.others)
		if err := r.run(c, q); err != nil {
			return err
		}
	}
	return nil
}

func (r *caseRunner) run(c *testCase, q *question) error {
	r.cases++
	var log strings.Builder
	answer, err := q.ask(r.cmd.Context(), r.sandbox, &log)
	var got outcome
	if err != nil {
		got.Error = engine.DetailOf(err)
	} else if got.Answer, err = asRead(answer.Document()); err != nil {
		return err
	}
	told := c.want.differs(got)
	if told == "" {
		return nil
	}
	out := r.cmd.OutOrStdout()
	if r.update {
		r.updated++
		fmt.Fprintf(out, "%s: updated\n", c.file)
		return c.update(got)
	}
	r.differ++
	fmt.Fprintf(out, "%s: %s\n", c.file, told)
	_, err = io.WriteString(out, log.String())
	return err
}

func (r *caseRunner) summary() string {
	cases := "1 case"
	if r.cases != 1 {
		cases = fmt.Sprintf("%d cases", r.cases)
	}
	switch {
	case r.differ > 0:
		return fmt.Sprintf("%s: %d not as expected", cases, r.differ)
	case r.updated > 0:
		return fmt.Sprintf("%s: %d updated", cases, r.updated)
	}
	return cases + ": all as expected"
}
