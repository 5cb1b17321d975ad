package jsonnet

import (
	"strings"

	"metascript/runtimes/internal/host"
)

// A lexer reads a text's tokens, as far as a sourceMeter needs them: strings are one token, and operators one for each character.
type lexer struct{ host.Scanner }

// next returns the offset and the text of the next token; "" at the end. The parser reports incomplete and invalid tokens.
func (l *lexer) next() (start int, token string) {
	for !l.Done() {
		rest := l.Rest()
		switch c := rest[0]; {
		case c <= ' ':
			l.At++
			continue
		case c == '#':
			l.Skip("\n", 1)
			continue
		case l.Comment():
			continue
		}
		start = l.At
		l.token(rest)
		return start, l.Text[start:min(l.At, len(l.Text))]
	}
	return l.At, ""
}

func (l *lexer) token(rest string) {
	switch c := rest[0]; {
	case c == '"' || c == '\'':
		l.Quoted("")
	case c == '@' && len(rest) > 1 && (rest[1] == '"' || rest[1] == '\''):
		l.verbatim(rest[1])
	case strings.HasPrefix(rest, "|||"):
		l.block()
	case host.Letter(c):
		l.Word(host.Letter)
	default:
		l.At++
	}
}

// verbatim reads a string in which a quote is written twice.
func (l *lexer) verbatim(quote byte) {
	for l.At += 2; l.At < len(l.Text); l.At++ {
		if l.Text[l.At] != quote {
			continue
		}
		if l.At++; l.At >= len(l.Text) || l.Text[l.At] != quote {
			return
		}
	}
}

// block reads a text block: it ends at the first line that is indented less than its first line.
func (l *lexer) block() {
	l.Skip("\n", 3)
	for l.At < len(l.Text) && l.Text[l.At] == '\n' {
		l.At++
	}
	indent := l.Text[l.At : l.At+len(l.Text[l.At:])-len(strings.TrimLeft(l.Text[l.At:], " \t"))]
	for indent != "" && l.At < len(l.Text) && (l.Text[l.At] == '\n' || strings.HasPrefix(l.Text[l.At:], indent)) {
		l.Skip("\n", 0)
	}
	rest := strings.TrimLeft(l.Text[l.At:], " \t")
	if strings.HasPrefix(rest, "|||") {
		l.At = len(l.Text) - len(rest) + 3
	}
}
