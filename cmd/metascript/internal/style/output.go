package style

import (
	"crypto/rand"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"metascript/engine/printable"
)

// An Output is the writer of all output of the program. Characters that are not printed are escaped, as package printable says, except for
// the styles of a Styler. Each Write must have whole characters.
type Output struct {
	to       io.Writer
	terminal bool
}

// Out returns the Output that writes to w.
func Out(w io.Writer) *Output {
	file, is := w.(*os.File)
	return &Output{w, is && term.IsTerminal(int(file.Fd()))}
}

// mark begins a style in the text of a Styler. No other text can have it, so that the text of a script has no style.
var mark = "\x1b" + rand.Text()

// Write implements io.Writer.
func (o *Output) Write(text []byte) (int, error) { return o.WriteString(string(text)) }

// WriteString implements io.StringWriter.
func (o *Output) WriteString(text string) (int, error) {
	if _, err := io.WriteString(o.to, shown(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// shown returns what is written for a text.
func shown(text string) string {
	first, rest, styled := strings.Cut(text, mark)
	if !styled {
		return printable.Text(text)
	}
	var b strings.Builder
	b.WriteString(printable.Text(first))
	for part := range strings.SplitSeq(rest, mark) {
		parameter, after, _ := strings.Cut(part, "m")
		b.WriteString("\x1b[" + parameter + "m" + printable.Text(after))
	}
	return b.String()
}
