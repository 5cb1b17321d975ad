package host

import "strings"

// A Scanner goes through a text, as far as it takes to tell its tokens: what is in brackets, and not in a string or a comment.
type Scanner struct {
	Text string
	At   int // may be behind the end, after a backslash there
}

// Done reports whether the end is reached.
func (s *Scanner) Done() bool { return s.At >= len(s.Text) }

// Rest is what has not been read.
func (s *Scanner) Rest() string { return s.Text[min(s.At, len(s.Text)):] }

// Skip goes behind the next end, looked for from so many bytes on, or to the end of the text.
func (s *Scanner) Skip(end string, from int) {
	if i := strings.Index(s.Text[s.At+from:], end); i >= 0 {
		s.At += from + i + len(end)
		return
	}
	s.At = len(s.Text)
}

// Comment goes behind a comment that begins with // or /*, and reports whether there is one.
func (s *Scanner) Comment() bool {
	switch rest := s.Rest(); {
	case strings.HasPrefix(rest, "//"):
		s.Skip("\n", 2)
	case strings.HasPrefix(rest, "/*"):
		s.Skip("*/", 2)
	default:
		return false
	}
	return true
}

// Quoted goes behind a string that begins here and ends with the same quote, where a backslash escapes what follows, and
// reports whether it ends. One that does not ends before the next of stops, or with the text.
func (s *Scanner) Quoted(stops string) bool {
	quote := s.Text[s.At]
	for s.At++; !s.Done(); s.At++ {
		switch c := s.Text[s.At]; {
		case c == quote:
			s.At++
			return true
		case c == '\\':
			s.At++
		case strings.IndexByte(stops, c) >= 0:
			return false
		}
	}
	return false
}

// Word reads the bytes that are in a word.
func (s *Scanner) Word(in func(byte) bool) string {
	start := s.At
	for !s.Done() && in(s.Text[s.At]) {
		s.At++
	}
	return s.Text[start:s.At]
}

// Letter reports whether c is an ASCII letter, a digit or an underscore.
func Letter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
