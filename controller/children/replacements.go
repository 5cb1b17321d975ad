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

type replacement struct {
	child  object.Ref
	uid    types.UID // of the deleted child
	parent *Memory
	until  time.Time
}

// replacementTimeout is how long other children wait for one that does not exist again, such as because its parent was deleted.
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
	if r.waitsLocked(child.GetNamespace()) {
		return false
	}
	if r.byNamespace == nil {
		r.byNamespace = map[string]replacement{}
	}
	r.byNamespace[strings.Clone(child.GetNamespace())] = replacement{object.RefOf(child).Clone(), object.UIDOf(child), parent, time.Now().Add(replacementTimeout)}
	return true
}

// abandon notes that a child was not deleted.
func (r *Replacements) abandon(child *object.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byNamespace[child.GetNamespace()].uid == child.GetUID() {
		delete(r.byNamespace, child.GetNamespace())
	}
}

// observe ends the replacements of a parent whose children exist again, or are not desired any more, and those that took too long.
func (r *Replacements) observe(observed, desired *object.Set, parent *Memory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for namespace, of := range r.byNamespace {
		ended := time.Now().After(of.until)
		if of.parent == parent && !ended {
			now := observed.Get(of.child.Kind, of.child.Key)
			ended = desired.Get(of.child.Kind, of.child.Key) == nil || now != nil && now.GetUID() != of.uid
		}
		if ended {
			delete(r.byNamespace, namespace)
		}
	}
}
