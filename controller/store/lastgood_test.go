package store

import (
	"strings"
	"testing"
	"testing/fstest"

	"metascript/controller/build"
	"metascript/controller/object"
	"metascript/controller/spec"
	"metascript/engine"
	"metascript/scripts"
)

// versionOfFile is a controller whose script was read from files.
func versionOfFile(t *testing.T, note string, files fstest.MapFS) *build.Candidate {
	t.Helper()
	o := &object.Object{Object: map[string]any{
		"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "CompositeController",
		"metadata": map[string]any{"name": "c", "uid": "u"}, "spec": map[string]any{"note": note},
	}}
	c := &build.Candidate{Object: o, Parts: build.Parts{"": scripts.Assembled{
		Script: engine.Script{Language: engine.Starlark, Entry: "a.star", Files: files}, Source: "file a.star",
	}}}
	var err error
	if c.Identity, err = build.Identity(o.Object["spec"], c.Parts); err != nil {
		t.Fatal(err)
	}
	c.Declaration, err = spec.Read(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAGoodVersionIsFoundByTheNextServer(t *testing.T) {
	m := memoryStore{}
	store := &Store{"home", m, m.get}
	kept := versionOfFile(t, "as it was", fstest.MapFS{"a.star": {Data: []byte("x = 1")}, "lib/b.star": {Data: []byte("y = 2")}})
	for range 2 {
		if err := store.PutVersion(t.Context(), kept); err != nil {
			t.Fatal(err)
		}
	}
	if len(m) != 1 {
		t.Fatalf("%d are stored, want one", len(m))
	}
	edited := versionOfFile(t, "edited since", fstest.MapFS{"a.star": {Data: []byte("x = 3")}}).Object
	edited.SetGeneration(9)
	got, err := store.Version(t.Context(), NamePrefix+kept.Identity, edited)
	if err != nil {
		t.Fatal(err)
	}
	text, err := got.Parts[""].Files.Open("lib/b.star")
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	if got.Identity != kept.Identity || got.Object.GetGeneration() != 8 || got.Object.Object["spec"].(map[string]any)["note"] != "as it was" || got.Parts[""].Source != "file a.star" {
		t.Errorf("got %+v of generation %d", got.Object.Object["spec"], got.Object.GetGeneration())
	}
	if edited.Object["spec"].(map[string]any)["note"] != "edited since" {
		t.Error("the object at hand was changed")
	}
}

func TestAStoredVersionIsNotTakenAtItsWord(t *testing.T) {
	kept := versionOfFile(t, "", fstest.MapFS{"a.star": {Data: []byte("x = 1")}})
	other := versionOfFile(t, "", fstest.MapFS{"a.star": {Data: []byte("x = 2")}})
	large, err := archiveText(strings.Repeat("x", build.MaxSource))
	if err != nil {
		t.Fatal(err)
	}
	swapped := memoryStore{}
	if err := (&Store{"home", swapped, swapped.get}).PutVersion(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	another := swapped[NamePrefix+other.Identity].Object["binaryData"].(map[string]any)[versionKey]
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
		store := &Store{"home", m, m.get}
		o := store.configMap(kept.Identity)
		o.Object["binaryData"] = map[string]any{versionKey: c.stored}
		m[o.GetName()] = o
		if _, err := store.Version(t.Context(), o.GetName(), kept.Object); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
}
