// Package ownership reads from managedFields which fields of an object a field manager owns, and which managers own a field.
//
// The API server stores in managedFields, for each manager, the set of fields that it applied. So the object itself has what was
// applied to it last. [Of] reads from managedFields what a cache keeps, and [Fields.Applied] returns the part of the object
// that was applied.
package ownership

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"metascript/controller/object"
	"metascript/engine/tree"
)

// Fields are the fields of an object that a field manager owns. The zero value owns nothing.
type Fields struct {
	Set        string // the fields that it applied, in FieldsV1 format; "" if it applied nothing
	APIVersion string // of the object, in which the paths of Set are valid
	Updated    bool   // it also owns fields by updates; an apply does not remove those
}

// Of returns the fields that applier owns, by the JSON text of the managedFields of an object. It returns nothing if applier applied
// nothing, which is most often found without decoding the text. Updated is also true if one of others owns fields by updates. Fields
// of subresources do not count.
func Of(managedFields []byte, applier string, others ...string) Fields {
	if !mayHave(managedFields, apply) || !mayHave(managedFields, applier) {
		return Fields{}
	}
	var entries []struct {
		Manager, Operation, APIVersion, Subresource string

		FieldsV1 json.RawMessage
	}
	if err := json.Unmarshal(managedFields, &entries); err != nil {
		return Fields{}
	}
	var found Fields
	for _, e := range entries {
		switch {
		case e.Subresource != "":
		case e.Operation == apply && e.Manager == applier:
			found.Set, found.APIVersion = string(e.FieldsV1), e.APIVersion
		case e.Operation == "Update":
			found.Updated = found.Updated || e.Manager == applier || slices.Contains(others, e.Manager)
		}
	}
	if found.Set == "" {
		return Fields{}
	}
	return found
}

// apply is the operation of an entry of managedFields for fields that were applied.
const apply = "Apply"

// mayHave reports whether JSON text may have a string. It may have it in another form if the string has special characters.
func mayHave(text []byte, s string) bool {
	special := strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"\\<>&/`, r) })
	return special || bytes.Contains(text, []byte(`"`+s+`"`))
}

// Applied returns the part of o that was applied, with apiVersion, kind, name and namespace. A map or list that is owned as a
// whole has its current value, with the defaults that the API server set. Applied returns an error if o has another apiVersion,
// or if Set cannot be parsed. The result shares values with o and must not be changed.
func (f Fields) Applied(o *object.Object) (map[string]any, error) {
	if f.APIVersion != o.GetAPIVersion() {
		return nil, fmt.Errorf("%s: what was applied to it is written for %s", object.Describe(o), f.APIVersion)
	}
	set := &fieldpath.Set{}
	if err := set.FromJSON(strings.NewReader(f.Set)); err != nil {
		return nil, fmt.Errorf("%s: read its managedFields: %w", object.Describe(o), err)
	}
	content, _ := tree.MapOf(o.Value())
	applied := partOfMap(set, content)
	identify(applied, o)
	return applied, nil
}

// identify adds apiVersion, kind, name and namespace of o, which are not in managedFields.
func identify(applied map[string]any, o *object.Object) {
	owned, _ := applied["metadata"].(map[string]any)
	metadata := map[string]any{}
	maps.Copy(metadata, owned) // a copy, since owned is the map of o if it is owned as a whole
	applied["metadata"] = metadata
	applied["apiVersion"], applied["kind"], metadata["name"] = o.GetAPIVersion(), o.GetKind(), o.GetName()
	if namespace := o.GetNamespace(); namespace != "" {
		metadata["namespace"] = namespace
	}
}

// part returns the part of v that is in set. Of a packed value it builds no more.
func part(set *fieldpath.Set, v any) any {
	if m, ok := tree.MapOf(v); ok {
		return partOfMap(set, m)
	}
	if list, ok := tree.ArrayOf(v); ok {
		return partOfList(set, list)
	}
	return v
}

