package place

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	sigsjson "sigs.k8s.io/json"

	"metascript/engine"
)

// Decode decodes a document into a struct with JSON tags. A field that the struct does not have, or of another type, is an error with its
// place; a tag want says in words what a field is. The error has the texts of all such errors. Integers become int64.
func (d Document) Decode(into any) error {
	var value any
	if err := utiljson.Unmarshal(d.JSON, &value); err != nil {
		return d.Errorf("", "%v", err)
	}
	w := walk{root: d.Value}
	w.value("", value, reflect.TypeOf(into).Elem(), "")
	if len(w.errs) == 0 {
		return sigsjson.UnmarshalCaseSensitivePreserveInts(d.JSON, into)
	}
	return errors.Join(w.errs...)
}

// A walk compares a value with a type.
type walk struct {
	root Value
	errs []error
}

// The types that are compared in another way than by their kind.
var (
	durationType    = reflect.TypeFor[metav1.Duration]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
)

// value compares the value at a path with a type. want says in words what the type is, if it is not "".
func (w *walk) value(path string, value any, t reflect.Type, want string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case value == nil:
		return
	case t == durationType:
		if text, isString := value.(string); !isString || (&metav1.Duration{}).UnmarshalJSON([]byte(quoted(text))) != nil {
			w.wrong(path, "a duration such as 30s, 5m or 1h", value)
		}
		return
	case reflect.PointerTo(t).Implements(unmarshalerType) && t.Kind() == reflect.Struct:
		w.unmarshal(path, value, t)
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		if m, ok := value.(map[string]any); ok {
			w.fields(path, m, t)
			return
		}
		w.wrong(path, cmp.Or(want, "an object with "+listWords(namesOf(t))), value)
	case reflect.Map:
		m, ok := value.(map[string]any)
		if !ok {
			w.wrong(path, cmp.Or(want, "an object"), value)
		}
		for _, key := range slices.Sorted(maps.Keys(m)) {
			w.value(path+"["+key+"]", m[key], t.Elem(), "")
		}
	case reflect.Slice:
		list, ok := value.([]any)
		if !ok {
			w.wrong(path, "a list", value)
		}
		for i, item := range list {
			w.value(fmt.Sprintf("%s[%d]", path, i), item, t.Elem(), "")
		}
	case reflect.String:
		if _, ok := value.(string); !ok {
			w.wrong(path, "a string", value)
		}
	case reflect.Bool:
		if _, ok := value.(bool); !ok {
			w.wrong(path, "true or false", value)
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		if _, ok := value.(int64); !ok {
			w.wrong(path, "a whole number", value)
		}
	}
}

// unmarshal compares a value with a type that decodes itself.
func (w *walk) unmarshal(path string, value any, t reflect.Type) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, reflect.New(t).Interface())
	}
	if err != nil {
		w.errs = append(w.errs, w.root.Errorf(path, "%s: %v", path, err))
	}
}

// fields compares the fields of an object with those of a struct.
func (w *walk) fields(path string, m map[string]any, t reflect.Type) {
	known := fieldsOf(t)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		at := strings.TrimPrefix(path+"."+key, ".")
		if field, ok := known[key]; ok {
			w.value(at, m[key], field.Type, field.Tag.Get("want"))
			continue
		}
		e := &Error{Place: w.root.AtKey(at), Field: at, Msg: fmt.Sprintf("unknown field %q", key)}
		if hint := w.root.HintKey(at); hint != "" {
			e.Hint = hint
		} else if like := engine.Nearest(key, namesOf(t)); like != "" {
			e.Hint = fmt.Sprintf("did you mean %q?", like)
		} else {
			e.Hint = "the fields are " + listWords(namesOf(t))
		}
		w.errs = append(w.errs, e)
	}
}

// fieldsOf returns the fields of a struct, by their names in JSON, also those of structs that are embedded in it.
func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	all := map[string]reflect.StructField{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			maps.Copy(all, fieldsOf(f.Type))
		case f.IsExported() && name != "" && name != "-":
			all[name] = f
		}
	}
	return all
}

// namesOf returns the names of the fields of a struct in JSON, in their order.
func namesOf(t reflect.Type) []string {
	var all []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			all = append(all, namesOf(f.Type)...)
		case f.IsExported() && name != "" && name != "-":
			all = append(all, name)
		}
	}
	return all
}

// wrong adds the error of a value that has another type.
func (w *walk) wrong(path, want string, got any) {
	shown := "an object"
	switch got := got.(type) {
	case string:
		shown = "the string " + quoted(got)
	case []any:
		shown = "a list"
	case map[string]any:
	default:
		shown = fmt.Sprint(got)
	}
	e := w.root.Errorf(path, "want %s, got %s", want, shown)
	if path != "" {
		e.Msg = path + ": " + e.Msg
	}
	switch text, isString := got.(string); {
	case want == "a string":
		e.Hint = w.root.Hint(path, true)
	case isString && want == "true or false" && slices.Contains([]string{"true", "yes", "on"}, strings.ToLower(text)):
		e.Hint = "write true, without quotes"
	case isString && want == "true or false" && slices.Contains([]string{"false", "no", "off"}, strings.ToLower(text)):
		e.Hint = "write false, without quotes"
	case isString:
		e.Hint = w.root.Hint(path, false)
	}
	w.errs = append(w.errs, e)
}

// quoted returns a text as JSON.
func quoted(text string) string {
	encoded, err := json.Marshal(text)
	if err != nil {
		return text
	}
	return string(encoded)
}

// listWords returns words as a list.
func listWords(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
