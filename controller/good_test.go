package controller

import (
	"strings"
	"testing"
	"testing/fstest"

	"metascript/controller/object"
	"metascript/engine"
	"metascript/scripts"
)

// versionOfFile is a controller whose script was read from files.
func versionOfFile(t *testing.T, spec string, files fstest.MapFS) *candidate {
	t.Helper()
	o := &object.Object{Object: map[string]any{
		"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "CompositeController",
		"metadata": map[string]any{"name": "c", "uid": "u"}, "spec": map[string]any{"note": spec},
	}}
	c := &candidate{object: o, parts: parts{"": scripts.Assembled{
		Script: engine.Script{Language: engine.Starlark, Entry: "a.star", Files: files}, Source: "file a.star",
	}}}
	var err error
	if c.identity, err = identity(o.Object["spec"], c.parts); err != nil {
		t.Fatal(err)
	}
	c.declaration, err = declare(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAGoodVersionIsFoundByTheNextServer(t *testing.T) {
	m := memoryStore{}
	store := &scriptStore{"home", m, m.get}
	kept := versionOfFile(t, "as it was", fstest.MapFS{"a.star": {Data: []byte("x = 1")}, "lib/b.star": {Data: []byte("y = 2")}})
	for range 2 {
		if err := store.putVersion(t.Context(), kept); err != nil {
			t.Fatal(err)
		}
	}
	if len(m) != 1 {
		t.Fatalf("%d are stored, want one", len(m))
	}
	edited := versionOfFile(t, "edited since", fstest.MapFS{"a.star": {Data: []byte("x = 3")}}).object
	edited.SetGeneration(9)
	got, err := store.getVersion(t.Context(), scriptPrefix+kept.identity, edited)
	if err != nil {
		t.Fatal(err)
	}
	text, err := got.parts[""].Files.Open("lib/b.star")
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	if got.identity != kept.identity || got.object.GetGeneration() != 8 || got.object.Object["spec"].(map[string]any)["note"] != "as it was" || got.parts[""].Source != "file a.star" {
		t.Errorf("got %+v of generation %d", got.object.Object["spec"], got.object.GetGeneration())
	}
	if edited.Object["spec"].(map[string]any)["note"] != "edited since" {
		t.Error("the object at hand was changed")
	}
}

func TestAStoredVersionIsNotTakenAtItsWord(t *testing.T) {
	kept := versionOfFile(t, "", fstest.MapFS{"a.star": {Data: []byte("x = 1")}})
	other := versionOfFile(t, "", fstest.MapFS{"a.star": {Data: []byte("x = 2")}})
	large, err := pack(strings.Repeat("x", maxStored))
	if err != nil {
		t.Fatal(err)
	}
	swapped := memoryStore{}
	if err := (&scriptStore{"home", swapped, swapped.get}).putVersion(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	another := swapped[scriptPrefix+other.identity].Object["binaryData"].(map[string]any)[versionKey]
	for name, c := range map[string]struct {
		stored any
		want   string
	}{
		"it is another one":  {another, "it was changed"},
		"it is none":         {"", "EOF"},
		"it is no base64":    {"*", "illegal base64"},
		"it is no gzip":      {"eA==", "EOF"},
		"it is huge, packed": {large, "larger than 8Mi"},
	} {
		m := memoryStore{}
		store := &scriptStore{"home", m, m.get}
		o := store.configMap(kept.identity)
		o.Object["binaryData"] = map[string]any{versionKey: c.stored}
		m[o.GetName()] = o
		if _, err := store.getVersion(t.Context(), o.GetName(), kept.object); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
}
