// Package work processes the keys of many queues with shared workers.
//
// A [Queue] is the work queue of one controller, with the semantics of client-go's: one worker at a time processes a key, and a
// key that is added twice before it is processed is processed once. A [Pool] runs the workers. An empty queue needs only its
// memory: it has no goroutine and no timer.
//
// # Fairness
//
// The workers take one key of each queue in turn, so that a queue with many keys does not delay one with few. Queues belong to
// tenants, and tenants take turns too, so that a tenant with many queues does not delay one with few. Each queue has a limit of keys in processing. The pool runs more workers than any single limit, so that one slow queue leaves workers for the
// others. If many queues are slow at the same time, a worker that has processed its key for longer than 250 ms is no longer
// counted, and another one may start. So a key waits no longer than that because of slow queues. The number of workers
// is then limited only by the limits of the queues.
package work

import (
	"container/list"
	"runtime"
	"sync"
	"time"
)

// options configure a Pool. The zero value has the defaults.
type options struct {
	// spare is how many workers may run in addition to the largest limit of a queue. Default: 8 for each processor.
	spare int
	// long is how long a worker may process a key before it is no longer counted. Default: 250 ms.
	long time.Duration
}

// A Pool runs the workers that queues share. It is safe for concurrent use.
type Pool struct {
	spare int
	long  time.Duration

	// mu guards the fields below, and all queues of the pool. All methods of the Pool are called with it locked, except run,
	// discount, measure and addDue, which lock it. All unexported methods of Queue are called with it locked too. While it is
	// locked, the lock that an Order uses may be taken, such as that of queue.Queue, and those of metrics.
	mu sync.Mutex

	// served are the queues for which Serve was called and that are not shut down.
	served map[keyQueue]bool

	// ready are the queues whose keys are processed next, each once; inReady is the same set. Each served queue with a waiting key
	// and fewer keys in processing than its limit is in it. A queue that was shut down meanwhile is skipped.
	ready   turns
	inReady map[keyQueue]bool

	// counted are the tasks whose workers are counted, the oldest first. A worker may start if they are fewer than size.
	counted list.List
	size    int

	// longTimer is set while a queue is ready and no worker may start. It fires when the oldest counted task has taken long.
	longTimer *time.Timer

	// measured are the queues with metrics that have keys in processing. measureTimer is set while there are some.
	measured     map[keyQueue]bool
	measureTimer *time.Timer

	delayed delayed
}

// A keyQueue is a Queue of any type of key. Its methods are called with the pool's lock held.
type keyQueue interface {
	tenantName() string        // the tenant of the queue
	maxProcessing() int        // the limit of keys in processing
	more() bool                // reports whether begin may be called
	begin() (work, end func()) // takes a key; the worker calls work without the lock, and then end with it
	measure()                  // sets the metrics of the keys in processing
}

// turns are queues of tenants that take turns. The zero value is empty.
type turns struct {
	tenants []string              // those with queues, the next one first
	queues  map[string][]keyQueue // by tenant, the next one first; none is empty
}

func (t *turns) empty() bool { return len(t.tenants) == 0 }

// add adds a queue after the others of its tenant.
func (t *turns) add(q keyQueue) {
	if t.queues == nil {
		t.queues = map[string][]keyQueue{}
	}
	tenant := q.tenantName()
	if len(t.queues[tenant]) == 0 {
		t.tenants = append(t.tenants, tenant)
	}
	t.queues[tenant] = append(t.queues[tenant], q)
}

// next removes the next queue, and ends the turn of its tenant. There must be one.
func (t *turns) next() keyQueue {
	tenant := t.tenants[0]
	t.tenants = t.tenants[1:]
	queues := t.queues[tenant]
	q := queues[0]
	queues[0] = nil
	if len(queues) == 1 {
		delete(t.queues, tenant)
		return q
	}
	t.queues[tenant] = queues[1:]
	t.tenants = append(t.tenants, tenant)
	return q
}