// partOfMap returns the fields of m that are in set.
func partOfMap(set *fieldpath.Set, m tree.Map) map[string]any {
	fields := map[string]any{}
	for key, v := range m.All() {
		if p, owned := below(set, fieldpath.PathElement{FieldName: &key}, v); owned {
			fields[key] = p
		}
	}
	return fields
}

// partOfList returns the items of list that are in set, in their order.
func partOfList(set *fieldpath.Set, list tree.Array) []any {
	found, elements := []any{}, elementsOf(set)
	for i := range list.Len() {
		item := list.Index(i)
		if element, owned := elements.find(i, item); owned {
			p, _ := below(set, element, item)
			found = append(found, p)
		}
	}
	return found
}

// below returns the part of v, the value at element, that is in set, and whether the set owns v or a part of it.
func below(set *fieldpath.Set, element fieldpath.PathElement, v any) (any, bool) {
	if inside, found := set.Children.Get(element); found {
		return part(inside, v), true
	}
	if !set.Members.Has(element) {
		return nil, false
	}
	return tree.Native(v), true
}

// elements is an index of the path elements of a list, so that each item is found without a comparison with all elements.
type elements struct {
	byText map[string]fieldpath.PathElement // by their String
	keys   map[string][]string              // the names of the key fields that elements have; usually of one kind
}

// elementsOf returns the index of the elements in set.
func elementsOf(set *fieldpath.Set) elements {
	found := elements{map[string]fieldpath.PathElement{}, map[string][]string{}}
	// The loops must not return or break: these iterators do not support it.
	for element := range set.Members.All() {
		found.add(element)
	}
	for element := range set.Children.All() {
		found.add(element)
	}
	return found
}

func (e elements) add(element fieldpath.PathElement) {
	e.byText[element.String()] = element
	if element.Key == nil {
		return
	}
	names := make([]string, 0, len(*element.Key))
	for _, field := range *element.Key {
		names = append(names, field.Name)
	}
	e.keys[strings.Join(names, ",")] = names
}

// find returns the element that identifies item, which is at index i of the list.
func (e elements) find(i int, item any) (fieldpath.PathElement, bool) {
	candidates := []fieldpath.PathElement{{Index: &i}}
	if fields, isMap := tree.MapOf(item); isMap {
		for _, names := range e.keys {
			if key := keyOf(fields, names); key != nil {
				candidates = append(candidates, fieldpath.PathElement{Key: key})
			}
		}
	} else {
		v := value.NewValueInterface(tree.Native(item))
		candidates = append(candidates, fieldpath.PathElement{Value: &v})
	}
	for _, candidate := range candidates {
		if element, found := e.byText[candidate.String()]; found {
			return element, true
		}
	}
	return fieldpath.PathElement{}, false
}

// keyOf returns the key of an item with fields of these names; nil if one is missing.
func keyOf(item tree.Map, names []string) *value.FieldList {
	key := make(value.FieldList, 0, len(names))
	for _, name := range names {
		field, exists := item.Get(name)
		if !exists {
			return nil
		}
		key = append(key, value.Field{Name: name, Value: value.NewValueInterface(tree.Native(field))})
	}
	return &key
}

// Identifies reports whether element identifies the value v, which is at key or index to of its map or list. managedFields identify
// the items of a list by their keys, their value or their index.
func Identifies(element fieldpath.PathElement, to, v any) bool {
	switch {
	case element.FieldName != nil:
		return *element.FieldName == to
	case element.Index != nil:
		return *element.Index == to
	case element.Value != nil:
		_, isIndex := to.(int)
		return isIndex && value.Equals(*element.Value, value.NewValueInterface(v))
	case element.Key != nil:
		_, isIndex := to.(int)
		item, _ := v.(map[string]any)
		return isIndex && keyed(*element.Key, item)
	}
	return false
}

// keyed reports whether the fields of item have the values in keys.
func keyed(keys value.FieldList, item map[string]any) bool {
	for _, key := range keys {
		field, exists := item[key.Name]
		if !exists || !value.Equals(key.Value, value.NewValueInterface(field)) {
			return false
		}
	}
	return true
}
