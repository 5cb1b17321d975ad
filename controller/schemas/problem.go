package schemas

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"metascript/controller/allowed"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/api/validation"
	"metascript/engine"
)

// A Problem is something that is wrong with an object.
type Problem struct {
	Path  string // the field, such as spec.template.spec.containers[0].image; "" is the object itself
	Cause Cause
	Text  string // what is wrong with the field, such as `unknown field; did you mean "image"?`
}

// A Cause is the cause of a Problem.
type Cause string

// The causes.
const (
	Unknown     Cause = "Unknown"     // the schema has no such field
	Missing     Cause = "Missing"     // a required field is not there
	WrongType   Cause = "WrongType"   // such as a string in place of an integer
	Unsupported Cause = "Unsupported" // none of the values of an enumeration
	Label       Cause = "Label"       // a label, or one in a selector, that is not valid
	Invalid     Cause = "Invalid"     // any other
)

// String returns the path and the text.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Text
	}
	return p.Path + ": " + p.Text
}

// Hint returns the text without the hint at its end, and the hint, which may be empty.
func (p Problem) Hint() (text, hint string) {
	for _, separator := range []string{"; did you mean ", ": leave out ", ": put it ", ": write ", ": make text "} {
		if before, after, found := strings.Cut(p.Text, separator); found {
			return before, strings.TrimLeft(separator, ";: ") + after
		}
	}
	return p.Text, ""
}

// InStatus reports whether the problem is about the status or a field in it.
func (p Problem) InStatus() bool {
	return p.Path == "status" || strings.HasPrefix(p.Path, "status.") || strings.HasPrefix(p.Path, "status[")
}

// OfNew returns the problems of an object that is to be created, and that is sent as it is: all but those of a status, except its
// unknown fields. The API server ignores the status of a new object.
func OfNew(all []Problem) []Problem {
	return slices.DeleteFunc(slices.Clone(all), func(p Problem) bool { return p.InStatus() && p.Cause != Unknown })
}

// OfPart returns the problems of an object of which only a part is given: all but missing fields.
func OfPart(all []Problem) []Problem {
	return slices.DeleteFunc(slices.Clone(all), func(p Problem) bool { return p.Cause == Missing })
}

// withoutMisspelled returns problems without those of missing fields that are there with a misspelled name: the problem of the unknown
// field says what to do.
func withoutMisspelled(all []Problem) []Problem {
	var meant []string // the paths of the fields that were meant
	for _, p := range all {
		name := meantName.FindStringSubmatch(p.Text)
		if p.Cause == Unknown && name != nil {
			meant = append(meant, strings.TrimPrefix(p.Path[:strings.LastIndexByte(p.Path, '.')+1]+name[1], "."))
		}
	}
	return slices.DeleteFunc(all, func(p Problem) bool { return p.Cause == Missing && slices.Contains(meant, p.Path) })
}

// meantName matches the text about a misspelled field, with the name that was meant.
var meantName = regexp.MustCompile(`^unknown field; did you mean "([^"]*)"\?$`)

// below reports whether p is about the same field as other, or about a field in it.
func (p Problem) below(other Problem) bool {
	rest, found := strings.CutPrefix(dotted.Replace(p.Path), dotted.Replace(other.Path))
	return found && (rest == "" || rest[0] == '.')
}

// dotted writes a path with dots alone: a key of a map is in brackets in some errors.
var dotted = strings.NewReplacer("[", ".", "]", "")

