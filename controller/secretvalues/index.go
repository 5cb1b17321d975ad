package secretvalues

import (
	"cmp"
	"hash/maphash"
	"slices"
)

// seed is that of all hashes of this process.
var seed = maphash.MakeSeed()

// An Index finds texts as a whole, each with a T. It keeps a hash of each text and not the text, so its size is that of some words for each text.
// It is not safe for concurrent use while it is changed, and is not copied. The zero value has no text.
type Index[T any] struct {
	bits    []uint64                // of the starts with which texts begin: most places end here
	few     [fewestBits / 64]uint64 // the first bits, which are read faster in the Index
	lengths map[start][]uint32      // of the texts with a start, the longest first
	texts   map[sized]T
}

// A start is the first four bytes of a text.
type start uint32

// sized identifies a text by its length and its hash.
type sized struct {
	n   int
	sum uint64
}

const fewestBits, mostBits = 1 << 8, 1 << 20

// Put adds a text of at least four bytes, and reports whether it is new. The T of one that the Index has stays.
func (x *Index[T]) Put(text string, of T) (added bool) {
	var space [256]byte
	folded := appendFolded(space[:0], text)
	if len(folded) < shortest {
		return false
	}
	key := sized{len(folded), maphash.Bytes(seed, folded)}
	if _, found := x.texts[key]; found {
		return false
	}
	if x.texts == nil {
		x.lengths, x.texts = map[start][]uint32{}, map[sized]T{}
	}
	x.texts[key] = of
	s := startOf(folded)
	lengths := x.lengths[s]
	if i, found := slices.BinarySearchFunc(lengths, uint32(len(folded)), func(a, b uint32) int { return cmp.Compare(b, a) }); !found {
		x.lengths[s] = slices.Insert(lengths, i, uint32(len(folded)))
	}
	if len(x.texts) >= len(x.bits)*64/8 && len(x.bits) < mostBits/64 {
		x.widen()
	}
	x.mark(s)
	return true
}

// widen makes the bits, and later four times as many.
func (x *Index[T]) widen() {
	if x.bits == nil {
		x.bits = x.few[:]
		return
	}
	x.bits = make([]uint64, 4*len(x.bits))
	for s := range x.lengths {
		x.mark(s)
	}
}

func (x *Index[T]) place(s start) uint32 {
	return uint32(uint64(uint32(s)*0x9E3779B1) * uint64(len(x.bits)*64) >> 32)
}

func (x *Index[T]) mark(s start) {
	at := x.place(s)
	x.bits[at/64] |= 1 << (at % 64)
}

func (x *Index[T]) maybe(s start) bool {
	if len(x.bits) == 0 {
		return false
	}
	at := x.place(s)
	return x.bits[at/64]&(1<<(at%64)) != 0
}

// hasLonger reports whether there is a text with the start s that is longer than n bytes.
func (x *Index[T]) hasLonger(s start, n int) bool {
	lengths := x.lengths[s]
	return len(lengths) > 0 && int(lengths[0]) > n
}

func startOf(text []byte) start {
	return start(text[0])<<24 | start(text[1])<<16 | start(text[2])<<8 | start(text[3])
}

// Len returns how many texts there are.
func (x *Index[T]) Len() int { return len(x.texts) }

// Has reports whether the whole text is in the Index, and what was put with it.
func (x *Index[T]) Has(text string) (of T, found bool) {
	var space [256]byte
	folded := appendFolded(space[:0], text)
	of, found = x.texts[sized{len(folded), maphash.Bytes(seed, folded)}]
	return of, found
}

// A Match is a text of an Index in a Reading: its bytes from From to To.
type Match[T any] struct {
	From, To int
	Of       T
}

// The cost of a search is limited to this many bytes that are compared for each byte of a reading, and at least, which takes about 10 ms. A text
// needs more if it and many values repeat themselves.
const (
	costly      = 64
	costlyAtAll = 8 << 20
)

func limitFor(r *Reading) int { return max(costlyAtAll, costly*len(r.Text)) }

// Find returns the texts in a reading of which accept returns true: at each place, the longest one. enough is false if it would cost too much.
func (x *Index[T]) Find(r *Reading, accept func(T) bool) (matches []Match[T], enough bool) {
	if len(x.texts) == 0 || len(r.Text) < shortest {
		return nil, true
	}
	left := limitFor(r)
	for i, s := 0, startOf(r.Text)>>8; i+shortest <= len(r.Text); i++ {
		s = s<<8 | start(r.Text[i+shortest-1])
		if !x.maybe(s) {
			continue
		}
		n, of := x.at(r.Text, i, s, accept, &left)
		if left < 0 {
			return nil, false
		}
		if n > 0 {
			matches = append(matches, Match[T]{i, i + n, of})
		}
	}
	return matches, true
}

// at returns the longest text with the start s that is in reading at i.
func (x *Index[T]) at(reading []byte, i int, s start, accept func(T) bool, left *int) (n int, of T) {
	for _, length := range x.lengths[s] {
		n := int(length)
		if i+n > len(reading) || n < bounded && !isWhole(reading, i, i+n) {
			continue
		}
		if *left -= n; *left < 0 {
			return 0, of
		}
		if of, found := x.texts[sized{n, maphash.Bytes(seed, reading[i:i+n])}]; found && accept(of) {
			return n, of
		}
	}
	return 0, of
}

// isWhole reports whether text[from:to] is not a part of a longer word.
func isWhole(text []byte, from, to int) bool {
	return (from == 0 || !isLetter(text[from-1])) && (to == len(text) || !isLetter(text[to]))
}
