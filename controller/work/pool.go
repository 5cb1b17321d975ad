// Package work runs the keys of many queues on workers that all of them share.
//
// A [Queue] is client-go's work queue for one controller: a key is with one worker at a time, and a key that is added
// twice is given once. A [Pool] gives the queues their workers. A queue that holds nothing costs nothing but its
// memory: no goroutine waits for it and no timer runs for it.
//
// # Who waits for whom
//
// Queues take turns, one key each, so that a queue with many keys does not delay one with few. A queue never has more
// keys under way than its bound. The pool has room for more workers than any one bound, so that a single queue, however
// slow, leaves some for the others. When many are slow at the same time, a worker that is at its key for long no longer
// counts, and another one takes its place: nobody waits for slow neighbours for longer than that. What bounds the number
// of workers then are the bounds of the queues.
package work

import (
	"container/list"
	"runtime"
	"sync"
	"time"
)

// Options configure a [Pool]. The zero value is sound.
type Options struct {
	// Spare is how many workers there may be beyond the largest bound of a queue. Default: 8 for each processor.
	Spare int
	// Long is how long a worker may be at a key before it no longer counts. Default: 250 ms.
	Long time.Duration
}

// A Pool is the workers that queues share. It is safe for concurrent use.
type Pool struct {
	spare int
	long  time.Duration

	mu sync.Mutex

	// serving are the queues that workers may take keys of.
	serving map[server]bool

	// ready are the queues whose turn comes, the next one first, each once; inReady are the same. All queues are here that
	// serve, hold a key, and have fewer keys under way than their bound. One that was shut down since is skipped.
	ready   []server
	inReady map[server]bool

	// counted are the tasks under way whose workers count, by when they began, the oldest first. There is room for
	// another one while they are fewer than size.
	counted list.List
	size    int

	// look is set while a queue is ready and there is no room. It is about the oldest of those that count.
	look *time.Timer

	// metered are the queues that have keys under way and tell how long for.
	metered map[server]bool
	meter   *time.Timer

	delayed delayed
}

// A server is a queue, whatever its keys are. Its methods are called with the pool's lock held.
type server interface {
	limit() int
	begin() (work, end func()) // takes a key: work is called without the lock, then end with it
	more() bool                // whether it may begin another one
	measure()                  // tells how long its keys have been under way
}

// A task is a key that a worker is at.
type task struct {
	work, end func()
	began     time.Time
	place     *list.Element // among those that count; nil: it does not
}

// NewPool gives a pool without queues.
func NewPool(o Options) *Pool {
	if o.Spare <= 0 {
		o.Spare = 8 * runtime.GOMAXPROCS(0)
	}
	if o.Long <= 0 {
		o.Long = 250 * time.Millisecond
	}
	p := &Pool{spare: o.Spare, long: o.Long, serving: map[server]bool{}, inReady: map[server]bool{}, metered: map[server]bool{}}
	p.resize()
	return p
}

// resize finds out how many workers count at most.
func (p *Pool) resize() {
	p.size = p.spare
	for s := range p.serving {
		p.size = max(p.size, p.spare+s.limit())
	}
}

// join has the keys of s be taken.
func (p *Pool) join(s server) {
	p.serving[s] = true
	p.size = max(p.size, p.spare+s.limit())
}

// leave has no key of s be taken any more.
func (p *Pool) leave(s server) {
	if !p.serving[s] {
		return
	}
	delete(p.serving, s)
	if p.spare+s.limit() == p.size {
		p.resize()
	}
}

// offer puts a queue at the end of those whose turn comes, if it belongs there and is not there yet.
func (p *Pool) offer(s server) {
	if s.more() && !p.inReady[s] {
		p.ready, p.inReady[s] = append(p.ready, s), true
	}
}

// start begins what is ready, as far as there is room for workers. It is called whenever something may have become so.
func (p *Pool) start() {
	for t := p.next(); t != nil; t = p.next() {
		go p.run(t)
	}
}

// next takes the key whose turn it is, or gives nil when there is none or no room.
func (p *Pool) next() *task {
	for len(p.ready) > 0 && p.counted.Len() < p.size {
		s := p.ready[0]
		p.ready[0] = nil
		p.ready = p.ready[1:]
		delete(p.inReady, s)
		if !s.more() {
			continue
		}
		t := &task{began: time.Now()}
		t.work, t.end = s.begin()
		t.place = p.counted.PushBack(t)
		p.offer(s)
		return t
	}
	if len(p.ready) > 0 && p.look == nil {
		p.look = time.AfterFunc(time.Until(p.oldest().began.Add(p.long)), p.discount)
	}
	return nil
}

func (p *Pool) oldest() *task { return p.counted.Front().Value.(*task) }

// run is a worker: it works until nothing is ready.
func (p *Pool) run(t *task) {
	for t != nil {
		t.work()
		p.mu.Lock()
		if t.place != nil {
			p.counted.Remove(t.place)
		}
		t.end()
		t = p.next()
		p.start()
		p.mu.Unlock()
	}
}

// discount no longer counts workers that are at a key for long, so that others may begin.
func (p *Pool) discount() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.look = nil
	for p.counted.Len() > 0 && time.Since(p.oldest().began) >= p.long {
		t := p.oldest()
		p.counted.Remove(t.place)
		t.place = nil
	}
	p.start()
}

// metering is how often queues tell how long their keys have been under way.
const metering = 500 * time.Millisecond

// measured has a queue tell how long its keys have been under way, while there are some.
func (p *Pool) measured(s server) {
	p.metered[s] = true
	if p.meter == nil {
		p.meter = time.AfterFunc(metering, p.measure)
	}
}

func (p *Pool) measure() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.meter = nil
	for s := range p.metered {
		s.measure()
	}
	if len(p.metered) > 0 {
		p.meter = time.AfterFunc(metering, p.measure)
	}
}
