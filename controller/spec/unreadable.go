package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/allowed"
	"metascript/controller/api/v1alpha1"
)

// An unreadableError is the error about a field whose value has another type than the API, with the place of the field. The error of
// the converter has no place, and names types of Go.
type unreadableError struct {
	path string
	text string
}

func (e *unreadableError) Error() string { return e.path + e.text }

// explain returns the error about the first field in content that cannot be read. err is the error of the converter, and is returned if
// no field is found.
func explain(kind string, content map[string]any, err error) error {
	api := reflect.TypeFor[v1alpha1.CompositeController]()
	if kind == v1alpha1.KindDecoratorController {
		api = reflect.TypeFor[v1alpha1.DecoratorController]()
	}
	found := finder{readable: func(part any) bool {
		_, err := convert(kind, part.(map[string]any))
		return err == nil
	}}
	for _, field := range []string{"spec", "status", "metadata"} {
		part := func(v any) any { return map[string]any{field: v} }
		if v, ok := content[field]; ok && !found.readable(part(v)) {
			of, _ := fieldType(api, field)
			return found.in(field, v, of, part)
		}
	}
	return err
}

// A finder finds the part of an object that cannot be read.
type finder struct{ readable func(object any) bool }

// in returns the error about the first part of v that cannot be read, or about v itself. v is at path and has the type of, which is nil
// if it is not known; part returns an object that has only a value in the place of v.
func (f finder) in(path string, v any, of reflect.Type, part func(any) any) error {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			child := func(x any) any { return part(map[string]any{key: x}) }
			if !f.readable(child(v[key])) && f.readable(part(map[string]any{})) {
				inner, _ := fieldType(of, key)
				return f.in(path+"."+key, v[key], inner, child)
			}
		}
	case []any:
		for i, item := range v {
			child := func(x any) any { return part([]any{x}) }
			if !f.readable(child(item)) && f.readable(part([]any{})) {
				return f.in(fmt.Sprintf("%s[%d]", path, i), item, elementOf(of), child)
			}
		}
	}
	return &unreadableError{path, wrong(v, of)}
}

// fieldType returns the type of a field of a struct, or of a value of a map.
func fieldType(of reflect.Type, name string) (reflect.Type, bool) {
	of = pointed(of)
	if of == nil {
		return nil, false
	}
	if of.Kind() == reflect.Map {
		return of.Elem(), true
	}
	if of.Kind() != reflect.Struct {
		return nil, false
	}
	for i := range of.NumField() {
		field := of.Field(i)
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == name {
			return field.Type, true
		}
		if tag == "" && field.Anonymous {
			if found, ok := fieldType(field.Type, name); ok {
				return found, true
			}
		}
	}
	return nil, false
}

// elementOf returns the type of the items of a list.
func elementOf(of reflect.Type) reflect.Type {
	if of = pointed(of); of != nil && of.Kind() == reflect.Slice {
		return of.Elem()
	}
	return nil
}

func pointed(of reflect.Type) reflect.Type {
	if of != nil && of.Kind() == reflect.Pointer {
		return of.Elem()
	}
	return of
}

// wrong says that v is not a value of a type.
func wrong(v any, of reflect.Type) string {
	shown, err := json.Marshal(v)
	if _, isMap := v.(map[string]any); err != nil || isMap {
		shown = []byte("an object")
	}
	if _, isList := v.([]any); isList {
		shown = []byte("a list")
	}
	of = pointed(of)
	if of == nil {
		return fmt.Sprintf(": %s has the wrong type", shown)
	}
	switch of {
	case reflect.TypeFor[metav1.Duration]():
		return fmt.Sprintf(": %s is not a duration; %s", shown, allowed.Duration(strings.Trim(string(shown), `"`)))
	case reflect.TypeFor[resource.Quantity]():
		return fmt.Sprintf(": %s is not a quantity; %s", shown, allowed.Quantity(strings.Trim(string(shown), `"`)))
	}
	switch of.Kind() {
	case reflect.String:
		return fmt.Sprintf(": want a string, got %s: put it in quotes", shown)
	case reflect.Bool:
		return fmt.Sprintf(": want true or false, got %s", shown)
	case reflect.Slice:
		return fmt.Sprintf(": want a list, got %s", shown)
	case reflect.Struct, reflect.Map:
		return fmt.Sprintf(": want an object, got %s", shown)
	}
	return fmt.Sprintf(": want a whole number, got %s", shown)
}
