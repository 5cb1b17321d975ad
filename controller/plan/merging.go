package plan

import (
	"slices"

	"metascript/controller/builtin"
	"metascript/controller/object"
	"metascript/engine/tree"
)

// A merging is the merge of one child by dynamic apply.
type merging struct {
	have     *object.Object
	want     *object.Object // as the hook returned it
	text     string         // the annotation LastApplied that is written with want
	answered bool           // want was last applied already
	inPlace  bool           // the child is updated if it differs
	last     map[string]any // what was last applied, in the form of desired
	desired  map[string]any // want as it is written, with nulls
	stale    bool           // the annotation LastApplied has other fields than desired, whatever their values
	unstored bool           // want has an empty map or list that have lacks, and that the API server may not store
	kept     Kept
	removes  bool // a null removes the field, whoever set it

	sameMeaning func(have, want any) bool
}

// merging returns the merge of want into have.
func (p Policy) merging(have, want *object.Object, method Method) (*merging, error) {
	text, err := lastAppliedOf(want)
	if err != nil {
		return nil, err
	}
	last, err := recall(have)
	if err != nil {
		return nil, err
	}
	m := &merging{have: have, want: want, text: text, last: last, desired: object.Copy(want).Map(), inPlace: inPlace(method), kept: p.Kept[have.GetUID()], sameMeaning: p.sameMeaning}
	m.answered = remembered(have) == text || p.Memory.has(have, text)
	m.removes = m.inPlace && !m.answered
	builtin.Normalize(m.desired)
	builtin.Normalize(m.last)
	m.stale = !m.answered && !sameFields(asApplied(m.last), asApplied(m.desired))
	if !p.Memory.storedEmpty(have, text) {
		m.unstored = dropUnstored(m.desired, m.last, contentOf(have))
	}
	return m, nil
}

// asApplied returns the part of an object that an update writes, without owner references: a hook that returns the observed child has that
// of the controller.
func asApplied(o map[string]any) map[string]any {
	o = WithoutNulls(o)
	delete(o, "status")
	for _, name := range append([]string{"ownerReferences"}, system...) {
		delete(mapOf(o["metadata"]), name)
	}
	if o["metadata"] != nil {
		dropMarks(object.New(o)) // the hook may have returned those of the observed child
	}
	return o
}

// sameFields reports whether a merge takes two values for the same last answer: they have the same fields and items, whatever the values. A
// hook may return values that it has observed, and that change with each write.
func sameFields(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, both := b.(map[string]any)
		if !both || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			if other, found := b[key]; !found || !sameFields(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, both := b.([]any)
		key := commonKey(tree.GoSlice(a), tree.GoSlice(b))
		if !both || key == "" {
			return both && (len(a) == 0) == (len(b) == 0) // such a list is replaced as a whole
		}
		items := byKey(b, key)
		return len(a) == len(b) && !slices.ContainsFunc(a, func(item any) bool {
			other, found := items[identity(mapOf(item)[key])]
			return !found || !sameFields(item, other)
		})
	}
	_, isMap := b.(map[string]any)
	_, isList := b.([]any)
	return !isMap && !isList
}

// merged returns the child after the merge, without the annotation LastApplied.
func (m *merging) merged(order order) *object.Object {
	desired, last := m.desired, m.last
	if len(m.kept) > 0 {
		desired, last = object.CopyValue(desired).(map[string]any), object.CopyValue(last).(map[string]any)
		keepThem(contentOf(m.have), desired, last, m.kept)
	}
	if !m.removes {
		desired = WithoutNulls(desired)
	}
	result := object.New(merge(contentOf(m.have), last, desired, order))
	restore(result, m.have)
	return result
}

// residue returns what the merge changes.
func (m *merging) residue(order order) residue {
	var rest residue
	eachChange(nil, contentOf(m.have), tree.GoMap(m.merged(order).Map()), func(at Path, value, _ any) bool {
		rest = append(rest, left{slices.Clone(at), value})
		return true
	})
	return rest
}

// written returns the child as the merge writes it.
func (m *merging) written(order order) *object.Object {
	result := m.merged(order)
	annotationsOf(result)[LastApplied] = m.text
	return result
}

// withoutRemovals returns the child as the merge writes it if no null removes a field; nil if none does.
func (m *merging) withoutRemovals(order order) *object.Object {
	if !m.removes || !HasNull(m.desired) {
		return nil
	}
	plain := *m
	plain.removes = false
	return plain.written(order)
}

// order returns the order in which lists are compared. An order alone is a difference only if the answer has changed, and a child is
// never recreated for it.
func (m *merging) order() order {
	if m.answered || !m.inPlace {
		return observedOrder
	}
	return desiredOrder
}

// writeOrder returns the order in which lists are written: that of the answer, unless the write may be one that changes nothing, since
// it is not known in which form the child was stored.
func (m *merging) writeOrder() order {
	if m.answered && m.sameMeaning(contentOf(m.have), WithoutNulls(m.desired)) {
		return observedOrder
	}
	return desiredOrder
}
