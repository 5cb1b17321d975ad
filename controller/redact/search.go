package redact

import (
	"iter"
	"math/bits"
	"strings"
)

// A gram is the content of the window of the search: four bytes. A run of white space is one blank in it.
type gram uint32

// grams calls visit for each gram of text, with the indexes of its first and last byte.
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

// A sieve is a set of grams that may have false positives.
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

// sift adds to found the grams of text that are in the sieve. It repeats the code of grams, since most of the time is spent
// here.
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

// marksOf returns, for each byte of each text, whether it is part of a gram that a value has too. All grams of a common part
// are common, so a part of any length is marked as a whole.
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

// count returns about how many grams the readings of texts have.
func count(texts []string) int {
	n := 0
	for _, text := range texts {
		n += 4 * len(text)
	}
	return min(n, 1<<22)
}

// mark marks the known grams in text, in each of its readings.
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

// quotes are the quotation marks between which values shorter than a gram are found.
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

// markAll marks, for each occurrence of whole in text, count bytes after the first after bytes.
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
