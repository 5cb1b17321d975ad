package children

import (
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/object"
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

// begin notes that a child of a parent is to be recreated, and reports whether it may be.
func (r *Replacements) begin(child *object.Object, parent *Memory) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if parent.replaced != nil || r.waitsLocked(child.GetNamespace()) {
		return false
	}
	if r.byNamespace == nil {
		r.byNamespace = map[string]replacement{}
	}
	of := replacement{object.RefOf(child).Clone(), object.UIDOf(child), time.Now().Add(replacementTimeout)}
	r.byNamespace[strings.Clone(child.GetNamespace())], parent.replaced = of, &of
	return true
}

// end notes that a child of a parent was not deleted, or exists again.
func (r *Replacements) end(child types.UID, parent *Memory) {
	of := parent.replaced
	if of == nil || of.uid != child {
		return
	}
	parent.replaced = nil
	r.mu.Lock()
	defer r.mu.Unlock()
	if namespace := of.child.Namespace; r.byNamespace[namespace].uid == child {
		delete(r.byNamespace, namespace)
	}
}

// observe ends the replacement of a parent if the child exists again, or is not desired any more.
func (r *Replacements) observe(observed, desired *object.Set, parent *Memory) {
	of := parent.replaced
	if of == nil {
		return
	}
	now := observed.Get(of.child.Kind, of.child.Key)
	if desired.Get(of.child.Kind, of.child.Key) == nil || now != nil && now.GetUID() != of.uid {
		r.end(of.uid, parent)
	}
}
