package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/object"
)

// LastApplied is the annotation in which a child remembers what its controller last wanted of it. Its text is part
// of an agreement with Metacontroller, to the byte.
const LastApplied = "metacontroller.k8s.io/last-applied-configuration"

// system lists the fields of metadata that belong to the API server. What a script returns may be a child as it was
// observed, so they are taken from the observed object on an update, and dropped on a creation.
var system = []string{
	"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
	"deletionGracePeriodSeconds", "selfLink", "managedFields",
}

// fresh is want as it is to be created.
func fresh(want *object.Object) (*object.Object, error) {
	created := object.Copy(want)
	for _, name := range system {
		delete(metadata(created), name)
	}
	dropNulls(created.Object)
	return created, remember(created, want)
}

// apply is have with want merged into it: dynamic apply.
func apply(have, want *object.Object) (*object.Object, error) {
	last, err := recall(have)
	if err != nil {
		return nil, err
	}
	desired := object.Copy(want).Object
	dropNulls(desired)
	dropUnstored(desired, last, have.Object)
	result := &object.Object{Object: merge(have.Object, last, desired)}
	restore(result, have)
	return result, remember(result, want)
}

// restore puts back, as observed, what belongs to the API server and to the status subresource.
func restore(result, have *object.Object) {
	observed, into := metadata(have), metadata(result)
	for _, name := range system {
		put(into, name, observed)
	}
	put(result.Object, "status", have.Object)
	keepController(result, have)
}

// keepController puts the controller reference back that a hook dropped: one that once returned a child as it was
// observed has it among what was last applied, and would else give the child away by not naming it again.
func keepController(result, have *object.Object) {
	ref := object.ControllerOf(have)
	if ref == nil {
		return
	}
	refs := result.GetOwnerReferences()
	if !slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return r.UID == ref.UID }) {
		result.SetOwnerReferences(append(refs, *ref))
	}
}

// put copies the field name of from into into, or deletes it there when from has none.
func put(into map[string]any, name string, from map[string]any) {
	if value, found := from[name]; found {
		into[name] = object.CopyValue(value)
	} else {
		delete(into, name)
	}
}

// metadata is the map behind o's metadata, made when it is missing.
func metadata(o *object.Object) map[string]any {
	m, ok := o.Object["metadata"].(map[string]any)
	if !ok {
		m = map[string]any{}
		o.Object["metadata"] = m
	}
	return m
}

// remember records on o that want was applied: want as JSON with sorted keys and HTML escaping, nulls and all,
// without the annotation itself.
func remember(o, want *object.Object) error {
	text, err := json.Marshal(withoutLastApplied(want).Object)
	if err != nil {
		return fmt.Errorf("%s: %w", object.Describe(want), err)
	}
	annotationsOf(o)[LastApplied] = string(text)
	return nil
}

// annotationsOf is the map behind o's annotations, made when it is missing.
func annotationsOf(o *object.Object) map[string]any {
	annotations, ok := metadata(o)["annotations"].(map[string]any)
	if !ok {
		annotations = map[string]any{}
		metadata(o)["annotations"] = annotations
	}
	return annotations
}

// withoutLastApplied is o without the annotation, copied only when there is one. It goes past GetAnnotations, which
// gives none at all when one of them is null.
func withoutLastApplied(o *object.Object) *object.Object {
	annotations, _ := metadata(o)["annotations"].(map[string]any)
	if _, found := annotations[LastApplied]; !found {
		return o
	}
	clean := object.Copy(o)
	delete(metadata(clean)["annotations"].(map[string]any), LastApplied)
	return clean
}

// recall reads what was last applied to have; nil when nothing was.
func recall(have *object.Object) (map[string]any, error) {
	text, found := have.GetAnnotations()[LastApplied]
	if !found || strings.TrimSpace(text) == "" {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	var last map[string]any
	if err := decoder.Decode(&last); err != nil {
		return nil, fmt.Errorf("%s: annotation %s is not a JSON object: %w", object.Describe(have), LastApplied, err)
	}
	dropNulls(last)
	return last, nil
}

// dropUnstored removes the hollow maps and lists that were applied before and are not there: the API server does not
// store them in that place, so that wanting them would find a difference for ever.
func dropUnstored(desired, last, have map[string]any) {
	for key, want := range desired {
		before, applied := last[key]
		stored, there := have[key]
		switch {
		case !applied:
		case !there && hollow(want) && hollow(before):
			delete(desired, key)
		default:
			dropUnstoredIn(want, before, stored)
		}
	}
}

// dropUnstoredIn goes down where all three have the same shape.
func dropUnstoredIn(want, before, stored any) {
	switch w := want.(type) {
	case map[string]any:
		b, _ := before.(map[string]any)
		s, _ := stored.(map[string]any)
		dropUnstored(w, b, s)
	case []any:
		b, _ := before.([]any)
		s, _ := stored.([]any)
		dropUnstoredItems(w, b, s)
	}
}

// dropUnstoredItems pairs the items as Merge does: by the field that identifies them, else by their place.
func dropUnstoredItems(want, before, stored []any) {
	if key := commonKey(stored, before, want); key != "" {
		wants, befores := byKey(want, key), byKey(before, key)
		for id, item := range byKey(stored, key) {
			dropUnstored(wants[id], befores[id], item)
		}
		return
	}
	if len(before) != len(want) || len(stored) != len(want) {
		return
	}
	for i := range want {
		dropUnstoredIn(want[i], before[i], stored[i])
	}
}

// hollow reports whether v is an empty map or list, or a map of nothing but such and nulls.
func hollow(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, field := range v {
			if field != nil && !hollow(field) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return false
}

// WithoutNulls is a copy of m without null fields.
func WithoutNulls(m map[string]any) map[string]any {
	clean := object.CopyValue(m).(map[string]any)
	dropNulls(clean)
	return clean
}

// dropNulls removes the null fields of maps, at every depth: the API server never stores them, so that comparing
// with them would find a difference for ever.
func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			if field == nil {
				delete(v, key)
				continue
			}
			dropNulls(field)
		}
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
}
