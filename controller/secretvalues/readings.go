package secretvalues

import "iter"

// A Reading is a text after it was decoded, in lower case, and with one blank in place of each run of white space.
type Reading struct {
	Text    []byte
	Derived bool // it is what base64 or hexadecimal digits stand for

	from, to []int32 // where each byte begins and ends in the original text; nil: at the same index
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
		more := true
		each := func(r *Reading) bool {
			more = more && yield(r.folded())
			return more
		}
		plain := &Reading{Text: []byte(text)}
		if !each(plain) || !plain.decodeDigits(each, true) {
			return
		}
		for _, outer := range escapes {
			once := plain.unescaped(outer)
			if once == nil {
				continue
			}
			if !each(once) || !once.decodeDigits(each, false) {
				return
			}
			if len(text) <= twice && !once.unescape(each) {
				return
			}
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
	if hasWideSpace(r.Text) {
		out.from, out.to = make([]int32, 0, len(r.Text)), make([]int32, 0, len(r.Text))
	}
	shared := len(out.from) > 0 || out.from == nil // the places are those of r
	for i, c := range r.Text {
		n := len(out.Text)
		if c = fold(c); c == ' ' && !shared && n > 0 && out.Text[n-1] == ' ' {
			out.to[n-1] = int32(r.Ends(i))
			continue
		}
		if !shared {
			out.from, out.to = append(out.from, int32(r.Begins(i))), append(out.to, int32(r.Ends(i)))
		}
		out.Text = append(out.Text, c)
	}
	return out
}

// Fold returns a text in the form of the text of a Reading.
func Fold(text string) string {
	return string(appendFolded(make([]byte, 0, len(text)), text))
}

func appendFolded(dst []byte, text string) []byte {
	blank := false
	for i := range len(text) {
		c := fold(text[i])
		if c != ' ' || !blank {
			dst = append(dst, c)
		}
		blank = c == ' '
	}
	return dst
}

func hasWideSpace(text []byte) bool {
	for i := 1; i < len(text); i++ {
		if isSpace(text[i]) && isSpace(text[i-1]) {
			return true
		}
	}
	return false
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
