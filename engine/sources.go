package engine

import (
	"bytes"
	"io/fs"
	"sync"
	"testing/fstest"
	"unicode/utf8"
)

// sources are the files of a script, as errors and hints use them. What is found in them is kept, so that an answer with many mistakes
// does not read the files again for each. It is safe for concurrent use.
type sources struct {
	files fstest.MapFS

	mu     sync.Mutex // guards the fields below
	index  map[string]*lineIndex
	quoted map[string]bool // by text: whether a file has it in quotes
}

// newSources returns the sources of a snapshot.
func newSources(files fs.FS) *sources {
	return &sources{files: files.(fstest.MapFS), index: map[string]*lineIndex{}, quoted: map[string]bool{}}
}

// line returns the text of the line at pos, "" if it is unknown, and the position in it. A position after the last line,
// where a compiler reports an unexpected end of file, becomes the end of the last line, which can be shown.
func (s *sources) line(pos Pos) (string, Pos) {
	file := s.files[pos.File]
	if pos.Line <= 0 || file == nil {
		return "", pos
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	index := s.index[pos.File]
	if index == nil {
		index = newLineIndex(file.Data)
		s.index[pos.File] = index
	}
	if line, found := index.line(pos.Line); found {
		return line, pos
	}
	last := pos
	if index.last > 0 {
		text, _ := index.line(index.last)
		last.Line, last.Col = index.last, utf8.RuneCountInString(text)+1
		return text, last
	}
	return "", last
}

// quotes reports whether a file has the text between two quotes in one line. The comparison typeof x === "undefined" of JavaScript
// does not count: it says nothing about what the script writes. Callers ask for few texts, since each answer is kept.
func (s *sources) quotes(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	quoted, known := s.quoted[text]
	if !known {
		quoted = quotes(s.files, text)
		s.quoted[text] = quoted
	}
	return quoted
}

// quotes is sources.quotes for a text that it was not asked for before.
func quotes(files fstest.MapFS, text string) bool {
	for _, file := range files {
		for line := range bytes.Lines(file.Data) {
			if bytes.Contains(line, []byte(text)) && quotedIn(string(line), text) {
				return true
			}
		}
	}
	return false
}

// indexEvery is how many lines a lineIndex reads to find one. It is small beside the text, also if all lines are empty.
const indexEvery = 64

// A lineIndex finds the lines of a text.
type lineIndex struct {
	text   []byte
	starts []int // where each indexEvery-th line begins
	last   int   // the number of the last line that is not blank; 0 if there is none
}

func newLineIndex(text []byte) *lineIndex {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // compilers do not count the byte order mark as a column
	x := &lineIndex{text: text}
	at, number := 0, 0
	for line := range bytes.Lines(text) {
		if number%indexEvery == 0 {
			x.starts = append(x.starts, at)
		}
		number++
		at += len(line)
		if len(bytes.TrimSpace(line)) > 0 {
			x.last = number
		}
	}
	return x
}

// line returns the line of a number, counted from 1, without its end. It reports whether there is one.
func (x *lineIndex) line(number int) (text string, found bool) {
	block := (number - 1) / indexEvery
	if block >= len(x.starts) {
		return "", false
	}
	left := (number - 1) % indexEvery
	for line := range bytes.Lines(x.text[x.starts[block]:]) {
		if left == 0 {
			return string(bytes.TrimRight(line, "\r\n")), true
		}
		left--
	}
	return "", false
}
