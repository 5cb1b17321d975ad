package absent

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object/objecttest"
	"metascript/engine"
)

func TestObject(t *testing.T) {
	for _, c := range []struct{ language, object, want string }{
		{engine.JavaScript, `{metadata: {name: web}}`, ""},
		{engine.JavaScript, `{metadata: {name: web-undefined}}`, "[metadata name] web-undefined: undefined, undefined"},
		{engine.JavaScript, `{metadata: {name: webundefined}}`, "[metadata name] webundefined: undefined, undefined"},
		{engine.JavaScript, `{metadata: {generateName: undefined-}}`, "[metadata generateName] undefined-: undefined, undefined"},
		{engine.JavaScript, `{metadata: {name: a, namespace: undefined}}`, "[metadata namespace] undefined: undefined, undefined"},
		{engine.JavaScript, `{apiVersion: v1, kind: undefined}`, "[kind] undefined: undefined, undefined"},
		{engine.JavaScript, `{apiVersion: apps/undefined}`, "[apiVersion] apps/undefined: undefined, undefined"},
		{engine.JavaScript, `{metadata: {name: web-NaN}}`, "[metadata name] web-NaN: NaN, not a number"},
		{engine.JavaScript, `{metadata: {name: baNaNa}}`, ""},
		{engine.JavaScript, `{metadata: {name: web-null}}`, "[metadata name] web-null: null, null"},
		{engine.JavaScript, `{metadata: {name: nullable-annull}}`, ""},
		{engine.JavaScript, `{metadata: {name: annull-null}}`, "[metadata name] annull-null: null, null"},
		{engine.JavaScript, `{metadata: {name: "[object Object]"}}`, "[metadata name] [object Object]: [object Object], an object"},
		{engine.JavaScript, `{metadata: {name: None}}`, ""},
		{engine.JavaScript, `{metadata: {labels: {app: x, zone: undefined}}}`, "[metadata labels zone] undefined: undefined, undefined"},
		{engine.JavaScript, `{metadata: {labels: {app-undefined: x}}}`, "key [metadata labels app-undefined] app-undefined: undefined, undefined"},
		{engine.JavaScript, `{metadata: {annotations: {a: "of undefined"}}}`, "[metadata annotations a] of undefined: undefined, undefined"},
		{engine.JavaScript, `{metadata: {annotations: {a: '{"b": null}'}}}`, ""},
		{engine.JavaScript, `{metadata: {annotations: {a: "null"}}}`, "[metadata annotations a] null: null, null"},
		{engine.JavaScript, `{metadata: {name: a, labels: {b: null, c: 1}}, spec: {x: undefined}}`, ""},
		{engine.Starlark, `{metadata: {name: web-None}}`, "[metadata name] web-None: None, None"},
		{engine.Starlark, `{metadata: {name: web-NoneSuch, labels: {a: undefined}}}`, ""},
		{engine.Starlark, `{metadata: {annotations: {a: "None of them"}}}`, ""},
		{engine.Jsonnet, `{metadata: {name: web-null}}`, "[metadata name] web-null: null, null"},
		{"", `{metadata: {name: web-undefined}}`, ""},
	} {
		s := Search{Language: c.language, Request: map[string]any{"parent": map[string]any{"metadata": "fine"}}}
		if diff := cmp.Diff(c.want, show(s.Object(objecttest.Parse(t, c.object)))); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.language, c.object, diff)
		}
	}
}

func show(found *Text) string {
	if found == nil {
		return ""
	}
	text := fmt.Sprintf("%v %s: %s, %s", found.At, found.Text, found.Word, found.Value)
	if found.Key {
		text = "key " + text
	}
	return text
}

func TestWordsOfTheRequestAndTheScriptAreNotSuspicious(t *testing.T) {
	o := objecttest.Parse(t, `{metadata: {name: web-undefined}}`)
	for request, want := range map[string]string{
		`{parent: {metadata: {name: undefined}}}`:     "",
		`{children: {Pod.v1: {web-undefined: {}}}}`:   "",
		`{parent: {spec: [1, null, "an undefined"]}}`: "",
		`{parent: {metadata: {name: web}}}`:           "[metadata name] web-undefined: undefined, undefined",
	} {
		s := Search{Language: engine.JavaScript, Request: objecttest.Parse(t, request)}
		if got := show(s.Object(o)); got != want {
			t.Errorf("%s: got %q, want %q", request, got, want)
		}
	}
	s := Search{Language: engine.JavaScript, Quotes: func(text string) bool { return text == "undefined" }}
	if got := s.Object(o); got != nil {
		t.Errorf("a word that the script has in a string was found: %v", got)
	}
}

// Each word is decided once, however many texts have it.
func TestWordsAreDecidedOnce(t *testing.T) {
	asked := map[string]int{}
	s := Search{Language: engine.JavaScript, Quotes: func(text string) bool {
		asked[text]++
		return true
	}}
	for range 100 {
		if got := s.Object(objecttest.Parse(t, `{metadata: {name: a-null, labels: {b-undefined: NaN, c-undefined: NaN}}}`)); got != nil {
			t.Fatalf("a word that the script has in a string was found: %v", got)
		}
	}
	if diff := cmp.Diff(map[string]int{"undefined": 1, "NaN": 1, "null": 1}, asked); diff != "" {
		t.Errorf("how often the script was searched for each word (-want +got):\n%s", diff)
	}
}

// The request is searched once, and not all of it if it is large.
func TestLargeRequestsAreNotSearchedToTheEnd(t *testing.T) {
	o := objecttest.Parse(t, `{metadata: {name: web-undefined}}`)
	for n, suspicious := range map[int]bool{maxSearched / 2: true, 2 * maxSearched: false} {
		s := Search{Language: engine.JavaScript, Request: map[string]any{"related": make([]any, n)}}
		if got := s.Object(o); (got != nil) != suspicious {
			t.Errorf("with a request of %d values: found %v, want found %t", n, got, suspicious)
		}
	}
}
