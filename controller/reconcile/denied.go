package reconcile

import (
	"cmp"
	"sync"

	"metascript/controller/kube"
	"metascript/controller/object"
)

// denials are the parents whose last reconcile failed since the API server did not permit something. They are told of
// in a condition of the controller, since it is most often the server's role that lacks a verb. It is safe for
// concurrent use.
type denials struct {
	notify func() // called when there is a first one, and when there is none any more

	mu      sync.Mutex
	parents map[object.Ref]error
}

func newDenials(notify func()) *denials {
	return &denials{notify: notify, parents: map[object.Ref]error{}}
}

// note takes what came of a parent's reconcile.
func (d *denials) note(parent object.Ref, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := len(d.parents)
	if denied := kube.Forbidden(err); denied != nil {
		d.parents[parent] = denied
	} else {
		delete(d.parents, parent)
	}
	if after := len(d.parents); after != before && after+before == 1 {
		d.notify()
	}
}

// sum gives how many parents there are, one of them, and its error. It is the same one as long as there are the same.
func (d *denials) sum() Denied {
	d.mu.Lock()
	defer d.mu.Unlock()
	sum := Denied{Parents: len(d.parents)}
	for parent, err := range d.parents {
		if sum.Err == nil || cmp.Less(parent.String(), sum.First.String()) {
			sum.First, sum.Err = parent, err
		}
	}
	return sum
}

// A denial says for how many parents something was not permitted, and what for one of them.
type Denied struct {
	Parents int
	First   object.Ref
	Err     error
}
