package scrub

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"hash/maphash"
	"html"
	"iter"
	"net/url"
	"slices"
	"strings"
)

// A pattern is a text in which a value may be written. The text itself is not kept, only its hash.
type pattern struct {
	mark   string // replaces it
	strong bool   // see strong
}

// An index finds patterns in texts. Each position of a text is looked up by the gram that begins there, the first four bytes.
type index struct {
	seed    maphash.Seed
	bits    *[1 << 20 / 64]uint64 // of the grams with which patterns begin: most positions end here
	buckets map[gram]*bucket
}

// A gram is four bytes.
type gram uint32

// A bucket has the patterns that begin with one gram.
type bucket struct {
	lengths  []int // the longest first
	patterns map[sized]pattern
}

// sized identifies a text by its length and its hash.
type sized struct {
	n   int
	sum uint64
}

func newIndex(seed maphash.Seed) index {
	return index{seed: seed, bits: new([1 << 20 / 64]uint64), buckets: map[gram]*bucket{}}
}

func place(g gram) uint32 { return uint32(g) * 0x9E3779B1 >> 12 }

func gramOf(text string) gram {
	return gram(text[0])<<24 | gram(text[1])<<16 | gram(text[2])<<8 | gram(text[3])
}

// add adds all forms of a value.
func (x *index) add(value, mark string) {
	isStrong := strong(value)
	for form, replaced := range forms(value, mark) {
		if len(form) >= shortest {
			x.put(form, pattern{replaced, isStrong})
		}
	}
}

// put adds one pattern, if there is none with this text.
func (x *index) put(text string, p pattern) {
	g := gramOf(text)
	b := x.buckets[g]
	if b == nil {
		b = &bucket{patterns: map[sized]pattern{}}
		x.buckets[g] = b
		at := place(g)
		x.bits[at/64] |= 1 << (at % 64)
	}
	key := sized{len(text), maphash.String(x.seed, text)}
	if _, found := b.patterns[key]; found {
		return
	}
	b.patterns[key] = p
	if i, found := slices.BinarySearchFunc(b.lengths, len(text), func(a, b int) int { return b - a }); !found {
		b.lengths = slices.Insert(b.lengths, i, len(text))
	}
}

// has reports whether text is a pattern.
func (x *index) has(text string) bool {
	b := x.buckets[gramOf(text)]
	if b == nil {
		return false
	}
	_, found := b.patterns[sized{len(text), maphash.String(x.seed, text)}]
	return found
}

// largeValue is the size above which a value is searched for in its most likely forms only.
const largeValue = 32 << 10

// forms returns the ways in which a value is written, each with what replaces it.
func forms(value, mark string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		url64, std64 := base64.URLEncoding, base64.StdEncoding
		all := [][2]string{
			{value, mark},
			{std64.EncodeToString([]byte(value)), std64.EncodeToString([]byte(mark))},
			{asJSON(value), mark},
		}
		if len(value) <= largeValue {
			all = append(all,
				[2]string{asJSON(asJSON(value)), mark},
				[2]string{strings.ToLower(value), mark},
				[2]string{url64.EncodeToString([]byte(value)), url64.EncodeToString([]byte(mark))},
				[2]string{hex.EncodeToString([]byte(value)), hex.EncodeToString([]byte(mark))},
				[2]string{strings.ToUpper(hex.EncodeToString([]byte(value))), hex.EncodeToString([]byte(mark))},
				[2]string{url.QueryEscape(value), mark},
				[2]string{url.PathEscape(value), mark},
				[2]string{html.EscapeString(value), mark},
			)
		}
		if len(value) >= boundedBelow {
			for before := range 3 {
				all = append(all, [2]string{core(std64, value, before), mark}, [2]string{core(url64, value, before), mark})
			}
		}
		for _, form := range all {
			if !yield(form[0], form[1]) {
				return
			}
		}
	}
}

// asJSON returns value with the escapes of JSON.
func asJSON(value string) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // a string has no error
	return strings.TrimSuffix(strings.TrimPrefix(text.String(), `"`), "\"\n")
}

// core returns the characters of base64 that depend on value alone, if it is encoded after before other bytes and before any others.
func core(encoding *base64.Encoding, value string, before int) string {
	form := encoding.WithPadding(base64.NoPadding).EncodeToString([]byte("\x00\x00"[:before] + value))
	from, to := 0, len(form)
	if before > 0 {
		from = before + 1
	}
	if (before+len(value))%3 != 0 {
		to--
	}
	return form[from:max(from, to)]
}

// strong reports whether a value looks like a password: it has 8 bytes or more, with two of lower case, upper case, digits and other
// characters than those of names; or 20 bytes or more.
func strong(value string) bool {
	const few, many = 8, 20
	var lower, upper, digit, other int
	for _, c := range []byte(value) {
		switch {
		case 'a' <= c && c <= 'z':
			lower = 1
		case 'A' <= c && c <= 'Z':
			upper = 1
		case '0' <= c && c <= '9':
			digit = 1
		case strings.IndexByte("-_./: ", c) < 0:
			other = 1
		}
	}
	return len(value) >= many || len(value) >= few && lower+upper+digit+other >= 2
}

// maxWords is how many words of one value are searched for.
const maxWords = 10_000

