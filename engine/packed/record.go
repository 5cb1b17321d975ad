package packed

import (
	"iter"
	"math"
	"slices"
	"unsafe"

	"metascript/engine/tree"
)

// A Recorder records what is read of packed objects in one call of a script. Another version of an object, in which nothing of this is
// different, has the same effect on the call; see [Reads.Hold].
//
// The objects are read as [RecordedMap], which a script can use like a [Map]. A value is recorded by its offset in the block. The zero
// value can be used. It is not safe for concurrent use.
type Recorder struct {
	// These are not used yet. They are allocated together.
	recordings stock[Recording]
	nodes      stock[recordedNode]
	marks      stock[[firstReads]mark]
}

// A Recording is what was read of one object so far.
type Recording struct {
	root  recordedNode
	by    *Recorder
	reads Reads
	seen  uint64 // has a bit of each of its marks
	whole bool

	// last is the map or array that was read last, as long as nothing in it is read. It has no mark yet, and needs none when something
	// in it is read: that is the same in another object only if the map or array is there too.
	last *recordedNode
}

// Record begins to record the reads of an object.
func (r *Recorder) Record(of Map) *Recording {
	recording := r.recordings.take()
	recording.by, recording.root = r, recordedNode{of.at, recording}
	return recording
}

// A stock has values that are not used yet. They are allocated together: a few for a small request, and then more each time.
type stock[T any] struct {
	unused []T
	size   int // how many were allocated last
}

// take returns a value that is not used yet.
func (s *stock[T]) take() *T {
	if len(s.unused) == 0 {
		s.size = min(max(4, 2*s.size), 128)
		s.unused = make([]T, s.size)
	}
	v := &s.unused[0]
	s.unused = s.unused[1:]
	return v
}

// Map returns the object for reading.
func (r *Recording) Map() RecordedMap { return RecordedMap{&r.root} }

// Reads returns what was read of the object. The Recording must not be used any more.
func (r *Recording) Reads() Reads {
	r.leave()
	return r.reads
}

// Reads are what was read of an object. The zero value is nothing.
type Reads struct {
	marks  []mark // each once
	absent []absence
}

// Everything is a read of the whole object.
var Everything = Reads{marks: []mark{readWhole}}

// A mark is a read of the value at an offset: the offset times readKinds, plus what was read.
type mark uint32

// What is read of a value.
const (
	readValue   mark = iota // its type and, if it is neither a map nor an array, the value
	readShape               // the keys of a map, or the length of an array
	readWhole               // all of it
	readEntries             // readShape, and the values in it that are neither maps nor arrays, except for those that are Apart
	readKinds   = 4
)

// An absence is a read of a key that a map does not have.
type absence struct {
	offset mark // of the map, as in its marks of readValue
	key    string
}

const (
	// maxReads is how many reads of an object are recorded. With more of them, the whole object counts as read.
	maxReads = 64
	// firstReads is for how many of them memory is allocated together with that of other objects.
	firstReads = 16
)

// distance returns the offset of an address in the block that begins at start.
func distance(start, p *byte) mark {
	return mark(uintptr(unsafe.Pointer(p)) - uintptr(unsafe.Pointer(start)))
}

// mark records a read of the value at p.
func (r *Recording) mark(p *byte, what mark) { r.note(distance(r.root.at, p)*readKinds + what) }

// note records a mark.
func (r *Recording) note(m mark) {
	bit := uint64(1) << (m * 0x9e3779b1 >> 26) // a hash, so that most new marks need not be compared with the others
	if r.seen&bit != 0 && (r.whole || slices.Contains(r.reads.marks, m)) {
		return
	}
	r.seen |= bit
	r.add(m)
}

// add adds a mark that is new.
func (r *Recording) add(m mark) {
	switch n := len(r.reads.marks); {
	case n+len(r.reads.absent) == maxReads:
		r.all()
		return
	case n == 0:
		r.reads.marks = r.by.marks.take()[:0]
	}
	r.reads.marks = append(r.reads.marks, m)
}

// enter notes that something in n is read next.
func (r *Recording) enter(n *recordedNode) {
	if r.last == n {
		r.last = nil
	}
}

