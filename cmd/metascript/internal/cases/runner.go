package cases

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"metascript/cmd/metascript/internal/hookcall"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/sandbox"
)

// A Runner runs the cases of suites, prints what differs, and counts. It runs them one after the other, in the order of their
// files, so that its output is always the same. A Runner is for one Run.
type Runner struct {
	Out     io.Writer
	Sandbox *sandbox.Sandbox
	Folders []string // the scripts directories; the folder of a suite is searched after them
	Update  bool     // write the outcome into the cases that differ

	run, failed, updated int // numbers of cases
}

// ErrDiffers means that the outcome of a case is not the expected one. The Runner has printed the difference.
var ErrDiffers = errors.New("not every answer is the expected one")

// Run runs all cases, and prints a summary. It returns [ErrDiffers], or another error if a case could not be run.
func (r *Runner) Run(ctx context.Context, suites []*Suite) error {
	for _, s := range suites {
		if err := r.runSuite(ctx, s); err != nil {
			return err
		}
	}
	fmt.Fprintln(r.Out, r.summary())
	if r.failed > 0 {
		return ErrDiffers
	}
	return nil
}

// runSuite runs the cases of a suite. It stops at a case that cannot be read: that is an error in the case, and not a result.
func (r *Runner) runSuite(ctx context.Context, s *Suite) error {
	for _, file := range s.files {
		c, err := readCase(file)
		if err != nil {
			return err
		}
		call, err := c.call(s)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		call.Sources = manifest.ScriptSources(append(slices.Clone(r.Folders), s.dir), s.objects)
		if err := r.runCase(ctx, c, call); err != nil {
			return err
		}
	}
	return nil
}

// runCase runs a case. If its outcome is not the expected one, it prints the difference, and what the script printed.
func (r *Runner) runCase(ctx context.Context, c *testCase, call *hookcall.Call) error {
	r.run++
	var log strings.Builder
	got, err := outcomeOf(call.Do(ctx, r.Sandbox, &log))
	if err != nil {
		return err
	}
	difference := c.want.difference(got)
	switch {
	case difference == "":
		return nil
	case r.Update:
		r.updated++
		fmt.Fprintf(r.Out, "%s: updated\n", c.file)
		return c.update(got)
	}
	r.failed++
	_, err = fmt.Fprintf(r.Out, "%s: %s\n%s", c.file, difference, log.String())
	return err
}

// summary returns the last line of the output.
func (r *Runner) summary() string {
	cases := "1 case"
	if r.run != 1 {
		cases = fmt.Sprintf("%d cases", r.run)
	}
	switch {
	case r.failed > 0:
		return fmt.Sprintf("%s: %d not as expected", cases, r.failed)
	case r.updated > 0:
		return fmt.Sprintf("%s: %d updated", cases, r.updated)
	}
	return cases + ": all as expected"
}
