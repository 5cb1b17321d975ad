package work

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// A Config configures a [Queue]. Only Order is required.
type Config[K comparable] struct {
	Name    string                        // the value of the label "name" in metrics
	Tenant  string                        // whom the queue belongs to; tenants take turns
	Order   workqueue.Queue[K]            // the order in which keys are processed; not shared with another queue, and guarded by the pool's lock
	Limiter workqueue.TypedRateLimiter[K] // counts failures, see Forget; required by Forget and NumRequeues
	Metrics workqueue.MetricsProvider     // nil: there are no metrics
	Due     func(K)                       // called before a key of AddAfter is added, with the pool's lock held; nil is not called
}

// A Queue has the keys of one controller. It is safe for concurrent use.
type Queue[K comparable] struct {
	pool    *Pool
	tenant  string
	limiter workqueue.TypedRateLimiter[K]
	due     func(K)
	metrics *metrics[K] // nil: there are none

	// The pool's lock guards the fields below.

	// order has the keys that wait, in the order in which they are processed. Each is in dirty, and not in processing.
	order workqueue.Queue[K]

	// dirty are the keys that must be processed.
	dirty     map[K]bool
	mostDirty Most

	// processing are the keys that are being processed. If such a key is in dirty too, it is added to order when it is done.
	processing map[K]bool

	// later are the keys that are added after a delay. They may be in the other sets too.
	later map[K]*delay

	limit    int     // of keys in processing that workers of the pool take; Get ignores it
	work     func(K) // nil until Serve
	shutDown bool
	added    sync.Cond     // signaled when a key is added to order, and broadcast at shutdown
	idle     chan struct{} // closed when the queue is shut down and no key is in processing
}

// NewQueue returns a queue. Workers process its keys after [Queue.Serve].
func NewQueue[K comparable](p *Pool, c Config[K]) *Queue[K] {
	if c.Due == nil {
		c.Due = func(K) {}
	}
	return &Queue[K]{
		added: sync.Cond{L: &p.mu}, due: c.Due,
		pool: p, tenant: c.Tenant, limiter: c.Limiter, metrics: newMetrics[K](c.Name, c.Metrics), order: c.Order,
		dirty: map[K]bool{}, processing: map[K]bool{}, later: map[K]*delay{}, idle: make(chan struct{}),
	}
}

// Serve makes the workers of the pool call work with each key, for at most limit keys concurrently; limit is at least 1. It
// returns immediately, and must be called at most once.
func (q *Queue[K]) Serve(limit int, work func(K)) {
	q.pool.mu.Lock()
	defer q.pool.mu.Unlock()
	if q.shutDown {
		return
	}
	q.limit, q.work = max(limit, 1), work
	q.pool.join(q)
	q.pool.offer(q)
	q.pool.start()
}

// Add adds key to the queue. If key is being processed, it is processed again afterwards. Add has no effect if key waits already,
// except that Order may change its position, or if the queue is shut down.
func (q *Queue[K]) Add(key K) {
	q.pool.mu.Lock()
	defer q.pool.mu.Unlock()
	q.add(key)
	q.pool.start()
}

// add implements Add, with the lock held.
func (q *Queue[K]) add(key K) {
	switch {
	case q.shutDown:
		return
	case q.dirty[key]:
		if !q.processing[key] {
			q.order.Touch(key)
		}
		return
	}
	q.metrics.added(key)
	q.dirty[key] = true
	if !q.processing[key] {
		q.push(key)
	}
}

// push adds a key to order.
func (q *Queue[K]) push(key K) {
	q.order.Push(key)
	q.added.Signal()
	q.pool.offer(q)
}

// AddAfter adds key after wait; at once if wait is not above zero. If AddAfter was called for key before, and its time has not
// come, the earlier time applies.
func (q *Queue[K]) AddAfter(key K, wait time.Duration) {
	q.pool.mu.Lock()
	defer q.pool.mu.Unlock()
	entry := q.later[key]
	switch {
	case q.shutDown:
		return
	case wait <= 0:
		q.metrics.retried()
		q.due(key)
		q.add(key)
		q.pool.start()
		return
	case entry != nil:
		q.pool.advance(entry, wait)
	default:
		q.later[key] = q.pool.after(wait, func() {
			delete(q.later, key)
			q.due(key)
			q.add(key)
		})
	}
	q.metrics.retried()
}