// leave marks last.
func (r *Recording) leave() {
	if r.last != nil {
		r.mark(r.last.at, readValue)
		r.last = nil
	}
}

// miss records that the map at p has no such key.
func (r *Recording) miss(p *byte, key string) {
	r.mark(p, readValue)
	r.noteAbsence(absence{distance(r.root.at, p) * readKinds, key})
}

// noteAbsence records that a map has no such key.
func (r *Recording) noteAbsence(a absence) {
	switch {
	case r.whole || slices.Contains(r.reads.absent, a):
	case len(r.reads.marks)+len(r.reads.absent) == maxReads:
		r.all()
	default:
		r.reads.absent = append(r.reads.absent, a)
	}
}

// all records that the whole object is read.
func (r *Recording) all() {
	r.whole, r.seen, r.reads = true, math.MaxUint64, Everything
}

// read returns the value at p, which is in n, and records that it is read.
func (r *Recording) read(n *recordedNode, p *byte) any {
	r.enter(n)
	switch {
	case r.whole:
		return read(p)
	case *p < tagArray:
		r.mark(p, readValue)
		return read(p)
	}
	r.leave()
	inner := r.by.nodes.take()
	inner.at, inner.in = p, r
	r.last = inner
	if *p == tagArray {
		return RecordedArray{inner}
	}
	return RecordedMap{inner}
}

// A recordedNode is a map or an array at an address.
type recordedNode struct {
	at *byte
	in *Recording
}

// whole records that all of it is read.
func (n *recordedNode) whole() { n.mark(readWhole) }

// shape records that its keys or its length are read.
func (n *recordedNode) shape() { n.mark(readShape) }

func (n *recordedNode) mark(what mark) {
	n.in.enter(n)
	n.in.mark(n.at, what)
}

// A RecordedMap is a Map whose reads are recorded. The maps and arrays in it are RecordedMaps and RecordedArrays, or Maps and Arrays if
// the whole object was read.
type RecordedMap struct{ node *recordedNode }

// A RecordedArray is an Array whose reads are recorded.
type RecordedArray struct{ node *recordedNode }

var (
	_ tree.Map   = RecordedMap{}
	_ tree.Array = RecordedArray{}
)

// Whole returns v with a Map or an Array in place of a RecordedMap or RecordedArray, and records that all of it is read.
func Whole(v any) any {
	switch v := v.(type) {
	case RecordedMap:
		return v.Whole()
	case RecordedArray:
		return v.Whole()
	}
	return v
}

// Unrecorded returns the Map, whose reads are not recorded.
func (m RecordedMap) Unrecorded() Map { return Map{m.node.at} }

// Whole returns the Map, and records that all of it is read.
func (m RecordedMap) Whole() Map {
	m.node.whole()
	return m.Unrecorded()
}

// Len returns the number of keys.
func (m RecordedMap) Len() int {
	m.node.shape()
	return length(m.node.at)
}

// Get returns the value of a key, and whether there is one.
func (m RecordedMap) Get(key string) (any, bool) {
	p := m.Unrecorded().find(key)
	if p == nil {
		m.node.in.enter(m.node)
		m.node.in.miss(m.node.at, key)
		return nil, false
	}
	return m.node.in.read(m.node, p), true
}

// Keys returns the keys, in the order of their bytes.
func (m RecordedMap) Keys() []string {
	m.node.shape()
	return m.Unrecorded().Keys()
}

// All returns the keys and their values, in the order of the keys' bytes.
func (m RecordedMap) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		m.node.shape()
		e := elementsOf(m.node.at)
		p := e.first
		for range e.n {
			key, v := text(p)
			if p = skip(v); !yield(key, m.node.in.read(m.node, v)) {
				return
			}
		}
	}
}

// An Offset is where a Map or an Array is in an object.
type Offset uint32

// OffsetOf returns where a Map or an Array is in another one, of which it is a part.
func OffsetOf(v, in any) Offset { return Offset(distance(address(in), address(v))) }

func address(v any) *byte {
	if m, ok := v.(Map); ok {
		return m.at
	}
	return v.(Array).at
}

// Size returns the size of m in bytes.
func (m Map) Size() int { return len(block(m.at)) }

