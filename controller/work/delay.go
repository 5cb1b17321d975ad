package work

import (
	"container/heap"
	"time"
)

// delayed has the keys of all queues that are added after a delay: a heap by time, and a timer for its first entry. The pool's
// lock guards it.
type delayed struct {
	keys  []*delay
	timer *time.Timer // nil until there was an entry
}

// A delay is a key that is added after a delay.
type delay struct {
	at    time.Time
	index int    // in the heap
	add   func() // called with the pool's lock held
}

// after adds an entry that calls add, with the lock held, after d.
func (p *Pool) after(d time.Duration, add func()) *delay {
	entry := &delay{at: time.Now().Add(d), add: add}
	heap.Push(&p.delayed, entry)
	p.setTimer()
	return entry
}

// advance changes the time of an entry to d from now, if that is earlier.
func (p *Pool) advance(entry *delay, d time.Duration) {
	if at := time.Now().Add(d); at.Before(entry.at) {
		entry.at = at
		heap.Fix(&p.delayed, entry.index)
		p.setTimer()
	}
}

// drop removes an entry.
func (p *Pool) drop(entry *delay) { heap.Remove(&p.delayed, entry.index) }

// setTimer sets the timer to the time of the first entry, if there is one.
func (p *Pool) setTimer() {
	if len(p.delayed.keys) == 0 {
		return
	}
	wait := time.Until(p.delayed.keys[0].at)
	if p.delayed.timer == nil {
		p.delayed.timer = time.AfterFunc(wait, p.addDue)
	} else {
		p.delayed.timer.Reset(wait)
	}
}

// addDue adds the keys whose time has come.
func (p *Pool) addDue() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for now := time.Now(); len(p.delayed.keys) > 0 && !p.delayed.keys[0].at.After(now); {
		heap.Pop(&p.delayed).(*delay).add()
	}
	p.start()
	p.setTimer()
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (d *delayed) Len() int           { return len(d.keys) }
func (d *delayed) Less(i, j int) bool { return d.keys[i].at.Before(d.keys[j].at) }

func (d *delayed) Swap(i, j int) {
	d.keys[i], d.keys[j] = d.keys[j], d.keys[i]
	d.keys[i].index, d.keys[j].index = i, j
}

func (d *delayed) Push(x any) {
	entry := x.(*delay)
	entry.index = len(d.keys)
	d.keys = append(d.keys, entry)
}

func (d *delayed) Pop() any {
	last := len(d.keys) - 1
	entry := d.keys[last]
	d.keys[last] = nil
	d.keys = d.keys[:last]
	return entry
}
