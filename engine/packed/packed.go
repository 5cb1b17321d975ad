// Package packed has JSON objects in a compact form that is read where it is.
//
// [Parse] makes a packed object of JSON text in one pass. A [Map] is a packed object, or an object within one, and an [Array] is an
// array within one. They implement engine.Map and engine.Array.
//
// A packed object never changes. It is one block of memory without pointers, so that the garbage collector does not read it, and
// is about as large as its JSON text. A Map or Array is a pointer into the block: to read a value within another allocates nothing but
// the memory of a string header or of a large number. Texts that are read are parts of the block, and keep it in memory.
//
// # Form
//
// A value is a tag and its content:
//
//	nil, false, true   nothing
//	int                a zigzag varint
//	float              8 bytes, little endian
//	word               a byte: the number of a text that is frequent in objects; see words.go
//	string             the length in bytes as a varint, and the bytes, which are valid UTF-8
//	array              a header, and the values
//	map                a header, and the entries: the key like a string, without a tag, and the value. They are sorted by the
//	                   bytes of the key, and no key occurs twice.
//
// A header has the length of what follows it as a varint, the number of elements as a varint and, if there are more than 8 elements,
// a table with the offset of each. The offsets are from the end of the table and have two bytes or, if the elements take 64 KiB or
// more, four. So elements are found by a binary search of the keys, or by their index. In a map with at most 16 keys they are compared
// one by one, which is faster.
//
// A text that is a word is always written as one. All processes that exchange objects have the same words, since they run the same program.
//
// Equal JSON objects have equal bytes, except that a number may be an int in one and a float in the other.
//
// # What was tried
//
// The forms that a cached Pod of 2.7 KB of JSON could have: its memory, the time to make it of JSON text with another 3.4 KB of
// managedFields, and the time to read five fields, which a script does for each Pod. BenchmarkForms in package informer measures them.
// The times are from a machine with other load: compare them with each other.
//
//	                                       memory     made in   read in
//	maps of apimachinery                  12.2 KB      371 µs    0.3 µs
//	JSON text, which is decoded on use     2.7 KB       13 µs     88 µs
//	this form                              2.7 KB       56 µs    0.8 µs
//
// Text with a bounded cache of decoded objects would be as fast as maps for objects that are used often, but a resync of all parents
// uses all objects.
package packed

import (
	"encoding/binary"
	"iter"
	"math"
	"strings"
	"unsafe"
	"weak"
)

// The tags of values.
const (
	tagNil byte = iota
	tagFalse
	tagTrue
	tagInt
	tagFloat
	tagWord
	tagString
	tagArray
	tagMap
)

const (
	// maxPlain is the number of elements up to which a map or an array has no table.
	maxPlain = 8
	// maxSearched is the number of keys up to which they are compared one by one.
	maxSearched = 16
	// maxNarrow is the length of the elements from which an offset in a table has four bytes.
	maxNarrow = 1 << 16
)

// A Map is a packed JSON object. The zero value is not valid; see [Empty]. Two Maps are == if they are the same object in
// memory. Use [Map.Equal] to compare the content.
type Map struct{ at *byte } // the tag of a map

// An Array is a packed JSON array within a Map.
type Array struct{ at *byte } // the tag of an array

// Empty is an object without keys.
var Empty = own([]byte{tagMap, 1, 0})

// IsZero reports whether m is the zero value, which is no object.
func (m Map) IsZero() bool { return m.at == nil }

// A Ref identifies a Map without keeping it in memory.
type Ref struct{ at weak.Pointer[byte] }

// Ref returns what identifies m.
func (m Map) Ref() Ref { return Ref{weak.Make(m.at)} }

// To reports whether r is the Ref of m.
func (r Ref) To(m Map) bool { return r.at.Value() == m.at }

// after returns the address n bytes after p. All functions below trust the form, which only this package makes, so that no
// address is outside of the block.
func after(p *byte, n int) *byte { return (*byte)(unsafe.Add(unsafe.Pointer(p), n)) }

// uvarint returns the varint at p and the address after it.
func uvarint(p *byte) (int, *byte) {
	n, p := int(*p), after(p, 1)
	if n < 0x80 {
		return n, p
	}
	n &= 0x7f
	for shift := 7; ; shift += 7 {
		b := int(*p)
		p = after(p, 1)
		n |= b & 0x7f << shift
		if b < 0x80 {
			return n, p
		}
	}
}

// text returns the string whose length is at p, and the address after it.
func text(p *byte) (string, *byte) {
	n, p := uvarint(p)
	return unsafe.String(p, n), after(p, n)
}