// Apart reports whether the value of a key changes often and is seldom read, so that [RecordedMap.EntriesRead] does not count it as read.
func Apart(key string) bool {
	return key == "resourceVersion" || key == "generation" || key == "observedGeneration"
}

// EntriesRead records that of a map or an array in the object m all is read, except for what is in the maps and arrays in it, and for
// values that are Apart. A caller that makes something of a whole map uses it, and records values that are Apart when they are read.
func (m RecordedMap) EntriesRead(at Offset) {
	m.node.in.enter(m.node)
	m.node.in.mark(after(m.node.at, int(at)), readEntries)
}

// ValueRead records that a value of the map at an offset in the object m is read.
func (m RecordedMap) ValueRead(at Offset, key string) {
	m.node.in.enter(m.node)
	in := Map{after(m.node.at, int(at))}
	if p := in.find(key); p != nil {
		m.node.in.mark(p, readValue)
	}
}

// Native returns a copy that can be changed.
func (m RecordedMap) Native() any { return m.Whole().Native() }

// MarshalJSON implements json.Marshaler.
func (m RecordedMap) MarshalJSON() ([]byte, error) { return m.Whole().MarshalJSON() }

// Whole returns the Array, and records that all of it is read.
func (a RecordedArray) Whole() Array {
	a.node.whole()
	return Array{a.node.at}
}

// Len returns the number of elements.
func (a RecordedArray) Len() int {
	a.node.shape()
	return length(a.node.at)
}

// Index returns an element. It panics if there is none.
func (a RecordedArray) Index(i int) any { return a.node.in.read(a.node, Array{a.node.at}.element(i)) }

// Native returns a copy that can be changed.
func (a RecordedArray) Native() any { return a.Whole().Native() }

// MarshalJSON implements json.Marshaler.
func (a RecordedArray) MarshalJSON() ([]byte, error) { return a.Whole().MarshalJSON() }

// A RecordedReader reads the elements of an array one after the other, and records it.
type RecordedReader struct {
	rest Reader
	of   *recordedNode
}

// Reader returns a Reader of all elements.
func (a RecordedArray) Reader() RecordedReader {
	a.node.shape()
	return RecordedReader{Array{a.node.at}.Reader(), a.node}
}

// Next returns the next element, and whether there is one.
func (r *RecordedReader) Next() (v any, ok bool) {
	if r.rest.left == 0 {
		return nil, false
	}
	r.rest.left--
	p := r.rest.next
	r.rest.next = skip(p)
	return r.of.in.read(r.of, p), true
}

// Hold reports whether everything that was read of the object before is the same in the object now. It returns the same reads of now, so
// that before is not needed any more.
func (r Reads) Hold(before, now Map) (reads Reads, hold bool) {
	c := comparison{before: before.at, now: now.at, marks: slices.Clone(r.marks), absent: r.absent}
	slices.Sort(c.marks)
	if !c.same(before.at, now.at) || len(c.marks) > 0 {
		return Reads{}, false
	}
	return c.moved, true
}

// A comparison compares what was read of an object with another one, in the order of the marks. Marks of addresses at which no value begins, as
// another process may send them, compare as different.
type comparison struct {
	before, now *byte
	marks       []mark // that are not compared yet
	absent      []absence
	moved       Reads // what was compared, with the offsets in now
}

// same compares the value at p in before, as far as it was read, with the value at q in now.
func (c *comparison) same(p, q *byte) bool {
	at, moved := distance(c.before, p)*readKinds, distance(c.now, q)*readKinds
	for len(c.marks) > 0 && c.marks[0] < at+readKinds {
		what := c.marks[0] - at
		if c.marks[0] < at || !sameRead(p, q, what) {
			return false
		}
		c.moved.marks = append(c.moved.marks, moved+what)
		if c.marks = c.marks[1:]; what == readWhole {
			c.skipMarks(p)
			return true
		}
	}
	for _, a := range c.absent {
		if a.offset == at {
			if *q != tagMap || (Map{q}).Has(a.key) {
				return false
			}
			c.moved.absent = append(c.moved.absent, absence{moved, a.key})
		}
	}
	return !c.hasMarksIn(p) || *p == *q && c.sameElements(p, q)
}

