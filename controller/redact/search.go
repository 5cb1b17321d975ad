package redact

import (
	"iter"
	"math/bits"
	"strings"
)

// A gram is what the window of the search shows: four bytes. White space is a blank in it, however much there is.
type gram uint32

// grams calls visit for each gram of text, with the places of its first byte and its last.
func grams[T string | []byte](text T, visit func(g gram, first, last int)) {
	var g gram
	var at [shortest]int
	n, blank := 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if isSpace(c) {
			if blank {
				continue
			}
			c = ' '
		}
		blank = c == ' '
		g = g<<8 | gram(c)
		at[n%shortest] = i
		if n++; n >= shortest {
			visit(g, at[n%shortest], i)
		}
	}
}

// A sieve lets through all grams that it was given, and few others.
type sieve struct {
	bits  []uint64
	shift int
}

func newSieve(grams int) *sieve {
	size := max(10, bits.Len(uint(16*grams)))
	return &sieve{make([]uint64, 1<<size/64), 32 - size}
}

func (s *sieve) place(g gram) uint32 { return uint32(g) * 0x9E3779B1 >> s.shift }

func (s *sieve) put(g gram) {
	at := s.place(g)
	s.bits[at/64] |= 1 << (at % 64)
}

func (s *sieve) has(g gram) bool {
	at := s.place(g)
	return s.bits[at/64]&(1<<(at%64)) != 0
}

// sift adds to found the grams of text that pass. It is grams, again, since it is here that the time is spent.
func (s *sieve) sift(text string, found map[gram]bool) {
	var g gram
	n, blank := 0, false
	for i := range len(text) {
		c := text[i]
		if isSpace(c) {
			if blank {
				continue
			}
			c = ' '
		}
		blank = c == ' '
		g = g<<8 | gram(c)
		if n++; n >= shortest && s.has(g) {
			found[g] = true
		}
	}
}

// marksOf says of each byte of each text whether it is part of a gram that one of the values has too. The grams of a common
// part are all common, so that it is marked as a whole, however long it is.
func marksOf(texts []string, values iter.Seq[value]) [][]bool {
	there := newSieve(count(texts))
	for _, text := range texts {
		for reading := range readings(text) {
			grams(reading.text, func(g gram, _, _ int) { there.put(g) })
		}
	}
	common := map[gram]bool{}
	var short []value
	for v := range values {
		if len(v) < shortest {
			short = append(short, v)
		}
		v.forms(func(form string) { there.sift(form, common) })
	}
	marks := make([][]bool, len(texts))
	for i, text := range texts {
		marks[i] = make([]bool, len(text))
		if len(common) > 0 {
			mark(marks[i], text, common)
		}
		markShort(marks[i], text, short)
	}
	return marks
}

// count is about how many grams there are in the readings of texts.
func count(texts []string) int {
	n := 0
	for _, text := range texts {
		n += 4 * len(text)
	}
	return min(n, 1<<22)
}

// mark marks what is in text, in any reading of it, of the grams.
func mark(marked []bool, text string, known map[gram]bool) {
	for reading := range readings(text) {
		grams(reading.text, func(g gram, first, last int) {
			if !known[g] {
				return
			}
			for i := reading.begins(first); i < reading.ends(last); i++ {
				marked[i] = true
			}
		})
	}
}

// quotes are those between which a value that is too short for a gram is found.
var quotes = []string{`"`, `'`, "`"}

func markShort(marked []bool, text string, values []value) {
	for _, v := range values {
		for _, quote := range quotes {
			for _, escape := range []string{"", `\`} {
				markAll(marked, text, quote+string(v)+escape+quote, len(quote), len(v))
			}
		}
	}
}

// markAll marks, wherever whole is in text, so many bytes of it after some.
func markAll(marked []bool, text, whole string, after, count int) {
	for at := 0; ; at++ {
		found := strings.Index(text[at:], whole)
		if found < 0 {
			return
		}
		at += found
		for i := range count {
			marked[at+after+i] = true
		}
	}
}
