package object

import (
	"slices"

	"metascript/engine/packed"
)

// A Recorder records what a script reads of the objects in its request. A nil *Recorder records nothing. It is not safe for concurrent
// use.
type Recorder struct {
	by packed.Recorder

	// What was read of the objects so far. An object may be in more than one of them.
	Parents           []Recorded // one, or none if there was no request
	Children, Related []Recorded

	// Whole says that all of the objects count as read, and OnlyParent that all of those other than the parent do.
	Whole, OnlyParent bool

	// Incomplete is true if not all reads are recorded: an object is not packed, or they are forgotten.
	Incomplete bool
}

// Recorded is an object whose reads are recorded.
type Recorded struct {
	*Object
	reads *packed.Recording
}

// Reads returns what was read of it. The script must have ended.
func (r Recorded) Reads() packed.Reads { return r.reads.Reads() }

// Parent returns the Value of the parent for a request.
func (r *Recorder) Parent(o *Object) any {
	if r == nil {
		return o.Value()
	}
	return r.value(o, &r.Parents, r.Whole)
}

// Child is the same for a child.
func (r *Recorder) Child(o *Object) any {
	if r == nil {
		return o.Value()
	}
	return r.value(o, &r.Children, r.Whole || r.OnlyParent)
}

// Relate is the same for a related object.
func (r *Recorder) Relate(o *Object) any {
	if r == nil {
		return o.Value()
	}
	return r.value(o, &r.Related, r.Whole || r.OnlyParent)
}

func (r *Recorder) value(o *Object, of *[]Recorded, whole bool) any {
	if !o.isPacked() {
		r.Incomplete = true
		return o.Value()
	}
	reads := r.by.Record(o.packed)
	*of = append(*of, Recorded{o, reads})
	if whole {
		return reads.Map().Whole()
	}
	return reads.Map()
}

// Forget drops what was recorded: the answer will be that of something else than the script, which may still run.
func (r *Recorder) Forget() {
	if r != nil {
		r.Parents, r.Children, r.Related, r.Incomplete = nil, nil, nil, true
	}
}

// ReadsTheSame reports whether it is known that the script reads the same of its parent if that is now, also as a related object. The
// script must have ended.
func (r *Recorder) ReadsTheSame(now *Object) bool {
	if r == nil || len(r.Parents) != 1 {
		return false
	}
	content, err := packed.Pack(now.Map())
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(slices.Concat(r.Parents, r.Related), func(o Recorded) bool {
		_, same := o.Reads().Hold(o.packed, content)
		return o.GetUID() == now.GetUID() && !same
	})
}