// sameRead compares the values at p and q, of which what was read.
func sameRead(p, q *byte, what mark) bool {
	switch {
	case *p != *q:
		return false
	case what == readWhole || *p != tagMap && *p != tagArray:
		return string(block(p)) == string(block(q))
	case what == readEntries && *p == tagMap:
		return sameEntries(Map{p}, Map{q})
	case what == readEntries:
		return sameItems(Array{p}, Array{q})
	case what == readShape && *p == tagMap:
		return slices.Equal(Map{p}.Keys(), Map{q}.Keys())
	case what == readShape:
		return length(p) == length(q)
	}
	return true
}

// sameEntries compares what readEntries means of two maps.
func sameEntries(m, other Map) bool {
	mine, theirs := m.entries(), other.entries()
	for range min(mine.left, theirs.left) {
		key, v := mine.next(nil)
		otherKey, w := theirs.next(nil)
		if key != otherKey || !sameEntry(v, w, Apart(key)) {
			return false
		}
	}
	return mine.left == theirs.left
}

// sameItems compares what readEntries means of two arrays.
func sameItems(a, other Array) bool {
	mine, theirs := a.Reader(), other.Reader()
	for range min(mine.left, theirs.left) {
		v, w := mine.next, theirs.next
		mine.next, theirs.next = skip(v), skip(w)
		if !sameEntry(v, w, false) {
			return false
		}
	}
	return mine.left == theirs.left
}

func sameEntry(v, w *byte, apart bool) bool {
	switch {
	case *v >= tagArray || *w >= tagArray:
		return *v == *w
	case apart:
		return true
	}
	return string(block(v)) == string(block(w))
}

// hasMarksIn reports whether the next mark is of a value within that at p.
func (c *comparison) hasMarksIn(p *byte) bool {
	return len(c.marks) > 0 && c.marks[0] < distance(c.before, skip(p))*readKinds
}

// skipMarks drops the marks of values within that at p.
func (c *comparison) skipMarks(p *byte) {
	for c.hasMarksIn(p) {
		c.marks = c.marks[1:]
	}
}

// sameElements is same for the elements of two maps, or of two arrays, that have marks.
func (c *comparison) sameElements(p, q *byte) bool {
	if *p < tagArray {
		return false
	}
	e := elementsOf(p)
	v := e.first
	for i := 0; i < e.n && c.hasMarksIn(p); i++ {
		var key string
		if *p == tagMap {
			key, v = text(v)
		}
		if c.hasMarksIn(v) {
			there := counterpart(q, key, i)
			if there == nil || !c.same(v, there) {
				return false
			}
		}
		v = skip(v)
	}
	return !c.hasMarksIn(p)
}

// counterpart returns the address of the value of a key of the map, or of the element i of the array, at q; nil if there is none.
func counterpart(q *byte, key string, i int) *byte {
	switch {
	case *q == tagMap:
		return Map{q}.find(key)
	case i < length(q):
		return Array{q}.element(i)
	}
	return nil
}

// EqualBut reports whether two objects have equal entries, except for the keys for which ignore is true.
func (m Map) EqualBut(other Map, ignore func(key string) bool) bool {
	mine, theirs := m.entries(), other.entries()
	for {
		key, v := mine.next(ignore)
		otherKey, w := theirs.next(ignore)
		switch {
		case v == nil || w == nil:
			return v == nil && w == nil
		case key != otherKey || string(block(v)) != string(block(w)):
			return false
		}
	}
}

// entries are the entries of a map that are not read yet.
type entries struct {
	at   *byte
	left int
}

func (m Map) entries() entries {
	e := elementsOf(m.at)
	return entries{e.first, e.n}
}

// next returns the next key that is not ignored, and the address of its value; nil if there is none. A nil ignore ignores nothing.
func (e *entries) next(ignore func(key string) bool) (key string, v *byte) {
	for ; e.left > 0; e.left-- {
		key, v = text(e.at)
		if e.at = skip(v); ignore == nil || !ignore(key) {
			e.left--
			return key, v
		}
	}
	return "", nil
}
