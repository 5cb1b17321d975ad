package work

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// A Config says what a [Queue] is. Only Order is needed.
type Config[K comparable] struct {
	Name    string                        // in metrics
	Order   workqueue.Queue[K]            // in which keys are given; no other queue has it, and it is not used concurrently
	Limiter workqueue.TypedRateLimiter[K] // see Forget; nil counts nothing
	Metrics workqueue.MetricsProvider     // nil: none are kept
}

// A Queue holds the keys of one controller. It is safe for concurrent use.
type Queue[K comparable] struct {
	pool    *Pool
	limiter workqueue.TypedRateLimiter[K]
	metrics *metrics[K] // nil: none are kept

	// All that follows is guarded by the pool's lock.

	// order holds the keys that wait, and in which order they are given. Each of them is in dirty and not in processing.
	order workqueue.Queue[K]

	// dirty are the keys that have to be worked on.
	dirty map[K]bool

	// processing are the keys that somebody works on. Such a key may be in dirty as well; it is put into order when it is
	// done.
	processing map[K]bool

	// later are the keys that are added after a while. They may be in the other sets too.
	later map[K]*delay

	bound int // keys in processing, at most, that workers take
	work  func(K)
	ended bool
	added sync.Cond     // is signalled when a key waits, and when the queue ends
	idle  chan struct{} // is closed when the queue has ended and no key is under way
}

// NewQueue gives a queue whose keys nobody takes before [Queue.Serve].
func NewQueue[K comparable](p *Pool, c Config[K]) *Queue[K] {
	return &Queue[K]{
		added: sync.Cond{L: &p.mu},
		pool:  p, limiter: c.Limiter, metrics: newMetrics[K](c.Name, c.Metrics), order: c.Order,
		dirty: map[K]bool{}, processing: map[K]bool{}, later: map[K]*delay{}, idle: make(chan struct{}),
	}
}

// Serve has workers of the pool call work with the keys, for at most so many keys at the same time. It returns at once
// and is called once.
func (q *Queue[K]) Serve(bound int, work func(K)) {
	q.pool.mu.Lock()
	defer q.pool.mu.Unlock()
	if q.ended {
		return
	}
	q.bound, q.work = max(bound, 1), work
	q.pool.join(q)
	q.pool.offer(q)
	q.pool.start()
}

// Add has key be worked on. When it waits already, or the queue is shut down, that changes nothing; when it is being
// worked on, it waits again afterwards.
func (q *Queue[K]) Add(key K) {
	q.pool.mu.Lock()
	defer q.pool.mu.Unlock()
	q.add(key)
	q.pool.start()
}

func (q *Queue[K]) add(key K) {
	switch {
	case q.ended:
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

// push has a key wait.
func (q *Queue[K]) push(key K) {
	q.order.Push(key)
	q.added.Signal()
	q.pool.offer(q)
}

// AddAfter adds key when a while has passed. One that is to be added later already comes at the earlier of the two times.
func (q *Queue[K]) AddAfter(key K, wait time.Duration) {
	q.pool.mu.Lock()
	defer q.pool.mu.Unlock()
	entry := q.later[key]
	switch {
	case q.ended:
		return
	case wait <= 0:
		q.metrics.retried()
		q.add(key)
		q.pool.start()
		return
	case entry != nil:
		q.pool.hasten(entry, wait)
	default:
		q.later[key] = q.pool.after(wait, func() {
			delete(q.later, key)
			q.add(key)
		})
	}
	q.metrics.retried()
}

// Get waits for the next key, for a caller that works on it itself, whatever the bound is, and then calls Done. It reports
// that none comes any more.
func (q *Queue[K]) Get() (key K, shutdown bool) {
	q.pool.mu.Lock()
	defer q.pool.mu.Unlock()
	for q.order.Len() == 0 && !q.ended {
		q.added.Wait()
	}
	if q.order.Len() == 0 {
		return key, true
	}
	return q.get(), false
}

func (q *Queue[K]) get() K {
	key := q.order.Pop()
	q.metrics.given(key)
	q.processing[key] = true
	delete(q.dirty, key)
	if q.metrics != nil {
		q.pool.measured(q)
	}
	return key
}

// Done says that a key that Get gave has been worked on.
func (q *Queue[K]) Done(key K) {
	q.pool.mu.Lock()
	defer q.pool.mu.Unlock()
	q.done(key)
	q.pool.start()
}

func (q *Queue[K]) done(key K) {
	q.metrics.done(key)
	delete(q.processing, key)
	if q.dirty[key] {
		q.push(key)
	}
	if len(q.processing) == 0 {
		delete(q.pool.metered, q)
		q.metrics.measure()
	}
	q.pool.offer(q)
	q.settle()
}

// Len counts the keys that wait.
func (q *Queue[K]) Len() int {
	q.pool.mu.Lock()
	defer q.pool.mu.Unlock()
	return q.order.Len()
}

// Forget says that key is well, so that its back-off begins anew.
func (q *Queue[K]) Forget(key K) { q.limiter.Forget(key) }

// NumRequeues counts the back-offs of key since it was forgotten.
func (q *Queue[K]) NumRequeues(key K) int { return q.limiter.NumRequeues(key) }

// ShutDown has the queue take no keys any more and workers begin none. What was to be added later is dropped.
func (q *Queue[K]) ShutDown() {
	q.pool.mu.Lock()
	defer q.pool.mu.Unlock()
	if q.ended {
		return
	}
	q.ended = true
	q.added.Broadcast()
	for _, entry := range q.later {
		q.pool.drop(entry)
	}
	clear(q.later)
	q.pool.leave(q)
	q.settle()
}

// Wait waits until the queue is shut down and nobody works on a key of it.
func (q *Queue[K]) Wait() { <-q.idle }

// settle tells those who wait that the queue has ended.
func (q *Queue[K]) settle() {
	if !q.ended || len(q.processing) > 0 {
		return
	}
	select {
	case <-q.idle:
	default:
		close(q.idle)
	}
}

// limit implements server, as the others do.
func (q *Queue[K]) limit() int { return q.bound }

func (q *Queue[K]) more() bool {
	return !q.ended && q.work != nil && q.order.Len() > 0 && len(q.processing) < q.bound
}

func (q *Queue[K]) begin() (work, end func()) {
	key := q.get()
	return func() { q.work(key) }, func() { q.done(key) }
}

func (q *Queue[K]) measure() { q.metrics.measure() }
