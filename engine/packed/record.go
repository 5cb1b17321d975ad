package packed

import (
	"iter"
	"slices"
	"strings"
	"unsafe"

	"metascript/engine/tree"
)

// A Recorder records what is read of packed objects in one call of a script. Another version of an object, in which nothing of this is
// different, has the same effect on the call; see [Reads.Hold].
//
// The objects are read as [RecordedMap], which a script can use like a [Map]. A value is recorded by its offset in the block, so that
// a read costs a comparison with the few offsets that were recorded before. The zero value can be used. It is not safe for concurrent use.
type Recorder struct {
	maps   []RecordedMap // not used yet, as the following
	arrays []RecordedArray
	marks  []mark
}

// A Recording is what was read of one object so far.
type Recording struct {
	of    Map
	by    *Recorder
	whole bool
	reads Reads // its marks are not sorted
}

// Record begins to record the reads of an object.
func (r *Recorder) Record(of Map) *Recording { return &Recording{of: of, by: r} }

// Reads are what was read of an object. The zero value is nothing.
type Reads struct {
	marks  []mark // sorted, each once
	absent []absence
}

// A mark is a read of the value at an offset: the offset times 4, plus what was read.
type mark uint32

// What is read of a value.
const (
	readValue mark = iota // its type and, if it is neither a map nor an array, the value
	readShape             // the keys of a map, or the length of an array
	readWhole             // all of it
	readKinds = 4
)

// An absence is a read of a key that a map does not have.
type absence struct {
	offset mark // of the map, as in its marks of readValue
	key    string
}

// maxReads is how many reads of an object are recorded. With more of them, the whole object counts as read.
const maxReads = 64

// distance returns the offset of an address in the block that begins at start.
func distance(start, p *byte) mark {
	return mark(uintptr(unsafe.Pointer(p)) - uintptr(unsafe.Pointer(start)))
}

// mark records a read of the value at p.
func (r *Recording) mark(p *byte, what mark) {
	if r.whole {
		return
	}
	m := distance(r.of.at, p)*readKinds + what
	if slices.Contains(r.reads.marks, m) {
		return
	}
	switch n := len(r.reads.marks); {
	case n+len(r.reads.absent) == maxReads:
		r.all()
		return
	case n == 0:
		r.reads.marks = r.by.someMarks()
	}
	r.reads.marks = append(r.reads.marks, m)
}

// someMarks returns memory for the first marks of an object.
func (r *Recorder) someMarks() []mark {
	const each = 16
	if len(r.marks) == 0 {
		r.marks = make([]mark, 32*each)
	}
	some := r.marks[:0:each]
	r.marks = r.marks[each:]
	return some
}

// miss records that the map at p has no such key.
func (r *Recording) miss(p *byte, key string) {
	a := absence{distance(r.of.at, p) * readKinds, key}
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
	r.whole, r.reads = true, Reads{marks: []mark{readWhole}}
}

// Reads returns what was read of the object. It shares no memory with the Recording.
func (r *Recording) Reads() Reads {
	reads := Reads{slices.Clone(r.reads.marks), slices.Clone(r.reads.absent)}
	slices.Sort(reads.marks)
	for i := range reads.absent {
		reads.absent[i].key = strings.Clone(reads.absent[i].key)
	}
	return reads
}

// read returns the value at p, and records that it is read.
func (r *Recording) read(p *byte) any {
	r.mark(p, readValue)
	if r.whole {
		return read(p)
	}
	switch *p {
	case tagMap:
		return r.mapAt(p)
	case tagArray:
		a := next(&r.by.arrays)
		a.of, a.in = Array{p}, r
		return a
	}
	return read(p)
}

func (r *Recording) mapAt(p *byte) *RecordedMap {
	m := next(&r.by.maps)
	m.of, m.in = Map{p}, r
	return m
}

// next returns one of the values that are not used yet. They are allocated together.
func next[T any](unused *[]T) *T {
	if len(*unused) == 0 {
		*unused = make([]T, 64)
	}
	v := &(*unused)[0]
	*unused = (*unused)[1:]
	return v
}