// Get waits for the next key and returns it. The caller processes it and then calls Done. The limit of Serve does not apply.
// shutdown is true if the queue is shut down and no key waits.
func (q *Queue[K]) Get() (key K, shutdown bool) {
	q.pool.mu.Lock()
	defer q.pool.mu.Unlock()
	for q.order.Len() == 0 && !q.shutDown {
		q.added.Wait()
	}
	if q.order.Len() == 0 {
		return key, true
	}
	return q.get(), false
}

// get takes the next key, with the lock held. There must be one.
func (q *Queue[K]) get() K {
	key := q.order.Pop()
	q.metrics.started(key)
	q.processing[key] = true
	delete(q.dirty, key)
	q.dirty = Emptied(q.dirty, &q.mostDirty)
	if q.metrics != nil {
		q.pool.startMeasuring(q)
	}
	return key
}

// Done marks a key that Get returned as processed.
func (q *Queue[K]) Done(key K) {
	q.pool.mu.Lock()
	defer q.pool.mu.Unlock()
	q.done(key)
	q.pool.start()
}

// done implements Done, with the lock held.
func (q *Queue[K]) done(key K) {
	q.metrics.done(key)
	delete(q.processing, key)
	if q.dirty[key] {
		q.push(key)
	}
	if len(q.processing) == 0 {
		delete(q.pool.measured, q)
		q.metrics.measure()
	}
	q.pool.offer(q)
	q.closeIdle()
}

// Len returns how many keys wait.
func (q *Queue[K]) Len() int {
	q.pool.mu.Lock()
	defer q.pool.mu.Unlock()
	return q.order.Len()
}

// OldestWait returns how long the key that waits longest has waited, also if it waits for its own processing to end; zero if
// no key waits, or if there are no metrics.
func (q *Queue[K]) OldestWait() time.Duration {
	q.pool.mu.Lock()
	defer q.pool.mu.Unlock()
	return q.metrics.oldestWait()
}

// Forget resets the back-off of key.
func (q *Queue[K]) Forget(key K) { q.limiter.Forget(key) }

// NumRequeues returns how often the Limiter has delayed key since Forget.
func (q *Queue[K]) NumRequeues(key K) int { return q.limiter.NumRequeues(key) }

// ShutDown makes the queue ignore new keys and the workers of the pool start none. Delayed keys are dropped. Get returns the
// keys that wait.
func (q *Queue[K]) ShutDown() {
	q.pool.mu.Lock()
	defer q.pool.mu.Unlock()
	if q.shutDown {
		return
	}
	q.shutDown = true
	q.added.Broadcast()
	for _, entry := range q.later {
		q.pool.drop(entry)
	}
	clear(q.later)
	q.pool.leave(q)
	q.closeIdle()
}

// Wait waits until the queue is shut down and none of its keys is in processing.
func (q *Queue[K]) Wait() { <-q.idle }

// closeIdle closes idle if the queue is shut down and no key is in processing.
func (q *Queue[K]) closeIdle() {
	if !q.shutDown || len(q.processing) > 0 {
		return
	}
	select {
	case <-q.idle:
	default:
		close(q.idle)
	}
}

// tenantName, maxProcessing, more, begin and measure implement keyQueue.
func (q *Queue[K]) tenantName() string { return q.tenant }

func (q *Queue[K]) maxProcessing() int { return q.limit }

func (q *Queue[K]) more() bool {
	return !q.shutDown && q.work != nil && q.order.Len() > 0 && len(q.processing) < q.limit
}

func (q *Queue[K]) begin() (work, end func()) {
	key := q.get()
	return func() { q.work(key) }, func() { q.done(key) }
}

func (q *Queue[K]) measure() { q.metrics.measure() }
