package cases

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"sigs.k8s.io/yaml"

	"metascript/controller/hook"
	"metascript/engine"
)

// An outcome is the answer of a hook, as the hook returns it, or an error.
type outcome struct {
	Answer map[string]any `json:"answer,omitempty"`
	Error  string         `json:"error,omitempty"` // where one is expected, a part of it
}

// outcomeOf returns what came of a call. It encodes and decodes the answer, so that it has the Go types of one that is read
// from a file, and the two can be compared. An error of the call is an outcome; the error that it returns is not.
func outcomeOf(answer *hook.Response, failed error) (outcome, error) {
	if failed != nil {
		return outcome{Error: engine.DetailOf(failed)}, nil
	}
	text, err := yaml.Marshal(answer.Document())
	if err != nil {
		return outcome{}, err
	}
	var got outcome
	err = decodeStrictly(string(text), &got.Answer)
	return got, err
}

// difference describes how got is not what is wanted. It is "" where got is. Errors are compared by a part of the text, since
// the whole has positions, which change with each edit of a script; answers are compared as values, not as texts.
func (want outcome) difference(got outcome) string {
	switch {
	case want.Error == "" && want.Answer == nil:
		return "it says neither answer nor error; --update writes what comes:\n" + got.text()
	case want.Error != "" && !strings.Contains(got.Error, want.Error):
		return fmt.Sprintf("want an error with %q, got:\n%s", want.Error, got.text())
	case want.Error == "" && got.Error != "":
		return "want an answer, got:\n" + got.text()
	case want.Error == "" && !reflect.DeepEqual(want.Answer, got.Answer):
		lines := diff.Diff("expected", []byte(want.text()), "answer", []byte(got.text()))
		_, lines, _ = bytes.Cut(lines, []byte("\n")) // its first line is a command
		return "the answer differs\n" + string(lines)
	}
	return ""
}

// text is the outcome as a case has it. Its keys are sorted, so that a difference of two texts is one of values.
func (o outcome) text() string {
	text, err := yaml.Marshal(o)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
