package manifest

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"metascript/cmd/metascript/internal/place"
	"metascript/controller/object"
	"metascript/controller/schemas"
	"metascript/engine"
)

// Problem returns the error for a problem of the object, with its place.
func (d Document) Problem(p schemas.Problem) *place.Error {
	e := d.Errorf(p.Path, "%s", p)
	switch p.Cause {
	case schemas.Unknown:
		e.Place = d.Value.AtKey(p.Path)
	case schemas.WrongType:
		e.Hint = d.Value.Hint(p.Path, strings.HasPrefix(p.Text, "want a string"))
		isInline := func(s scriptField) bool { return p.Path == s.path+".inline" }
		if slices.ContainsFunc(inlineScripts(d.Object.Object), isInline) {
			e.Hint = "a script of several lines needs |: write inline: | and begin the script in the next line"
		}
		if e.Hint != "" {
			e.Msg = strings.TrimSuffix(e.Msg, ": put it in quotes")
		}
	}
	e.File = d.File
	return e
}

// A scriptField is the script of a controller, or of one of its hooks.
type scriptField struct {
	path   string
	script map[string]any
}

// inlineScripts returns the scripts of a controller that are in the object itself.
func inlineScripts(m map[string]any) []scriptField {
	spec, _ := m["spec"].(map[string]any)
	hooks, _ := spec["hooks"].(map[string]any)
	var all []scriptField
	add := func(at string, script any) {
		if s, _ := script.(map[string]any); s["inline"] != nil {
			all = append(all, scriptField{at, s})
		}
	}
	add("spec.script", spec["script"])
	for _, name := range slices.Sorted(maps.Keys(hooks)) {
		hook, _ := hooks[name].(map[string]any)
		add("spec.hooks."+name+".script", hook["script"])
	}
	return all
}

// entryName matches the name of the text in inline, which depends on the language.
var entryName = regexp.MustCompile(`^sync\.(star|js|ts|jsonnet)$`)

// Script returns the place in the file of a position in a script of a controller, which is in the object itself or in one of its modules.
// line is the text of the line if it is known. It is false if no inline script of the controller has such a position.
func (d Document) Script(pos engine.Pos, line string) (place.Place, bool) {
	if d.Object == nil {
		return place.Place{}, false
	}
	for _, s := range inlineScripts(d.Object.Object) {
		field := s.path + ".inline"
		if modules, _ := s.script["modules"].(map[string]any); modules[pos.File] != nil {
			field = s.path + ".modules[" + pos.File + "]"
		} else if !entryName.MatchString(pos.File) {
			continue
		}
		if at, ok := d.Value.Script(field, pos.Line, pos.Col, line); ok {
			at.File = d.File
			return at, true
		}
	}
	return place.Place{}, false
}

// Located returns err with the place in the file of the controller, if it is an error of an inline script, or one that begins with the
// name of the controller and a field. Otherwise it returns err itself.
func (d Document) Located(err error) error {
	var e *engine.Error
	if errors.As(err, &e) {
		if at, ok := d.Script(e.Pos, e.Source); ok {
			return fmt.Errorf("%s: %w", at.Pos, err)
		}
		return err
	}
	if err != nil && d.Object != nil && strings.HasPrefix(err.Error(), object.Describe(d.Object)+": ") {
		return d.Explain(err)
	}
	return err
}

// inText matches the position in a script at the beginning of a message, and the text of its line.
var inText = regexp.MustCompile(`(?s)^(?:[^\n]*?: )?([\w./-]+\.(?:star|js|ts|jsonnet|libsonnet|json)):(\d+):(\d+): [^\n]*(?:\n    ([^\n]*))?`)

// LocatedText is [Document.Located] for the text of an error, as it is in the status of a controller.
func (d Document) LocatedText(text string) string {
	match := inText.FindStringSubmatch(text)
	if match == nil || path.IsAbs(match[1]) {
		return text
	}
	line, _ := strconv.Atoi(match[2])
	col, _ := strconv.Atoi(match[3])
	if at, ok := d.Script(engine.Pos{File: match[1], Line: line, Col: col}, match[4]); ok {
		return at.Pos.String() + ": " + text
	}
	return text
}

// Explain returns an error of loading the controller with its place: that of the script, or of the field with which the message begins.
func (d Document) Explain(err error) *place.Error {
	msg := strings.TrimPrefix(engine.DetailOf(err), object.Describe(d.Object)+": ")
	var inScript *engine.Error
	if errors.As(err, &inScript) {
		e := &place.Error{About: object.Describe(d.Object), Msg: msg} // which has the line and a caret
		if at, ok := d.Script(inScript.Pos, inScript.Source); ok {
			e.Pos = at.Pos
		}
		e.File = d.File
		return e
	}
	e := d.Errorf(d.fieldOf(msg), "%s", msg)
	if !strings.HasPrefix(msg, e.Field) && !strings.HasPrefix("spec."+msg, e.Field) {
		e.Field = ""
	}
	return e
}

// fieldPath matches the path of a field at the beginning of a message.
var fieldPath = regexp.MustCompile(`^[A-Za-z]\w*(?:\.\w+|\[\w+\])*`)

// fieldOf returns the field of the spec that a message is about: the one with whose path it begins, or a field in it whose value the
// message quotes. If there is none, it is the spec.
func (d Document) fieldOf(msg string) string {
	msg = strings.TrimPrefix(msg, "the spec cannot be read: ")
	at := "spec." + strings.TrimPrefix(fieldPath.FindString(msg), "spec.")
	if _, found := d.Value.Find(at); !found {
		first, _, _ := strings.Cut(strings.TrimPrefix(at, "spec."), ".")
		first, _, _ = strings.Cut(first, "[")
		if _, found := d.Value.Find("spec." + first); !found {
			return "spec"
		}
		return at
	}
	fields, _ := valueOf(d.Object.Object, at).(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if text, ok := fields[name].(string); ok && text != "" && strings.Contains(msg, strconv.Quote(text)) {
			return at + "." + name
		}
	}
	return at
}

// valueOf returns the value of a field, or nil.
func valueOf(v any, at string) any {
	for _, name := range strings.FieldsFunc(at, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		switch container := v.(type) {
		case map[string]any:
			v = container[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(container) {
				return nil
			}
			v = container[i]
		default:
			return nil
		}
	}
	return v
}
