// Package place says where something is in a YAML or JSON file: the line and the column of a field, with the text of the line and a
// caret below it. [Parse] reads the documents of a file; its errors say what is wrong with the syntax in the words of an author.
// [Value.At] finds the field that a problem is about, [Document.Decode] decodes a document strictly, and [Value.Script] finds a line of
// a script that is in a block scalar.
package place

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"metascript/engine"
)

// A Place is a position in a file, and the text of its line.
type Place struct {
	engine.Pos        // without a line if it is not known
	Source     string // "" if it is not known, or must not be shown
}

// An Error is a mistake at a place. Its text is for people: the place and what is wrong, the line with a caret, and what to do.
type Error struct {
	Place
	About string // the object, such as "Pod web", or ""
	Field string // the path of the field that it is about, or ""
	Msg   string // what is wrong
	Hint  string // what to do about it, or ""

	more int // how many errors it stands for; see Few
}

// Error returns the text, which has several lines if the place is known.
func (e *Error) Error() string {
	if head := e.Head(); head != "" {
		return head + ": " + e.Body()
	}
	return e.Body()
}

// Head returns the place and the object.
func (e *Error) Head() string {
	at := e.Pos.String()
	if at != "" && e.About != "" {
		at += ": "
	}
	return at + e.About
}

// Body returns what is wrong, the line with a caret, and what to do. If the message has several lines, such as those of a script, the line
// at the place is left out.
func (e *Error) Body() string {
	switch {
	case strings.Contains(e.Msg, "\n"):
		return e.Msg
	case e.Source != "" && e.Hint != "":
		return e.Msg + "\n" + engine.Excerpt(e.Source, e.Pos.Col) + "\n  hint: " + e.Hint
	case e.Source != "":
		return e.Msg + "\n" + engine.Excerpt(e.Source, e.Pos.Col)
	case e.Hint != "":
		return e.Msg + ": " + e.Hint
	}
	return e.Msg
}

// Texts returns a copy of the error in which each text is replaced by the result of text, and the line by that of line.
func (e *Error) Texts(text, line func(string) string) error {
	other := *e
	other.About, other.Field, other.Msg, other.Hint, other.Source = text(e.About), text(e.Field), text(e.Msg), text(e.Hint), line(e.Source)
	return &other
}

// Texts returns the texts of errors.
func Texts(all []*Error) []string {
	var texts []string
	for _, e := range all {
		texts = append(texts, e.Error())
	}
	return texts
}

