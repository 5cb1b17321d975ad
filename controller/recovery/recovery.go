// Package recovery decides when parents are reconciled again that failed of a cause that they share, such as a kind that is not served
// or a quota that is exceeded.
//
// Each parent has a back-off of its own, which may be minutes when the cause has lasted for some time. So that all of them recover soon
// after the cause is gone, and a cause that lasts costs little, one parent of those with the same cause is tried in turn, after a twentieth of
// the time for which the cause has lasted. When a parent does not fail any more, two others are tried at once. Each of these
// that does not fail either has two more tried, so that the number grows like that of a slow start of TCP (RFC 5681, section 3.1), and
// ends with the first failure.
//
// Nothing here waits or reads a clock.
package recovery

import (
	"container/list"
	"sync"
	"time"

	"metascript/controller/object"
)

// The time until the next parent with the same cause is tried is a twentieth of the time since the first one failed, within these limits.
// With more than manyCauses the limits grow with their number: a cause is that of one namespace, and there may be thousands.
const (
	minInterval = time.Second
	maxInterval = 15 * time.Second
	share       = 20
	manyCauses  = 10
)

// apart is the time between the parents of different causes that are tried because something has changed.
const apart = 20 * time.Millisecond

// atOnce is how many parents are tried when one does not fail any more.
const atOnce = 2

// A Tracker has the parents of a controller that failed of a cause. The zero value has none. It is safe for concurrent use.
type Tracker struct {
	mu      sync.Mutex
	groups  map[string]*group
	parents map[object.Ref]*failed
}

// A group has the parents with the same cause.
type group struct {
	cause string
	order list.List // of *failed: the one that was tried longest ago first
	since time.Time // the first one failed
	next  time.Time // when the next one is tried
	tried object.Ref
}

// A failed is a parent that failed.
type failed struct {
	parent object.Ref
	group  *group
	place  *list.Element
	until  time.Time // the end of its own back-off
}

// A Try says that a parent is to be reconciled after some time, or earlier if it is queued already.
type Try struct {
	Parent object.Ref
	After  time.Duration
}

// Failed notes that a parent failed of a cause. It returns after which time the parent is reconciled again, and the other parent that is
// tried next, if it is not known yet. backoff returns the next back-off of the parent. It is called once for each back-off: failures in
// between, because of events, do not double it.
func (t *Tracker) Failed(parent object.Ref, cause string, now time.Time, backoff func() time.Duration) (wait time.Duration, others []Try) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.parents[parent]
	if f == nil || f.group.cause != cause {
		others = t.leave(f)
		f = t.add(parent, cause, now)
	}
	g := f.group
	g.order.MoveToBack(f.place)
	if !now.Before(f.until) {
		f.until = now.Add(backoff())
	}
	wait = f.until.Sub(now)
	if now.Before(g.next) {
		return wait, others
	}
	causes := time.Duration(max(1, len(t.groups)/manyCauses))
	interval := min(max(now.Sub(g.since)/share, causes*minInterval), causes*maxInterval)
	g.next = now.Add(interval)
	first := g.first()
	if g.tried = first.parent; first.parent == parent {
		return min(wait, interval), others
	}
	return wait, append(others, Try{first.parent, interval})
}

func (t *Tracker) add(parent object.Ref, cause string, now time.Time) *failed {
	if t.groups == nil {
		t.groups, t.parents = map[string]*group{}, map[object.Ref]*failed{}
	}
	g := t.groups[cause]
	if g == nil {
		g = &group{cause: cause, since: now}
		t.groups[cause] = g
	}
	f := &failed{parent: parent, group: g}
	f.place = g.order.PushBack(f)
	t.parents[parent] = f
	return f
}

// first returns the parent that was tried longest ago, and moves it behind the others.
func (g *group) first() *failed {
	f := g.order.Front().Value.(*failed)
	g.order.MoveToBack(f.place)
	return f
}

// Succeeded notes that a parent was reconciled without an error. It returns the parents that are tried because of that.
func (t *Tracker) Succeeded(parent object.Ref) (others []Try) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.parents[parent]
	if f == nil {
		return nil
	}
	t.drop(f)
	for range min(atOnce, f.group.order.Len()) {
		others = append(others, Try{Parent: f.group.first().parent})
	}
	return others
}

// OfEach returns one parent of each cause, to be tried because something has changed.
func (t *Tracker) OfEach() (some []Try) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.groups {
		some = append(some, Try{Parent: g.first().parent, After: time.Duration(len(some)) * apart})
	}
	return some
}

// Forget drops a parent, which says nothing about its cause. If it was the one that is tried, it returns another one in its place.
func (t *Tracker) Forget(parent object.Ref) (others []Try) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.leave(t.parents[parent])
}

func (t *Tracker) leave(f *failed) (others []Try) {
	t.drop(f)
	if f == nil || f.group.tried != f.parent || f.group.order.Len() == 0 {
		return nil
	}
	next := f.group.first().parent
	f.group.tried = next
	return []Try{{next, minInterval}}
}

func (t *Tracker) drop(f *failed) {
	if f == nil {
		return
	}
	delete(t.parents, f.parent)
	if f.group.order.Remove(f.place); f.group.order.Len() == 0 {
		delete(t.groups, f.group.cause)
	}
}
