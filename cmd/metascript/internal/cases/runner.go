package cases

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"metascript/cmd/metascript/internal/hookcall"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/place"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/controller/schemas"
)

// A Runner runs the cases of suites. It runs them one after the other, in the order of their files, so that the order of its results is
// always the same.
type Runner struct {
	Sandbox *sandbox.Sandbox
	Schemas *schemas.Set   // the kinds that are known, without those of the definitions of suites
	Folders []string       // the scripts directories; the folder of a suite is searched after them
	Only    *regexp.Regexp // matches the names of the cases that are run, with their suites; nil matches all
	Update  bool           // write the answer into the cases that differ
	Done    func(Result)   // is called after each case; may be nil
}

// Run runs the cases, and returns their results. It returns an error if there is none to run: a test that tests nothing must not pass.
func (r *Runner) Run(ctx context.Context, suites []*Suite) (*Results, error) {
	all := &Results{Cases: []Result{}}
	for _, s := range suites {
		r.runSuite(ctx, s, all)
	}
	if len(all.Cases) == 0 {
		return nil, fmt.Errorf("no case matches %s", r.Only)
	}
	return all, nil
}

// runSuite runs the cases of a suite. A case that cannot be read has failed; the others are run. If the suite itself cannot be read, it has
// one result, which has the name of the file with the controllers.
func (r *Runner) runSuite(ctx context.Context, s *Suite, all *Results) {
	selected := r.selected(s)
	if len(selected) == 0 && len(s.files) > 0 {
		return
	}
	known, err := r.Schemas.With(s.definitions...)
	if err != nil {
		err = fmt.Errorf("%s: %w", s.dir, err)
	}
	if err = cmp.Or(s.err, err); err != nil {
		result := newResult(s, filepath.Join(s.dir, controllerFile))
		result.ofSuite = true
		result.cannotRun(err)
		r.add(result, all)
		return
	}
	for _, result := range selected {
		c, call, err := prepare(result.File, s)
		if err != nil {
			result.cannotRun(err)
		} else {
			call.Schemas = known
			call.Sources = manifest.ScriptSources(append(slices.Clone(r.Folders), s.dir), s.objects)
			if err := r.runCase(ctx, c, call, &result); err != nil {
				result.cannotRun(err)
			}
		}
		r.add(result, all)
	}
}

// selected returns a result for each case of a suite that is to be run.
func (r *Runner) selected(s *Suite) []Result {
	var all []Result
	for _, file := range s.files {
		if result := newResult(s, file); r.Only == nil || r.Only.MatchString(result.Name()) {
			all = append(all, result)
		}
	}
	return all
}

// newResult returns the result of a file of a suite.
func newResult(s *Suite, file string) Result {
	return Result{Suite: s.name(), Case: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), File: file}
}

// add adds a result, and passes it to Done.
func (r *Runner) add(result Result, to *Results) {
	to.add(result)
	if r.Done != nil {
		r.Done(result)
	}
}

// prepare reads a case, and the call that it describes.
func prepare(file string, of *Suite) (*testCase, *hookcall.Call, error) {
	c, err := readCase(file)
	if err != nil {
		return nil, nil, err
	}
	call, err := c.call(of)
	return c, call, err
}

// runCase runs a case, and completes its result. Only an answer is written into a case, in place of an answer or an error, or where
// there is nothing yet. An error is never written: a script that does not load, or a wrong directory of scripts, would replace all
// answers.
func (r *Runner) runCase(ctx context.Context, c *testCase, call *hookcall.Call, into *Result) error {
	problems, err := call.InputProblems()
	if err != nil {
		return err
	}
	into.warn("", problems)
	var log strings.Builder
	began := time.Now()
	answer, failed := call.Do(ctx, r.Sandbox, &log)
	into.Seconds, into.Printed = time.Since(began).Seconds(), log.String()
	got, err := outcomeOf(answer, failed)
	if err != nil {
		return err
	}
	into.warn(into.File+": ", call.Warnings(answer))
	if answer != nil {
		if problems, err = call.AnswerProblems(answer); err != nil {
			return err
		}
		into.Problems = place.Texts(problems)
		into.diagnose("error", problems)
	}
	difference := c.want.difference(got)
	switch {
	case difference != "" && r.Update && got.Error == "" && c.want.Contains == nil:
		into.Result = Updated
		err = c.update(got)
	case difference != "" && r.Update:
		into.Result, into.Difference = Failed, "not updated: "+difference
	case difference != "":
		into.Result, into.Difference = Failed, difference
	case len(into.Problems) > 0:
		into.Result = Invalid
	default:
		into.Result = Passed
	}
	if into.Result == Failed {
		into.Diagnostics = append(into.Diagnostics, c.diagnostics(failed, into.Difference)...)
	}
	return err
}
