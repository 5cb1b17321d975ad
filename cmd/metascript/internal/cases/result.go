package cases

import (
	"errors"
	"fmt"
	"strings"

	"metascript/cmd/metascript/internal/place"
	"metascript/cmd/metascript/internal/style"
)

// The values of [Result.Result].
const (
	Passed  = "passed"
	Failed  = "failed"
	Invalid = "invalid" // the answer is the expected one, and not valid
	Updated = "updated" // the answer was written into the file; it may be not valid
)

// A Result is the result of one case.
type Result struct {
	Suite      string   `json:"suite"` // the name of its directory
	Case       string   `json:"case"`  // the name of the file, without its extension
	File       string   `json:"file"`
	Result     string   `json:"result"`               // passed, failed, invalid or updated
	Difference string   `json:"difference,omitempty"` // how the outcome differs from the expected one
	Problems   []string `json:"problems,omitempty"`   // what the API server would reject or drop of the answer
	Warnings   []string `json:"warnings,omitempty"`   // about the objects in the case, and about the answer
	Printed    string   `json:"printed,omitempty"`    // what the script printed
	Seconds    float64  `json:"seconds"`

	Diagnostics []place.Diagnostic `json:"diagnostics,omitempty"` // the errors and warnings with their places

	unusable bool // the case cannot be run, and Difference says why, with the file and the place
	ofSuite  bool // no case of the suite can be run
}

// Name returns the name of the case with its suite.
func (r *Result) Name() string { return r.Suite + "/" + r.Case }

// failure returns why a case has failed or is not valid, as a text with several lines; "" if it has passed.
func (r *Result) failure() string {
	text := r.Difference
	if len(r.Problems) > 0 {
		text += "the API server would reject this, or drop it\n  " + strings.ReplaceAll(strings.Join(r.Problems, "\n"), "\n", "\n  ") + "\n"
	}
	return text
}

// cannotRun sets why the case, or its suite, cannot be read.
func (r *Result) cannotRun(err error) {
	r.Result, r.unusable, r.Difference, r.Diagnostics = Failed, true, err.Error(), place.Diagnostics(err, "error")
}

// warn adds warnings, each with a text before it.
func (r *Result) warn(before string, warnings []*place.Error) {
	for _, text := range place.Texts(warnings) {
		r.Warnings = append(r.Warnings, before+text)
	}
	r.diagnose("warning", warnings)
}

// diagnose adds errors or warnings to the diagnostics.
func (r *Result) diagnose(severity string, errs []*place.Error) {
	for _, e := range errs {
		r.Diagnostics = append(r.Diagnostics, e.Diagnostic(severity))
	}
}

// warnings returns the warnings, each with its prefix and a newline.
func (r *Result) warnings() string {
	text := ""
	for _, warning := range r.Warnings {
		text += "warning: " + warning + "\n"
	}
	return text
}

// These mean that the outcome of a case is not the expected one, or not valid, or that there is none.
var (
	ErrDiffers = errors.New("not every answer is the expected one")
	ErrInvalid = errors.New("not every answer is valid")
	ErrCannot  = errors.New("not every case can be run")
)

// Results are the results of all cases. Their JSON form is the output of "metascript test -o json".
type Results struct {
	Run     int      `json:"run"` // the number of all results
	Failed  int      `json:"failed"`
	Invalid int      `json:"invalid"` // the number of answers that are not valid, and otherwise as expected
	Updated int      `json:"updated"`
	Cases   []Result `json:"cases"`

	unusable, suites int // of the failed ones, those that cannot be run, and of these, the suites
}

// add adds a result.
func (r *Results) add(one Result) {
	r.Cases = append(r.Cases, one)
	r.Run++
	switch {
	case one.Result == Failed:
		r.Failed++
	case len(one.Problems) > 0:
		r.Invalid++
	}
	if one.Result == Updated {
		r.Updated++
	}
	if one.unusable {
		r.unusable++
	}
	if one.ofSuite {
		r.suites++
	}
}

// Err returns [ErrDiffers], [ErrCannot] or [ErrInvalid] if there is such a case.
func (r *Results) Err() error {
	switch {
	case r.Failed > r.unusable:
		return ErrDiffers
	case r.unusable > 0:
		return ErrCannot
	case r.Invalid > 0:
		return ErrInvalid
	}
	return nil
}

// Text returns a result for people: warnings, how a case differs or why it is not valid, and what the script printed. For a case that
// passed it has only the warnings, unless all is set.
func (r *Result) Text(in style.Styler, all bool) string {
	text := ""
	for _, warning := range r.Warnings {
		text += in.Warning("warning: "+warning) + "\n"
	}
	if r.Result == Updated {
		text += in.Strong(r.File) + ": " + in.Warning("updated") + "\n"
	}
	if r.unusable {
		return text + in.Failure(r.Difference) + "\n"
	}
	if why := r.failure(); why != "" {
		first, rest, _ := strings.Cut(why, "\n")
		return text + in.Strong(r.File) + ": " + in.Failure(first) + "\n" + in.Diff(rest) + r.Printed
	}
	if r.Result == Passed && all {
		text += fmt.Sprintf("%s: %s %s\n%s", r.File, in.Success("ok"), in.Dim(fmt.Sprintf("(%.2fs)", r.Seconds)), r.Printed)
	}
	return text
}

// Summary returns the last line for people.
func (r *Results) Summary(in style.Styler) string {
	cases, text := r.Run-r.suites, ""
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{r.Failed - r.unusable, "not as expected"}, {r.unusable - r.suites, "cannot be run"}, {r.Invalid, "not valid"}, {r.Updated, "updated"}} {
		switch {
		case part.n > 0 && cases == 1:
			parts = append(parts, part.what)
		case part.n > 0:
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	if len(parts) == 0 {
		parts = []string{"all as expected"}
	}
	if cases > 0 || r.suites == 0 {
		text = count(cases, "case", "cases") + ": " + strings.Join(parts, ", ") + "; "
	}
	if r.suites > 0 {
		text += count(r.suites, "directory", "directories") + " cannot be read"
	}
	switch text = strings.TrimSuffix(text, "; "); {
	case r.Err() != nil:
		return in.Failure(text)
	case r.Updated > 0:
		return in.Warning(text)
	}
	return in.Success(text)
}

// count returns a number with its noun.
func count(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}
