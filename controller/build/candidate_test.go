package build

import (
	"testing"

	"metascript/controller/object"
	"metascript/scripts"
)

func TestUsesFiles(t *testing.T) {
	for _, c := range []struct {
		name string
		of   *ReadSources
		want bool
	}{
		{"not read", nil, false},
		{"inline", &ReadSources{Wanted: map[string]scripts.Wanted{"": {Inline: "x"}}}, false},
		{"a file", &ReadSources{Wanted: map[string]scripts.Wanted{"": {Inline: "x"}, "sync": {File: "a.js"}}}, true},
		{"a library", &ReadSources{Wanted: map[string]scripts.Wanted{"": {Inline: "x", Libraries: []scripts.Library{{File: "lib"}}}}}, true},
	} {
		if got := c.of.UsesFiles(); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// An edit of the shadow alone is the same version, of a later generation.
func TestShadowIsNotPartOfVersion(t *testing.T) {
	declared := func(generation int64, spec map[string]any) *Candidate {
		o := object.New(map[string]any{"kind": "CompositeController", "metadata": map[string]any{"name": "c", "uid": "u"}, "spec": spec})
		o.SetGeneration(generation)
		return &Candidate{Object: o}
	}
	plain := map[string]any{"script": "a"}
	shadowed := map[string]any{"script": "a", "shadow": map[string]any{"script": "b"}}
	runs := &Loaded{UID: "u", Generation: 1, Candidate: declared(1, plain)}
	for _, c := range []struct {
		name string
		c    *Candidate
		want bool
	}{
		{"the same generation", declared(1, plain), true},
		{"a shadow", declared(2, shadowed), true},
		{"another script", declared(2, map[string]any{"script": "c"}), false},
	} {
		if got := runs.SameBinding(c.c); got != c.want {
			t.Errorf("%s: SameBinding is %t", c.name, got)
		}
	}
	one, err := Identity(plain, nil)
	two, err2 := Identity(shadowed, nil)
	if err != nil || err2 != nil || one != two || len(shadowed) != 2 {
		t.Errorf("identities %q and %q, errors %v and %v, spec %v", one, two, err, err2, shadowed)
	}
	if runs.Covers(2); runs.LatestGeneration() != 2 || runs.Generation != 1 {
		t.Errorf("the latest generation is %d", runs.LatestGeneration())
	}
}
