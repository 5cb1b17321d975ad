// Package ownership reads from managedFields which fields of an object a field manager owns.
//
// The API server keeps, for each manager, the set of fields that it applied. So an object itself says what was applied
// to it last, whoever did it and however long ago: [Of] takes what is needed of managedFields, in a form that a cache can
// keep, and [Fields.Applied] gives the part of the object that was applied.
package ownership

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"metascript/controller/object"
)

// Fields are what a field manager owns of an object. The zero value owns nothing.
type Fields struct {
	Set        string // of the fields that it applied, as FieldsV1 has it; "" when it applied nothing
	APIVersion string // in which the set is written
	Updated    bool   // it also owns fields by updates, which an apply does not take away
}

// Of reads what applier owns of o. Updates count whether they are its own or those of one of the others.
func Of(o *object.Object, applier string, others ...string) Fields {
	var found Fields
	metadata, _ := o.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, entry := range entries {
		e, _ := entry.(map[string]any)
		manager, _ := e["manager"].(string)
		if subresource, _ := e["subresource"].(string); subresource != "" {
			continue
		}
		switch e["operation"] {
		case "Apply":
			if manager == applier {
				found.Set, found.APIVersion = setOf(e)
			}
		case "Update":
			found.Updated = found.Updated || manager == applier || slices.Contains(others, manager)
		}
	}
	return found
}

func setOf(entry map[string]any) (set, apiVersion string) {
	text, err := json.Marshal(entry["fieldsV1"])
	if err != nil {
		return "", ""
	}
	apiVersion, _ = entry["apiVersion"].(string)
	return string(text), apiVersion
}

// Applied is the part of o that was applied. A map or list that is owned as a whole is in it as it is now, with what the
// API server filled in. It shares values with o and must not be changed.
func (f Fields) Applied(o *object.Object) (map[string]any, error) {
	if f.APIVersion != o.GetAPIVersion() {
		return nil, fmt.Errorf("%s: what was applied to it is written for %s", object.Describe(o), f.APIVersion)
	}
	set := &fieldpath.Set{}
	if err := set.FromJSON(strings.NewReader(f.Set)); err != nil {
		return nil, fmt.Errorf("%s: read its managedFields: %w", object.Describe(o), err)
	}
	applied := partOfMap(set, o.Object)
	identify(applied, o)
	return applied, nil
}

// identify adds what names o, which managedFields leave out.
func identify(applied map[string]any, o *object.Object) {
	owned, _ := applied["metadata"].(map[string]any)
	metadata := map[string]any{}
	maps.Copy(metadata, owned) // which is that of o when it is owned as a whole
	applied["metadata"] = metadata
	applied["apiVersion"], applied["kind"], metadata["name"] = o.GetAPIVersion(), o.GetKind(), o.GetName()
	if namespace := o.GetNamespace(); namespace != "" {
		metadata["namespace"] = namespace
	}
}

// part is what set has of v.
func part(set *fieldpath.Set, v any) any {
	switch v := v.(type) {
	case map[string]any:
		return partOfMap(set, v)
	case []any:
		return partOfList(set, v)
	}
	return v
}

func partOfMap(set *fieldpath.Set, m map[string]any) map[string]any {
	found := map[string]any{}
	for key, v := range m {
		if p, owned := below(set, fieldpath.PathElement{FieldName: &key}, v); owned {
			found[key] = p
		}
	}
	return found
}

func partOfList(set *fieldpath.Set, list []any) []any {
	found, elements := []any{}, elementsOf(set)
	for i, item := range list {
		if element, owned := elements.find(i, item); owned {
			p, _ := below(set, element, item)
			found = append(found, p)
		}
	}
	return found
}

// below is what set has of v, to which element leads.
func below(set *fieldpath.Set, element fieldpath.PathElement, v any) (any, bool) {
	if inside, found := set.Children.Get(element); found {
		return part(inside, v), true
	}
	return v, set.Members.Has(element)
}

// elements are those of a list, by what identifies an item, so that a long list costs no comparison of all with all.
type elements struct {
	by   map[string]fieldpath.PathElement
	keys map[string][]string // the names of the keys of items, most often of one kind
}

func elementsOf(set *fieldpath.Set) elements {
	found := elements{map[string]fieldpath.PathElement{}, map[string][]string{}}
	// Neither iterator of the library can be left early.
	for element := range set.Members.All() {
		found.add(element)
	}
	for element := range set.Children.All() {
		found.add(element)
	}
	return found
}

func (e elements) add(element fieldpath.PathElement) {
	e.by[element.String()] = element
	if element.Key == nil {
		return
	}
	names := make([]string, 0, len(*element.Key))
	for _, field := range *element.Key {
		names = append(names, field.Name)
	}
	e.keys[strings.Join(names, ",")] = names
}

// find is the element that leads to the item of a list.
func (e elements) find(i int, item any) (fieldpath.PathElement, bool) {
	candidates := []fieldpath.PathElement{{Index: &i}}
	if fields, isMap := item.(map[string]any); isMap {
		for _, names := range e.keys {
			if key := keyOf(fields, names); key != nil {
				candidates = append(candidates, fieldpath.PathElement{Key: key})
			}
		}
	} else {
		v := value.NewValueInterface(item)
		candidates = append(candidates, fieldpath.PathElement{Value: &v})
	}
	for _, candidate := range candidates {
		if element, found := e.by[candidate.String()]; found {
			return element, true
		}
	}
	return fieldpath.PathElement{}, false
}

// keyOf is the key of an item that consists of the fields of these names; nil when one is missing.
func keyOf(item map[string]any, names []string) *value.FieldList {
	key := make(value.FieldList, 0, len(names))
	for _, name := range names {
		field, there := item[name]
		if !there {
			return nil
		}
		key = append(key, value.Field{Name: name, Value: value.NewValueInterface(field)})
	}
	return &key
}

// Leads reports whether element is the step to, a key of a map or a place in a list, behind which there is v.
// managedFields name the items of a list by their keys, or by their value.
func Leads(element fieldpath.PathElement, to, v any) bool {
	switch {
	case element.FieldName != nil:
		return *element.FieldName == to
	case element.Index != nil:
		return *element.Index == to
	case element.Value != nil:
		_, isPlace := to.(int)
		return isPlace && value.Equals(*element.Value, value.NewValueInterface(v))
	case element.Key != nil:
		_, isPlace := to.(int)
		item, _ := v.(map[string]any)
		return isPlace && keyed(*element.Key, item)
	}
	return false
}

// keyed reports whether item has just these keys.
func keyed(keys value.FieldList, item map[string]any) bool {
	for _, key := range keys {
		field, there := item[key.Name]
		if !there || !value.Equals(key.Value, value.NewValueInterface(field)) {
			return false
		}
	}
	return true
}
