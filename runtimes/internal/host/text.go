package host

import (
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
