package manifest

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"metascript/cmd/metascript/internal/place"
	"metascript/controller/build"
	"metascript/controller/schemas"
)

// Problems returns the errors for problems of the object, with their places. A field is not missing if its key is there without quotes, and
// is read as a boolean: the error about the unknown field true or false says so.
func (d Document) Problems(all []schemas.Problem) []*place.Error {
	var errs []*place.Error
	for _, p := range all {
		if p.Cause != schemas.Missing || d.Value.HintKey(p.Path) == "" {
			errs = append(errs, d.Problem(p))
		}
	}
	return errs
}

// Problem returns the error for a problem of the object, with its place.
func (d Document) Problem(p schemas.Problem) *place.Error {
	e := d.Errorf(p.Path, "%s", p)
	switch p.Cause {
	case schemas.Unknown:
		e.Place, e.Hint = d.Value.AtKey(p.Path), d.Value.HintKey(p.Path)
	case schemas.WrongType:
		e.Hint = d.Value.Hint(p.Path, strings.HasPrefix(p.Text, "want a string"))
		isInline := func(s scriptField) bool { return p.Path == s.path+".inline" }
		if slices.ContainsFunc(scriptFields(d.Object.Map()), isInline) {
			e.Hint = "a script of several lines needs |: write inline: | and begin the script in the next line"
		}
		if e.Hint != "" {
			e.Msg = strings.TrimSuffix(e.Msg, ": put it in quotes")
		}
	}
	e.File = d.File
	return e
}

// explain returns an error of loading the controller with the place of the field with which the message begins.
func (d Document) explain(msg string) *place.Error {
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
		if _, found := d.Value.Find("spec." + first); found {
			return at
		}
		if _, aboutScript := mentionIn(msg); aboutScript || strings.HasPrefix(msg, build.ErrNoHooks.Error()) {
			return "spec.script"
		}
		return "spec"
	}
	fields, _ := valueOf(d.Object.Map(), at).(map[string]any)
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
