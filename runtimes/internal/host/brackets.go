package host

import "strings"

// tokens calls f with the offset and the text of each word, of each other character, and of the quote that begins each string; a
// backquote only if the template does not end. It leaves out comments, and stops when f returns false. A text that is not valid is read as far as possible.
func (m *Mistakes) tokens(text string, f func(start int, token string) bool) {
	s := &Scanner{Text: text}
	value := false // the token before ends a value: a / after it is an operator
	for !s.Done() {
		start, c := s.At, text[s.At]
		token := text[start : start+1]
		switch {
		case c <= ' ':
			s.At++
			continue
		case m.skipComment(s):
			continue
		case strings.HasPrefix(s.Rest(), `"""`), strings.HasPrefix(s.Rest(), "'''"), strings.HasPrefix(s.Rest(), "|||"):
			s.Skip(s.Rest()[:3], 3)
			value = true
		case c == '"', c == '\'':
			s.Quoted("\n")
			value = true
		case c == '`':
			if s.Quoted("") {
				token = `"`
			}
			value = true
		case c == '/' && !value && m.comments[0] == "//" && s.pattern():
			value = true
		case word(c):
			token = s.Word(word)
			value = token != "return"
		default:
			s.At++
			value = c == ')' || c == ']' || c == '}'
		}
		if !f(start, token) {
			return
		}
	}
}

func word(c byte) bool { return Letter(c) || c == '$' || c >= 0x80 }

// skipComment moves past a comment, and reports whether there is one.
func (m *Mistakes) skipComment(s *Scanner) bool {
	for _, comment := range m.comments {
		if strings.HasPrefix(s.Rest(), comment) {
			s.Skip("\n", len(comment))
			return true
		}
	}
	return m.comments[0] == "//" && s.Comment()
}

// pattern moves past a regular expression of JavaScript, and reports whether there is one: it ends in its line.
func (s *Scanner) pattern() bool {
	class := false
	for i := s.At + 1; i < len(s.Text) && s.Text[i] != '\n'; i++ {
		switch c := s.Text[i]; {
		case c == '\\':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			s.At = i + 1
			return true
		}
	}
	return false
}

// closings are the brackets that close others, and the backquote for a template that does not end.
var closings = map[string]string{"(": ")", "[": "]", "{": "}", "`": "`"}

// A bracket is one that is opened in a text.
type bracket struct {
	at      int    // its offset
	indent  int    // how far its line is indented
	opening string // ( [ { or `; "" if there is none
	closer  int    // the offset of a bracket that closes it, but is indented less than its line; 0 if there is none
}

// unclosed returns the bracket before an offset that is most likely not closed: one whose closing bracket is indented less than its
// line, or else the innermost one that is open at the offset.
func (m *Mistakes) unclosed(text string, offset int) bracket {
	var open []bracket
	wrong, seen, indent := bracket{}, 0, 0
	m.tokens(text, func(at int, token string) bool {
		if at >= offset {
			return false
		}
		first := false
		if i := strings.LastIndexByte(text[seen:at], '\n'); i >= 0 {
			first, indent = true, at-(seen+i+1)
		}
		seen = at
		switch token {
		case "(", "[", "{", "`":
			open = append(open, bracket{at: at, indent: indent, opening: token})
		case ")", "]", "}":
			if len(open) == 0 {
				return true
			}
			top := open[len(open)-1]
			if closings[top.opening] != token {
				return false
			}
			open = open[:len(open)-1]
			if wrong.opening == "" && first && indent < top.indent {
				wrong, wrong.closer = top, at
			}
		}
		return true
	})
	switch {
	case len(open) == 0:
		return bracket{}
	case wrong.opening != "":
		return wrong
	}
	return open[len(open)-1]
}

// maxVisible is how many names Visible returns.
const maxVisible = 1000

// Visible returns the words in a text that may be names of variables at an offset, for hints: without names after a dot, keys, and what
// is in blocks that end before the offset or begin after it. It is for languages whose blocks are in braces.
func (m *Mistakes) Visible(text string, offset int) (names []string) {
	type block struct {
		names int  // how many names there are before it
		scope bool // it is a block, and not an object or a pattern
		at    int
	}
	var blocks []block
	before, last := "", ""
	m.tokens(text, func(at int, token string) bool {
		if token == ":" && last != "" && before != "?" && len(names) > 0 { // a key
			names = names[:len(names)-1]
		}
		last = ""
		switch {
		case token == "{":
			blocks = append(blocks, block{len(names), before == ")" || before == ">" || before != "return" && before != "" && word(before[0]), at})
		case token == "}" && len(blocks) > 0:
			b := blocks[len(blocks)-1]
			blocks = blocks[:len(blocks)-1]
			if b.scope && (offset < b.at || offset > at) {
				names = names[:min(b.names, len(names))]
			}
		case word(token[0]) && before != "." && (token[0] < '0' || token[0] > '9'):
			names, last = append(names, token), token
		}
		before = token
		return len(names) < maxVisible
	})
	return names
}
