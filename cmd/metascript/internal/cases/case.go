// Package cases tests controllers offline: a case has the request of a hook, and the expected answer.
//
// A [Suite] is a folder with a controller and its cases. A [Runner] runs the cases of suites. For each case it calls the hook with
// package hookcall, and compares the outcome with the expected one. If [Runner.Update] is set, it replaces the expected answer in the
// file. It replaces text, so that comments are kept. The results can be printed, or written for a CI system:
//
//	# The first part is the request of the hook.
//	parent: {apiVersion: example.com/v1, kind: Site, metadata: {name: web}}
//	now: 2026-01-02T15:04:05Z
//	# The last part is the expected outcome: answer, contains (a part of the answer), or error.
//	answer:
//	  children: []
package cases

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"metascript/cmd/metascript/internal/folder"
	"metascript/cmd/metascript/internal/hookcall"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/place"
	"metascript/engine"
)

// A testCase is a file with one case. Its text is above, followed by the text of want, which can be replaced without changing the text
// above it.
type testCase struct {
	file  string
	value place.Value // the case in its file
	above string      // the text above the expected part
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

// expectedParts are the fields of the expected outcome, of which a case has one.
var expectedParts = []string{"answer", "contains", "error"}

// expectedPart finds the expected part in the text of a case. The lines of a block scalar are indented, so they cannot match.
var expectedPart = regexp.MustCompile(`(?m)^(answer|contains|error):`)

// readCase reads a file. All of its errors name the file, with the place if it is known.
func readCase(file string) (*testCase, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	docs, err := place.Parse(file, data)
	if err != nil {
		return nil, err
	}
	c := &testCase{file: file, above: string(data)}
	if len(docs) == 0 {
		return c, nil
	}
	if len(docs) > 1 {
		return nil, docs[1].Errorf("", "a case is one document: write the second one into a file of its own")
	}
	c.value = docs[0].Value
	if found := expectedPart.FindStringIndex(c.above); found != nil {
		c.above = c.above[:found[0]]
	}
	var fields struct {
		input
		outcome
	}
	if err := docs[0].Decode(&fields); err != nil {
		return nil, err
	}
	c.input, c.want = fields.input, fields.outcome
	return c, c.check()
}

// check returns an error if there are several expected parts, or if there is something below it, which an update would remove.
func (c *testCase) check() error {
	var expected []string
	for _, field := range expectedParts {
		if _, ok := c.value.Find(field); ok {
			expected = append(expected, field)
		}
	}
	switch {
	case len(expected) > 1:
		e := c.value.Errorf(expected[1], "there are several of answer, contains and error; want one of them")
		e.Place = c.value.AtKey(expected[1])
		return e
	case len(expected) == 0:
		return nil
	}
	first := c.value.AtKey(expected[0])
	for field := range reflect.TypeFor[input]().Fields() {
		name := field.Tag.Get("json")
		if _, ok := c.value.Find(name); ok && c.value.AtKey(name).Line > first.Line {
			e := c.value.Errorf(name, "%s is below %s, which must be the last field", name, expected[0])
			e.Place, e.Hint = c.value.AtKey(name), "write it above "+expected[0]
			return e
		}
	}
	return nil
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
	if _, err := time.Parse(time.RFC3339, c.input.Now); c.input.Now != "" && err != nil {
		return nil, c.value.Errorf("now", "now is %q: want a time such as 2026-01-02T15:04:05Z", c.input.Now)
	}
	call := &hookcall.Call{Finalizing: c.input.Finalizing, Now: c.input.Now, Known: s.kinds}
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
	e := c.value.Errorf("controller", "controller is %q, want one of those in controller.yaml: %s", c.input.Controller, strings.Join(names, ", "))
	if c.input.Controller == "" {
		e.Msg, e.Hint = "controller.yaml has several controllers: "+strings.Join(names, ", "), "name one with controller: "+names[0]
	} else if like := engine.Nearest(c.input.Controller, names); like != "" {
		e.Hint = fmt.Sprintf("did you mean %q?", like)
	}
	e.File = c.file
	return manifest.Document{}, e
}

// parent returns the parent in the case, or else a copy of the suite's.
func (c *testCase) parent(ofSuite []manifest.Document) (manifest.Document, error) {
	var docs []manifest.Document
	for _, own := range []struct {
		field string
		m     map[string]any
	}{{"parent", c.input.Parent}, {"object", c.input.Object}} {
		if own.m == nil {
			continue
		}
		found, err := c.object(own.field, own.m)
		if err != nil {
			return manifest.Document{}, err
		}
		docs = append(docs, found...)
	}
	if docs == nil {
		for _, doc := range ofSuite {
			docs = append(docs, doc.Copy())
		}
	}
	if len(docs) != 1 {
		e := c.value.Errorf("object", "there are %d parents, want one: here, or in parent.yaml beside controller.yaml", len(docs))
		e.File = c.file
		return manifest.Document{}, e
	}
	return docs[0], nil
}

// documents returns the objects in a list of the case. field is the name of the list, for errors.
func (c *testCase) documents(field string, items []map[string]any) ([]manifest.Document, error) {
	var docs []manifest.Document
	for i, m := range items {
		found, err := c.object(fmt.Sprintf("%s[%d]", field, i), m)
		if err != nil {
			return nil, err
		}
		docs = append(docs, found...)
	}
	return docs, nil
}

// object returns the object in a field of the case, or those in it if it is a List.
func (c *testCase) object(field string, m map[string]any) ([]manifest.Document, error) {
	value, _ := c.value.Find(field)
	docs, err := manifest.Objects(c.file, value, m)
	if e := (*place.Error)(nil); errors.As(err, &e) {
		e.Msg = field + ": " + e.Msg
	}
	return docs, err
}

// diagnostics returns why the case has failed: the error of the call, or else, at the expected part, the first line of the difference.
func (c *testCase) diagnostics(failed error, difference string) []place.Diagnostic {
	if failed != nil {
		return place.Diagnostics(failed, "error")
	}
	first, _, _ := strings.Cut(difference, "\n")
	e := &place.Error{Msg: first}
	for _, field := range expectedParts {
		if _, ok := c.value.Find(field); ok {
			e.Place = c.value.AtKey(field)
		}
	}
	e.File = c.file
	return []place.Diagnostic{e.Diagnostic("error")}
}

// update replaces the expected part of the file. A link may not lead out of the suite, whose files somebody else may have written.
func (c *testCase) update(got outcome) error {
	above := c.above
	if above != "" && !strings.HasSuffix(above, "\n") {
		above += "\n"
	}
	cases := filepath.Dir(c.file)
	suite, err := folder.Open(filepath.Dir(cases))
	if err != nil {
		return err
	}
	defer suite.Close()
	return suite.Replace(path.Join(filepath.Base(cases), filepath.Base(c.file)), []byte(above+got.text()))
}
