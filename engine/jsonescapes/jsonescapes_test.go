package jsonescapes_test

import (
	"reflect"
	"testing"

	"go.yaml.in/yaml/v3"

	"metascript/engine/jsonescapes"
)

func TestReadable(t *testing.T) {
	for text, want := range map[string]any{
		`{"a": "\ud83d\ude00"}`:                 map[string]any{"a": "😀"},
		`"a\/b \uD83D\uDE00\ud83d\udc4d\u00e9"`: "a/b 😀👍é",
		`{"\ud83d\ude00": ["x\/"]}`:             map[string]any{"😀": []any{"x/"}},
		`"\\ud83d\\ude00 \\/"`:                  `\ud83d\ude00 \/`,
		`'\ud83d\ude00'`:                        `\ud83d\ude00`,
		`\ud83d\ude00 "\/"`:                     `\ud83d\ude00 "\/"`,
		"a: |\n  x = \"\\ud83d\\ude00\\/\"\nb: \"\\ud83d\\ude00\" # \"\\/\"\n": map[string]any{"a": "x = \"\\ud83d\\ude00\\/\"\n", "b": "😀"},
		"é: &x \"\\ud83d\\ude00\"\nb: !!str \"\\/\"\nc: *x\n":                  map[string]any{"é": "😀", "b": "/", "c": "😀"},
		"a: \"\\/ \\\n  \\ud83d\\ude00\"\r\nb: [\"\\/\", \"\\/\"]\r\n":         map[string]any{"a": "/ 😀", "b": []any{"/", "/"}},
	} {
		var got any
		if err := yaml.Unmarshal([]byte(jsonescapes.Readable(text)), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, %v", text, got, err)
		}
	}
}

// What is not an escape of JSON, or not YAML, is not changed.
func TestNotReadable(t *testing.T) {
	for _, text := range []string{`"\ud83d"`, `"\ude00\ud83d"`, `"\ud83dx"`, `a: "\/`, "{\"a\": \"\\/\"", "a: \"\\/\"\n b: 1"} {
		var got any
		if err := yaml.Unmarshal([]byte(jsonescapes.Readable(text)), &got); err == nil {
			t.Errorf("%s: got %#v, want an error", text, got)
		}
	}
}

func TestMaskedKeepsPlaces(t *testing.T) {
	text := "{\"a\\/\": \"\\ud83d\\ude00\", \"b\": \"\\\\/\"}"
	masked := jsonescapes.Masked(text)
	if len(masked) != len(text) || masked != "{\"a\\_\": \"\\ue000\\ue000\", \"b\": \"\\\\/\"}" {
		t.Errorf("got %s", masked)
	}
}

func TestLone(t *testing.T) {
	for text, want := range map[string]int{
		`"\ud83d\ude00"`: -1, `"\ud83d"`: 1, `"a\ude00"`: 2, `"\ud83d\ud83d\ude00"`: 1, `"\\ud83d"`: -1, `"\ud83dx"`: 1, `"\ud83d\u0041"`: 1, `"\uD83D\uDE00\udbff"`: 13, `"\ud8`: -1, `\`: -1,
	} {
		if got := jsonescapes.Lone(text); got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
}