// Map returns the object for reading.
func (r *Recording) Map() *RecordedMap { return r.mapAt(r.of.at) }

// A RecordedMap is a Map whose reads are recorded. It implements [tree.Map]; the maps and arrays in it are RecordedMaps and
// RecordedArrays, or Maps and Arrays if the whole object was read.
type RecordedMap struct {
	of Map
	in *Recording
}

// A RecordedArray is an Array whose reads are recorded.
type RecordedArray struct {
	of Array
	in *Recording
}

var (
	_ tree.Map   = (*RecordedMap)(nil)
	_ tree.Array = (*RecordedArray)(nil)
)

// Whole returns v with a Map or an Array in place of a RecordedMap or RecordedArray, and records that all of it is read.
func Whole(v any) any {
	switch v := v.(type) {
	case *RecordedMap:
		v.in.mark(v.of.at, readWhole)
		return v.of
	case *RecordedArray:
		v.in.mark(v.of.at, readWhole)
		return v.of
	}
	return v
}

// Unrecorded returns the Map, whose reads are not recorded.
func (m *RecordedMap) Unrecorded() Map { return m.of }

// Len returns the number of keys.
func (m *RecordedMap) Len() int {
	m.in.mark(m.of.at, readShape)
	return m.of.Len()
}

// Get returns the value of a key, and whether there is one.
func (m *RecordedMap) Get(key string) (any, bool) {
	p := m.of.find(key)
	if p == nil {
		m.in.miss(m.of.at, key)
		return nil, false
	}
	return m.in.read(p), true
}

// Keys returns the keys, in the order of their bytes.
func (m *RecordedMap) Keys() []string {
	m.in.mark(m.of.at, readShape)
	return m.of.Keys()
}

// All returns the keys and their values, in the order of the keys' bytes.
func (m *RecordedMap) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		m.in.mark(m.of.at, readShape)
		e := elementsOf(m.of.at)
		p := e.first
		for range e.n {
			key, v := text(p)
			if p = skip(v); !yield(key, m.in.read(v)) {
				return
			}
		}
	}
}

// Native returns a copy that can be changed.
func (m *RecordedMap) Native() any { return Whole(m).(Map).Native() }

// MarshalJSON implements json.Marshaler.
func (m *RecordedMap) MarshalJSON() ([]byte, error) { return Whole(m).(Map).MarshalJSON() }

// Len returns the number of elements.
func (a *RecordedArray) Len() int {
	a.in.mark(a.of.at, readShape)
	return a.of.Len()
}

// Index returns an element. It panics if there is none.
func (a *RecordedArray) Index(i int) any { return a.in.read(a.of.element(i)) }

// Native returns a copy that can be changed.
func (a *RecordedArray) Native() any { return Whole(a).(Array).Native() }

// MarshalJSON implements json.Marshaler.
func (a *RecordedArray) MarshalJSON() ([]byte, error) { return Whole(a).(Array).MarshalJSON() }

// Hold reports whether everything that was read of the object before is the same in the object now. It returns the same reads of now, so
// that before is not needed any more.
func (r Reads) Hold(before, now Map) (reads Reads, hold bool) {
	c := comparison{before: before.at, now: now.at, marks: r.marks, absent: r.absent}
	if !c.same(before.at, now.at) {
		return Reads{}, false
	}
	return c.moved, true
}

// A comparison compares what was read of an object with another one, in the order of the marks.
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
		if !sameRead(p, q, what) {
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
	case what == readShape && *p == tagMap:
		return slices.Equal(Map{p}.Keys(), Map{q}.Keys())
	case what == readShape:
		return length(p) == length(q)
	}
	return true
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
	e := elementsOf(p)
	v := e.first
	for i := 0; c.hasMarksIn(p); i++ {
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
	return true
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

// next returns the next key that is not ignored, and the address of its value; nil if there is none.
func (e *entries) next(ignore func(key string) bool) (key string, v *byte) {
	for ; e.left > 0; e.left-- {
		key, v = text(e.at)
		if e.at = skip(v); !ignore(key) {
			e.left--
			return key, v
		}
	}
	return "", nil
}
