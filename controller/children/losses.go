package children

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// losses counts the children of a parent that somebody else has deleted. The cache may not show yet that the parent is deleted, and then it
// is most often the garbage collector, which deletes what is created again too. The zero value has none. It is safe for concurrent use.
type losses struct {
	mu   sync.Mutex // guards the fields below
	all  uint64
	ours map[types.UID]bool // the children that are deleted by a write of ours, until the cache shows it
}

// number returns how many there were.
func (l *losses) number() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

// deleting notes that a write of ours is about to delete a child.
func (l *losses) deleting(child types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ours == nil {
		l.ours = map[types.UID]bool{}
	}
	l.ours[child] = true
}

// kept notes that a write did not delete a child.
func (l *losses) kept(child types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.ours, child)
}

// Lose notes that the cache of a child does not have it any more. Any goroutine may call it.
func (m *Memory) Lose(child types.UID) {
	m.losses.mu.Lock()
	defer m.losses.mu.Unlock()
	if m.losses.ours[child] {
		delete(m.losses.ours, child)
		return
	}
	m.losses.all++
}

// getLive reads an object from the API server.
type getLive = func(context.Context, *object.Object) (*object.Object, error)

// mayCreate returns an error if ops would create children of a parent that does not exist any more. It reads the parent from the API
// server only if somebody else has deleted a child of it since it was read last, so that a first creation costs no request. lost is how many
// were deleted before the children were observed. If the read is not permitted, the children are created: otherwise they would be missing for ever. After any other error nothing is created, and the next
// reconcile reads again.
func (m *Memory) mayCreate(ctx context.Context, parent *object.Object, ops []plan.Op, lost uint64, get getLive) error {
	if lost == m.checked {
		return nil
	}
	if slices.ContainsFunc(ops, plan.Op.Creates) {
		live, err := get(ctx, parent)
		switch {
		case apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err):
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%s does not exist any more, and the cache does not show it yet: its children are not created again: %w", object.Describe(parent), kube.ErrRequeue)
		case err != nil:
			return fmt.Errorf("read %s before children that were deleted are created again: %w", object.Describe(parent), err)
		case live.GetUID() != parent.GetUID():
			return fmt.Errorf("%s is another object of the same name now, and the cache does not show it yet: the children of the one before are not created again: %w", object.Describe(parent), kube.ErrRequeue)
		case object.Deleting(live) && !object.Deleting(parent):
			return fmt.Errorf("%s is being deleted, and the cache does not show it yet: its children are not created again: %w", object.Describe(parent), kube.ErrRequeue)
		}
	}
	m.checked = lost
	return nil
}
