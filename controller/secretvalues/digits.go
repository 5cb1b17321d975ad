package secretvalues

import "iter"

// The lengths from which a word may be base64, or hexadecimal digits, of a value.
const (
	shortestBase64 = 4
	shortestHex    = 2 * shortest
)

// decoded returns what the digits in r stand for: for base64 at each of four places at which it may begin, since what is before it in
// a text may be digits too, and for hexadecimal digits at each of two. In a reading, a zero is between the words of the text.
func (r *Reading) decoded() iter.Seq[*Reading] {
	return func(yield func(*Reading) bool) {
		for _, base := range []*base{base64Digits, hexDigits} {
			words := base.words(r.Text)
			for skip := 0; skip < base.places && len(words) > 0; skip++ {
				if out := base.decode(r, words, skip); len(out.Text) > 0 && !yield(out) {
					return
				}
			}
		}
	}
}

// A base is a way in which digits stand for bytes.
type base struct {
	value    [256]int8 // of a digit, -1 for others
	bits     int       // of a digit
	shortest int
	places   int
}

var base64Digits, hexDigits = &base{bits: 6, shortest: shortestBase64, places: 4}, &base{bits: 4, shortest: shortestHex, places: 2}

func init() {
	for c := range 256 {
		base64Digits.value[c], hexDigits.value[c] = -1, -1
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		base64Digits.value[c] = int8(i)
	}
	base64Digits.value['-'], base64Digits.value['_'] = 62, 63 // as in URLs
	for i, c := range []byte("0123456789abcdef") {
		hexDigits.value[c] = int8(i)
	}
	for i, c := range []byte("ABCDEF") {
		hexDigits.value[c] = int8(10 + i)
	}
}

// words returns the places of the digits of each word. A line break is within a word: base64 is often wrapped.
func (b *base) words(text []byte) (words [][]int32) {
	var word []int32
	end := func() {
		if len(word) >= b.shortest {
			words = append(words, word)
		}
		word = nil
	}
	for i, c := range text {
		switch {
		case b.value[c] >= 0:
			word = append(word, int32(i))
		case c == '\n' || c == '\r':
		default:
			end()
		}
	}
	end()
	return words
}

// decode returns what the digits of words stand for, without the first skip digits of each.
func (b *base) decode(r *Reading, words [][]int32, skip int) *Reading {
	out := &Reading{Derived: true, bare: r.bare}
	for _, word := range words {
		if len(out.Text) > 0 {
			out.add(0, r.Begins(int(word[0])), r.Begins(int(word[0])))
		}
		bits, have, first := uint32(0), 0, 0
		for i := skip; i < len(word); i++ {
			if have == 0 {
				first = i
			}
			bits, have = bits<<b.bits|uint32(b.value[r.Text[word[i]]]), have+b.bits
			if have < 8 {
				continue
			}
			have -= 8
			out.add(byte(bits>>have), r.Begins(int(word[first])), r.Ends(int(word[i])))
			first = i
		}
	}
	return out
}
