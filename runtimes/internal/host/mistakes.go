package host

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"metascript/engine"
)

// A Mistake is one that a compiler notices, but reports in words that do not help its author: usually a habit from another language.
// It is message, source, cause and hint:
//
//   - a pattern that matches the message of the compiler. " in " and the bracket that is most likely not closed follow the message, and
//     ! if that is known from the indentation. "" matches any message
//   - a pattern that matches the source in which the error is, in its line and the two lines before. The error must be in the match, or
//     at its end. The group named at is the wrong token; without it, the match is
//   - the message in place of the compiler's; if it is empty, the message and the position stay
//   - what to write instead
//
// In cause and hint, $1 is the first group of source. If the cause is NotClosed, the message and the position are those of the bracket.
type Mistake [4]string

// NotClosed is the cause of a mistake with a bracket that is not closed.
const NotClosed = "not closed"

// Mistakes is a table of mistakes. The first one that matches explains an error.
type Mistakes struct {
	comments []string // what begins a comment in the language
	rows     []mistake
}

type mistake struct {
	message, source *regexp.Regexp
	cause, hint     string
}

// NewMistakes returns a table for a language in which each of comments begins a comment.
func NewMistakes(comments []string, rows []Mistake) *Mistakes {
	m := &Mistakes{comments: comments}
	for _, row := range rows {
		message, source, cause, hint := row[0], row[1], row[2], row[3]
		m.rows = append(m.rows, mistake{regexp.MustCompile(message), regexp.MustCompile("(?m:" + source + ")"), cause, hint})
	}
	return m
}

// Explain sets message, position and hint of an error that a compiler reports in a file with that text, if a row of the table
// matches.
func (m *Mistakes) Explain(e *engine.Error, text string) {
	source, start, at, ok := around(text, e.Pos)
	if !ok {
		return
	}
	source = m.mask(source)
	open := m.unclosed(text, start+at)
	message := e.Msg + " in " + open.opening
	if open.closer > 0 {
		message += "!"
	}
	for _, row := range m.rows {
		if row.cause == NotClosed && open.opening == "" || !row.message.MatchString(message) {
			continue
		}
		match := matchAt(row.source, source, at)
		if match == nil {
			continue
		}
		if row.cause == NotClosed {
			open.explain(e, text)
			return
		}
		e.Hint = string(row.source.ExpandString(nil, row.hint, source, match))
		if row.cause != "" {
			e.Msg = string(row.source.ExpandString(nil, row.cause, source, match))
			e.Pos = At(e.Pos.File, text, start+wrong(row.source, match))
		}
		return
	}
}

// explain makes an error one about a bracket that is not closed.
func (b bracket) explain(e *engine.Error, text string) {
	last := e.Pos.Line
	e.Pos, e.Msg = At(e.Pos.File, text, b.at), b.opening+" is not closed"
	e.Hint = "write " + closings[b.opening] + " at its end"
	switch {
	case b.closer > 0:
		line := At(e.Pos.File, text, b.closer).Line
		e.Hint += fmt.Sprintf(": the %s in line %d is indented less, as if it closed another bracket", closings[b.opening], line)
	case last > e.Pos.Line && strings.Count(text, "\n") >= last:
		e.Hint += fmt.Sprintf(", before line %d", last)
	}
}

// matchAt returns the match of a pattern in which the offset at is, or else the one that ends there, or else nil.
func matchAt(pattern *regexp.Regexp, source string, at int) (match []int) {
	for _, m := range pattern.FindAllStringSubmatchIndex(source, -1) {
		switch {
		case m[0] <= at && at < m[1]:
			return m
		case m[1] == at:
			match = m
		}
	}
	return match
}

// wrong returns where the wrong token of a match begins.
func wrong(source *regexp.Regexp, match []int) int {
	if i := source.SubexpIndex("at"); i > 0 && match[2*i] >= 0 {
		return match[2*i]
	}
	return match[0]
}

// maxAround is how many bytes of the source before and after an error are read to explain it.
const maxAround = 1 << 10

