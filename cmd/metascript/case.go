package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"metascript/controller/object"
)

// A testCase is a file that says what a hook is asked and what it should answer.
type testCase struct {
	file  string
	above string // the text above the expected part
	input caseInput
	want  outcome
}

type caseInput struct {
	Controller  string           `json:"controller"`
	Parent      map[string]any   `json:"parent"`
	Object      map[string]any   `json:"object"`
	Children    []map[string]any `json:"children"`
	Attachments []map[string]any `json:"attachments"`
	Related     []map[string]any `json:"related"`
	Finalizing  bool             `json:"finalizing"`
	Now         string           `json:"now"`
}

// An outcome is an answer, as a hook returns it, or an error.
type outcome struct {
	Answer map[string]any `json:"answer,omitempty"`
	Error  string         `json:"error,omitempty"`
}

var (
	expectedPart   = regexp.MustCompile(`(?m)^(answer|error):`)
	secondDocument = regexp.MustCompile(`(?m)\n---`)
)

func readCase(file string) (*testCase, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	text := string(data)
	if secondDocument.MatchString(text) {
		return nil, fmt.Errorf("%s: a case is one document", file)
	}
	at := len(text)
	if found := expectedPart.FindStringIndex(text); found != nil {
		at = found[0]
	}
	c := &testCase{file: file, above: text[:at]}
	if err := decodeStrictly(c.above, &c.input); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := decodeStrictly(text[at:], &c.want); err != nil {
		return nil, fmt.Errorf("%s: in the expected part, which comes last: %w", file, err)
	}
	if c.want.Answer != nil && c.want.Error != "" {
		return nil, fmt.Errorf("%s: there is an answer and an error, want one of them", file)
	}
	return c, nil
}

// decodeStrictly reads a document, whole numbers as such, and refuses fields that are not known.
func decodeStrictly(text string, into any) error {
	asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return err
	}
	strict, err := sigsjson.UnmarshalStrict(asJSON, into)
	return errors.Join(append(strict, err)...)
}

// question is what the case asks of a suite's controller.
func (c *testCase) question(s *suite) (*question, error) {
	q := &question{definitions: s.definitions, finalizing: c.input.Finalizing, now: c.input.Now}
	var err error
	if q.controller, err = c.pick(s.controllers); err != nil {
		return nil, err
	}
	if q.parent, err = c.parent(s); err != nil {
		return nil, err
	}
	children, err := c.documents("children", c.input.Children)
	if err != nil {
		return nil, err
	}
	attachments, err := c.documents("attachments", c.input.Attachments)
	if err != nil {
		return nil, err
	}
	q.children = slices.Concat(children, attachments)
	q.related, err = c.documents("related", c.input.Related)
	return q, err
}

// pick finds the controller that the case is about.
func (c *testCase) pick(among []document) (document, error) {
	var names []string
	for _, doc := range among {
		if doc.GetName() == c.input.Controller || c.input.Controller == "" && len(among) == 1 {
			return doc, nil
		}
		names = append(names, doc.GetName())
	}
	return document{}, fmt.Errorf("controller is %q, want one of those in controller.yaml: %s", c.input.Controller, strings.Join(names, ", "))
}

func (c *testCase) parent(s *suite) (document, error) {
	var given []map[string]any
	for _, m := range []map[string]any{c.input.Parent, c.input.Object} {
		if m != nil {
			given = append(given, m)
		}
	}
	docs, err := c.documents("parent", given)
	if err != nil {
		return document{}, err
	}
	if given == nil {
		for _, doc := range s.parents {
			docs = append(docs, document{object.Copy(doc.Object), doc.file})
		}
	}
	if len(docs) != 1 {
		return document{}, fmt.Errorf("there are %d parents, want one: here, or in parent.yaml beside controller.yaml", len(docs))
	}
	return docs[0], nil
}

// documents gives the objects in a list of the case.
func (c *testCase) documents(field string, items []map[string]any) ([]document, error) {
	var docs []document
	for i, m := range items {
		found, err := objectsOf(m)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", field, i, err)
		}
		for _, o := range found {
			docs = append(docs, document{o, c.file})
		}
	}
	return docs, nil
}

// differs tells in words and lines how got is not what is wanted, or "".
func (want outcome) differs(got outcome) string {
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

// text is the outcome as a case has it.
func (o outcome) text() string {
	text, err := yaml.Marshal(o)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// update writes the expected part of the case anew.
func (c *testCase) update(got outcome) error {
	above := c.above
	if above != "" && !strings.HasSuffix(above, "\n") {
		above += "\n"
	}
	return os.WriteFile(c.file, []byte(above+got.text()), 0o644)
}

// asRead gives a document as it is read from a file, so that it can be compared with one.
func asRead(document map[string]any) (map[string]any, error) {
	text, err := yaml.Marshal(document)
	if err != nil {
		return nil, err
	}
	var read map[string]any
	return read, decodeStrictly(string(text), &read)
}
