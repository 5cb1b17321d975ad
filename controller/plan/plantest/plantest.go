// Package plantest has a plan.Writer for tests.
package plantest

import (
	"context"
	"sync"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// A Recorder is a Writer that records operations and stores nothing. Fail, when it is set, says which fail and how.
type Recorder struct {
	Fail func(plan.Op) error

	mu      sync.Mutex // guards the fields below; Fail is called with it locked
	ops     []string
	written []*object.Object
}

// Do implements plan.Writer.
func (r *Recorder) Do(_ context.Context, op plan.Op) (*object.Object, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops, r.written = append(r.ops, string(op.Verb)+" "+object.Describe(op.Object)), append(r.written, op.Object)
	if r.Fail != nil {
		if err := r.Fail(op); err != nil {
			return nil, err
		}
	}
	return object.Copy(op.Object), nil
}

// Recorded are the operations so far, such as "update ConfigMap default/a".
func (r *Recorder) Recorded() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ops
}

// Written are the objects of the operations so far.
func (r *Recorder) Written() []*object.Object {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.written
}
