package cases

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"metascript/cmd/metascript/internal/output"
	"metascript/controller/hook"
	"metascript/engine"
)

// An outcome is the answer of a hook, as the hook returns it, or an error. An expected outcome can be a part of the answer.
type outcome struct {
	Answer   map[string]any `json:"answer,omitempty"`
	Contains map[string]any `json:"contains,omitempty"` // in an expected outcome, in place of Answer
	Error    string         `json:"error,omitempty"`    // in an expected outcome, a part of the error
}

// outcomeOf returns the outcome of a call that returned answer or failed. It encodes and decodes the answer, so that it has the same
// Go types as an answer from a file, and the two can be compared. An error of the call is an outcome; an error that outcomeOf
// returns is not.
func outcomeOf(answer *hook.Response, failed error) (outcome, error) {
	if failed != nil {
		return outcome{Error: engine.DetailOf(failed)}, nil
	}
	text, err := output.YAML(answer.Document())
	if err != nil {
		return outcome{}, err
	}
	var got outcome
	err = decodeStrictly(string(text), &got.Answer)
	return got, err
}

// difference returns how got differs from want, or "" if it does not. An error must contain the expected text; the whole text is not
// compared, since it has positions, which change with each edit of a script. Answers are compared as values, not as texts.
func (want outcome) difference(got outcome) string {
	switch {
	case want.Error != "" && !strings.Contains(got.Error, want.Error):
		return fmt.Sprintf("want an error with %q, got:\n%s", want.Error, got.text())
	case want.Error != "":
		return ""
	case want.Answer == nil && want.Contains == nil && got.Error != "":
		return "it has no answer, contains or error; if this error is expected, write a part of it as error:\n" + got.text()
	case want.Answer == nil && want.Contains == nil:
		return "it has no answer, contains or error; --update writes the actual answer:\n" + got.text()
	case got.Error != "":
		return "want an answer, got:\n" + got.text()
	case want.Contains != nil:
		if lines := missing(want.Contains, got.Answer); len(lines) > 0 {
			return "the answer does not contain what is expected\n" + strings.Join(lines, "\n") + "\n"
		}
	case !reflect.DeepEqual(want.Answer, got.Answer):
		lines := diff.Diff("expected", []byte(want.text()), "answer", []byte(got.text()))
		_, lines, _ = bytes.Cut(lines, []byte("\n")) // the first line is a diff command
		return "the answer differs\n" + string(lines)
	}
	return ""
}

// text returns the outcome as YAML for a case. Its keys are sorted, so that equal values have equal texts.
func (o outcome) text() string {
	text, err := output.YAML(o)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
