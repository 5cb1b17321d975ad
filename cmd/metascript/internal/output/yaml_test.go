package output

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"metascript/engine/printable"
)

func TestYAML(t *testing.T) {
	value := map[string]any{
		"escape": "\x1b[8mhidden\x1b[0m", "delete": "a\x7fb", "c1": "\u009b31m", "bidi": "a\u202eb", "lines": "one\n\u200btwo\n  three\u2028", "tag": "\U000e0001",
		"key\u202e\x1b": "\\u202e", "plain": "'\\x1b' \"a\" #", strings.Repeat("\u202e", 300): strings.Repeat("long \x07 ", 300), "nonchar": "\ufffe", strings.Repeat("k", 2000): strings.Repeat("v ", 1000), "bom": "\ufeff",
		"list": []any{"\r\n", map[string]any{"n": 1.5, "i": "9007199254740993", "null": nil, "empty": ""}}, "emoji": "👩\u200d💻", "html": "<a>&",
	}
	text, err := YAML(value)
	if err != nil {
		t.Fatal(err)
	}
	if !printable.All(string(text)) {
		t.Errorf("the text has characters that are not printed: %q", text)
	}
	var got map[string]any
	if err := yaml.UnmarshalStrict(text, &got); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if diff := cmp.Diff(map[string]any(value), got); diff != "" {
		t.Errorf("it is read as another value: %s", diff)
	}
	again, err := YAML(value)
	if err != nil || string(again) != string(text) {
		t.Errorf("the text is another one the second time: %v", err)
	}
}

// What has no such characters is as the YAML package writes it.
func TestYAMLOfOtherTexts(t *testing.T) {
	value := map[string]any{"b": []any{"a\nb\n", "x: y", "é", 1, true, nil, "<&>"}, "a": map[string]any{"": "1", "y": "y"}}
	want, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := YAML(value); err != nil || string(got) != string(want) {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