// skip returns the address after the value at p.
func skip(p *byte) *byte {
	tag, p := *p, after(p, 1)
	switch tag {
	case tagInt:
		for *p >= 0x80 {
			p = after(p, 1)
		}
		return after(p, 1)
	case tagFloat:
		return after(p, 8)
	case tagWord:
		return after(p, 1)
	case tagString, tagArray, tagMap:
		n, p := uvarint(p)
		return after(p, n)
	}
	return p
}

// elements are the values of a map or an array.
type elements struct {
	n     int
	table *byte // nil: none
	width int   // of an offset in the table
	first *byte
}

// elementsOf reads the header of a map or an array.
func elementsOf(at *byte) elements {
	size, p := uvarint(after(at, 1))
	n, q := uvarint(p)
	if n <= maxPlain {
		return elements{n: n, first: q}
	}
	e := elements{n: n, table: q, width: 2}
	if size >= maxNarrow {
		// A table with offsets of two bytes is shorter, so that the elements may be shorter than maxNarrow only with it.
		rest := size - int(uintptr(unsafe.Pointer(q))-uintptr(unsafe.Pointer(p)))
		if rest-2*n >= maxNarrow {
			e.width = 4
		}
	}
	e.first = after(q, e.width*n)
	return e
}

// at returns the address of the element i, which exists.
func (e elements) at(i int) *byte {
	switch {
	case e.table == nil:
		return nil
	case e.width == 2:
		return after(e.first, int(binary.LittleEndian.Uint16(unsafe.Slice(after(e.table, 2*i), 2))))
	}
	return after(e.first, int(binary.LittleEndian.Uint32(unsafe.Slice(after(e.table, 4*i), 4))))
}

// read returns the value at p.
func read(p *byte) any {
	switch *p {
	case tagString:
		s, _ := text(after(p, 1))
		return s
	case tagMap:
		return Map{p}
	case tagArray:
		return Array{p}
	case tagWord:
		return wordValues[*after(p, 1)]
	case tagFalse:
		return false
	case tagTrue:
		return true
	case tagInt:
		return integer(after(p, 1))
	case tagFloat:
		return math.Float64frombits(binary.LittleEndian.Uint64(unsafe.Slice(after(p, 1), 8)))
	}
	return nil
}

// value returns the value at p, and the address after it.
func value(p *byte) (any, *byte) { return read(p), skip(p) }

// integer returns the zigzag varint at p.
func integer(p *byte) int64 {
	var n uint64
	for shift := 0; ; shift += 7 {
		b := *p
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return int64(n>>1) ^ -int64(n&1)
		}
		p = after(p, 1)
	}
}

// Len returns the number of keys.
func (m Map) Len() int { return length(m.at) }

// Len returns the number of elements.
func (a Array) Len() int { return length(a.at) }

func length(at *byte) int {
	_, p := uvarint(after(at, 1))
	n, _ := uvarint(p)
	return n
}

// find returns the address of the value of a key, or nil.
func (m Map) find(key string) *byte {
	e := elementsOf(m.at)
	if e.n <= maxSearched {
		return e.search(key)
	}
	for low, high := 0, e.n; low < high; {
		middle := int(uint(low+high) / 2)
		k, v := text(e.at(middle))
		switch strings.Compare(k, key) {
		case 0:
			return v
		case -1:
			low = middle + 1
		default:
			high = middle
		}
	}
	return nil
}

// search is find by a comparison with one key after the other. Most keys that it passes have another length, so that it need not read
// them, and most values are shorter than 128 bytes. It is written in one piece, since scripts do nothing else as often.
func (e elements) search(key string) *byte {
	p := e.first
	for range e.n {
		n := int(*p)
		if p = after(p, 1); n >= 0x80 {
			n, p = uvarint(after(p, -1))
		}
		v := after(p, n)
		if n == len(key) && unsafe.String(p, n) == key {
			return v
		}
		switch size := *after(v, 1); {
		case *v == tagWord:
			p = after(v, 2)
		case *v > tagWord && size < 0x80:
			p = after(v, 2+int(size))
		default:
			p = skip(v)
		}
	}
	return nil
}

// Get returns the value of a key: nil, a bool, an int64, a float64, a string, an [Array] or a Map.
func (m Map) Get(key string) (v any, found bool) {
	p := m.find(key)
	if p == nil {
		return nil, false
	}
	return read(p), true
}

// Has reports whether there is a key.
func (m Map) Has(key string) bool { return m.find(key) != nil }

// path returns the address of the value at a path of keys, or nil.
func (m Map) path(keys []string) *byte {
	p := m.at
	for _, key := range keys {
		if p == nil || *p != tagMap {
			return nil
		}
		p = Map{p}.find(key)
	}
	return p
}

