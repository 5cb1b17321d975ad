package scrub

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"hash/maphash"
	"slices"
	"strings"

	"metascript/controller/secretvalues"
)

// A pattern is a text in a value.
type pattern struct {
	mark   string // replaces it
	strong bool   // it looks like a password
}

// A match is a pattern in a text.
type match struct {
	from, to int
	mark     string // empty: that of the text
}

// text returns text with all patterns replaced, and whether there was one. onlyStrong: only those of strong values.
func (s *Scrubber) text(text string, onlyStrong bool) (clean string, changed bool) {
	if s.plain.has(text, onlyStrong) {
		return text, false
	}
	matches, enough := s.find(text, onlyStrong)
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

// find returns the patterns in text, from the first to the last. Those that overlap are one match, without a mark. enough is false if it
// would cost too much.
func (s *Scrubber) find(text string, onlyStrong bool) (matches []match, enough bool) {
	accept := func(p pattern) bool { return p.strong || !onlyStrong }
	for reading := range secretvalues.Readings(text) {
		found, enough := s.patterns.Find(reading, accept)
		if !enough {
			return nil, false
		}
		for _, f := range found {
			m := match{reading.Begins(f.From), reading.Ends(f.To - 1), f.Of.mark}
			if reading.Derived {
				m = s.derived(text, m)
			}
			matches = append(matches, m)
		}
	}
	return joined(matches), true
}

// joined sorts matches, and joins those that overlap. Of several at the same place, the first stays.
func joined(matches []match) []match {
	slices.SortStableFunc(matches, func(a, b match) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	out := matches[:0]
	for _, m := range matches {
		n := len(out)
		switch {
		case n == 0 || m.from >= out[n-1].to:
			out = append(out, m)
		case m.to > out[n-1].to:
			out[n-1] = match{from: out[n-1].from, to: m.to}
		}
	}
	return out
}

// encodings are the ways in which a mark is encoded in place of a value. What is decoded with one of them is encoded with it again.
var encodings = []interface {
	EncodeToString([]byte) string
	DecodeString(string) ([]byte, error)
}{hexDigits{}, base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding}

type hexDigits struct{}

func (hexDigits) EncodeToString(p []byte) string           { return hex.EncodeToString(p) }
func (hexDigits) DecodeString(text string) ([]byte, error) { return hex.DecodeString(text) }

// derived returns the match of a pattern that is encoded in a text. If it is all that is encoded, the mark is encoded too.
func (s *Scrubber) derived(text string, m match) match {
	for m.to < len(text) && text[m.to] == '=' {
		m.to++
	}
	for _, encoding := range encodings {
		plain, err := encoding.DecodeString(text[m.from:m.to])
		if err != nil {
			continue
		}
		if p, found := s.patterns.Has(string(plain)); found {
			m.mark = encoding.EncodeToString([]byte(p.mark))
			return m
		}
	}
	return m
}
