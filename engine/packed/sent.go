package packed

import (
	"encoding/binary"
	"errors"
	"strings"
)

// Recording returns the recording of the object if m is the whole object, and nil if it is a part of one.
func (m RecordedMap) Recording() *Recording {
	if m.node != &m.node.in.root {
		return nil
	}
	return m.node.in
}

// None reports whether nothing was read.
func (r Reads) None() bool { return len(r.marks)+len(r.absent) == 0 }

// Append appends the reads to buf, in a form for [Recording.Add].
func (r Reads) Append(buf []byte) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(r.marks)))
	for _, m := range r.marks {
		buf = binary.AppendUvarint(buf, uint64(m))
	}
	for _, a := range r.absent {
		buf = binary.AppendUvarint(buf, uint64(a.offset))
		buf = binary.AppendUvarint(buf, uint64(len(a.key)))
		buf = append(buf, a.key...)
	}
	return buf
}

var errReads = errors.New("invalid reads of an object")

// Add records reads that [Reads.Append] has written for an object with the same bytes, in another process that is not trusted. If that
// process lies, [Reads.Hold] may be true for an object in which something else was read, but nothing worse can happen.
func (r *Recording) Add(reads string) error {
	limit := uint64(len(Map{r.root.at}.Bytes())) * readKinds
	n, reads, ok := cutUvarint(reads)
	if !ok || n > maxReads {
		return errReads
	}
	for range n {
		var m uint64
		if m, reads, ok = cutUvarint(reads); !ok || m >= limit {
			return errReads
		}
		r.note(mark(m))
	}
	for reads != "" {
		var offset, length uint64
		offset, reads, _ = cutUvarint(reads) // after an error nothing is left
		if length, reads, ok = cutUvarint(reads); !ok || offset >= limit || length > uint64(len(reads)) {
			return errReads
		}
		r.noteAbsence(absence{mark(offset), strings.Clone(reads[:length])})
		reads = reads[length:]
	}
	return nil
}

// cutUvarint reads a varint at the beginning of s, and returns the rest.
func cutUvarint(s string) (n uint64, rest string, ok bool) {
	for i := range min(len(s), binary.MaxVarintLen32) {
		n |= uint64(s[i]&0x7f) << (7 * i)
		if s[i] < 0x80 {
			return n, s[i+1:], true
		}
	}
	return 0, "", false
}
