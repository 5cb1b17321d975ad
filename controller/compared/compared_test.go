package compared_test

import (
	"errors"
	"fmt"
	"testing"

	"metascript/controller/compared"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
)

// many is a number of children of which results are remembered.
const many = 100

func child(name string, value any) *object.Object {
	o := objecttest.ConfigMap(name, nil)
	o.Map()["data"] = map[string]any{"value": value}
	return o
}

// do returns the result that is remembered, or else the new one.
func do(m *compared.Memory, have, want *object.Object, inputs compared.Inputs, result string) string {
	found, _, _ := m.Do(m.Key(have, want, inputs), func() (string, bool, error) { return result, false, nil })
	return found
}

// A result that is doubtful, or an error, is found again by a comparison.
func TestDoubtfulResultIsNotRemembered(t *testing.T) {
	for _, err := range []error{nil, errors.New("no")} {
		var m compared.Memory
		m.Begin(objecttest.Widget(nil), many)
		have, want := objecttest.Packed(t, child("a", "x")), child("a", "x")
		calls := 0
		for range 2 {
			_, _, _ = m.Do(m.Key(have, want, compared.Inputs{}), func() (string, bool, error) {
				calls++
				return "", err == nil, err
			})
		}
		if calls != 2 {
			t.Errorf("with error %v it was compared %d times, want 2", err, calls)
		}
	}
}

// A result is found again in the next reconcile, if nothing that was compared has changed.
func TestResultIsOfWhatWasCompared(t *testing.T) {
	var m compared.Memory
	parent, have, want := objecttest.Widget(nil), objecttest.Packed(t, child("a", "x")), child("a", "y")
	m.Begin(parent, many)
	do(&m, have, want, compared.Inputs{Of: "1"}, "data differs")
	m.End()

	again := func() *object.Object { return child("a", "y") }
	other := objecttest.Widget(func(o *object.Object) { o.SetUID("other") })
	for _, c := range []struct {
		what       string
		parent     *object.Object
		have, want *object.Object
		inputs     string
		found      bool
	}{
		{"the same", parent, have, again(), "1", true},
		{"an equal child", parent, objecttest.Packed(t, child("a", "x")), again(), "1", true},
		{"another child", parent, objecttest.Packed(t, child("a", "z")), again(), "1", false},
		{"another answer", parent, have, child("a", "z"), "1", false},
		{"another number", parent, have, child("a", int64(1)), "1", false},
		{"another input", parent, have, again(), "2", false},
		{"another parent", other, have, again(), "1", false},
		{"a child that is no cached object", parent, child("a", "x"), again(), "1", false},
	} {
		copied := m
		copied.Begin(c.parent, many)
		result := do(&copied, c.have, c.want, compared.Inputs{Of: c.inputs}, "compared again")
		if found := result == "data differs"; found != c.found {
			t.Errorf("%s: result %q; want the one before: %v", c.what, result, c.found)
		}
	}
}

// What a reconcile does not use is dropped at its end, and so is all of a parent that has few children now.
func TestResultsAreKeptForOneReconcile(t *testing.T) {
	var m compared.Memory
	parent := objecttest.Widget(nil)
	find := func(n int) (found []bool) {
		m.Begin(parent, n)
		defer m.End()
		for i := range 2 {
			name := fmt.Sprint(i)
			found = append(found, do(&m, objecttest.Packed(t, child(name, "x")), child(name, "x"), compared.Inputs{}, "new") == "noted")
		}
		return found
	}
	note := func(is ...int) {
		m.Begin(parent, many)
		defer m.End()
		for _, i := range is {
			name := fmt.Sprint(i)
			do(&m, objecttest.Packed(t, child(name, "x")), child(name, "x"), compared.Inputs{}, "noted")
		}
	}
	note(0)
	note(1)
	if found := find(many); found[0] || !found[1] {
		t.Errorf("found %v, want the result of the last reconcile only", found)
	}
	if found := find(3); found[0] || found[1] {
		t.Errorf("found %v of a parent with three children, want nothing", found)
	}
	if found := find(many); found[0] || found[1] {
		t.Errorf("found %v after that, want nothing", found)
	}
}

// A value of another type than those of JSON may change, and is not remembered.
func TestAnswerThatMayChangeIsNotRemembered(t *testing.T) {
	var m compared.Memory
	m.Begin(objecttest.Widget(nil), many)
	defer m.End()
	if k := m.Key(objecttest.Packed(t, child("a", "x")), child("a", []any{&struct{}{}}), compared.Inputs{}); k != 0 {
		t.Error("a pointer has a key")
	}
	var none *compared.Memory
	none.Begin(objecttest.Widget(nil), many)
	defer none.End()
	if k := none.Key(objecttest.Packed(t, child("a", "x")), child("a", "x"), compared.Inputs{}); k != 0 {
		t.Error("a nil Memory has a key")
	}
}

func TestSum(t *testing.T) {
	values := []any{nil, "", "{}", "[]", true, false, int64(0), int64(1), 0.0, 1.0, []any{}, []any{nil}, []any{int64(0), int64(1)}, []any{int64(1), int64(0)}, map[string]any{},
		map[string]any{"a": nil}, map[string]any{"a": "b"}, map[string]any{"b": "a"}, map[string]any{"a": "b", "b": "a"}, map[string]any{"a": map[string]any{"a": "b"}}, []any{map[string]any{"a": "b"}}}
	seen := map[uint64]any{}
	for _, v := range values {
		sum, exact := compared.Sum(v)
		if before, found := seen[sum]; found || !exact {
			t.Errorf("%#v and %#v have the same sum, or one is not exact", before, v)
		}
		if again, _ := compared.Sum(object.CopyValue(v)); again != sum {
			t.Errorf("a copy of %#v has another sum", v)
		}
		seen[sum] = v
	}
}
