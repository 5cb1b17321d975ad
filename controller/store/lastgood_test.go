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

// versionOfFile returns a version of a controller whose script was read from files.
func versionOfFile(t *testing.T, note string, files fstest.MapFS) *build.Candidate {
	t.Helper()
	o := object.New(map[string]any{
		"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "CompositeController",
		"metadata": map[string]any{"name": "c", "uid": "u"}, "spec": map[string]any{"note": note},
	})
	c := &build.Candidate{Object: o, Parts: build.Parts{"": scripts.Assembled{
		Script: engine.Script{Language: engine.Starlark, Entry: "a.star", Files: files}, Source: "file a.star",
	}}}
	var err error
	if c.Identity, err = build.Identity(o.Map()["spec"], c.Parts); err != nil {
		t.Fatal(err)
	}
	c.Declaration, err = spec.Read(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestStoredVersionIsReadByNextServer(t *testing.T) {
	m := memoryStore{}
	store := &Store{"home", m, m.get}
	version := versionOfFile(t, "as it was", fstest.MapFS{"a.star": {Data: []byte("x = 1")}, "lib/b.star": {Data: []byte("y = 2")}})
	for range 2 {
		if err := store.PutVersion(t.Context(), version); err != nil {
			t.Fatal(err)
		}
	}
	if len(m) != 1 {
		t.Fatalf("%d versions are stored, want one", len(m))
	}
	edited := versionOfFile(t, "edited since", fstest.MapFS{"a.star": {Data: []byte("x = 3")}}).Object
	edited.SetGeneration(9)
	got, err := store.Version(t.Context(), NamePrefix+version.Identity, edited)
	if err != nil {
		t.Fatal(err)
	}
	text, err := got.Parts[""].Files.Open("lib/b.star")
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	if got.Identity != version.Identity || got.Object.GetGeneration() != 8 || got.Object.Map()["spec"].(map[string]any)["note"] != "as it was" || got.Parts[""].Source != "file a.star" {
		t.Errorf("got %+v of generation %d", got.Object.Map()["spec"], got.Object.GetGeneration())
	}
	if edited.Map()["spec"].(map[string]any)["note"] != "edited since" {
		t.Error("the controller object was changed")
	}
}

func TestStoredVersionIsValidated(t *testing.T) {
	version := versionOfFile(t, "", fstest.MapFS{"a.star": {Data: []byte("x = 1")}})
	other := versionOfFile(t, "", fstest.MapFS{"a.star": {Data: []byte("x = 2")}})
	large, err := archiveText(strings.Repeat("x", build.MaxSource))
	if err != nil {
		t.Fatal(err)
	}
	swapped := memoryStore{}
	if err := (&Store{"home", swapped, swapped.get}).PutVersion(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	another := swapped[NamePrefix+other.Identity].Map()["binaryData"].(map[string]any)[versionKey]
	for name, c := range map[string]struct {
		stored any
		want   string
	}{
		"another version":        {another, "it was changed"},
		"empty":                  {"", "EOF"},
		"not base64":             {"*", "illegal base64"},
		"not gzip":               {"eA==", "EOF"},
		"too large uncompressed": {large, "larger than 8Mi"},
	} {
		m := memoryStore{}
		store := &Store{"home", m, m.get}
		o := store.configMap(version.Identity)
		o.Map()["binaryData"] = map[string]any{versionKey: c.stored}
		m[o.GetName()] = o
		if _, err := store.Version(t.Context(), o.GetName(), version.Object); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
}