// A task is a key that a worker processes.
type task struct {
	work, end func() // see keyQueue.begin
	began     time.Time
	element   *list.Element // in counted; nil: the worker is not counted
}

// NewPool returns a pool without queues.
func NewPool() *Pool { return newPool(options{}) }

func newPool(o options) *Pool {
	if o.spare <= 0 {
		o.spare = 8 * runtime.GOMAXPROCS(0)
	}
	if o.long <= 0 {
		o.long = 250 * time.Millisecond
	}
	p := &Pool{spare: o.spare, long: o.long, served: map[keyQueue]bool{}, inReady: map[keyQueue]bool{}, measured: map[keyQueue]bool{}}
	p.resize()
	return p
}

// resize sets size from the largest limit of the served queues.
func (p *Pool) resize() {
	p.size = p.spare
	for q := range p.served {
		p.size = max(p.size, p.spare+q.maxProcessing())
	}
}

// join adds a queue to the served ones.
func (p *Pool) join(q keyQueue) {
	p.served[q] = true
	p.size = max(p.size, p.spare+q.maxProcessing())
}

// leave removes a queue from the served ones, if it is one.
func (p *Pool) leave(q keyQueue) {
	if !p.served[q] {
		return
	}
	delete(p.served, q)
	if p.spare+q.maxProcessing() == p.size {
		p.resize()
	}
}

// offer appends a queue to the ready ones, if it is ready and not among them yet.
func (p *Pool) offer(q keyQueue) {
	if q.more() && !p.inReady[q] {
		p.ready.add(q)
		p.inReady[q] = true
	}
}

// start starts workers while queues are ready and workers may start. It is called after each change of either.
func (p *Pool) start() {
	for t := p.next(); t != nil; t = p.next() {
		go p.run(t)
	}
}

// next takes the next key. It returns nil if no queue is ready, or if no worker may start; then it sets longTimer.
func (p *Pool) next() *task {
	for !p.ready.empty() && p.counted.Len() < p.size {
		q := p.ready.next()
		delete(p.inReady, q)
		if !q.more() {
			continue
		}
		t := &task{began: time.Now()}
		t.work, t.end = q.begin()
		t.element = p.counted.PushBack(t)
		p.offer(q)
		return t
	}
	if !p.ready.empty() && p.longTimer == nil {
		p.longTimer = time.AfterFunc(time.Until(p.oldest().began.Add(p.long)), p.discount)
	}
	return nil
}

// oldest returns the oldest counted task. There must be one.
func (p *Pool) oldest() *task { return p.counted.Front().Value.(*task) }

// run is a worker. It processes t, and then the next keys, until next returns nil.
func (p *Pool) run(t *task) {
	for t != nil {
		t.work()
		p.mu.Lock()
		if t.element != nil {
			p.counted.Remove(t.element)
		}
		t.end()
		t = p.next()
		p.start()
		p.mu.Unlock()
	}
}

// discount removes the tasks that have taken long from the counted ones, so that other workers may start.
func (p *Pool) discount() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.longTimer = nil
	for p.counted.Len() > 0 && time.Since(p.oldest().began) >= p.long {
		t := p.oldest()
		p.counted.Remove(t.element)
		t.element = nil
	}
	p.start()
}

// measurePeriod is how often the metrics of keys in processing are set.
const measurePeriod = 500 * time.Millisecond

// startMeasuring calls measure of a queue periodically, until the queue is removed from measured.
func (p *Pool) startMeasuring(q keyQueue) {
	p.measured[q] = true
	if p.measureTimer == nil {
		p.measureTimer = time.AfterFunc(measurePeriod, p.measure)
	}
}

// measure is called by measureTimer.
func (p *Pool) measure() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.measureTimer = nil
	for q := range p.measured {
		q.measure()
	}
	if len(p.measured) > 0 {
		p.measureTimer = time.AfterFunc(measurePeriod, p.measure)
	}
}
