package packed

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// Load returns the object with the given bytes, which are those of [Map.Bytes]. It copies them. It returns an error for bytes that
// [Parse] does not make: they may come from another process, and all other functions trust the form.
func Load(block []byte) (Map, error) {
	if len(block) == 0 || block[0] != tagMap {
		return Map{}, errors.New("the packed object is no map")
	}
	c := checker{in: block}
	if end := c.value(0, 0); end >= 0 && end < len(block) {
		c.fail("more bytes than the object has", end)
	}
	if c.bad != "" {
		return Map{}, fmt.Errorf("invalid packed object: %s at byte %d", c.bad, c.at)
	}
	return own(block), nil
}

// A checker checks all rules of the form. Its methods get the offset of a part of the block, and return the offset after the part, or -1
// if it violates a rule.
type checker struct {
	in  []byte
	bad string // the rule that is violated
	at  int    // where it is violated
}

func (c *checker) fail(what string, at int) int {
	c.bad, c.at = what, at
	return -1
}

// The violations that several methods find.
const (
	tooShort  = "too few bytes"
	badVarint = "an invalid varint"
)

// uvarint reads a varint, which must have no unnecessary bytes.
func (c *checker) uvarint(i int) (n uint64, end int) {
	if i < len(c.in) && c.in[i] < 0x80 {
		return uint64(c.in[i]), i + 1
	}
	n, size := binary.Uvarint(c.in[i:])
	if size <= 0 || c.in[i+size-1] == 0 {
		return 0, c.fail(badVarint, i)
	}
	return n, i + size
}

// length reads a number of bytes or elements, of which there must be that many.
func (c *checker) length(i int) (n, end int) {
	long, end := c.uvarint(i)
	if end >= 0 && long > uint64(len(c.in)-end) {
		return 0, c.fail(tooShort, i)
	}
	return int(long), end
}

// text reads a text, and returns it too.
func (c *checker) text(i int) (text []byte, end int) {
	n, start := c.length(i)
	if start < 0 {
		return nil, -1
	}
	text = c.in[start : start+n]
	if !utf8.Valid(text) {
		return nil, c.fail("a text that is not UTF-8", start)
	}
	return text, start + n
}

// value reads a value, which is in depth maps and arrays.
func (c *checker) value(i, depth int) (end int) {
	if i >= len(c.in) {
		return c.fail(tooShort, i)
	}
	switch tag := c.in[i]; tag {
	case tagString:
		text, end := c.text(i + 1)
		if _, ok := wordNumber(text); ok {
			return c.fail("a text in place of a word", i)
		}
		return end
	case tagWord:
		if i+1 >= len(c.in) || int(c.in[i+1]) >= len(words) {
			return c.fail("an unknown word", i)
		}
		return i + 2
	case tagArray, tagMap:
		if depth == maxDepth {
			return c.fail("too many levels", i)
		}
		return c.elements(i+1, tag == tagMap, depth+1)
	case tagNil, tagFalse, tagTrue:
		return i + 1
	case tagInt:
		_, end = c.uvarint(i + 1)
		return end
	case tagFloat:
		return c.float(i + 1)
	}
	return c.fail("an unknown tag", i)
}

func (c *checker) float(i int) (end int) {
	if len(c.in)-i < 8 {
		return c.fail(tooShort, i)
	}
	if f := math.Float64frombits(binary.LittleEndian.Uint64(c.in[i:])); math.IsNaN(f) || math.IsInf(f, 0) {
		return c.fail("a number that JSON does not have", i)
	}
	return i + 8
}

// elements reads the header and the elements of a map or an array.
func (c *checker) elements(i int, isMap bool, depth int) (end int) {
	size, i := c.length(i)
	if i < 0 {
		return -1
	}
	end = i + size
	n, i := c.length(i)
	if i < 0 {
		return -1
	}
	table, width := c.table(i, n, end)
	i += len(table)
	first := i
	var last []byte
	for element := range n {
		if table != nil && offset(table, width, element) != i-first {
			return c.fail("a wrong offset in a table", i)
		}
		if isMap {
			key, after := c.text(i)
			if after < 0 {
				return -1
			}
			if element > 0 && bytes.Compare(last, key) >= 0 {
				return c.fail("keys that are not sorted", i)
			}
			last, i = key, after
		}
		if i = c.value(i, depth); i < 0 {
			return -1
		}
	}
	switch {
	case i != end:
		return c.fail("a wrong length", end)
	case width == 4 && end-first < maxNarrow:
		return c.fail("a table with offsets that are too wide", first)
	}
	return end
}

// table returns the table at i of n elements, and the width of its offsets; see elementsOf. It is empty if they have none. If the block is
// too short, the table is too, so that its last offset is wrong.
func (c *checker) table(i, n, end int) (table []byte, width int) {
	if n <= maxPlain {
		return nil, 0
	}
	width = 2
	if end-i-2*n >= maxNarrow {
		width = 4
	}
	return c.in[i:min(i+width*n, len(c.in))], width
}

// offset returns an offset in a table, or -1 if the table ends before it.
func offset(table []byte, width, i int) int {
	switch {
	case len(table) < width*(i+1):
		return -1
	case width == 2:
		return int(binary.LittleEndian.Uint16(table[2*i:]))
	}
	return int(binary.LittleEndian.Uint32(table[4*i:]))
}
