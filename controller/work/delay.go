package work

import (
	"container/heap"
	"time"
)

// Delayed are the keys that are added later, of all queues: a heap with the one that comes first in front, and a timer
// for it.
type delayed struct {
	keys  []*delay
	timer *time.Timer
}

// A delay is a key that is added later.
type delay struct {
	at    time.Time
	place int    // in the heap
	add   func() // is called with the pool's lock held
}

// after calls add, with the lock held, when d has passed.
func (p *Pool) after(d time.Duration, add func()) *delay {
	entry := &delay{at: time.Now().Add(d), add: add}
	heap.Push(&p.delayed, entry)
	p.wake()
	return entry
}

// hasten has an entry come after d, unless it comes sooner anyway.
func (p *Pool) hasten(entry *delay, d time.Duration) {
	if at := time.Now().Add(d); at.Before(entry.at) {
		entry.at = at
		heap.Fix(&p.delayed, entry.place)
		p.wake()
	}
}

// drop removes an entry.
func (p *Pool) drop(entry *delay) { heap.Remove(&p.delayed, entry.place) }

// wake sets the timer for the first entry, if there is one.
func (p *Pool) wake() {
	if len(p.delayed.keys) == 0 {
		return
	}
	wait := time.Until(p.delayed.keys[0].at)
	if p.delayed.timer == nil {
		p.delayed.timer = time.AfterFunc(wait, p.due)
	} else {
		p.delayed.timer.Reset(wait)
	}
}

// due adds what is due.
func (p *Pool) due() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for now := time.Now(); len(p.delayed.keys) > 0 && !p.delayed.keys[0].at.After(now); {
		heap.Pop(&p.delayed).(*delay).add()
	}
	p.start()
	p.wake()
}

// Len and the others implement heap.Interface.
func (d *delayed) Len() int           { return len(d.keys) }
func (d *delayed) Less(i, j int) bool { return d.keys[i].at.Before(d.keys[j].at) }

func (d *delayed) Swap(i, j int) {
	d.keys[i], d.keys[j] = d.keys[j], d.keys[i]
	d.keys[i].place, d.keys[j].place = i, j
}

func (d *delayed) Push(x any) {
	entry := x.(*delay)
	entry.place = len(d.keys)
	d.keys = append(d.keys, entry)
}

func (d *delayed) Pop() any {
	last := len(d.keys) - 1
	entry := d.keys[last]
	d.keys[last] = nil
	d.keys = d.keys[:last]
	return entry
}