// Map returns the object at a path of keys, and whether there is one.
func (m Map) Map(keys ...string) (Map, bool) {
	if p := m.path(keys); p != nil && *p == tagMap {
		return Map{p}, true
	}
	return Map{}, false
}

// Array returns the array at a path of keys, and whether there is one.
func (m Map) Array(keys ...string) (Array, bool) {
	if p := m.path(keys); p != nil && *p == tagArray {
		return Array{p}, true
	}
	return Array{}, false
}

// Text returns the string at a path of keys; "" if there is none.
func (m Map) Text(keys ...string) string {
	p := m.path(keys)
	if p == nil {
		return ""
	}
	switch *p {
	case tagString:
		s, _ := text(after(p, 1))
		return s
	case tagWord:
		return words[*after(p, 1)]
	}
	return ""
}

// At returns the value at a path of keys, and whether there is one.
func (m Map) At(keys ...string) (any, bool) {
	p := m.path(keys)
	if p == nil {
		return nil, false
	}
	return read(p), true
}

// All returns the keys and their values, in the order of the keys' bytes.
func (m Map) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		e := elementsOf(m.at)
		p := e.first
		for range e.n {
			var k string
			var v any
			k, p = text(p)
			v, p = value(p)
			if !yield(k, v) {
				return
			}
		}
	}
}

// Keys returns the keys, in the order of their bytes.
func (m Map) Keys() []string {
	e := elementsOf(m.at)
	keys := make([]string, e.n)
	p := e.first
	for i := range keys {
		keys[i], p = text(p)
		p = skip(p)
	}
	return keys
}

// Index returns an element, as [Map.Get] does. It panics if there is none.
func (a Array) Index(i int) any { return read(a.element(i)) }

// element returns the address of an element. It panics if there is none.
func (a Array) element(i int) *byte {
	e := elementsOf(a.at)
	if i < 0 || i >= e.n {
		panic("packed: index out of range")
	}
	if e.table != nil {
		return e.at(i)
	}
	p := e.first
	for range i {
		p = skip(p)
	}
	return p
}

// All returns the elements.
func (a Array) All() iter.Seq[any] {
	return func(yield func(any) bool) {
		e := elementsOf(a.at)
		p := e.first
		for range e.n {
			var v any
			if v, p = value(p); !yield(v) {
				return
			}
		}
	}
}

// A Reader reads the elements of an array, or the entries of a map, one after the other.
type Reader struct {
	next *byte
	left int
}

// Reader returns a Reader of all elements.
func (a Array) Reader() Reader {
	e := elementsOf(a.at)
	return Reader{e.first, e.n}
}

// Reader returns a Reader of all entries, in the order of the keys' bytes.
func (m Map) Reader() Reader {
	e := elementsOf(m.at)
	return Reader{e.first, e.n}
}

// Next returns the next element of an array, and whether there is one.
func (r *Reader) Next() (v any, ok bool) {
	if r.left == 0 {
		return nil, false
	}
	r.left--
	v, r.next = value(r.next)
	return v, true
}

// NextEntry returns the next entry of a map, and whether there is one.
func (r *Reader) NextEntry() (key string, v any, ok bool) {
	if r.left == 0 {
		return "", nil, false
	}
	r.left--
	key, r.next = text(r.next)
	v, r.next = value(r.next)
	return key, v, true
}

// block returns the bytes of the value at p. They must not be changed.
func block(p *byte) []byte {
	return unsafe.Slice(p, int(uintptr(unsafe.Pointer(skip(p)))-uintptr(unsafe.Pointer(p))))
}

// Bytes returns m in the form that is described above; it must not be changed. See [Load].
func (m Map) Bytes() []byte { return block(m.at) }

// Equal reports whether two objects have equal bytes.
func (m Map) Equal(other Map) bool {
	return m == other || string(block(m.at)) == string(block(other.at))
}

// Native returns m as a map[string]any, which can be changed. Its texts are parts of m.
func (m Map) Native() any { return m.Build() }

// Build is Native with its type.
func (m Map) Build() map[string]any {
	v, _ := build(m.at)
	return v.(map[string]any)
}

// Native returns a as a []any, which can be changed. Its texts are parts of a.
func (a Array) Native() any {
	v, _ := build(a.at)
	return v
}

// build returns the value at p with maps and slices, and the address after it.
func build(p *byte) (any, *byte) {
	switch *p {
	case tagMap:
		e := elementsOf(p)
		m, q := make(map[string]any, e.n), e.first
		for range e.n {
			var k string
			k, q = text(q)
			m[k], q = build(q)
		}
		return m, q
	case tagArray:
		e := elementsOf(p)
		list, q := make([]any, e.n), e.first
		for i := range list {
			list[i], q = build(q)
		}
		return list, q
	}
	return value(p)
}
