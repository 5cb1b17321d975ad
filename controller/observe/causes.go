package observe

import (
	"strings"
	"sync"
	"time"

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/queue"
	"metascript/controller/work"
)

// Causes are the changes of objects because of which parents will be reconciled. They are kept from the event to the reconcile, beside
// the reasons in the queue. They are safe for concurrent use. Nil Causes note nothing.
//
// Which fields have changed is found out when a reconcile is done, since many need not be. Until then both versions of the object are kept
// in memory; if these are more than maxHeld bytes in all, it is found out at once.
type Causes struct {
	mu   sync.Mutex // guards the fields below
	all  map[object.Ref]*noted
	most work.Most // parents in all
	held int       // bytes of the objects that are kept
}

// maxHeld is the limit in bytes for the objects that are kept in memory.
const maxHeld = 1 << 20

// noted are the changes for one parent.
type noted struct {
	notes  []*Note // at most MaxCauses
	missed int     // how many more there were
}

// NewCauses returns Causes without any.
func NewCauses() *Causes { return &Causes{all: map[object.Ref]*noted{}} }

// A Note is a change of an object that is noted for parents: the fields that changed are found once for all of them.
type Note struct {
	causes *Causes
	cause  Cause
	begun  bool
	size   int // in bytes, of both objects; 0: the fields need not be found
	users  int // the parents for which it is noted; the mutex of causes guards it

	find sync.Once // completes cause
	old  *object.Object
	now  *object.Object
}

// Of returns the Note for a change from old to current, of which one may be nil.
func (c *Causes) Of(why queue.Reason, old, current *object.Object) *Note {
	return &Note{causes: c, cause: Cause{Reason: why}, old: old, now: current}
}

// For notes the change for a parent. It is called before the parent is queued, by one goroutine.
func (n *Note) For(parent object.Ref) {
	c := n.causes
	if c == nil {
		return
	}
	if !n.begun {
		n.begin()
	}
	parent = parent.Clone()
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.all[parent]
	if of == nil {
		of = &noted{}
		c.all[parent] = of
	}
	if len(of.notes) == MaxCauses {
		of.missed++
		return
	}
	if n.users == 0 {
		if c.held+n.size > maxHeld {
			n.find.Do(n.fields)
			n.size = 0
		}
		c.held += n.size
	}
	n.users++
	of.notes = append(of.notes, n)
}

// begin sets what is known without a comparison. It keeps no object in memory.
func (n *Note) begin() {
	n.begun, n.cause.At = true, time.Now()
	switch {
	case n.old == nil:
		n.cause.Object, n.cause.Change = object.RefOf(n.now).Clone(), Created
	case n.now == nil:
		n.cause.Object, n.cause.Change = object.RefOf(n.old).Clone(), Deleted
	default:
		n.cause.Object, n.cause.Change = object.RefOf(n.now).Clone(), Changed
		n.size = sizeOf(n.old) + sizeOf(n.now)
		return
	}
	n.old, n.now = nil, nil
}

// sizeOf returns the size of an object in bytes; more than maxHeld if it is not packed, since it may be changed then.
func sizeOf(o *object.Object) int {
	if o.Packed().IsZero() {
		return maxHeld + 1
	}
	return o.Packed().Size()
}

// fields finds the fields that changed.
func (n *Note) fields() {
	if n.old == nil || n.now == nil {
		return
	}
	for change := range plan.Changes(n.old, n.now) {
		if len(n.cause.Fields) == MaxFields {
			n.cause.More = true
			break
		}
		n.cause.Fields = append(n.cause.Fields, strings.Clone(change.Path)) // a path of one key is a part of the object
	}
	n.old, n.now = nil, nil
}

// Take returns and removes the changes for a parent, and how many more there were.
func (c *Causes) Take(parent object.Ref) (causes []Cause, missed int) {
	notes, missed := c.remove(parent)
	for _, n := range notes {
		n.find.Do(n.fields)
		causes = append(causes, n.cause)
	}
	return causes, missed
}

// Drop removes the changes for a parent, which need not be reconciled.
func (c *Causes) Drop(parent object.Ref) { c.remove(parent) }

func (c *Causes) remove(parent object.Ref) (notes []*Note, missed int) {
	if c == nil {
		return nil, 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.all[parent]
	if of == nil {
		return nil, 0
	}
	delete(c.all, parent)
	c.all = work.Emptied(c.all, &c.most)
	for _, n := range of.notes {
		if n.users--; n.users == 0 {
			c.held -= n.size
		}
	}
	return of.notes, of.missed
}
