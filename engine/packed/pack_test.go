package packed

import (
	"reflect"
	"testing"
)

// What Pack makes of the maps of an object has the bytes that Parse makes of its text.
func TestPack(t *testing.T) {
	for _, text := range texts() {
		want := parse(t, text)
		packed, err := Pack(want.Build())
		if err != nil {
			t.Fatal(err)
		}
		if !packed.Equal(want) {
			t.Errorf("%.200s: other bytes than those of Parse", text)
		}
		again, err := Pack(map[string]any{"in": want})
		if in, _ := again.Map("in"); err != nil || !in.Equal(want) {
			t.Errorf("%.200s: a packed part has other bytes: %v", text, err)
		}
	}
	if _, err := Pack(map[string]any{"a": 1}); err == nil || err.Error() != "a value of type int is not JSON-shaped" {
		t.Errorf("an int: %v", err)
	}
}

func TestWith(t *testing.T) {
	m, err := parse(t, `{"kind":"x","metadata":{"name":"a"},"phase":"Running"}`).With(map[string]string{"apiVersion": "v1", "kind": "Pod"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a"}, "phase": "Running"}
	if !reflect.DeepEqual(m.Build(), want) {
		t.Errorf("got %v, want %v", m.Build(), want)
	}
	if _, err := Load(m.Bytes()); err != nil {
		t.Errorf("it is not in the form that is described: %v", err)
	}
}
