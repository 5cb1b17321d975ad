package reconcile

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/queue"
	"metascript/engine/tree"
)

// A planMemory is the memory for the plans of large answers of all controllers of a server, so that many answers with thousands of children
// are not planned at the same time. It does not know how much a plan uses: it counts what sizeOfPlan estimates. A plan has its part from when
// there is an answer to the end of the reconcile. Nobody waits for a part: an answer that gets none is dropped, and the parent is reconciled
// again later. So what waits uses no memory, and is not out of date.
//
// Those that got no part have their turn in the order in which they asked first. When it comes, what they need is kept for them for some time, and
// they are reconciled at once. The sharers are tenants, or controllers without one: what waits for a part of its own sharer does not delay the
// others.
type planMemory struct {
	mu      sync.Mutex // guards the fields below
	sum     int64
	held    map[string]int64 // by sharer; what is kept is held too
	waiting []*waiting       // in their turns
	some    atomic.Bool      // there are some
}

// An asker asks for a part: a parent of a Reconciler.
type asker struct {
	of     *Reconciler
	parent object.Ref
}

// A request for a part, of n bytes.
type request struct {
	asker
	sharer string
	n      int64
	took   time.Duration // how long it took from the begin of the reconcile to this request
}

// A waiting request got no part yet.
type waiting struct {
	request
	kept bool      // its part is kept,
	end  time.Time // until then
	late bool      // its part was kept, and it did not come: it has its turn again when it comes
}

// plansMemory is the size of a planMemory in bytes. A sharer can have half of it. A larger plan, with about 14,000 small children, counts as
// one of this size.
const (
	plansMemory  = 128 << 20
	mostOfSharer = plansMemory / 2
)

// A part is kept for keptFor, and for twice the time that the last reconcile took until it asked, up to mostKept.
const (
	keptFor  = 10 * time.Second
	mostKept = time.Minute
)

// smallAnswer is the estimated size of the plan of an answer that is not large. It has about 300 small children.
const smallAnswer = 1 << 20

// take takes a part of at most mostOfSharer. It reports false if there is none; then the asker is reconciled when it can have one.
func (p *planMemory) take(r request) bool {
	p.mu.Lock()
	defer p.wake()
	defer p.mu.Unlock()
	turn := slices.IndexFunc(p.waiting, func(w *waiting) bool { return w.asker == r.asker })
	if turn < 0 {
		turn = len(p.waiting)
		p.waiting = append(p.waiting, &waiting{})
	}
	w := p.waiting[turn]
	uses := w.kept && w.n >= r.n
	p.free(w)
	if w.request, w.late = r, false; !uses && !p.fits(turn) {
		p.some.Store(true)
		return false
	}
	p.waiting = slices.Delete(p.waiting, turn, turn+1)
	p.hold(r.sharer, r.n)
	return true
}

// free ends that the part of w is kept.
func (p *planMemory) free(w *waiting) {
	if w.kept {
		p.hold(w.sharer, -w.n)
		w.kept = false
	}
}

// fits reports whether what waits in this turn can have its part.
func (p *planMemory) fits(turn int) bool {
	q := queueOf{p: p}
	for _, w := range p.waiting[:turn] {
		q.pass(w)
	}
	return q.fits(p.waiting[turn])
}

// A queueOf has those that have their turns before another one: what they need stays free.
type queueOf struct {
	p       *planMemory
	needed  int64
	sharers map[string]bool
}

// pass adds the next one.
func (q *queueOf) pass(w *waiting) {
	if w.kept || w.late {
		return
	}
	if q.sharers == nil {
		q.sharers = map[string]bool{}
	}
	if q.sharers[w.sharer] = true; q.p.held[w.sharer]+w.n <= mostOfSharer {
		q.needed += w.n
	}
}

// fits reports whether w can have its part after them.
func (q *queueOf) fits(w *waiting) bool {
	return !q.sharers[w.sharer] && q.p.held[w.sharer]+w.n <= mostOfSharer && q.p.sum+q.needed+w.n <= plansMemory
}

func (p *planMemory) hold(sharer string, n int64) {
	if p.held == nil {
		p.held = map[string]int64{}
	}
	p.sum += n
	if p.held[sharer] += n; p.held[sharer] == 0 {
		delete(p.held, sharer)
	}
}

// giveBack gives back a part.
func (p *planMemory) giveBack(sharer string, n int64) {
	p.mu.Lock()
	p.hold(sharer, -n)
	p.mu.Unlock()
	p.wake()
}

