// Package queue has the work queue of a controller: the parents to reconcile, each with the reasons why.
package queue

import (
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"metascript/controller/object"
	"metascript/controller/work"
)

// A Reason is a set of reasons for a reconcile. It is what the queue keeps of an event, for logs and for the order of keys.
type Reason uint16

// The reasons.
const (
	ParentChanged Reason = 1 << iota
	ChildChanged
	RelatedChanged
	Requested         // an annotation of the parent requests a reconcile
	ScriptChanged     // the script, or another field of the controller object, changed
	Resync            // resyncPeriodSeconds or resyncAfterSeconds have passed, or the server started
	Retry             // the previous reconcile failed
	CredentialChanged // a certificate or a credential of a webhook changed
	ClaimChanged      // an object that the parent may adopt, or has to release, changed
	Control           // the reconcile need not be done, and is done to compare its result with what is remembered
)

// urgentReasons are the reasons of urgent keys, which are returned before the others.
const urgentReasons = ParentChanged | ChildChanged | RelatedChanged | ClaimChanged | Requested

// String returns the names of the reasons, such as "parent,child".
func (r Reason) String() string {
	var names []string
	for i, name := range []string{"parent", "child", "related", "request", "script", "resync", "retry", "key", "claim", "control"} {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// The back-off of a parent begins with minBackoff, and doubles with each failure up to maxBackoff.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Minute
)

// A Queue has the parents to reconcile, each once and with the reasons why. Get returns urgent keys, which are those of parents
// that have changed or whose children or related objects have changed, before the others. Every ninth key is one of the others,
// so that they do not starve. Within both the order is first in, first out.
//
// The keys are copied, so that a key of an object does not keep the object in memory: it may be queued after a long time, and what is
// remembered of a parent has the key that Get returned.
//
// It is safe for concurrent use.
type Queue struct {
	*work.Queue[object.Ref]
	limiter workqueue.TypedRateLimiter[object.Ref]

	// mu guards the fields below. The order calls urgent, and the work.Queue calls due, with the lock of the pool held, so no method of
	// work.Queue may be called with mu held.
	mu    sync.Mutex
	now   map[object.Ref]Reason // the reasons of keys that are queued, or postponed
	later map[object.Ref]Reason // the reasons of keys that are added after a delay

	mostNow work.Most
}

// New returns a queue of a tenant's controller, whose keys workers of the pool process. If metrics is not nil, it gets the metrics of
// the queue, under name.
func New(pool *work.Pool, name, tenant string, metrics workqueue.MetricsProvider) *Queue {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[object.Ref](minBackoff, maxBackoff)
	q := &Queue{limiter: limiter, now: map[object.Ref]Reason{}, later: map[object.Ref]Reason{}}
	order := &priorityOrder{isUrgent: q.urgent, waiting: map[object.Ref]position{}}
	q.Queue = work.NewQueue(pool, work.Config[object.Ref]{Name: name, Tenant: tenant, Order: order, Limiter: limiter, Metrics: metrics, Due: q.due})
	return q
}

// Enqueue adds key to the queue.
func (q *Queue) Enqueue(key object.Ref, why Reason) {
	key = key.Clone()
	q.mu.Lock()
	q.now[key] |= why
	q.mu.Unlock()
	q.Add(key)
}

// EnqueueAfter adds key to the queue after wait. If the key is taken earlier for another reason, it is added nevertheless.
func (q *Queue) EnqueueAfter(key object.Ref, why Reason, wait time.Duration) {
	key = key.Clone()
	q.mu.Lock()
	q.later[key] |= why
	q.mu.Unlock()
	q.AddAfter(key, wait)
}

// Postpone adds key to the queue after wait, as EnqueueAfter does. Its reasons are those of the key from now on, so that a
// postponed key that is urgent is urgent again, also if it is queued earlier for another reason.
func (q *Queue) Postpone(key object.Ref, why Reason, wait time.Duration) {
	key = key.Clone()
	q.mu.Lock()
	q.now[key] |= why
	q.mu.Unlock()
	q.AddAfter(key, wait)
}

// Retry adds key to the queue after its back-off, or after wait if that is longer. The back-off doubles with each call until
// Forget. Retry returns how long it waits.
func (q *Queue) Retry(key object.Ref, wait time.Duration) time.Duration {
	wait = max(q.limiter.When(key), wait)
	q.EnqueueAfter(key, Retry, wait)
	return wait
}

// due is called when the time of a key that is added after a delay has come.
func (q *Queue) due(key object.Ref) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if why := q.later[key]; why != 0 {
		q.now[key] |= why
		delete(q.later, key)
	}
}

