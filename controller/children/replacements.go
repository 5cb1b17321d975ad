package children

import (
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// Replacements are children, of all parents of a server, that were deleted to be recreated and for which a quota has room only in place of
// the deleted one. While there is one in a namespace, no other child of the namespace is recreated, since it could take the room. The zero
// value has none.
type Replacements struct {
	mu          sync.Mutex
	byNamespace map[string]replacement
}

// A replacement is a child that was deleted and is to exist again. Its parent waits for it, and other parents for replacementTimeout.
type replacement struct {
	child object.Ref
	uid   types.UID // of the deleted child
	until time.Time
}

// replacementTimeout is how long the children of other parents wait for one that does not exist again, such as because its parent was
// deleted, or because something else has taken the room.
const replacementTimeout = time.Minute

// tightPollInterval is after how long a child is looked at again while another one takes its place in a quota.
const tightPollInterval = time.Second

// waits reports whether no child of a namespace can be recreated now.
func (r *Replacements) waits(namespace string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waitsLocked(namespace)
}

func (r *Replacements) waitsLocked(namespace string) bool {
	now, found := r.byNamespace[namespace]
	if found && time.Now().After(now.until) {
		delete(r.byNamespace, namespace)
		found = false
	}
	return found
}

// begin notes that a child of a parent is to be recreated, and reports whether it may be. The parent must not wait for one of its own.
func (r *Replacements) begin(child *object.Object, parent *Memory) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waitsLocked(child.GetNamespace()) {
		return false
	}
	if r.byNamespace == nil {
		r.byNamespace = map[string]replacement{}
	}
	of := replacement{object.RefOf(child).Clone(), object.UIDOf(child), time.Now().Add(replacementTimeout)}
	r.byNamespace[of.child.Namespace] = of
	put(&parent.replaced, of.child.Namespace, of)
	return true
}

// waitsForOwn reports whether a child of the parent in a namespace is to exist again. Something else may have taken its room, which would
// also take that of the next one.
func (m *Memory) waitsForOwn(namespace string) bool {
	_, waits := m.replaced[namespace]
	return waits
}

// precedes reports whether a child of the parent is to exist again before another one is created in its namespace, for which it makes room.
func (r *Replacements) precedes(created *object.Object, parent *Memory) bool {
	of, found := parent.replaced[created.GetNamespace()]
	return found && of.child != object.RefOf(created) && r.waits(created.GetNamespace())
}

// end ends a replacement of a parent.
func (r *Replacements) end(of replacement, parent *Memory) {
	namespace := of.child.Namespace
	delete(parent.replaced, namespace)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byNamespace[namespace].uid == of.uid {
		delete(r.byNamespace, namespace)
	}
}

// failed notes that a write to a child of a parent has failed: it was not deleted, or cannot be created for another reason than a quota, whose
// error is Forbidden.
func (r *Replacements) failed(op plan.Op, err error, parent *Memory) {
	of, found := parent.replaced[op.Object.GetNamespace()]
	if found && of.child == object.RefOf(op.Object) && (of.uid == op.Object.GetUID() || op.Creates() && !apierrors.IsForbidden(err)) {
		r.end(of, parent)
	}
}

// observe ends the replacements of a parent whose children exist again, or are not desired any more.
func (r *Replacements) observe(observed, desired *object.Set, parent *Memory) {
	for _, of := range parent.replaced {
		now := observed.Get(of.child.Kind, of.child.Key)
		if desired.Get(of.child.Kind, of.child.Key) == nil || now != nil && now.GetUID() != of.uid {
			r.end(of, parent)
		}
	}
}
