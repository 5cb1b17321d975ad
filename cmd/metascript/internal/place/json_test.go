package place

import (
	"encoding/json"
	"strings"
	"testing"
)

// JSON as Python writes it, in a file of its own or in YAML, has the places that an editor shows.
func TestEscapesOfJSON(t *testing.T) {
	for name, text := range map[string]string{
		"JSON":          "{\"a\\/\": \"\\ud83d\\ude00\", \"b\": {\n\t\"c\": [true, \"\u2028\", -1.5e1]}}",
		"after a mark":  "---\n{\"a\\/\": \"\\ud83d\\ude00\", \"b\": {\n\t\"c\": [true, \"\u2028\", -1.5e1]}}\n---\na: 1",
		"flow mapping":  "{\"a\\/\": \"\\ud83d\\ude00\", \"b\": {\n  \"c\": [true, \"\\u2028\", -1.5e1]}} # no JSON",
		"block mapping": "\"a\\/\": \"\\ud83d\\ude00\"\nb:\n  c: [true, \"\\u2028\", -1.5e1]\nd: |\n  \"\\ud83d\\ude00\\/\"\n",
	} {
		doc := parse(t, text)[0]
		var got map[string]any
		if err := json.Unmarshal(doc.JSON, &got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		list := got["b"].(map[string]any)["c"].([]any)
		if got["a/"] != "😀" || list[1] != "\u2028" || list[2] != -15.0 || got["d"] != nil && got["d"] != `"\ud83d\ude00\/"`+"\n" {
			t.Errorf("%s: got %v", name, got)
		}
		lines := strings.Split(text, "\n")
		for path, want := range map[string]string{"[a/]": `"\ud83d`, "b.c[0]": `true`, "b.c[1]": "\"", "b.c[2]": `-1.5e1`} {
			at := doc.At(path)
			if at.Line < 1 || !strings.HasPrefix(string([]rune(lines[at.Line-1])[at.Col-1:]), want) {
				t.Errorf("%s: %s is at %s", name, path, at)
			}
		}
	}
}

// An escape that is half of a character is U+FFFD in JSON, as for kubectl, and an error with its line in YAML.
func TestHalfOfASurrogatePair(t *testing.T) {
	var got map[string]string
	if err := json.Unmarshal(parse(t, `{"a": "x\ud83d"}`)[0].JSON, &got); err != nil || got["a"] != "x\ufffd" {
		t.Errorf("got %q, %v", got["a"], err)
	}
	_, err := Parse("a.yaml", []byte("a: \"\\ud83d\\ude00\"\nb: \"\\ud83d\"\nc: 1\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "a.yaml:2:") || !strings.Contains(err.Error(), "invalid Unicode character escape code") {
		t.Errorf("the error is %v", err)
	}
	_, err = Parse("a.yaml", []byte("a: \"\\ud83d\\ude00\"\nb: \"x\nc: 1\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "a.yaml:2:4: the quote is not closed") {
		t.Errorf("the error is %v", err)
	}
	_, err = Parse("a.yaml", []byte("{\"a\": \"\\ud83d\\ude00\", \"b\": 1, \"a\": 2}"))
	if err == nil || !strings.HasPrefix(err.Error(), `a.yaml:1:31: the key "a" is there twice`) {
		t.Errorf("the error is %v", err)
	}
}
