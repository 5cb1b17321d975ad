package secretvalues

import (
	"math/bits"
	"strings"
)

// Part is the length in bytes of the shortest part of a value that is found, if the part is not the whole value.
const Part = 8

// A gram is the content of Part bytes of a text.
type gram uint64

// grams calls visit for each gram of a text that is folded, with the index of its first byte.
func grams[T string | []byte](text T, visit func(g gram, at int)) {
	var g gram
	for i := range len(text) {
		g = g<<8 | gram(text[i])
		if i >= Part-1 {
			visit(g, i-(Part-1))
		}
	}
}

// hash returns the hash of a gram. It differs in each process, so that nobody can make grams with the same.
func (g gram) hash() uint64 {
	high, low := bits.Mul64(uint64(g)^hashKey[0], hashKey[1])
	return high ^ low
}

var hashKey = [2]uint64{newKey(), newKey() | 1}

// parts is the set of the grams of values. An entry is a part of the hash of a gram; its place in the table has the rest. So it has about as
// many false positives as two texts have the same hash of 45 bits.
type parts struct {
	table []uint32 // zero: empty
	shift int
}

func newParts(most int) parts {
	size := bits.Len(uint(most + most/2 + 8))
	return parts{table: make([]uint32, 1<<size), shift: 64 - size}
}

// entryOf returns the entry of a gram by its hash.
func entryOf(hash uint64) uint32 { return max(1, uint32(hash)) }

// put adds a gram by its hash.
func (p *parts) put(hash uint64) {
	at, entry := p.find(hash)
	p.table[at] = entry
}

// find returns the place of a hash, where its entry is or would be.
func (p *parts) find(hash uint64) (at int, entry uint32) {
	entry = entryOf(hash)
	for at = int(hash >> p.shift); p.table[at] != 0 && p.table[at] != entry; at = (at + 1) & (len(p.table) - 1) {
	}
	return at, entry
}

func (p *parts) has(hash uint64) bool {
	at, _ := p.find(hash)
	return p.table[at] != 0
}

// A Reference is a text of which parts are sought in other texts.
type Reference struct {
	folded string
	parts  *parts // made for the first longer text
}

// NewReference returns a Reference to text.
func NewReference(text string) *Reference { return &Reference{folded: Fold(text)} }

// Shares reports whether a part of Part bytes of text, or all of it if it is shorter, is in the reference. Letter case does not count.
func (t *Reference) Shares(text string) (shares bool) {
	text = Fold(text)
	if len(text) <= Part {
		return strings.Contains(t.folded, text)
	}
	if t.parts == nil {
		p := newParts(len(t.folded))
		grams(t.folded, func(g gram, _ int) { p.put(g.hash()) })
		t.parts = &p
	}
	grams(text, func(g gram, _ int) { shares = shares || t.parts.has(g.hash()) })
	return shares
}
