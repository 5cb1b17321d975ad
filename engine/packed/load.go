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
	c.value(0)
	if c.bad == "" && len(c.in) > c.i {
		c.fail("more bytes than the object has")
	}
	if c.bad != "" {
		return Map{}, fmt.Errorf("invalid packed object: %s at byte %d", c.bad, c.i)
	}
	return own(block), nil
}

// A checker reads a block and checks all rules of the form. After the first violation it reads nothing more.
type checker struct {
	in  []byte
	i   int
	bad string // the first violation
}

func (c *checker) fail(what string) {
	if c.bad == "" {
		c.bad = what
	}
}

// take moves n bytes on, and returns them.
func (c *checker) take(n int) []byte {
	if c.bad != "" || n > len(c.in)-c.i {
		c.fail("too few bytes")
		return nil
	}
	taken := c.in[c.i : c.i+n]
	c.i += n
	return taken
}

// uvarint reads a varint, which must have no unnecessary bytes.
func (c *checker) uvarint() uint64 {
	if c.bad != "" {
		return 0
	}
	n, size := binary.Uvarint(c.in[c.i:])
	if size <= 0 || size > 1 && c.in[c.i+size-1] == 0 {
		c.fail("an invalid varint")
		return 0
	}
	c.i += size
	return n
}

// length reads a number of bytes or elements, of which there must be that many.
func (c *checker) length() int {
	n := c.uvarint()
	if n > uint64(len(c.in)-c.i) {
		c.fail("too few bytes")
		return 0
	}
	return int(n)
}

func (c *checker) text() []byte {
	text := c.take(c.length())
	if !utf8.Valid(text) {
		c.fail("a text that is not UTF-8")
	}
	return text
}

// value reads a value, which is in depth maps and arrays.
func (c *checker) value(depth int) {
	tag := c.take(1)
	if tag == nil {
		return
	}
	switch tag[0] {
	case tagNil, tagFalse, tagTrue:
	case tagInt:
		c.uvarint()
	case tagFloat:
		c.float()
	case tagString:
		c.text()
	case tagArray, tagMap:
		if depth == maxDepth {
			c.fail("too many levels")
			return
		}
		c.elements(tag[0] == tagMap, depth+1)
	default:
		c.fail("an unknown tag")
	}
}

func (c *checker) float() {
	bits := c.take(8)
	if bits == nil {
		return
	}
	if f := math.Float64frombits(binary.LittleEndian.Uint64(bits)); math.IsNaN(f) || math.IsInf(f, 0) {
		c.fail("a number that JSON does not have")
	}
}

// elements reads the header and the elements of a map or an array.
func (c *checker) elements(isMap bool, depth int) {
	size := c.length()
	end := c.i + size
	n := c.length()
	table, width := c.table(n, end)
	first := c.i
	var last []byte
	for i := range n {
		if c.bad != "" {
			return
		}
		if table != nil && offset(table, width, i) != c.i-first {
			c.fail("a wrong offset in a table")
			return
		}
		if isMap {
			key := c.text()
			if i > 0 && bytes.Compare(last, key) >= 0 {
				c.fail("keys that are not sorted")
				return
			}
			last = key
		}
		c.value(depth)
	}
	switch {
	case c.i != end:
		c.fail("a wrong length")
	case width == 4 && end-first < maxNarrow:
		c.fail("a table with offsets that are too wide")
	}
}

// table reads the table of n elements, if they have one; see elementsOf.
func (c *checker) table(n, end int) (table []byte, width int) {
	if n <= maxPlain {
		return nil, 0
	}
	width = 2
	if end-c.i-2*n >= maxNarrow {
		width = 4
	}
	return c.take(width * n), width
}

// offset returns an offset in a table.
func offset(table []byte, width, i int) int {
	if width == 2 {
		return int(binary.LittleEndian.Uint16(table[2*i:]))
	}
	return int(binary.LittleEndian.Uint32(table[4*i:]))
}
