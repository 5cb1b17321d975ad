package host

import "strings"

// A Scanner reads a text as far as necessary to distinguish brackets and names from strings and comments.
type Scanner struct {
	Text string
	At   int // the current offset; may be past the end after a backslash at the end
}

// Done reports whether the end of the text is reached.
func (s *Scanner) Done() bool { return s.At >= len(s.Text) }

// Rest returns the text after the current offset.
func (s *Scanner) Rest() string { return s.Text[min(s.At, len(s.Text)):] }

// Skip moves past the next occurrence of end, or to the end of the text. It searches from that many bytes after the current offset.
func (s *Scanner) Skip(end string, from int) {
	if i := strings.Index(s.Text[s.At+from:], end); i >= 0 {
		s.At += from + i + len(end)
		return
	}
	s.At = len(s.Text)
}

// Comment moves past a comment that begins with // or /*, and reports whether there is one.
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

// Quoted moves past a string that begins at the current offset and ends with the same quote, and reports whether it ends. A
// backslash escapes the next byte. A string that does not end is read up to one of the bytes in stops, or to the end of the text.
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

// Word reads bytes while in reports true, and returns them.
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