// problemOf returns the Problem of an error, which is about a field of object. It returns false if another error says the same
// better.
func problemOf(err *field.Error, object map[string]any) (Problem, bool) {
	p := Problem{Path: err.Field, Cause: Invalid}
	if p.Path == "<nil>" {
		p.Path = ""
	}
	switch err.Type {
	case field.ErrorTypeForbidden:
		p.Text = err.Detail
		if strings.HasPrefix(err.Detail, "unknown field") {
			p.Cause = Unknown
		}
	case field.ErrorTypeRequired:
		p.Cause, p.Text = Missing, "missing, but required"
		if err.Detail != "" {
			p.Text += ": " + err.Detail
		}
		if value, found := valueAt(object, p.Path); found && strings.HasPrefix(err.Detail, "valid values: ") {
			p.Cause, p.Text = Unsupported, encode(value)+" is not supported here: "+err.Detail
		}
	case field.ErrorTypeNotSupported:
		p.Cause, p.Text = Unsupported, unsupported(err)
	case field.ErrorTypeDuplicate:
		p.Text = encode(err.BadValue) + " is used twice"
		if _, isText := err.BadValue.(string); !isText { // a port of a Service
			p.Text = "another port has the same number and protocol"
		}
	case field.ErrorTypeNotFound: // only of mounts
		p.Cause, p.Text = Missing, fmt.Sprintf("there is no volume %s", encode(err.BadValue))
	case field.ErrorTypeTypeInvalid:
		p.Cause, p.Text = WrongType, wrongType(err, object)
	default:
		if match := metadataField.FindStringSubmatch(err.Detail); match != nil && err.Field == "metadata" {
			return wrongMetadata(match[1], object), true
		}
		if strings.HasPrefix(err.Detail, "Checked value must be of type") {
			return p, false
		}
		p.Text = invalid(err)
		if path, found := labelPath(err, object); found {
			p.Path, p.Cause = path, Label
		}
		if strings.HasPrefix(err.Detail, "`selector` does not match") {
			p.Cause, p.Text = Missing, noMatch // of a part of an object they may be missing
		}
		if strings.Contains(err.Detail, "cannot unmarshal") {
			p.Cause = WrongType
		}
	}
	return p, true
}

// noMatch is the text about the labels of a template that a selector does not match.
const noMatch = "the labels do not match spec.selector"

// metadataField matches the error about a field of metadata that has another type.
var metadataField = regexp.MustCompile(`cannot unmarshal .* into Go struct field ObjectMeta\.(\w+)`)

// wrongMetadata returns the Problem of a field of metadata that has another type. In labels and annotations it is about the first value
// that is not a string.
func wrongMetadata(name string, object map[string]any) Problem {
	p := Problem{Path: "metadata." + name, Cause: WrongType}
	want := "string"
	value, _ := valueAt(object, p.Path)
	switch name {
	case "labels", "annotations":
		values, isObject := value.(map[string]any)
		if want = "object"; !isObject {
			break
		}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if _, isString := values[key].(string); !isString {
				p.Path, value, want = p.Path+"["+key+"]", values[key], "string"
				break
			}
		}
	case "ownerReferences", "finalizers", "managedFields":
		want = "array"
	case "generation", "deletionGracePeriodSeconds":
		want = "integer"
	}
	p.Text = wrongValue(want, value)
	return p
}

// quoted matches the words in quotes in the detail of an error about an enumeration.
var quoted = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)

// unsupported returns the text for a value that is not in an enumeration.
func unsupported(err *field.Error) string {
	var values []string
	for _, match := range quoted.FindAllStringSubmatch(err.Detail, -1) {
		if match[1] != "" {
			values = append(values, match[1])
		}
	}
	return fmt.Sprintf("%s is not one of %s", encode(err.BadValue), engine.List(fmt.Sprint(err.BadValue), values))
}

// bodyType matches the detail of an error about a type.
var bodyType = regexp.MustCompile(`must be of type ([^:]*): "([^"]*)"`)

// wrongType returns the text for a value of another type.
func wrongType(err *field.Error, object map[string]any) string {
	match := bodyType.FindStringSubmatch(err.Detail)
	if match == nil {
		return invalid(err)
	}
	value, found := valueAt(object, err.Field)
	if !found || isSecret(object, err.Field) {
		return "want " + typeName(match[1])
	}
	switch value.(type) {
	case int64, float64:
		if isDuration(object, err.Field) {
			return fmt.Sprintf("%s is not a duration; %s", encode(value), allowed.Duration(encode(value)))
		}
	}
	return wrongValue(match[1], value)
}

// wrongValue returns the text for a value that is not of a type of a schema.
func wrongValue(want string, value any) string {
	switch value := value.(type) {
	case nil:
		return "want " + typeName(want) + ", got null"
	case map[string]any:
		return "want " + typeName(want) + ", got an object"
	case []any:
		return "want " + typeName(want) + ", got a list"
	case string:
		text := fmt.Sprintf("want %s, got the string %q", typeName(want), value)
		if want == "boolean" && slices.Contains([]string{"yes", "no", "on", "off"}, strings.ToLower(value)) {
			text += ": write true or false"
		}
		var unquoted any
		if json.Unmarshal([]byte(value), &unquoted) == nil && slices.Contains([]string{"integer", "number", "boolean"}, want) {
			text += ": leave out the quotes"
		}
		return text
	default:
		return otherThan(want, value)
	}
}

