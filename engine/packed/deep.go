package packed

import (
	"encoding/binary"
	"math"
	"slices"
)

// maxMoved is the number of levels up to which the elements of a map or an array are moved when it ends, to make room for its header and
// to sort them. This is the fastest way for objects as they usually are. But a text is moved once for each level around it, and there may
// be [maxDepth] levels. So what is nested deeper is first read as a whole, and then written with all its headers: each byte is moved twice.
const maxMoved = 32

// tagPart is the tag of a [part] in out, with its number in 4 bytes. It is not in the form.
const tagPart = tagMap + 1

// noPart has the place for the number of a part.
var noPart = []byte{tagPart, 0, 0, 0, 0}

// A part is a map or an array that has ended, but is not written yet. What was read of it stays in out.
type part struct {
	tag        byte
	first, end int // its elements in later.entries
	size       int // of the elements, in the form
}

// later are the parts of a map or an array at level maxMoved+1: those in it, and itself.
type later struct {
	parts   []part
	entries []entry
}

func (l *later) clear() { l.parts, l.entries = l.parts[:0], l.entries[:0] }

// postpone makes a part of a map or an array that has all entries from first on, sorted.
func (p *Parser) postpone(tag byte, base, first int) {
	made := part{tag: tag, first: len(p.later.entries)}
	for _, e := range p.entries[first:] {
		made.size += e.end - e.start
		if in, ok := p.partOf(e); ok {
			made.size += in.whole() - (e.end - e.value())
		}
		p.later.entries = append(p.later.entries, e)
	}
	made.end = len(p.later.entries)
	binary.LittleEndian.PutUint32(p.out[base+1:], uint32(len(p.later.parts)))
	p.later.parts = append(p.later.parts, made)
}

// value returns where the value of an entry begins in out.
func (e entry) value() int { return max(e.start, e.keyEnd) }

// partOf returns the part that is the value of an entry, and whether it is one.
func (p *Parser) partOf(e entry) (part, bool) {
	v := p.out[e.value():e.end]
	if v[0] != tagPart {
		return part{}, false
	}
	return p.later.parts[binary.LittleEndian.Uint32(v[1:])], true
}

// whole returns the size of a part with its tag and header.
func (of part) whole() int { return headerSize(of.end-of.first, of.size) + of.size }

// writePart writes the last part, which begins at base, in the form.
func (p *Parser) writePart(base int) error {
	last := p.later.parts[len(p.later.parts)-1]
	if last.size > math.MaxUint32 {
		return errTooLarge
	}
	p.spare = p.spare[:0]
	p.write(last)
	p.out = append(p.out[:base], p.spare...)
	p.moved += 2 * len(p.spare)
	p.later.clear()
	return nil
}

// write appends a part to spare in the form.
func (p *Parser) write(of part) {
	elements := p.later.entries[of.first:of.end]
	p.spare = appendHeader(p.spare, of.tag, len(elements), of.size)
	width, table := offsetWidth(len(elements), of.size), len(p.spare)
	base := table + width*len(elements)
	p.spare = slices.Grow(p.spare, base-table)[:base]
	for i, e := range elements {
		setOffset(p.spare[table:], width, i, len(p.spare)-base)
		if in, ok := p.partOf(e); ok {
			p.spare = append(p.spare, p.out[e.start:e.value()]...)
			p.write(in)
		} else {
			p.spare = append(p.spare, p.out[e.start:e.end]...)
		}
	}
}
