package plan

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"metascript/controller/builtin"
	"metascript/controller/object"
	"metascript/engine/tree"
)

// LastApplied is the annotation of dynamic apply with what was last applied to a child. Its text is the same, byte for byte,
// as Metacontroller writes.
const LastApplied = "metacontroller.k8s.io/last-applied-configuration"

// system lists the fields of metadata that only the API server sets. A hook may return a child as it was observed, so an
// update takes these fields from the observed object, and a creation drops them.
var system = []string{
	"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
	"deletionGracePeriodSeconds", "selfLink", "managedFields",
}

// fresh returns want as it is created.
func fresh(want *object.Object) (*object.Object, error) {
	created := object.Copy(want)
	for _, name := range system {
		delete(metadata(created), name)
	}
	dropNulls(created.Map())
	builtin.Normalize(created.Map())
	return created, remember(created, want)
}

// restore sets the fields of result that only the API server sets, and the status, to those of have.
func restore(result, have *object.Object) {
	observed, into := metadataOf(have), metadata(result)
	for _, name := range system {
		put(into, name, observed)
	}
	put(result.Map(), "status", contentOf(have))
	keepOwner(result, object.ControllerOf(have))
	if uid := have.Annotation(object.OwnerAnnotation); uid != "" {
		keepOwner(result, object.OwnerOf(have))
		annotationsOf(result)[object.OwnerAnnotation] = uid
	}
}

// keepOwner adds a reference of have again if the merge has removed it. A hook that once returned a child as it was observed has it among
// what was last applied, so the merge removes it if the hook does not return it again.
func keepOwner(result *object.Object, ref *metav1.OwnerReference) {
	if ref == nil {
		return
	}
	refs := result.GetOwnerReferences()
	if !slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return r.UID == ref.UID }) {
		result.SetOwnerReferences(append(refs, *ref))
	}
}

// put copies the field name of from into into, or deletes it if from does not have it.
func put(into map[string]any, name string, from tree.Map) {
	if value, found := from.Get(name); found {
		into[name] = built(value)
	} else {
		delete(into, name)
	}
}

// metadata returns the map of o's metadata. It creates the map if there is none.
func metadata(o *object.Object) map[string]any {
	m, ok := o.Map()["metadata"].(map[string]any)
	if !ok {
		m = map[string]any{}
		o.Map()["metadata"] = m
	}
	return m
}

// remember sets the annotation LastApplied of o to want: as JSON with sorted keys, HTML escaping and nulls, and without the
// annotation itself.
func remember(o, want *object.Object) error {
	text, err := lastAppliedOf(want)
	if err == nil {
		annotationsOf(o)[LastApplied] = text
	}
	return err
}

// lastAppliedOf returns the annotation LastApplied for want.
func lastAppliedOf(want *object.Object) (string, error) {
	text, err := tree.AppendJSON(nil, withoutLastApplied(want).Map())
	if err != nil {
		return "", fmt.Errorf("%s: %w", object.Describe(want), err)
	}
	return string(text), nil
}

// annotationsOf returns the map of o's annotations. It creates the map if there is none.
func annotationsOf(o *object.Object) map[string]any {
	annotations, ok := metadata(o)["annotations"].(map[string]any)
	if !ok {
		annotations = map[string]any{}
		metadata(o)["annotations"] = annotations
	}
	return annotations
}

// withoutLastApplied returns o without the annotation LastApplied. It copies o only if o has the annotation. It does not use
// GetAnnotations, which returns none if one of them is null.
func withoutLastApplied(o *object.Object) *object.Object {
	annotations, _ := metadata(o)["annotations"].(map[string]any)
	if _, found := annotations[LastApplied]; !found {
		return o
	}
	clean := object.Copy(o)
	delete(metadata(clean)["annotations"].(map[string]any), LastApplied)
	return clean
}

// recall returns what was last applied to have, without nulls; nil if nothing was.
func recall(have *object.Object) (map[string]any, error) {
	last, err := recallWhole(have)
	dropNulls(last)
	return last, err
}

// recallWhole returns the same with the nulls that the hook returned.
func recallWhole(have *object.Object) (map[string]any, error) {
	text, found := have.GetAnnotations()[LastApplied]
	if !found || strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var last map[string]any
	if err := utiljson.Unmarshal([]byte(text), &last); err != nil {
		return nil, fmt.Errorf("%s: annotation %s is not a JSON object: %w", object.Describe(have), LastApplied, err)
	}
	return last, nil
}

// dropUnstored removes empty maps and lists that were applied before and are not in the object: the API server may not store them, so that
// there would always be a difference. It reports whether there was one.
func dropUnstored(desired, last map[string]any, have tree.Map) (dropped bool) {
	for key, want := range desired {
		before, applied := last[key]
		stored, there := have.Get(key)
		switch {
		case !applied:
		case !there && hollow(want) && hollow(before):
			delete(desired, key)
			dropped = true
		default:
			dropped = dropUnstoredIn(want, before, stored) || dropped
		}
	}
	return dropped
}

// dropUnstoredIn does the same for values that are maps or lists.
func dropUnstoredIn(want, before, stored any) (dropped bool) {
	switch w := want.(type) {
	case map[string]any:
		b, _ := before.(map[string]any)
		return dropUnstored(w, b, readMap(stored))
	case []any:
		b, _ := before.([]any)
		s, ok := tree.ArrayOf(stored)
		if !ok {
			s = tree.GoSlice(nil)
		}
		return dropUnstoredItems(w, b, s)
	}
	return false
}

// dropUnstoredItems pairs the items as merge does: by the field that identifies them, or else by their index.
func dropUnstoredItems(want, before []any, stored tree.Array) (dropped bool) {
	if key := commonKey(stored, tree.GoSlice(before), tree.GoSlice(want)); key != "" {
		wants, befores := byKey(want, key), byKey(before, key)
		for i := range stored.Len() {
			item := readMap(stored.Index(i))
			id := identify(item, key)
			dropped = dropUnstored(wants[id], befores[id], item) || dropped
		}
		return dropped
	}
	if len(before) != len(want) || stored.Len() != len(want) {
		return false
	}
	for i := range want {
		dropped = dropUnstoredIn(want[i], before[i], stored.Index(i)) || dropped
	}
	return dropped
}

// hollow reports whether v is an empty map or list, or a map that has only such values and nulls.
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

// WithoutNulls returns a copy of m without null fields.
func WithoutNulls(m map[string]any) map[string]any {
	clean := object.CopyValue(m).(map[string]any)
	dropNulls(clean)
	return clean
}

// dropNulls removes the null fields of maps, at every depth. The API server does not store the null of a field that has a
// type, so there would always be a difference.
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