// around returns the line of a position and the two lines before it, without most of long ones, where that begins in the text, and
// where the position is in it.
func around(text string, pos engine.Pos) (source string, start, at int, ok bool) {
	if pos.Line == 0 || pos.Col == 0 {
		return "", 0, 0, false
	}
	offset, last, before := 0, 0, 0
	for line := 1; line < pos.Line; line++ {
		end := strings.IndexByte(text[offset:], '\n')
		if end < 0 {
			break // a position after the end
		}
		before, last, offset = last, offset, offset+end+1
	}
	for col := 1; col < pos.Col && offset < len(text) && text[offset] != '\n'; col++ {
		_, size := utf8.DecodeRuneInString(text[offset:])
		offset += size
	}
	start = max(before, offset-maxAround)
	end := min(len(text), offset+maxAround)
	if i := strings.IndexByte(text[offset:end], '\n'); i >= 0 {
		end = offset + i
	}
	return text[start:end], start, offset - start, true
}

// mask replaces what is in strings and comments by underscores.
func (m *Mistakes) mask(source string) string {
	masked := []byte(source)
	hide := func(from, to int) {
		for i := from; i < min(to, len(masked)); i++ {
			if masked[i] != '\n' {
				masked[i] = '_'
			}
		}
	}
	s := &Scanner{Text: source}
	for !s.Done() {
		switch start := s.At; {
		case m.skipComment(s):
			end := s.At
			if strings.HasSuffix(source[:end], "\n") {
				end--
			}
			hide(start+len(m.comments[0]), end)
		case source[start] == '"' || source[start] == '\'':
			if ended := s.Quoted("\n"); ended {
				hide(start+1, s.At-1)
			} else {
				hide(start+1, s.At)
			}
		default:
			s.At++
		}
	}
	return string(masked)
}

// looks are the lines at the beginning of a file that belong to one language or format, in the order in which they are tried.
var looks = []struct {
	language string
	line     *regexp.Regexp
}{
	{engine.TypeScript, regexp.MustCompile(`(?m)^(export )?(interface \w+[^:=\n]*\{|type \w+ = |import type )|^(export )?(async )?function \w+\([^)\n]*([\w}]: (any|unknown|string|number|boolean|object|[A-Z]\w*)|\}: \{)`)},
	{engine.JavaScript, regexp.MustCompile(`(?m)^(export )?(async )?function \w+ ?\(.*[^:\s]\s*$|^(const|let|var) ([\w$]+ = |[{[])|^(export )?class \w+.*\{|^(module\.)?exports\b|^import .* from ["'].*`)},
	{engine.Starlark, regexp.MustCompile(`(?m)^def \w+\((.*[:(,])?\s*(#.*)?$|^load\(["']`)},
	{engine.Jsonnet, regexp.MustCompile(`(?m)^local \w+.*[;{(,\[]\s*$|^function\(|^[\s{]*\w+(\([\w, ]*\):|::)(:|\s|$)`)},
	{"YAML", regexp.MustCompile(`(?m)^---\s*$|^(apiVersion|kind|metadata|spec|status):( |$)`)},
	{"JSON", regexp.MustCompile(`^\s*[{\[]\s*"\w*"\s*[:,]`)},
}

// maxHead is how many bytes at the beginning of a file WrongLanguage reads.
const maxHead = 4 << 10

// WrongLanguage explains an error of a file that looks as if it were not in the language of the script: nothing at its beginning looks
// like that language, and something like another. It reports whether the file does.
func WrongLanguage(e *engine.Error, text, language string) bool {
	head := text[:min(len(text), maxHead)]
	guess, first := "", 0
	for _, look := range looks {
		at := look.line.FindStringIndex(head)
		switch {
		case at == nil || look.language == "JSON" && language == engine.Jsonnet:
		case look.language == language, look.language == engine.JavaScript && language == engine.TypeScript:
			return false
		case guess == "":
			guess, first = look.language, at[0]+len(head[at[0]:at[1]])-len(strings.TrimLeft(head[at[0]:at[1]], " \t\n"))
		}
		if guess == engine.TypeScript && language == engine.JavaScript {
			break // every TypeScript looks like JavaScript too
		}
	}
	if guess == "" {
		return false
	}
	e.Pos = At(e.Pos.File, text, first)
	e.Msg = "this looks like " + guess + ", and the language of the script is " + language
	e.Hint = "set language: " + guess
	if guess == "YAML" || guess == "JSON" {
		e.Hint = "write a function sync that returns the objects"
	}
	return true
}