// otherThan returns the text for a value that is not of a type.
func otherThan(of string, value any) string {
	text := fmt.Sprintf("want %s, got %s", typeName(of), encode(value))
	if of == "string" {
		text += ": put it in quotes"
	}
	return text
}

// isDuration reports whether a field of a controller is a duration, which is a string in its schema.
func isDuration(object map[string]any, path string) bool {
	apiVersion, _ := object["apiVersion"].(string)
	return strings.HasPrefix(apiVersion, v1alpha1.Group+"/") && strings.HasSuffix(path, ".timeout")
}

// typeName returns the name of a type of a schema, for messages.
func typeName(of string) string {
	switch of {
	case "integer", "int32", "int64":
		return "an integer"
	case "object":
		return "an object"
	case "array":
		return "a list"
	case "integer,string":
		return "an integer or a string"
	case "number,string", validation.FormatQuantity:
		return "a quantity such as 500m or 1Gi"
	case "byte":
		return "base64"
	case "date-time", "datetime":
		return "a time such as 2026-01-02T15:04:05Z"
	}
	return "a " + strings.ReplaceAll(of, ",", " or a ")
}

// isSecret reports whether a field is the value of a Secret, which no message may show.
func isSecret(object map[string]any, path string) bool {
	return object["kind"] == "Secret" && (strings.HasPrefix(path, "data.") || strings.HasPrefix(path, "stringData."))
}

// bounds are the texts of a schema about bounds, and the same in plain words.
var bounds = strings.NewReplacer(
	"should be at least 1 chars long", "must not be empty", "should be greater than or equal to ", "must be at least ",
	"should be less than or equal to ", "must be at most ", "should be greater than ", "must be above ", "should be less than ", "must be below ",
	"should have at least ", "must have at least ", "should have at most ", "must have at most ", "should match ", "must match the pattern ",
)

// invalid returns the text for a value that is not valid for another reason.
func invalid(err *field.Error) string {
	detail := bounds.Replace(strings.TrimPrefix(err.Detail, err.Field+" in body "))
	switch value := err.BadValue.(type) {
	case nil:
	case string:
		if value != "" && err.Type == field.ErrorTypeInvalid && len(value) < 100 {
			return invalidText(value, detail)
		}
	case int64, float64, int, bool:
		return fmt.Sprintf("%s is not valid: %s", encode(value), detail)
	}
	if detail == "" {
		return strings.ToLower(string(err.Type[:1])) + strings.TrimPrefix(err.ErrorBody(), string(err.Type[:1]))
	}
	return detail
}

// invalidText returns the text for a string that is not valid.
func invalidText(value, detail string) string {
	_, notQuantity := resource.ParseQuantity(value)
	_, notDuration := time.ParseDuration(value)
	switch {
	case notQuantity != nil && (allowed.IsQuantityPattern(detail) || strings.Contains(detail, "must be a quantity")):
		return fmt.Sprintf("%q is not a quantity; %s", value, allowed.Quantity(value))
	case notDuration != nil && strings.Contains(detail, "must be a duration"):
		return fmt.Sprintf("%q is not a duration; %s", value, allowed.Duration(value))
	}
	text := fmt.Sprintf("%q is not valid: %s", value, allowed.Words(detail))
	if like := allowed.Like(value, detail); like != "" && like != value {
		text += fmt.Sprintf("; did you mean %q?", like)
	}
	return text
}

// encode returns a value as JSON.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// valueAt returns the value of a field. A key with a dot that is not in brackets is not found.
func valueAt(v any, path string) (any, bool) {
	for path != "" {
		var key string
		switch {
		case path[0] == '[':
			end := strings.IndexByte(path, ']')
			if end < 0 {
				return nil, false
			}
			key, path = path[1:end], path[end+1:]
		default:
			path = strings.TrimPrefix(path, ".")
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			key, path = path[:end], path[end:]
		}
		var found bool
		switch container := v.(type) {
		case map[string]any:
			v, found = container[key]
		case []any:
			if i, err := strconv.Atoi(key); err == nil && i < len(container) {
				v, found = container[i], true
			}
		}
		if !found {
			return nil, false
		}
	}
	return v, true
}
