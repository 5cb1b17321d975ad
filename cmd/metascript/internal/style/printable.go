package style

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// colors matches the escape sequences of a Styler.
var colors = regexp.MustCompile(`\x1b\[\d*m`)

// Printable returns text in which control characters are escaped as in Go, except for line breaks, tabs and colors. Objects and scripts may
// have such characters in their texts, and they must not control the terminal of the user.
func Printable(text string) string {
	if strings.IndexFunc(text, controls) < 0 {
		return text
	}
	var clean strings.Builder
	at := 0
	for _, color := range append(colors.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		for _, r := range text[at:color[0]] {
			if controls(r) {
				fmt.Fprintf(&clean, `\x%02x`, r)
			} else {
				clean.WriteRune(r)
			}
		}
		clean.WriteString(text[color[0]:color[1]])
		at = color[1]
	}
	return clean.String()
}

// controls reports whether a terminal may interpret r.
func controls(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// Out returns a writer that writes only what is Printable, if w is a terminal, and otherwise w. Each Write must have whole characters.
func Out(w io.Writer) io.Writer {
	if file, is := w.(*os.File); is && term.IsTerminal(int(file.Fd())) {
		return terminal{file}
	}
	return w
}

type terminal struct{ *os.File }

// Write implements io.Writer.
func (t terminal) Write(text []byte) (int, error) {
	if _, err := t.File.WriteString(Printable(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// WriteString implements io.StringWriter.
func (t terminal) WriteString(text string) (int, error) { return t.Write([]byte(text)) }