// A Diagnostic is an error or a warning in the output for programs.
type Diagnostic struct {
	Severity string `json:"severity"` // error or warning
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Field    string `json:"field,omitempty"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
}

// Diagnostic returns the error for programs.
func (e *Error) Diagnostic(severity string) Diagnostic {
	message, _, _ := strings.Cut(e.Msg, "\n")
	return Diagnostic{severity, e.File, e.Line, e.Col, e.Field, message, e.Hint}
}

// Diagnostics returns the errors in err for programs.
func Diagnostics(err error, severity string) []Diagnostic {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var all []Diagnostic
		for _, one := range several.Unwrap() {
			all = append(all, Diagnostics(one, severity)...)
		}
		return all
	}
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Msg: err.Error()}
	}
	return []Diagnostic{e.Diagnostic(severity)}
}

// A Value is a value in a document. The zero Value is one that is in no file; its places are not known.
type Value struct {
	text *text
	key  *yaml.Node // of the value in its object; nil for an item of a list, and for a whole document
	node *yaml.Node
}

// A text is the text of a file.
type text struct {
	file   string
	lines  []string
	hidden bool // no line may be shown, since it may have a value of a Secret
}

// line returns a line, counted from 1, without its end.
func (t *text) line(n int) string {
	if n < 1 || n > len(t.lines) {
		return ""
	}
	return t.lines[n-1]
}

// at returns the place of a line and a column.
func (t *text) at(line, col int) Place {
	p := Place{Pos: engine.Pos{File: t.file, Line: line, Col: col}}
	if !t.hidden {
		p.Source = t.line(line)
	}
	return p
}

// Find returns the value of a field of v, in the form of package field: spec.ports[0].name, metadata.labels[app]. An item of a list can be
// named by the value of one of its fields: spec.ports[name=http]. If the field does not exist, Find returns the innermost value around it
// that exists, and false.
func (v Value) Find(path string) (Value, bool) {
	for path != "" {
		inner, rest, found := v.step(path)
		if !found {
			return v, false
		}
		v, path = inner, rest
	}
	return v, true
}

// step returns the value of the first field in a path, and the rest of the path.
func (v Value) step(path string) (Value, string, bool) {
	node := v.node
	if node != nil && node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node == nil {
		return v, path, false
	}
	switch node.Kind {
	case yaml.MappingNode:
		return v.field(node, path)
	case yaml.SequenceNode:
		number, rest, ok := cutBrackets(path)
		if i, err := strconv.Atoi(number); ok && err == nil && i >= 0 && i < len(node.Content) {
			return Value{text: v.text, node: node.Content[i]}, rest, true
		}
		if name, want, ok := strings.Cut(number, "="); ok {
			for _, item := range node.Content {
				inner := Value{text: v.text, node: item}
				if found, exists := inner.Find(name); exists && found.node.Value == want {
					return inner, rest, true
				}
			}
		}
	}
	return v, path, false
}

// field returns the value of the first field in a path, and the rest of the path. A key may have dots, and is then the longest that fits.
func (v Value) field(object *yaml.Node, path string) (found Value, rest string, ok bool) {
	name, after, bracketed := cutBrackets(path)
	path = strings.TrimPrefix(path, ".")
	length := -1
	for i := 0; i+1 < len(object.Content); i += 2 {
		key := object.Content[i]
		for _, is := range namesOfKey(key) {
			if bracketed {
				if is != name {
					continue
				}
				return Value{v.text, key, object.Content[i+1]}, after, true
			}
			end, fits := strings.CutPrefix(path, is)
			if fits && len(is) > length && (end == "" || end[0] == '.' || end[0] == '[') {
				found, rest, ok, length = Value{v.text, key, object.Content[i+1]}, end, true, len(is)
			}
		}
	}
	return found, rest, ok
}

// booleans are the words that kubectl reads as booleans if they have no quotes, also as keys: it reads YAML 1.1.
var booleans = map[string]string{
	"y": "true", "Y": "true", "yes": "true", "Yes": "true", "YES": "true", "on": "true", "On": "true", "ON": "true",
	"n": "false", "N": "false", "no": "false", "No": "false", "NO": "false", "off": "false", "Off": "false", "OFF": "false",
}

// booleanKey returns the boolean as which a key of an object is read; "" if it is read as it is written.
func booleanKey(key *yaml.Node) string {
	if key.Kind != yaml.ScalarNode || key.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		return ""
	}
	return booleans[key.Value]
}

// namesOfKey returns the names of a key in a path: as it is read, and as it is written.
func namesOfKey(key *yaml.Node) []string {
	if name := booleanKey(key); name != "" {
		return []string{name, key.Value}
	}
	return []string{key.Value}
}

// HintKey returns what an author probably has to write in place of the key of a field, if it is a word that is read as a boolean, or "".
func (v Value) HintKey(path string) string {
	if found, exists := v.Find(path); exists && found.key != nil && booleanKey(found.key) != "" {
		return fmt.Sprintf("YAML reads the key %s without quotes as %s; write quotes: %q", found.key.Value, booleanKey(found.key), found.key.Value)
	}
	return ""
}

// cutBrackets returns what is in the brackets at the beginning of a path, without quotes, and the rest of the path.
func cutBrackets(path string) (inner, rest string, ok bool) {
	path, ok = strings.CutPrefix(path, "[")
	if !ok {
		return "", path, false
	}
	inner, rest, ok = strings.Cut(path, "]")
	if n := len(inner); n > 1 && (inner[0] == '"' || inner[0] == '\'') && inner[n-1] == inner[0] {
		inner = inner[1 : n-1]
	}
	return inner, rest, ok
}

// At returns the place of a field of v: that of its value if this is a text, a number or the like, and otherwise of its key. For a field
// that does not exist it is the key of the innermost object around it.
func (v Value) At(path string) Place {
	found, exists := v.Find(path)
	if exists && found.node != nil && found.node.Kind == yaml.ScalarNode && found.node.Line > 0 && found.node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 && found.node.Value != "" {
		return found.text.at(found.node.Line, found.node.Column)
	}
	return found.start()
}

// AtKey returns the place of the key of a field of v, or of the innermost object around the field if it does not exist.
func (v Value) AtKey(path string) Place {
	found, _ := v.Find(path)
	return found.start()
}

// start returns the place where a value begins, with its key.
func (v Value) start() Place {
	switch {
	case v.text == nil:
		return Place{}
	case v.key != nil:
		return v.text.at(v.key.Line, v.key.Column)
	case v.node != nil:
		return v.text.at(v.node.Line, v.node.Column)
	}
	return Place{Pos: engine.Pos{File: v.text.file}}
}

// Errorf returns an error about a field of v, at the place of [Value.At].
func (v Value) Errorf(path, format string, args ...any) *Error {
	return &Error{Place: v.At(path), Field: path, Msg: fmt.Sprintf(format, args...)}
}

// Hint returns what an author probably has to write in place of the value of a field that has another type, or "". It knows a missing
// space after a colon and, if the field is a string, what YAML reads as a boolean or a number.
func (v Value) Hint(path string, isString bool) string {
	found, exists := v.Find(path)
	if !exists || found.node == nil || found.node.Kind != yaml.ScalarNode || found.node.Style != 0 {
		return ""
	}
	written := found.node.Value
	if key, rest, ok := strings.Cut(written, ":"); ok && wordOnly.MatchString(key) && !strings.HasPrefix(rest, "//") {
		return fmt.Sprintf("there is no space after %q; write %s: %s", key+":", key, rest)
	}
	if !isString {
		return ""
	}
	switch strings.ToLower(written) {
	case "yes", "on", "y":
		return fmt.Sprintf("YAML reads %s as true; for a string write quotes: %q", written, written)
	case "no", "off", "n":
		return fmt.Sprintf("YAML reads %s as false; for a string write quotes: %q", written, written)
	}
	if tag := found.node.ShortTag(); tag == "!!int" || tag == "!!float" || tag == "!!bool" {
		return fmt.Sprintf("for a string write quotes: %q", written)
	}
	return ""
}

// SameLine reports whether a line of a file is the one that an error shows, in which values of Secrets are replaced by asterisks.
func SameLine(line, shown string) bool {
	a, b := []rune(line), []rune(shown)
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && b[i] != '*' {
			return false
		}
	}
	return true
}

// Script returns the place of a position in a script that is the value of a field of v. The column is known only in a block scalar that
// begins with |; for others, and without a line, it is the place of the key. It is false if there is no such field, or if shown, the text of the line if it is
// known, is another one.
func (v Value) Script(path string, line, col int, shown string) (Place, bool) {
	found, exists := v.Find(path)
	if !exists || found.node == nil || found.node.Kind != yaml.ScalarNode {
		return Place{}, false
	}
	if line < 1 {
		return found.start(), true
	}
	lines := strings.Split(found.node.Value, "\n")
	if line > len(lines) || shown != "" && !SameLine(strings.TrimRight(lines[line-1], "\r"), shown) {
		return Place{}, false
	}
	if found.node.Style&yaml.LiteralStyle == 0 {
		return found.start(), true
	}
	at := found.node.Line + line
	indent, ok := strings.CutSuffix(strings.TrimRight(found.text.line(at), "\r"), strings.TrimRight(lines[line-1], "\r"))
	if !ok {
		return found.start(), true
	}
	if col > 0 {
		col += len(indent) // of spaces
	}
	return found.text.at(at, col), true
}
