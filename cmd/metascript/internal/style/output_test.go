package style

import (
	"io"
	"strings"
	"testing"
)

// No text has a style but that of a Styler, wherever it is in a text.
func TestOutput(t *testing.T) {
	colored := Styler{colors: true}
	for _, c := range []struct{ text, want string }{
		{"a\tb\nc ü \u4e16 \U0001f600", "a\tb\nc ü \u4e16 \U0001f600"},
		{"", ""},
		{"\x1b[31mred\x1b[0m", `\u001b[31mred\u001b[0m`},
		{"\x1b[8mhidden", `\u001b[8mhidden`},
		{colored.Failure("a\x1b[0m\x1b[8mb") + "\x1b[2J" + colored.Dim("c"), "\x1b[31ma" + `\u001b[0m\u001b[8mb` + "\x1b[0m" + `\u001b[2J` + "\x1b[2mc\x1b[0m"},
	} {
		var b strings.Builder
		if n, err := io.WriteString(Out(&b), c.text); n != len(c.text) || err != nil {
			t.Errorf("%q: wrote %d bytes, %v", c.text, n, err)
		}
		if b.String() != c.want {
			t.Errorf("%q is written as %q, want %q", c.text, b.String(), c.want)
		}
	}
}
