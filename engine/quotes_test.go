package engine

import (
	"testing"
	"testing/fstest"
)

func TestQuotes(t *testing.T) {
	for line, want := range map[string]bool{
		`const name = "undefined-behavior"`:                 true,
		"const name = `x-undefined`":                        true,
		`if (x === undefined) return {}`:                    false,
		`if (typeof x === "undefined") return {}`:           false,
		`if (typeof x !== 'string' && x == "undefined") {}`: false, // close enough
		`if ("a" in x && x.a === undefined) x = 1`:          false,
		`["a", undefined, "undefined"]`:                     true,
		`// don't write "undefined"`:                        true,
		`name = "x`:                                         false,
	} {
		files := fstest.MapFS{"lib/a.js": {Data: []byte("// a\n" + line + "\n")}, "sync.js": {Data: []byte("x")}}
		if got := newSources(files).quotes("undefined"); got != want {
			t.Errorf("%s: got %v, want %v", line, got, want)
		}
	}
}
