package style

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\nc":                  "a\tb\nc",
		"\x1b[31mred\x1b[0m":       "\x1b[31mred\x1b[0m",
		"\x1b[2Kx\x1b]0;t\x07":     `\x1b[2Kx\x1b]0;t\x07`,
		"a\rb\u009b2Jc":            `a\x0db\x9b2Jc`,
		"ü\x1b[1mb\x1b[0m\x00\x1b": "ü\x1b[1mb\x1b[0m" + `\x00\x1b`,
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		if n, err := io.WriteString(terminal{out}, text); n != len(text) || err != nil {
			t.Errorf("%q: wrote %d bytes, %v", text, n, err)
		}
		if written, err := os.ReadFile(out.Name()); string(written) != want {
			t.Errorf("%q is written as %q, %v", text, written, err)
		}
	}
}
