package printable

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

func TestIs(t *testing.T) {
	for _, r := range "\x00\x07\x08\r\x1b\x7f\u0085\u009b\u00ad\u034f\u061c\u180e\u200b\u200d\u200e\u2028\u2029\u202e\u2060\u2066\u3164\ufe0f\ufeff\uffff\U000e0001\U000e0100\U0001d173" {
		if Is(r) {
			t.Errorf("%U is printed", r)
		}
	}
	for _, r := range "\n\t a~äß\u00a0éя世\u0301😀\ue000\ufffd" {
		if !Is(r) {
			t.Errorf("%U is not printed", r)
		}
	}
}

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\nc":             "a\tb\nc",
		"\x1b[2Kx\x1b]0;t\a":  `\u001b[2Kx\u001b]0;t\u0007`,
		"a\rb\u009b2Jc":       `a\u000db\u009b2Jc`,
		"a\u202eb\U000e0001c": `a\u202eb\udb40\udc01c`,
		"a\x9bb\xe4":          "a\ufffdb\ufffd",
	} {
		if got := Text(text); got != want || !All(got) {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// JSON stays the same value, and YAML gives the same text.
func FuzzEscapes(f *testing.F) {
	for _, text := range []string{"a", "\x1b[8m\"\\", "\u202e\u2028\x7f\u0085", "\U000e0001\U0001d173😀", "\\u202e\u202e", " \n\t", "\ufeffa: b #"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		asJSON, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if err := json.Unmarshal([]byte(Text(string(asJSON))), &got); err != nil || got != text {
			t.Errorf("JSON of %q is read as %q: %v", text, got, err)
		}
		if err := yaml.Unmarshal([]byte(Quoted(text)), &got); err != nil || got != text || !All(Quoted(text)) {
			t.Errorf("YAML of %q is %s, and read as %q: %v", text, Quoted(text), got, err)
		}
	})
}
