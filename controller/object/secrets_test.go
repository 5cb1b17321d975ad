package object

import (
	"slices"
	"strings"
	"testing"
)

func TestWhatIsInASecretIsRedacted(t *testing.T) {
	secret := &Object{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"data":       map[string]any{"a": "aHVzaC1odXNo", "pem": "bGluZS1vbmUKbGluZS10d28K", "n": int64(7777777), "short": "YQ==", "none": nil},
		"stringData": map[string]any{"b": `say "hush" again`},
	}}
	config := &Object{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"c": "plainly"}}}
	for text, want := range map[string]string{
		"stored aHVzaC1odXNo.":          "stored [redacted].",
		"decoded hush-hush.":            "decoded [redacted].",
		"one line: line-two":            "one line: [redacted]",
		"a number 7777777":              "a number [redacted]",
		`quoted say \"hush\" again`:     "quoted [redacted]",
		"not plainly, a value of a map": "not plainly, a value of a map",
	} {
		if got := Redact(text, Secrets(slices.Values([]*Object{config, secret, nil}))); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	if got := Redact("encoded "+"c2F5ICJodXNoIiBhZ2Fpbg==", Secrets(slices.Values([]*Object{secret}))); strings.Contains(got, "c2F5") {
		t.Errorf("got %q", got)
	}
}
