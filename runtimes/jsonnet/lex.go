package jsonnet

import "strings"

// A lexer reads a text's tokens, as far as a sourceMeter needs them: strings are one token, and operators one for each character.
type lexer struct {
	text string
	at   int
}

// next gives where the next token begins and its text; "" at the end. What does not end, or is no token, is left to the
// parser, which will say so.
func (l *lexer) next() (start int, token string) {
	for l.at < len(l.text) {
		rest := l.text[l.at:]
		switch c := rest[0]; {
		case c <= ' ':
			l.at++
			continue
		case c == '#' || strings.HasPrefix(rest, "//"):
			l.behind("\n", 1)
			continue
		case strings.HasPrefix(rest, "/*"):
			l.behind("*/", 2)
			continue
		}
		start = l.at
		l.token(rest)
		return start, l.text[start:min(l.at, len(l.text))]
	}
	return l.at, ""
}

// behind goes behind the next end.
func (l *lexer) behind(end string, from int) {
	if i := strings.Index(l.text[l.at+from:], end); i >= 0 {
		l.at += from + i + len(end)
		return
	}
	l.at = len(l.text)
}

func (l *lexer) token(rest string) {
	switch c := rest[0]; {
	case c == '"' || c == '\'':
		l.quoted(c)
	case c == '@' && len(rest) > 1 && (rest[1] == '"' || rest[1] == '\''):
		l.verbatim(rest[1])
	case strings.HasPrefix(rest, "|||"):
		l.block()
	case letter(c):
		for l.at < len(l.text) && letter(l.text[l.at]) {
			l.at++
		}
	default:
		l.at++
	}
}

func letter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func (l *lexer) quoted(quote byte) {
	for l.at++; l.at < len(l.text); l.at++ {
		switch l.text[l.at] {
		case quote:
			l.at++
			return
		case '\\':
			l.at++
		}
	}
}

// verbatim reads a string in which a quote is written twice.
func (l *lexer) verbatim(quote byte) {
	for l.at += 2; l.at < len(l.text); l.at++ {
		if l.text[l.at] != quote {
			continue
		}
		if l.at++; l.at >= len(l.text) || l.text[l.at] != quote {
			return
		}
	}
}

// block reads a text block: it ends at the first line that is not indented as its first one is.
func (l *lexer) block() {
	l.behind("\n", 3)
	for l.at < len(l.text) && l.text[l.at] == '\n' {
		l.at++
	}
	indent := l.text[l.at : l.at+len(l.text[l.at:])-len(strings.TrimLeft(l.text[l.at:], " \t"))]
	for indent != "" && l.at < len(l.text) && (l.text[l.at] == '\n' || strings.HasPrefix(l.text[l.at:], indent)) {
		l.behind("\n", 0)
	}
	rest := strings.TrimLeft(l.text[l.at:], " \t")
	if strings.HasPrefix(rest, "|||") {
		l.at = len(l.text) - len(rest) + 3
	}
}
