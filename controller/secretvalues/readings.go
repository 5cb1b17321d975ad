package secretvalues

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

// A Reading is a text after it was decoded, in lower case, and with one blank in place of each run of white space.
type Reading struct {
	Text    []byte
	Derived bool // it is what base64 or hexadecimal digits stand for

	from, to []int32 // where each byte begins and ends in the original text; nil: at the same index
	bare     bool    // there are no places
	once     bool    // what is decoded is not decoded again
}

// Begins returns where the byte at i begins in the original text.
func (r *Reading) Begins(i int) int {
	if r.from == nil {
		return i
	}
	return int(r.from[i])
}

// Ends returns where the byte at i ends in the original text: the index after its last byte.
func (r *Reading) Ends(i int) int {
	if r.to == nil {
		return i + 1
	}
	return int(r.to[i])
}

// twice is the maximum length of a text that is decoded more than once.
const twice = 64 << 10

// Readings returns the readings of a text. Those that have nothing to decode are left out.
func Readings(text string) iter.Seq[*Reading] {
	return func(yield func(*Reading) bool) {
		(&Reading{Text: []byte(text)}).readings(func(r *Reading) bool { return yield(r.folded()) })
	}
}

// Decoded returns the texts of the readings of a text but the first one, which is not decoded. They are not folded. It costs less than Readings. once:
// what is decoded is not decoded again. Then they are at most eight times as long as the text, and otherwise thirty times.
func Decoded(text string, once bool) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		first := true
		(&Reading{Text: []byte(text), bare: true, once: once}).readings(func(r *Reading) bool {
			if first {
				first = false
				return true
			}
			return yield(r.Text)
		})
	}
}

// DecodedDigits returns what the base64 and hexadecimal digits in a text stand for, which is at most four times as long.
func DecodedDigits(text string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		(&Reading{Text: []byte(text), bare: true}).decodeDigits(func(r *Reading) bool { return yield(r.Text) }, false)
	}
}

// readings yields the readings of r, which are not folded.
func (r *Reading) readings(yield func(*Reading) bool) {
	more := true
	each := func(r *Reading) bool {
		more = more && yield(r)
		return more
	}
	if !each(r) || !r.decodeDigits(each, !r.once) {
		return
	}
	for _, outer := range escapes {
		once := r.unescaped(outer)
		if once == nil {
			continue
		}
		if !each(once) || !r.once && !once.decodeDigits(each, false) {
			return
		}
		if !r.once && len(r.Text) <= twice && !once.unescape(each) {
			return
		}
	}
}

// unescape yields r without the escapes of each kind.
func (r *Reading) unescape(yield func(*Reading) bool) bool {
	for _, kind := range escapes {
		if other := r.unescaped(kind); other != nil && !yield(other) {
			return false
		}
	}
	return true
}

// decodeDigits yields what base64 and hexadecimal digits in r stand for. again: also in what they stand for, and without its escapes.
func (r *Reading) decodeDigits(yield func(*Reading) bool, again bool) bool {
	for decoded := range r.decoded() {
		if !yield(decoded) {
			return false
		}
		if again && len(decoded.Text) <= twice && decoded.hasText() && (!decoded.decodeDigits(yield, false) || !decoded.unescape(yield)) {
			return false
		}
	}
	return true
}

// hasText reports whether there are some printable characters after each other: what is decoded at the wrong place has none.
func (r *Reading) hasText() bool {
	const few = 8
	n := 0
	for _, c := range r.Text {
		if n++; c < ' ' || c >= 0x7F {
			n = 0
		}
		if n >= few {
			return true
		}
	}
	return false
}

// folded returns r in lower case, with one blank in place of each run of white space.
func (r *Reading) folded() *Reading {
	out := &Reading{Text: make([]byte, 0, len(r.Text)), Derived: r.Derived, from: r.from, to: r.to}
	if isPlain(r.Text) {
		for _, c := range r.Text {
			out.Text = append(out.Text, fold(c))
		}
		return out
	}
	out.from, out.to = make([]int32, 0, len(r.Text)), make([]int32, 0, len(r.Text))
	for i := 0; i < len(r.Text); {
		char, size := rune(r.Text[i]), 1
		if char >= utf8.RuneSelf {
			char, size = utf8.DecodeRune(r.Text[i:])
		}
		begin, end := r.Begins(i), r.Ends(i+size-1)
		switch n := len(out.Text); {
		case char == utf8.RuneError && size == 1:
			out.add(r.Text[i], begin, end)
		case char >= utf8.RuneSelf:
			var letter [utf8.UTFMax]byte
			for _, c := range letter[:utf8.EncodeRune(letter[:], foldRune(char))] {
				out.add(c, begin, end)
			}
		case fold(byte(char)) == ' ' && n > 0 && out.Text[n-1] == ' ':
			out.to[n-1] = int32(end)
		default:
			out.add(fold(byte(char)), begin, end)
		}
		i += size
	}
	return out
}

// isPlain reports whether each byte of a text is folded to one byte.
func isPlain(text []byte) bool {
	for i, c := range text {
		if c >= utf8.RuneSelf || i > 0 && isSpace(c) && isSpace(text[i-1]) {
			return false
		}
	}
	return true
}

// foldRune returns the same character for upper and lower case.
func foldRune(c rune) rune { return unicode.ToLower(unicode.ToUpper(c)) }

// Fold returns a text in the form of the text of a Reading.
func Fold(text string) string {
	return string(appendFolded(make([]byte, 0, len(text)), text))
}

func appendFolded(dst []byte, text string) []byte {
	blank := false
	for i := 0; i < len(text); {
		if text[i] >= utf8.RuneSelf {
			c, size := utf8.DecodeRuneInString(text[i:])
			if blank = false; c == utf8.RuneError && size == 1 {
				dst = append(dst, text[i])
			} else {
				dst = utf8.AppendRune(dst, foldRune(c))
			}
			i += size
			continue
		}
		c := fold(text[i])
		if c != ' ' || !blank {
			dst = append(dst, c)
		}
		blank = c == ' '
		i++
	}
	return dst
}

func fold(c byte) byte {
	switch {
	case isSpace(c):
		return ' '
	case 'A' <= c && c <= 'Z':
		return c + 'a' - 'A'
	}
	return c
}
