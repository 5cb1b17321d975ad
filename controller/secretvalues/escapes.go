package secretvalues

import (
	"bytes"
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A decoder decodes escapes of one kind. decode returns the text that an escape at the beginning of text stands for, and the
// length of the escape; zero if there is none.
type decoder struct {
	begins string // the characters with which escapes begin
	decode func(text []byte) (plain string, length int)
}

// escapes are the kinds of escapes that are decoded.
var escapes = []decoder{{`\`, backslash}, {"%", percent}, {"%+", query}, {"&", entity}}

// unescaped returns r without the escapes of one kind; nil if there are none.
func (r *Reading) unescaped(d decoder) *Reading {
	if !bytes.ContainsAny(r.Text, d.begins) {
		return nil
	}
	out, some := &Reading{Derived: r.Derived, bare: r.bare}, false
	for i := 0; i < len(r.Text); {
		plain, length := "", 0
		if strings.IndexByte(d.begins, r.Text[i]) >= 0 {
			plain, length = d.decode(r.Text[i:])
		}
		if some = some || length > 0; length == 0 {
			out.add(r.Text[i], r.Begins(i), r.Ends(i))
			i++
			continue
		}
		for _, c := range []byte(plain) {
			out.add(c, r.Begins(i), r.Ends(i+length-1))
		}
		i += length
	}
	if !some {
		return nil
	}
	return out
}

// add adds a byte with its place in the original text.
func (r *Reading) add(c byte, from, to int) {
	if r.Text = append(r.Text, c); !r.bare {
		r.from, r.to = append(r.from, int32(from)), append(r.to, int32(to))
	}
}

// named are the escapes of one letter. Any other character stands for itself.
var named = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'a': "\a", 'b': "\b", 'f': "\f", 'v': "\v", '\n': ""}

// digits are the numbers of hexadecimal digits after these letters.
var digits = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// backslash decodes an escape of Go, JSON, YAML, Starlark and JavaScript.
func backslash(text []byte) (string, int) {
	if len(text) < 2 {
		return "", 0
	}
	c := text[1]
	if plain, found := named[c]; found {
		return plain, 2
	}
	if n := digits[c]; n > 0 {
		return character(string(text[2:min(len(text), 2+n+6)]), n, c == 'x')
	}
	if '0' <= c && c <= '3' && len(text) >= 4 {
		if code, err := strconv.ParseUint(string(text[1:4]), 8, 8); err == nil {
			return string([]byte{byte(code)}), 4
		}
	}
	return string(text[1:2]), 2
}

// character decodes the number of a byte or a character, which follows two bytes. A pair of surrogates is one character.
func character(text string, n int, single bool) (string, int) {
	if len(text) < n {
		return "", 0
	}
	code, err := strconv.ParseUint(text[:n], 16, 32)
	switch {
	case err != nil:
		return "", 0
	case single:
		return string([]byte{byte(code)}), 2 + n
	case 0xD800 <= code && code < 0xDC00 && strings.HasPrefix(text[n:], `\u`) && len(text) >= n+6:
		if low, err := strconv.ParseUint(text[n+2:n+6], 16, 32); err == nil && low&0xFC00 == 0xDC00 {
			return string(rune((code-0xD800)<<10|(low-0xDC00)) + 0x10000), 2 + n + 6
		}
	}
	return string(rune(code)), 2 + n
}

// percent decodes an escape of URLs.
func percent(text []byte) (string, int) {
	if len(text) < 3 {
		return "", 0
	}
	code, err := strconv.ParseUint(string(text[1:3]), 16, 8)
	if err != nil {
		return "", 0
	}
	return string([]byte{byte(code)}), 3
}

// query decodes an escape of the query of a URL, in which a plus sign is a blank.
func query(text []byte) (string, int) {
	if text[0] == '+' {
		return " ", 1
	}
	return percent(text)
}

// longestEntity is the maximum length of an HTML entity that is decoded.
const longestEntity = 10

// entity decodes an escape of HTML and XML.
func entity(text []byte) (string, int) {
	end := bytes.IndexByte(text[:min(len(text), longestEntity)], ';')
	if end < 0 {
		return "", 0
	}
	escape := string(text[:end+1])
	plain := html.UnescapeString(escape)
	if plain == escape || !utf8.ValidString(plain) {
		return "", 0
	}
	return plain, end + 1
}
