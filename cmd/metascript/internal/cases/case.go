// Package cases tests controllers offline: a case has the request of a hook, and the expected answer.
//
// A [Suite] is a folder with a controller and its cases. A [Runner] runs the cases of suites. For each case it calls the hook with
// package hookcall, compares the outcome with the expected one, and prints the difference or, if [Runner.Update] is set, replaces
// the expected outcome in the file. It replaces text, so that comments are kept:
//
//	# The first part is the request of the hook.
//	parent: {apiVersion: example.com/v1, kind: Site, metadata: {name: web}}
//	now: 2026-01-02T15:04:05Z
//	# The last part is the expected outcome: answer, or error.
//	answer:
//	  children: []
package cases

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"metascript/cmd/metascript/internal/hookcall"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/controller/object"
)

// A testCase is a file with one case. Its text is above, followed by the text of want. The two parts are decoded separately, so that
// a field in the wrong part is an error, and want can be replaced without changing the text above it.
type testCase struct {
	file  string
	above string // the text above the expected part
	input input
	want  outcome
}

// input has the fields of the part above the expected one.
type input struct {
	Controller  string           `json:"controller"`
	Parent      map[string]any   `json:"parent"`
	Object      map[string]any   `json:"object"` // the same as Parent, for decorators
	Children    []map[string]any `json:"children"`
	Attachments []map[string]any `json:"attachments"` // the same as Children, for decorators
	Related     []map[string]any `json:"related"`
	Finalizing  bool             `json:"finalizing"`
	Now         string           `json:"now"`
}

// These find the parts of a case in its text, since a decoder does not return the position of a field. The lines of a block scalar
// are indented, so they cannot match.
var (
	expectedPart   = regexp.MustCompile(`(?m)^(answer|error):`)
	secondDocument = regexp.MustCompile(`(?m)\n---`)
)

// readCase reads a file. All of its errors name the file.
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

// decodeStrictly decodes a document. An unknown field is an error. Integers become int64, since a float64 cannot represent all of
// them.
func decodeStrictly(text string, into any) error {
	asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return err
	}
	strict, err := sigsjson.UnmarshalStrict(asJSON, into)
	return errors.Join(append(strict, err)...)
}

// call returns the call that the case describes. It does not share objects with other calls, since a call modifies them.
func (c *testCase) call(s *Suite) (*hookcall.Call, error) {
	call := &hookcall.Call{Definitions: s.definitions, Finalizing: c.input.Finalizing, Now: c.input.Now}
	var err error
	if call.Controller, err = c.controller(s.controllers); err != nil {
		return nil, err
	}
	if call.Parent, err = c.parent(s.parents); err != nil {
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
	call.Children = slices.Concat(children, attachments)
	call.Related, err = c.documents("related", c.input.Related)
	return call, err
}

// controller returns the controller that the case names. If there is only one, the case need not name it.
func (c *testCase) controller(among []manifest.Document) (manifest.Document, error) {
	var names []string
	for _, doc := range among {
		if doc.GetName() == c.input.Controller || c.input.Controller == "" && len(among) == 1 {
			return doc, nil
		}
		names = append(names, doc.GetName())
	}
	return manifest.Document{}, fmt.Errorf("controller is %q, want one of those in controller.yaml: %s", c.input.Controller, strings.Join(names, ", "))
}

// parent returns the parent in the case, or else a copy of the suite's.
func (c *testCase) parent(ofSuite []manifest.Document) (manifest.Document, error) {
	var own []map[string]any
	for _, m := range []map[string]any{c.input.Parent, c.input.Object} {
		if m != nil {
			own = append(own, m)
		}
	}
	docs, err := c.documents("parent", own)
	if err != nil {
		return manifest.Document{}, err
	}
	if own == nil {
		for _, doc := range ofSuite {
			docs = append(docs, manifest.Document{Object: object.Copy(doc.Object), File: doc.File})
		}
	}
	if len(docs) != 1 {
		return manifest.Document{}, fmt.Errorf("there are %d parents, want one: here, or in parent.yaml beside controller.yaml", len(docs))
	}
	return docs[0], nil
}

// documents returns the objects in a list of the case. field is the name of the list, for errors.
func (c *testCase) documents(field string, items []map[string]any) ([]manifest.Document, error) {
	var docs []manifest.Document
	for i, m := range items {
		found, err := manifest.Objects(m)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", field, i, err)
		}
		for _, o := range found {
			docs = append(docs, manifest.Document{Object: o, File: c.file})
		}
	}
	return docs, nil
}

// update replaces the expected part of the file.
func (c *testCase) update(got outcome) error {
	above := c.above
	if above != "" && !strings.HasSuffix(above, "\n") {
		above += "\n"
	}
	return os.WriteFile(c.file, []byte(above+got.text()), 0o644)
}
