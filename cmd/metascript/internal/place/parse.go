package place

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"metascript/engine"
)

// A Document is a document of a file.
type Document struct {
	Value
	JSON []byte // the document as the API server gets it
}

// separator matches a line between two documents.
var separator = regexp.MustCompile(`^---(\s|$)`)

// aboutSecret matches a document that may have values of a Secret.
var aboutSecret = regexp.MustCompile(`\bkind["']?:\s*["']?Secret(List)?\b`)

// Parse returns the documents in the text of a file, without those that have only comments. JSON is YAML too. The error is an [*Error].
func Parse(file string, content []byte) ([]Document, error) {
	all := strings.TrimPrefix(string(content), "\ufeff")
	t := &text{file: file, lines: strings.Split(all, "\n"), hidden: aboutSecret.MatchString(all)}
	for i, line := range t.lines {
		t.lines[i] = strings.TrimSuffix(line, "\r")
	}
	var found []Document
	for from := 0; from < len(t.lines); {
		to := from + 1
		for to < len(t.lines) && !separator.MatchString(t.lines[to]) {
			to++
		}
		doc, err := t.parse(from, to)
		if err != nil {
			return nil, err
		}
		if doc != nil {
			found = append(found, *doc)
		}
		from = to
	}
	return found, nil
}

// document returns the text of some lines. Those before are empty, so that the lines keep their numbers.
func (t *text) document(from, to int) []byte {
	return []byte(strings.Repeat("\n", from) + strings.Join(t.lines[from:to], "\n") + "\n")
}

// parse parses the document in some lines. It returns nil if there are only comments.
func (t *text) parse(from, to int) (*Document, error) {
	content := t.document(from, to)
	if text := withoutMark(content); isJSON(text) {
		doc := &Document{Value: Value{text: t, node: jsonNode(text)}, JSON: bytes.TrimSpace(text)}
		return doc, t.duplicates(doc.node)
	}
	root, content, err := yamlNode(content)
	if err != nil {
		return nil, t.syntax(from, to, err)
	}
	if len(root.Content) == 0 {
		return nil, nil
	}
	doc := &Document{Value: Value{text: t, node: root.Content[0]}}
	if err := t.duplicates(doc.node); err != nil {
		return nil, err
	}
	if doc.JSON, err = sigsyaml.YAMLToJSONStrict(content); err != nil {
		return nil, t.converting(from, to, err)
	}
	if string(doc.JSON) == "null" {
		return nil, nil
	}
	return doc, nil
}

// duplicates returns an error if an object has a key twice.
func (t *text) duplicates(node *yaml.Node) error {
	keys := map[string]*yaml.Node{}
	for i, inner := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 && inner.Kind == yaml.ScalarNode {
			name := namesOfKey(inner)[0]
			switch first := keys[name]; {
			case first != nil && first.Value != inner.Value:
				return &Error{Place: t.at(inner.Line, inner.Column), Msg: fmt.Sprintf("the keys %s and %s are the same: YAML reads both, without quotes, as %s", first.Value, inner.Value, name), Hint: fmt.Sprintf("write quotes: %q", inner.Value)}
			case first != nil && inner.Value == "apiVersion" && inner.Column == 1:
				return &Error{Place: t.at(inner.Line, inner.Column), Msg: fmt.Sprintf("the key %q is there twice, first in line %d", inner.Value, first.Line), Hint: "is --- missing above, between two objects?"}
			case first != nil:
				return &Error{Place: t.at(inner.Line, inner.Column), Msg: fmt.Sprintf("the key %q is there twice, first in line %d", inner.Value, first.Line), Hint: "keep one of the two"}
			}
			keys[name] = inner
		}
		if err := t.duplicates(inner); err != nil {
			return err
		}
	}
	return nil
}

// lineOf matches the line in an error of the YAML library.
var lineOf = regexp.MustCompile(`line (\d+): `)

// converting returns the error of converting a document to JSON.
func (t *text) converting(from, to int, err error) error {
	for i := from; i < to; i++ {
		m := mistake{text: t, at: i}
		if e := m.template(); e != nil && !isBlank(t.lines[i]) && strings.Contains(err.Error(), "invalid map key") {
			return e
		}
	}
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	msg = strings.TrimPrefix(msg, "unmarshal errors:\n  ")
	e := &Error{Place: Place{Pos: engine.Pos{File: t.file}}, Msg: msg}
	if match := lineOf.FindStringSubmatch(msg); match != nil {
		line, _ := strconv.Atoi(match[1])
		e.Place, e.Msg = t.at(line, 0), strings.Replace(msg, match[0], "", 1)
	}
	return e
}

// inJSON returns the error in a document that is written as JSON, and false if it is not.
func (t *text) inJSON(from, to int) (*Error, bool) {
	content := strings.Join(t.lines[from:to], "\n")
	if !strings.HasPrefix(strings.TrimSpace(content), `{`) || !strings.HasPrefix(strings.TrimSpace(strings.TrimSpace(content)[1:]), `"`) {
		return nil, false
	}
	var into any
	err := json.Unmarshal([]byte(content), &into)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return nil, false
	}
	at := min(max(int(syntax.Offset)-1, 0), len(content))
	before := content[:at]
	line := from + strings.Count(before, "\n") + 1
	col := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	e := &Error{Place: t.at(line, col), Msg: "in JSON: " + syntax.Error()}
	trimmed := strings.TrimRight(before, " \t\n")
	switch {
	case strings.Contains(e.Msg, "unexpected end"):
		e.Msg, e.Hint = "the JSON is not complete", "a } or ] is missing at the end"
	case strings.HasSuffix(trimmed, ",") && strings.Contains(e.Msg, "looking for beginning of"):
		e.Msg, e.Hint = "a comma before the end of an object or a list", "remove the comma"
		e.Place = t.placeOf(from, trimmed, len(trimmed)-1)
	case strings.Contains(e.Msg, "after object key:value pair"), strings.Contains(e.Msg, "after array element"):
		e.Msg, e.Hint = "a comma is missing", "write a comma before this"
	case strings.Contains(e.Msg, "after object key"):
		e.Msg, e.Hint = `a ":" is missing`, "write it between the key and its value"
	}
	return e, true
}

// placeOf returns the place of an offset in the text of the lines that begin at from.
func (t *text) placeOf(from int, content string, offset int) Place {
	before := content[:offset]
	return t.at(from+strings.Count(before, "\n")+1, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])+1)
}
