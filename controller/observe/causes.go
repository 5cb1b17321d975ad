package observe

import (
	"strings"
	"sync"
	"time"

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/queue"
)

// Causes are the changes of objects because of which parents will be reconciled. They are kept from the event to the reconcile, beside
// the reasons in the queue, and keep no object in memory. They are safe for concurrent use. Nil Causes note nothing.
type Causes struct {
	mu  sync.Mutex
	all map[object.Ref]*noted
}

// noted are the changes for one parent.
type noted struct {
	causes []Cause // at most MaxCauses
	missed int     // how many more there were
}

// NewCauses returns Causes without any.
func NewCauses() *Causes { return &Causes{all: map[object.Ref]*noted{}} }

// A Note is a change of an object that is noted for parents: the fields that changed are found once for all of them.
type Note struct {
	causes *Causes
	cause  Cause
	found  bool
	old    *object.Object
	now    *object.Object
}

// Of returns the Note for a change from old to current, of which one may be nil.
func (c *Causes) Of(why queue.Reason, old, current *object.Object) *Note {
	return &Note{causes: c, cause: Cause{Reason: why}, old: old, now: current}
}

// For notes the change for a parent. It is called before the parent is queued.
func (n *Note) For(parent object.Ref) {
	if n.causes == nil {
		return
	}
	if !n.found {
		n.found = true
		n.find()
	}
	parent = parent.Clone()
	n.causes.mu.Lock()
	defer n.causes.mu.Unlock()
	of := n.causes.all[parent]
	if of == nil {
		of = &noted{}
		n.causes.all[parent] = of
	}
	if len(of.causes) == MaxCauses {
		of.missed++
		return
	}
	of.causes = append(of.causes, n.cause)
}

// find completes the cause.
func (n *Note) find() {
	n.cause.At = time.Now()
	switch {
	case n.old == nil:
		n.cause.Object, n.cause.Change = object.RefOf(n.now).Clone(), Created
	case n.now == nil:
		n.cause.Object, n.cause.Change = object.RefOf(n.old).Clone(), Deleted
	default:
		n.cause.Object, n.cause.Change = object.RefOf(n.now).Clone(), Changed
		for change := range plan.Changes(n.old, n.now) {
			if len(n.cause.Fields) == MaxFields {
				n.cause.More = true
				break
			}
			n.cause.Fields = append(n.cause.Fields, strings.Clone(change.Path)) // a path of one key is a part of the object
		}
	}
}

// Take returns and removes the changes for a parent, and how many more there were.
func (c *Causes) Take(parent object.Ref) (causes []Cause, missed int) {
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
	return of.causes, of.missed
}
