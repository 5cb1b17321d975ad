// Package style formats the output of a server for a terminal: a write with the lines that it changed, what a script printed, an event,
// a failure.
package style

import (
	"fmt"
	"io"
	"os"
	"strings"

	"metascript/engine"
)

// A Styler formats text, with or without colors; the zero value without. With colors a text has additional marks, of which an Output makes
// escape sequences. It has no newline at its end.
type Styler struct{ colors bool }

// For returns the Styler for a writer. It uses colors if the writer is an Output to a terminal, unless the variable NO_COLOR is set.
func For(out io.Writer) Styler {
	o, is := out.(*Output)
	return Styler{is && o.terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// Parameters of the ANSI escape sequence SGR.
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// in returns text between marks, or "" if text is "".
func (s Styler) in(style, text string) string {
	if !s.colors || style == "" || text == "" {
		return text
	}
	return mark + style + "m" + text + mark + "0m"
}

// Strong formats the subject of a line.
func (s Styler) Strong(text string) string { return s.in(bold, text) }

// Dim formats a text that is less important than the text beside it.
func (s Styler) Dim(text string) string { return s.in(faint, text) }

// Success formats a good result.
func (s Styler) Success(text string) string { return s.in(green, text) }

// Diff formats the lines of a unified diff: those that begin with a sign. Other lines do not change.
func (s Styler) Diff(text string) string {
	if !s.colors {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, newline := strings.CutSuffix(line, "\n")
		b.WriteString(s.in(signColors[(line + " ")[0]], line))
		if newline {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// Warning formats a warning; see Failure.
func (s Styler) Warning(text string) string { return s.inFirstLine(yellow, text) }

// Failure formats an error. Only the first line has a color, so that the lines of a script and the caret below it are easy to read.
func (s Styler) Failure(text string) string { return s.inFirstLine(red, text) }

func (s Styler) inFirstLine(color, text string) string {
	first, rest, more := strings.Cut(text, "\n")
	if first = s.in(color, first); more {
		first += "\n" + rest
	}
	return first
}

// Printed formats what a script printed, with its position.
func (s Styler) Printed(m engine.Message) string {
	text := fmt.Sprintf("| %s", strings.ReplaceAll(m.Text, "\n", "\n| "))
	if m.Level == engine.Warn || m.Level == engine.Err {
		text = s.Warning(text)
	}
	return text + s.Dim(fmt.Sprintf("  (%s)", m.Pos))
}

// Event formats an event.
func (s Styler) Event(kind, reason, note string) string {
	text := fmt.Sprintf("! %s: %s", reason, note)
	if kind == "Warning" {
		return s.Warning(text)
	}
	return text
}
