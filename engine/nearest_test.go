package engine

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"finalize", "sync", "customize", "replicas", "a", "Event", "init", "spec", "key", strings.Repeat("x", 1000)}
	for name, want := range map[string]string{
		"snyc": "sync", "SYNC": "sync", "repilcas": "replicas", "re_plicas": "replicas", "b": "",
		"sycn": "sync", "syn": "sync", "syncs": "sync", "finalise": "finalize", "fnalze": "finalize", "fnalz": "finalize", "fnlz": "", "specc": "spec", "kye": "key",
		"Elephant": "", "lint": "", "k": "", "ke": "key", "replica_count": "",
		"sync": "", "image": "", "": "", strings.Repeat("x", 999): "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("Nearest(%.20q) is %q, want %q", name, got, want)
		}
	}
}

func TestOneOf(t *testing.T) {
	names := []string{"Starlark", "JavaScript", "TypeScript", "Jsonnet"}
	for word, want := range map[string]string{
		"starlark": `Starlark, JavaScript, TypeScript or Jsonnet; did you mean "Starlark"?`,
		"js":       `Starlark, JavaScript, TypeScript or Jsonnet; did you mean "JavaScript"?`,
		"Python":   `Starlark, JavaScript, TypeScript or Jsonnet; did you mean "Starlark"?`,
		"Lua":      `Starlark, JavaScript, TypeScript or Jsonnet`,
	} {
		if got := OneOf(word, names); got != want {
			t.Errorf("%s: got %s, want %s", word, got, want)
		}
	}
	if got := OneOf("b", []string{"a"}); got != "a" {
		t.Errorf("one word: got %s", got)
	}
	if got := List("Js", []string{"v1", "JavaScript"}); got != `v1, JavaScript; did you mean "JavaScript"?` {
		t.Errorf("a list: got %s", got)
	}
}