// Drop drops what is kept of a key that does not exist any more: its back-off, and the reasons of EnqueueAfter.
func (q *Queue) Drop(key object.Ref) {
	q.Forget(key)
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.later, key)
}

// Take returns and removes the reasons for a key that Get returned. Those of EnqueueAfter are among them once its time has come.
func (q *Queue) Take(key object.Ref) Reason {
	q.mu.Lock()
	defer q.mu.Unlock()
	why := q.now[key]
	delete(q.now, key)
	q.now = work.Emptied(q.now, &q.mostNow)
	return why
}

// Pending returns the reasons of a key that Take would return now.
func (q *Queue) Pending(key object.Ref) Reason {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.now[key]
}

// urgent reports whether a key has an urgent reason.
func (q *Queue) urgent(key object.Ref) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.now[key]&urgentReasons != 0
}

// A priorityOrder is the order of the keys of a Queue: two lists, of which the urgent one comes first. A key that becomes urgent
// while it waits is added to the urgent list; its item in the other list is skipped. It implements workqueue.Queue.
type priorityOrder struct {
	isUrgent func(object.Ref) bool
	urgent   fifo
	others   fifo
	waiting  map[object.Ref]position // the keys that wait; an item of a list with another number is skipped
	pushed   uint64                  // how many items were added so far
	popped   int                     // how many keys were returned since the last of others
	most     work.Most               // keys in waiting
}

// A position is the item of a key in one of the lists. Numbers are unique.
type position struct {
	number uint64
	urgent bool
}

// Touch is called for a key that is added while it waits.
func (o *priorityOrder) Touch(key object.Ref) {
	if !o.waiting[key].urgent && o.isUrgent(key) {
		o.push(key, true)
	}
}

// Push is called for a key that does not wait.
func (o *priorityOrder) Push(key object.Ref) { o.push(key, o.isUrgent(key)) }

func (o *priorityOrder) push(key object.Ref, urgent bool) {
	list := &o.others
	if urgent {
		list = &o.urgent
	}
	o.pushed++
	o.waiting[key] = position{o.pushed, urgent}
	*list = append(*list, fifoItem{key, o.pushed})
}

// Len returns how many keys wait.
func (o *priorityOrder) Len() int { return len(o.waiting) }

// maxUrgent is how many urgent keys are returned in a row while others wait, so that the others do not starve.
const maxUrgent = 8

// Pop returns and removes the next key. It is called only if Len is above zero.
func (o *priorityOrder) Pop() object.Ref {
	o.popped++
	for {
		list := &o.urgent
		if len(o.urgent) == 0 || len(o.others) > 0 && o.popped > maxUrgent {
			list = &o.others
		}
		next := list.pop()
		if o.waiting[next.key].number == next.number {
			delete(o.waiting, next.key)
			o.waiting = work.Emptied(o.waiting, &o.most)
			if list == &o.others {
				o.popped = 0
			}
			return next.key
		}
	}
}

// A fifoItem is a key and the number of its position.
type fifoItem struct {
	key    object.Ref
	number uint64
}

// A fifo is a list of keys, first in, first out.
type fifo []fifoItem

func (f *fifo) pop() fifoItem {
	next := (*f)[0]
	if *f = (*f)[1:]; len(*f) == 0 {
		*f = nil // it would keep the memory of the keys that it had
	}
	return next
}

// Probe locks and unlocks the locks of the queue, for a health check that detects a deadlock.
func (q *Queue) Probe() {
	q.Len()
	q.mu.Lock()
	defer q.mu.Unlock()
}

// Backoff returns the next back-off of key, which doubles with each call until Forget.
func (q *Queue) Backoff(key object.Ref) time.Duration { return q.limiter.When(key) }
