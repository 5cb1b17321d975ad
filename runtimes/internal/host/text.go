package host

import (
	"slices"
	"strings"
	"unicode/utf8"

	"metascript/engine"
)

// At returns the position of an offset in the text of a file, with line and column as editors show them.
func At(file, text string, offset int) engine.Pos {
	before := text[:offset]
	start := strings.LastIndexByte(before, '\n') + 1
	return engine.Pos{File: file, Line: strings.Count(before, "\n") + 1, Col: utf8.RuneCountInString(before[start:]) + 1}
}

// maxShownColumn is the last byte of a line whose position Lines converts.
const maxShownColumn = 4 << 10

// Lines are the offsets at which the lines of a text begin. They convert many offsets of the same text.
type Lines struct {
	text   string
	starts []int
}

// NewLines returns the lines of a text.
func NewLines(text string) *Lines {
	l := &Lines{text: text, starts: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' {
			l.starts = append(l.starts, i+1)
		}
	}
	return l
}

// Place returns the line of an offset, counted from 0, and the text before the offset in that line. ok is false if the line is too
// long to look at.
func (l *Lines) Place(offset int) (line int, before string, ok bool) {
	line, found := slices.BinarySearch(l.starts, offset)
	if !found {
		line--
	}
	start := l.starts[line]
	if offset > len(l.text) || offset-start > maxShownColumn {
		return 0, "", false
	}
	return line, l.text[start:offset], true
}

// Offset returns the offset of a line and a column, both counted from 1.
func (l *Lines) Offset(line, col int) int {
	if line < 1 || line > len(l.starts) {
		return len(l.text)
	}
	offset := l.starts[line-1]
	for ; col > 1 && offset < len(l.text) && l.text[offset] != '\n'; col-- {
		_, size := utf8.DecodeRuneInString(l.text[offset:])
		offset += size
	}
	return offset
}

// Line returns a line, counted from 0, or "" if there is none.
func (l *Lines) Line(n int) string {
	if n < 0 || n >= len(l.starts) {
		return ""
	}
	text := l.text[l.starts[n]:]
	if n+1 < len(l.starts) {
		text = l.text[l.starts[n]:l.starts[n+1]]
	}
	return text
}

// At is like the function At, but returns a position without a line if the line is too long to count its characters quickly.
func (l *Lines) At(file string, offset int) engine.Pos {
	line, before, ok := l.Place(offset)
	if !ok {
		return engine.Pos{File: file}
	}
	return engine.Pos{File: file, Line: line + 1, Col: utf8.RuneCountInString(before) + 1}
}