// wordsOf returns the words of a value that are strong, such as the password in an address, or the lines of a certificate. If the value is
// JSON, it also returns the texts in it that are strong, and their words, without the escapes of JSON.
func wordsOf(value string) iter.Seq[string] {
	return func(yield func(string) bool) {
		n := 0
		found := func(word string) bool {
			if len(word) == len(value) || !strong(word) {
				return true
			}
			n++
			return n <= maxWords && yield(word)
		}
		words := func(text string) bool {
			for word := range strings.FieldsFuncSeq(text, func(c rune) bool { return c < 0x80 && !inWord(byte(c)) }) {
				if !found(word) {
					return false
				}
			}
			return true
		}
		if !words(value) {
			return
		}
		for text := range textsOf(value) {
			if !found(text) || !words(text) {
				return
			}
		}
	}
}

// textsOf returns the texts in a value that is a map or a list in JSON.
func textsOf(value string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if begin := strings.TrimLeft(value, " \t\r\n"); begin == "" || begin[0] != '{' && begin[0] != '[' {
			return
		}
		tokens := json.NewDecoder(strings.NewReader(value))
		for {
			token, err := tokens.Token()
			if err != nil {
				return // it is not JSON, or not from here on
			}
			if text, is := token.(string); is && !yield(text) {
				return
			}
		}
	}
}

// inWord reports whether c is in a word of a value: letters, digits, and the other characters of base64.
func inWord(c byte) bool { return isLetter(c) || strings.IndexByte("+/=_-", c) >= 0 }

// isLetter reports whether c is a letter or a digit, or part of a character that is not ASCII.
func isLetter(c byte) bool {
	return c >= 0x80 || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// A match is a pattern in a text.
type match struct {
	from, to int
	mark     string
}

// costly is how many bytes are compared for each byte of a text, and at least. A text that needs more, since it and a value repeat
// themselves, is replaced as a whole.
const (
	costly      = 64
	costlyAtAll = 1 << 20
)

// text returns text with all patterns replaced, and whether there was one. onlyStrong: only those of strong values.
func (s *Scrubber) text(text string, onlyStrong bool) (clean string, changed bool) {
	if s.plain.has(text, onlyStrong) {
		return text, false
	}
	matches, enough := s.patterns.find(text, onlyStrong)
	if !enough {
		return s.mark(text), true
	}
	if len(matches) == 0 {
		s.written.note(text)
		s.plain.put(text, onlyStrong)
		return text, false
	}
	var out strings.Builder
	at := 0
	for _, m := range matches {
		if m.mark == "" {
			m.mark = s.mark(text[m.from:m.to])
		}
		s.written.note(text[at:m.from])
		out.WriteString(text[at:m.from])
		out.WriteString(m.mark)
		at = m.to
	}
	s.written.note(text[at:])
	out.WriteString(text[at:])
	return out.String(), true
}

// plainTexts are some texts that have no pattern, and that were noted as written. Most texts in objects are the same each time. A text
// replaces another one with the same hash.
type plainTexts struct {
	seed  maphash.Seed
	texts [2][plainSlots]string // without patterns, and without those of strong values
	some  bool                  // there is one
}

const (
	plainSlots = 1 << 13
	maxPlain   = 128 // bytes of a text
)

// slot returns where text may be.
func (p *plainTexts) slot(text string, onlyStrong bool) *string {
	at := maphash.String(p.seed, text) % plainSlots
	if onlyStrong {
		return &p.texts[1][at]
	}
	return &p.texts[0][at]
}

// has reports whether text is one of p.
func (p *plainTexts) has(text string, onlyStrong bool) bool {
	return len(text) <= maxPlain && *p.slot(text, onlyStrong) == text
}

// put adds a text.
func (p *plainTexts) put(text string, onlyStrong bool) {
	if len(text) <= maxPlain {
		*p.slot(text, onlyStrong), p.some = strings.Clone(text), true // it may be a part of an object
	}
}

// clear removes all texts, since there is another pattern.
func (p *plainTexts) clear() {
	if p.some {
		clear(p.texts[0][:])
		clear(p.texts[1][:])
		p.some = false
	}
}

// find returns the patterns in text. Those that overlap are one match, without a mark. enough is false if it would cost too much.
func (x *index) find(text string, onlyStrong bool) (matches []match, enough bool) {
	left := max(costlyAtAll, costly*len(text))
	if len(x.buckets) == 0 {
		return nil, true
	}
	for i := 0; i+shortest <= len(text); i++ {
		g := gram(text[i])<<24 | gram(text[i+1])<<16 | gram(text[i+2])<<8 | gram(text[i+3])
		at := place(g)
		if x.bits[at/64]&(1<<(at%64)) == 0 {
			continue
		}
		b := x.buckets[g]
		if b == nil {
			continue
		}
		for _, n := range b.lengths {
			if i+n > len(text) || n < boundedBelow && !bounded(text, i, i+n) {
				continue
			}
			if left -= n; left < 0 {
				return nil, false
			}
			p, found := b.patterns[sized{n, maphash.String(x.seed, text[i:i+n])}]
			if found && (p.strong || !onlyStrong) {
				matches = join(matches, match{i, i + n, p.mark})
				break // shorter ones at the same place are in it
			}
		}
	}
	return matches, true
}

// join adds a match, whose beginning is not before those of the others.
func join(matches []match, m match) []match {
	last := len(matches) - 1
	switch {
	case last < 0 || m.from >= matches[last].to:
		return append(matches, m)
	case m.to > matches[last].to:
		matches[last] = match{from: matches[last].from, to: m.to}
	}
	return matches
}

// bounded reports whether text[from:to] is not a part of a longer word.
func bounded(text string, from, to int) bool {
	return (from == 0 || !isLetter(text[from-1])) && (to == len(text) || !isLetter(text[to]))
}
