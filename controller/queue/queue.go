package queue

import (
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"metascript/controller/object"
	"metascript/controller/work"
)

// A Reason is a set of causes for a reconcile. The event itself is forgotten once its parent is queued; this much
// goes on with the key, for logs and for order.
type Reason uint8

// The reasons.
const (
	ParentChanged Reason = 1 << iota
	ChildChanged
	RelatedChanged
	Requested     // by annotation
	ScriptChanged // or anything else in the controller object
	Resync        // it is time again: resyncPeriodSeconds or resyncAfterSeconds, or the server started
	Retry         // the last one failed
	KeyChanged    // a certificate or credential of a webhook
)

// changed are the reasons that go before what is merely due.
const changed = ParentChanged | ChildChanged | RelatedChanged | Requested

// String gives "parent,child".
func (r Reason) String() string {
	var names []string
	for i, name := range []string{"parent", "child", "related", "request", "script", "resync", "retry", "key"} {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// backoff bounds: a parent that fails is tried again after the first, then twice as long, and so on up to the last.
const (
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 5 * time.Minute
)

// A Queue holds the parents to reconcile, each once and with the reasons why. What changed goes before what is
// merely due, except for every ninth turn, so that what is due does not wait for ever; within each the order is first
// come, first served.
type Queue struct {
	*work.Queue[object.Ref]
	limiter workqueue.TypedRateLimiter[object.Ref]

	mu    sync.Mutex
	now   map[object.Ref]Reason // why a key is queued
	later map[object.Ref]Reason // why a key will be queued
}

// New gives a queue for the workers of a pool. It is counted, under its name, by metrics, if they are not nil.
func New(pool *work.Pool, name string, metrics workqueue.MetricsProvider) *Queue {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[object.Ref](firstBackoff, lastBackoff)
	q := &Queue{limiter: limiter, now: map[object.Ref]Reason{}, later: map[object.Ref]Reason{}}
	lanes := &lanes{urgent: q.urgent, waiting: map[object.Ref]place{}}
	q.Queue = work.NewQueue(pool, work.Config[object.Ref]{Name: name, Order: lanes, Limiter: limiter, Metrics: metrics})
	return q
}

// Enqueue queues key now.
func (q *Queue) Enqueue(key object.Ref, why Reason) {
	q.mu.Lock()
	q.now[key] |= why
	q.mu.Unlock()
	q.Add(key)
}

// EnqueueAfter queues key in a while.
func (q *Queue) EnqueueAfter(key object.Ref, why Reason, wait time.Duration) {
	q.remember(key, why)
	q.AddAfter(key, wait)
}

// Postpone queues key in a while for reasons that are there already, and so keeps its place among what is urgent.
func (q *Queue) Postpone(key object.Ref, why Reason, wait time.Duration) {
	q.mu.Lock()
	q.now[key] |= why
	q.mu.Unlock()
	q.AddAfter(key, wait)
}

// Retry queues key after its back-off, which grows with each call until Forget, and not before wait.
func (q *Queue) Retry(key object.Ref, wait time.Duration) {
	q.EnqueueAfter(key, Retry, max(q.limiter.When(key), wait))
}

func (q *Queue) remember(key object.Ref, why Reason) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.later[key] |= why
}

// Take gives, and forgets, the reasons for the key that Get returned.
func (q *Queue) Take(key object.Ref) Reason {
	q.mu.Lock()
	defer q.mu.Unlock()
	why := q.now[key]
	if why == 0 {
		why = q.later[key]
		delete(q.later, key)
	}
	delete(q.now, key)
	return why
}

func (q *Queue) urgent(key object.Ref) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.now[key]&changed != 0
}

// lanes is the order behind a queue: a lane for what is urgent before one for what is not. A key that becomes
// urgent while it waits changes lanes; its old place is skipped when its turn comes.
type lanes struct {
	urgent  func(object.Ref) bool
	first   fifo
	second  fifo
	waiting map[object.Ref]place
	pushed  uint64 // places given so far
	turns   int    // since the second lane had one
}

// A place is where a key stands. Numbers tell it from a place that the key left, and may have come back to.
type place struct {
	number uint64
	first  bool
}

// Touch is called for a key that is added while it waits.
func (l *lanes) Touch(key object.Ref) {
	if !l.waiting[key].first && l.urgent(key) {
		l.push(key, true)
	}
}

// Push is called for a key that does not wait.
func (l *lanes) Push(key object.Ref) { l.push(key, l.urgent(key)) }

func (l *lanes) push(key object.Ref, urgent bool) {
	lane := &l.second
	if urgent {
		lane = &l.first
	}
	l.pushed++
	l.waiting[key] = place{l.pushed, urgent}
	*lane = append(*lane, standing{key, l.pushed})
}

// Len counts the keys that wait.
func (l *lanes) Len() int { return len(l.waiting) }

// turnsOfFirst is how often in a row the first lane goes before the second, so that neither waits for ever.
const turnsOfFirst = 8

// Pop is called only when Len is above zero.
func (l *lanes) Pop() object.Ref {
	l.turns++
	for {
		lane := &l.first
		if len(l.first) == 0 || len(l.second) > 0 && l.turns > turnsOfFirst {
			lane = &l.second
		}
		next := lane.pop()
		if l.waiting[next.key].number == next.number {
			delete(l.waiting, next.key)
			if lane == &l.second {
				l.turns = 0
			}
			return next.key
		}
	}
}

// A standing is a key and the number of its place.
type standing struct {
	key    object.Ref
	number uint64
}

type fifo []standing

func (f *fifo) pop() standing {
	next := (*f)[0]
	*f = (*f)[1:]
	return next
}

// Probe takes the locks of the queue and releases them.
func (q *Queue) Probe() {
	q.Len()
	q.mu.Lock()
	defer q.mu.Unlock()
}

// Backoff returns the delay before key is tried again, which doubles with each call until Forget.
func (q *Queue) Backoff(key object.Ref) time.Duration { return q.limiter.When(key) }