// forget drops what waits and of which gone is true.
func (p *planMemory) forget(gone func(asker) bool) {
	if !p.some.Load() {
		return // as after most reconciles
	}
	p.mu.Lock()
	p.waiting = slices.DeleteFunc(p.waiting, func(w *waiting) bool {
		is := gone(w.asker)
		if is {
			p.free(w)
		}
		return is
	})
	p.mu.Unlock()
	p.wake()
}

// wake keeps parts for those whose turn has come, and has them reconciled.
func (p *planMemory) wake() {
	p.mu.Lock()
	var woken []*waiting
	q := queueOf{p: p}
	for _, w := range p.waiting {
		if !w.kept && !w.late && q.fits(w) {
			p.hold(w.sharer, w.n)
			keep := min(keptFor+2*w.took, mostKept)
			w.kept, w.end = true, time.Now().Add(keep)
			woken = append(woken, w)
			time.AfterFunc(keep, func() { p.expire(w) })
		}
		q.pass(w)
	}
	p.some.Store(len(p.waiting) > 0)
	p.mu.Unlock()
	for _, w := range woken {
		w.of.queue.Enqueue(w.parent, queue.Retry)
	}
}

// expire gives the part of w to others if it is still kept. w keeps its place: the server may be busy.
func (p *planMemory) expire(w *waiting) {
	p.mu.Lock()
	if w.kept && !time.Now().Before(w.end) {
		p.free(w)
		w.late = true
	}
	p.mu.Unlock()
	p.wake()
}

// A large is the part of one reconcile. The zero value has none.
type large struct {
	size  int64 // of the plan, as estimated; zero if it is small, or if there is no answer
	held  int64
	waits bool // it got none
}

// errLargeAnswers is the error of a reconcile whose answer is dropped.
var errLargeAnswers = errors.New("the answer is large, and the plans of other large answers use the memory for them: it is tried again")

// takeMemory takes a part for the plan of an answer, if it is large.
func (c *reconciliation) takeMemory(response *hook.Response) error {
	size := sizeOfPlan(response.Children)
	if size <= smallAnswer {
		return nil
	}
	c.large.size = size
	r := request{asker{c.Reconciler, c.key}, c.binding.Sharer(), min(size, mostOfSharer), time.Since(c.began)}
	if c.large.waits = !c.shared.plans.take(r); c.large.waits {
		return kube.Requeue(errLargeAnswers)
	}
	c.large.held = r.n
	return nil
}

// giveBackMemory gives back what takeMemory has taken. A parent that did not ask, since its answer is another one, waits no more.
func (c *reconciliation) giveBackMemory() {
	switch {
	case c.large.held > 0:
		c.shared.plans.giveBack(c.binding.Sharer(), c.large.held)
		c.large.held = 0
	case !c.large.waits:
		c.shared.plans.forgetParent(c.Reconciler, c.key)
	}
}

// forgetParent drops the request of a parent.
func (p *planMemory) forgetParent(of *Reconciler, parent object.Ref) {
	p.forget(func(a asker) bool { return a == asker{of, parent} })
}

// retriedPerSecond is how much of the plans of large answers, in bytes, a parent may cause in a second by retries of a reconcile that fails.
// So an answer with 16,000 children is retried after about 10 seconds at the earliest, since each retry takes about half a second of CPU time.
// It does not depend on the time that a reconcile took, which is longer on a server that is busy.
const retriedPerSecond = 8 << 20

// delayOf returns after which time a reconcile that failed is retried at the earliest, by the size of its plan: at most a minute.
func delayOf(size int64) time.Duration {
	return time.Duration(min(size, 60*retriedPerSecond)) * time.Second / retriedPerSecond
}

// sizeOfPlan estimates how much memory a plan of these children needs, in bytes: there are three copies of each, and what is noted of them.
func sizeOfPlan(children *object.Set) (n int64) {
	const noted = 1 << 10
	for o := range children.All() {
		n += noted + 3*sizeOf(o.Value())
	}
	return n
}

// sizeOf estimates the memory of a value, which is decoded JSON.
func sizeOf(v any) int64 {
	const ofValue, ofMap, ofEntries, ofEntry = 16, 48, 300, 40
	n := int64(ofValue)
	begin := func(entries int) {
		if n += ofMap; entries > 0 {
			n += ofEntries
		}
	}
	entry := func(key string, value any) { n += ofEntry + int64(len(key)) + sizeOf(value) }
	switch v := v.(type) {
	case string:
		n += int64(len(v))
	case map[string]any: // in no order, which tree.Map would have to make
		begin(len(v))
		for key, value := range v {
			entry(key, value)
		}
	case tree.Map:
		begin(v.Len())
		for key, value := range v.All() {
			entry(key, value)
		}
	default:
		if a, is := tree.ArrayOf(v); is {
			for i := range a.Len() {
				n += sizeOf(a.Index(i))
			}
		}
	}
	return n
}
