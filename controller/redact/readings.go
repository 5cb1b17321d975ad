package redact

import (
	"html"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A reading is a text after the escapes of one kind, or of two, were decoded.
type reading struct {
	text     []byte
	from, to []int32 // where each byte begins and ends in the original text; nil: at the same index
}

func (r *reading) begins(i int) int {
	if r.from == nil {
		return i
	}
	return int(r.from[i])
}

func (r *reading) ends(i int) int {
	if r.to == nil {
		return i + 1
	}
	return int(r.to[i])
}

// A decoder decodes escapes of one kind. decode returns the text that an escape at the beginning of text stands for, and the
// length of the escape; zero if there is none.
type decoder struct {
	begins string // the characters with which escapes begin
	decode func(text string) (plain string, length int)
}

// escapes are the kinds of escapes that are decoded. A text may be escaped twice.
var escapes = []decoder{{`\`, backslash}, {"%+", percent}, {"&", entity}}

// spellings are conversions that are applied to each byte.
var spellings = []func(c byte) byte{lower, urlAlphabet}

// twice is the maximum length of a text for which double escapes are decoded.
const twice = 64 << 10

// readings returns text itself, and text after each of the spellings and escapes. Readings that are equal to text are left
// out.
func readings(text string) iter.Seq[*reading] {
	return func(yield func(*reading) bool) {
		plain := &reading{text: []byte(text)}
		if !yield(plain) {
			return
		}
		for _, spell := range spellings {
			if other := plain.spelled(spell); other != nil && !yield(other) {
				return
			}
		}
		for _, outer := range escapes {
			once := plain.decoded(outer)
			if once == nil {
				continue
			}
			if !yield(once) {
				return
			}
			for _, inner := range escapes {
				if len(text) > twice {
					break
				}
				if both := once.decoded(inner); both != nil && !yield(both) {
					return
				}
			}
		}
	}
}

// spelled returns r with as applied to each byte; nil if nothing changes.
func (r *reading) spelled(as func(byte) byte) *reading {
	other, differs := make([]byte, len(r.text)), false
	for i, c := range r.text {
		other[i] = as(c)
		differs = differs || other[i] != c
	}
	if !differs {
		return nil
	}
	return &reading{other, r.from, r.to}
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}

// urlAlphabet converts the characters of base64 for URLs and file names to those of standard base64.
func urlAlphabet(c byte) byte {
	switch c {
	case '-':
		return '+'
	case '_':
		return '/'
	}
	return c
}

// decoded returns r without the escapes of one kind; nil if there are none.
func (r *reading) decoded(d decoder) *reading {
	text := string(r.text)
	if !strings.ContainsAny(text, d.begins) {
		return nil
	}
	out := &reading{}
	for i := 0; i < len(text); {
		plain, length := text[i:i+1], 1
		if strings.IndexByte(d.begins, text[i]) >= 0 {
			if p, n := d.decode(text[i:]); n > 0 {
				plain, length = p, n
			}
		}
		for range len(plain) {
			out.from = append(out.from, int32(r.begins(i)))
			out.to = append(out.to, int32(r.ends(i+length-1)))
		}
		out.text = append(out.text, plain...)
		i += length
	}
	return out
}

// named are the escapes of one letter. Any other character stands for itself.
var named = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'a': "\a", 'b': "\b", 'f': "\f", 'v': "\v", '\n': ""}

// digits are the numbers of hexadecimal digits after these letters.
var digits = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// backslash decodes an escape of Go, JSON, YAML, Starlark and JavaScript.
func backslash(text string) (string, int) {
	if len(text) < 2 {
		return "", 0
	}
	c := text[1]
	if plain, found := named[c]; found {
		return plain, 2
	}
	if n := digits[c]; n > 0 {
		return character(text[2:], n, c == 'x')
	}
	if '0' <= c && c <= '3' && len(text) >= 4 {
		if code, err := strconv.ParseUint(text[1:4], 8, 8); err == nil {
			return string([]byte{byte(code)}), 4
		}
	}
	return text[1:2], 2
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
func percent(text string) (string, int) {
	if text[0] == '+' {
		return " ", 1
	}
	if len(text) < 3 {
		return "", 0
	}
	code, err := strconv.ParseUint(text[1:3], 16, 8)
	if err != nil {
		return "", 0
	}
	return string([]byte{byte(code)}), 3
}

// longestEntity is the maximum length of an HTML entity that is decoded.
const longestEntity = 10

// entity decodes an escape of HTML.
func entity(text string) (string, int) {
	end := strings.IndexByte(text[:min(len(text), longestEntity)], ';')
	if end < 0 {
		return "", 0
	}
	plain := html.UnescapeString(text[:end+1])
	if plain == text[:end+1] || !utf8.ValidString(plain) {
		return "", 0
	}
	return plain, end + 1
}
