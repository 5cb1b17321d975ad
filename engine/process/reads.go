package process

import (
	"slices"

	"metascript/engine/packed"
	"metascript/engine/tree"
)

// If objects of a request are recorded, see [packed.Recorder], the worker records what the script reads of the same objects, and sends it
// with the answer. All objects that it has stored can be recorded; others in the request count as read.

// maxSentReads is how many bytes the reads of an object may have. With more, the whole object counts as read.
const maxSentReads = 1 << 10

// unrecorded returns a packed object, which may be recorded.
func unrecorded(v any) (object packed.Map, ok bool) {
	switch v := v.(type) {
	case packed.Map:
		return v, true
	case packed.RecordedMap:
		return v.Unrecorded(), true
	}
	return packed.Map{}, false
}

// record notes that the worker has to record the reads of an object, if v is recorded.
func (e *encoder) record(o *sentObject, v any) {
	m, ok := v.(packed.RecordedMap)
	if !ok {
		return
	}
	recording := m.Recording()
	if o == nil || recording == nil || e.recordings[o.number] != nil { // a part of an object, or an object that is there twice
		m.Whole()
		return
	}
	if e.recordings == nil {
		e.recordings = make(map[uint64]*packed.Recording, len(e.sent.objects))
	}
	e.recordings[o.number] = recording
}

// recordedObjects are the objects in a request whose reads a worker records. A nil *recordedObjects records nothing.
type recordedObjects struct {
	recorder packed.Recorder
	objects  []recordedObject
}

// A recordedObject is a stored object. One that is in a request twice is recorded twice.
type recordedObject struct {
	number    uint64
	recording *packed.Recording
}

// of returns an object that is stored with a number, so that its reads are recorded if it is packed.
func (r *recordedObjects) of(number uint64, v any) any {
	object, ok := v.(packed.Map)
	if r == nil || !ok {
		return v
	}
	recording := r.recorder.Record(object)
	r.objects = append(r.objects, recordedObject{number, recording})
	return recording.Map()
}

// ofGroup returns a group whose objects are recorded.
func (r *recordedObjects) ofGroup(kept *keptObjects, g *tree.Sorted) *tree.Sorted {
	if r == nil {
		return g
	}
	r.objects = slices.Grow(r.objects, g.Len())
	return g.Map(func(v any) any { return r.of(kept.packed[v.(packed.Map)].number, v) })
}

// reads writes what was read of the objects.
func (e *encoder) reads(r *recordedObjects) {
	read := make([]packed.Reads, len(r.objects))
	n := 0
	for i, o := range r.objects {
		if read[i] = o.recording.Reads(); !read[i].None() {
			n++
		}
	}
	e.uint(uint64(n))
	var buf []byte
	for i, o := range r.objects {
		if read[i].None() {
			continue
		}
		if buf = read[i].Append(buf[:0]); len(buf) > maxSentReads {
			buf = packed.Everything.Append(buf[:0])
		}
		e.uint(o.number)
		e.uint(uint64(len(buf)))
		e.buf = append(e.buf, buf...)
	}
}

// reads reads what was read of objects, and adds it to their recordings. The worker is not trusted: if it lies, its own owner gets an answer that is
// too old.
func (d *decoder) reads(recordings map[uint64]*packed.Recording) {
	for range d.count() {
		number, reads := d.uint(), d.text()
		if recording := recordings[number]; recording != nil && recording.Add(reads) != nil {
			d.fail()
		}
	}
}
