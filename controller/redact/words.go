package redact

import (
	"cmp"
	"slices"
	"strings"

	"metascript/controller/secretvalues"
)

// A span is a part of a text.
type span struct{ from, to int }

// merged sorts spans, and merges those that overlap or touch.
func merged(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// wordsAt returns the words of text with parts of values, without the punctuation around them: of a part between quotes, all between them.
func wordsAt(text string, parts []span) (words []span) {
	end := 0
	for _, part := range parts {
		if part.to > end { // otherwise it is in the word before
			word := wordAt(text, part, parts)
			words, end = append(words, word), word.to
		}
	}
	return merged(words)
}

// wordAt returns the word with the part at s, which is one of parts.
func wordAt(text string, s span, parts []span) span {
	for s.from < s.to && isSpace(text[s.from]) {
		s.from++
	}
	for s.to > s.from && isSpace(text[s.to-1]) {
		s.to--
	}
	if between, found := quoteAt(text, s, parts); found {
		return between
	}
	for s.from > 0 && !isEnd(text[s.from-1], "([{") {
		s.from--
	}
	for s.to < len(text) && !isEnd(text[s.to], ")]}") {
		s.to++
	}
	for s.to > s.from && strings.IndexByte(",;:.?", text[s.to-1]) >= 0 {
		s.to--
	}
	return s
}

// isEnd reports whether c is at the end of a word: white space, a quotation mark or one of brackets. Other characters are not: they are in many
// values, so that how much is replaced would show whether they are.
func isEnd(c byte, brackets string) bool {
	return isSpace(c) || isQuote(c) || strings.IndexByte(brackets, c) >= 0
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// A quote is an opening quotation mark.
type quote struct {
	mark    byte
	escaped bool
	from    int // the index after it
}

// longestQuote is how many bytes from a value a quotation mark around it is looked for.
const longestQuote = 4 << 10

// quoteAt returns what is between the innermost quotation marks around s, in one line. An escaped quotation mark is one too.
func quoteAt(text string, s span, parts []span) (between span, found bool) {
	var open []quote
	for i := max(s.from-longestQuote, strings.LastIndexByte(text[:s.from], '\n')+1); i < min(s.to+longestQuote, len(text)) && text[i] != '\n'; i++ {
		if !isQuote(text[i]) || within(i, parts) {
			continue // a quotation mark in a value is none
		}
		mark, end := quote{text[i], false, i + 1}, i
		if i > 0 && text[i-1] == '\\' {
			mark.escaped, end = true, i-1
		}
		n := slices.IndexFunc(open, func(q quote) bool { return q.mark == mark.mark && q.escaped == mark.escaped })
		switch {
		case n >= 0 && i >= s.to:
			return span{open[n].from, max(end, s.to)}, true
		case n >= 0:
			open = open[:n]
		case i < s.from && (end == 0 || !isWord(text[end-1])):
			open = append(open, mark)
		}
	}
	return span{}, false
}

// within reports whether the byte at i is in one of spans, which are sorted.
func within(i int, spans []span) bool {
	n, _ := slices.BinarySearchFunc(spans, i, func(s span, i int) int { return cmp.Compare(s.to, i+1) })
	return n < len(spans) && spans[n].from <= i
}

// separators are between the words of errors and of paths.
const separators = " \t\r\n.,:;'\"`()[]{}/_-="

// isCommon reports whether s is in common words only: they are in the text whatever a Secret contains.
func isCommon(text string, s span) bool {
	if strings.ContainsFunc(text[s.from:s.to], func(c rune) bool { return c < 0x80 && !isWord(byte(c)) && !strings.ContainsRune(separators, c) }) {
		return false
	}
	for s.from > 0 && isWord(text[s.from-1]) && isWord(text[s.from]) {
		s.from--
	}
	for s.to < len(text) && isWord(text[s.to]) && isWord(text[s.to-1]) {
		s.to++
	}
	words := tokens(text[s.from:s.to])
	for _, word := range words {
		if !secretvalues.IsCommon(word) {
			return false
		}
	}
	return len(words) > 0
}

// tokens returns the words in text.
func tokens(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r < 0x80 && !isWord(byte(r)) })
}

func isWord(c byte) bool {
	return c >= 0x80 || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }
