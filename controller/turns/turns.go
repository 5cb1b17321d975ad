// Package turns shares memory between parents that have turns.
package turns

import (
	"slices"
	"sync"
	"time"

	"metascript/controller/object"
)

// A Memory is memory that parents use for some time, each a part of it. Nobody waits for a part: an asker that gets none drops what it has, and is
// reconciled again later. So what waits uses no memory, and is not out of date.
//
// Those that got no part have their turn in the order in which they asked first. When it comes, what they need is kept for them for some time, and
// they are reconciled at once. The sharers are tenants, or controllers without one: each can have half of the Memory, and what waits for a part of its
// own sharer does not delay the others. It is safe for concurrent use.
type Memory struct {
	Size int64 // in bytes; it does not change

	mu      sync.Mutex // guards the fields below
	sum     int64
	held    map[string]int64 // by sharer; what is kept is held too
	waiting []*waiting       // in their turns
	askers  sync.Map         // map[Asker]bool: those that wait; read without mu, since most reconciles ask whether their parent does
}

// An Asker is a parent of a controller.
type Asker struct {
	Of     Reconciler
	Parent object.Ref
}

// A Reconciler has a parent reconciled now. It does not wait, and its type is comparable.
type Reconciler interface{ RetryNow(parent object.Ref) }

// A Request is for a part of N bytes.
type Request struct {
	Asker
	Sharer string
	N      int64         // at most Most
	Took   time.Duration // how long it took from the begin of the reconcile to this request
}

// A waiting Request got no part yet.
type waiting struct {
	Request
	kept bool      // its part is kept,
	end  time.Time // until then
	late bool      // its part was kept, and it did not come: it has its turn again when it comes
}

// A part is kept for keptFor, and for twice the time that the last reconcile took until it asked, up to mostKept.
const (
	keptFor  = 10 * time.Second
	mostKept = time.Minute
)

// Most returns how much a sharer can have.
func (m *Memory) Most() int64 { return m.Size / 2 }

// Held returns how much is used or kept.
func (m *Memory) Held() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sum
}

// Take takes a part. It reports false if there is none; then the asker is reconciled when it can have one.
func (m *Memory) Take(r Request) bool {
	m.mu.Lock()
	defer m.wake()
	defer m.mu.Unlock()
	turn := slices.IndexFunc(m.waiting, func(w *waiting) bool { return w.Asker == r.Asker })
	if turn < 0 {
		turn = len(m.waiting)
		m.waiting = append(m.waiting, &waiting{})
	}
	w := m.waiting[turn]
	uses := w.kept && w.N >= r.N
	m.free(w)
	if w.Request, w.late = r, false; !uses && !m.fits(turn) && !m.takesFrom(turn) {
		m.askers.Store(r.Asker, true)
		return false
	}
	m.waiting = slices.Delete(m.waiting, turn, turn+1)
	m.askers.Delete(r.Asker)
	m.hold(r.Sharer, r.N)
	return true
}

// takesFrom reports whether what waits in this turn fits in the parts that are kept for those behind it, and frees these. So if all come later than
// their parts are kept, each that comes gets a part nevertheless.
func (m *Memory) takesFrom(turn int) bool {
	var freed []*waiting
	for _, w := range slices.Backward(m.waiting[turn+1:]) {
		if !w.kept {
			continue
		}
		m.free(w)
		if freed = append(freed, w); m.fits(turn) {
			return true
		}
	}
	for _, w := range freed {
		m.hold(w.Sharer, w.N)
		w.kept = true
	}
	return false
}

// free ends that the part of w is kept.
func (m *Memory) free(w *waiting) {
	if w.kept {
		m.hold(w.Sharer, -w.N)
		w.kept = false
	}
}

// fits reports whether what waits in this turn can have its part.
func (m *Memory) fits(turn int) bool {
	q := queueOf{m: m}
	for _, w := range m.waiting[:turn] {
		q.pass(w)
	}
	return q.fits(m.waiting[turn])
}

// A queueOf has those that have their turns before another one: what they need stays free.
type queueOf struct {
	m       *Memory
	needed  int64
	sharers map[string]bool
}

// pass adds the next one.
func (q *queueOf) pass(w *waiting) {
	if w.kept || w.late {
		return
	}
	if !q.sharers[w.Sharer] && q.m.held[w.Sharer]+w.N <= q.m.Most() {
		q.needed += w.N
	}
	if q.sharers == nil {
		q.sharers = map[string]bool{}
	}
	q.sharers[w.Sharer] = true // its others wait for this one
}

// fits reports whether w can have its part after them.
func (q *queueOf) fits(w *waiting) bool {
	return !q.sharers[w.Sharer] && q.m.held[w.Sharer]+w.N <= q.m.Most() && q.m.sum+q.needed+w.N <= q.m.Size
}

func (m *Memory) hold(sharer string, n int64) {
	if m.held == nil {
		m.held = map[string]int64{}
	}
	m.sum += n
	if m.held[sharer] += n; m.held[sharer] == 0 {
		delete(m.held, sharer)
	}
}

// GiveBack gives back a part.
func (m *Memory) GiveBack(sharer string, n int64) {
	m.mu.Lock()
	m.hold(sharer, -n)
	m.mu.Unlock()
	m.wake()
}

// forget drops what waits and of which gone is true.
func (m *Memory) forget(gone func(Asker) bool) {
	m.mu.Lock()
	before := len(m.waiting)
	m.waiting = slices.DeleteFunc(m.waiting, func(w *waiting) bool {
		is := gone(w.Asker)
		if is {
			m.free(w)
			m.askers.Delete(w.Asker)
		}
		return is
	})
	fewer := len(m.waiting) < before
	m.mu.Unlock()
	if fewer {
		m.wake()
	}
}

// wake keeps parts for those whose turn has come, and has them reconciled.
func (m *Memory) wake() {
	m.mu.Lock()
	var woken []Asker
	q := queueOf{m: m}
	for _, w := range m.waiting {
		if !w.kept && !w.late && q.fits(w) {
			m.hold(w.Sharer, w.N)
			keep := min(keptFor+2*w.Took, mostKept)
			w.kept, w.end = true, time.Now().Add(keep)
			woken = append(woken, w.Asker)
			time.AfterFunc(keep, func() { m.expire(w) })
		}
		q.pass(w)
	}
	m.mu.Unlock()
	for _, a := range woken {
		a.Of.RetryNow(a.Parent)
	}
}

// expire gives the part of w to others if it is still kept. w keeps its place: the server may be busy.
func (m *Memory) expire(w *waiting) {
	m.mu.Lock()
	if w.kept && !time.Now().Before(w.end) {
		m.free(w)
		w.late = true
	}
	m.mu.Unlock()
	m.wake()
}

// Forget drops the Request of a parent.
func (m *Memory) Forget(asker Asker) {
	if _, waits := m.askers.Load(asker); waits {
		m.forget(func(a Asker) bool { return a == asker })
	}
}

// ForgetAll drops the Requests of a controller that has ended.
func (m *Memory) ForgetAll(of Reconciler) { m.forget(func(a Asker) bool { return a.Of == of }) }
