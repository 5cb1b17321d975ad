package engine

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// slice is how long an evaluation may stay in the fast lane, and shortSlice how long when another owner waits for it.
	slice      = 250 * time.Millisecond
	shortSlice = 50 * time.Millisecond
	// maxStrikes is how many times in a row a script may take longer than shortSlice before it is known to be slow.
	maxStrikes = 2
	// habitsKept is of how many scripts it is remembered.
	habitsKept = 4096
	// maxAttempts is how often an evaluation is begun that is stopped for no fault of its own; the last time it is left
	// in peace.
	maxAttempts = 6
)

// lanes keep the scripts that take long from holding up the others. There is a slow lane, with a slot for every four of
// the fast one and at least one. An evaluation begins in the fast lane, unless its script is known to be slow. After its
// slice there it goes on in the slow lane. If that is taken, it is stopped, and begins again when its turn comes there:
// it may, since scripts have no effects. In the slow lane, too, it makes way when another owner waits: after a slice the
// first time, and after twice as long each time, so that it gets done.
//
// So an owner whose scripts burn all their time costs the others a short slice in the fast lane once, and after that a
// processor's time, but no waiting; and somebody whose scripts merely take a while does not wait for theirs to time out.
type lanes struct {
	fast, slow *slots

	mu     sync.Mutex
	habits *simplelru.LRU[habit, int] // how many times in a row they took long, of those that did
}

// A habit is what is known of a script.
type habit struct{ owner, digest string }

func newLanes(fast int) *lanes {
	habits, err := simplelru.NewLRU[habit, int](habitsKept, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &lanes{fast: newSlots(fast), slow: newSlots(max(1, fast/4)), habits: habits}
}

// A turn is a slot in one of the lanes.
type turn struct {
	lanes    *lanes
	habit    habit
	slots    *slots
	began    time.Time
	patience time.Duration // how long it may stay in the slow lane when another owner waits
}

// admit waits for a turn, which must be ended. attempt counts from 0.
func (l *lanes) admit(ctx context.Context, h habit, attempt int) (*turn, error) {
	t := &turn{lanes: l, habit: h, patience: slice << attempt}
	if attempt == maxAttempts-1 {
		t.patience = math.MaxInt64
	}
	for {
		t.slots = l.fast
		if l.isSlow(h) {
			t.slots = l.slow
		}
		if err := t.slots.acquire(ctx, h.owner); err != nil {
			return nil, err
		}
		if t.slots == l.slow || !l.isSlow(h) {
			t.began = time.Now()
			return t, nil
		}
		t.slots.release() // it has shown itself slow while this one waited
	}
}

// over reports whether the turn has to end. From the fast lane it goes on in the slow one when that is free.
func (t *turn) over() bool {
	took := time.Since(t.began)
	if took < shortSlice {
		return false
	}
	if t.slots == t.lanes.slow {
		return took >= t.patience && t.slots.wanted(t.habit.owner)
	}
	if took < slice && !t.slots.wanted(t.habit.owner) {
		return false
	}
	t.lanes.remember(t.habit, maxStrikes)
	if !t.lanes.slow.try() {
		return true
	}
	t.slots.release()
	t.slots = t.lanes.slow
	return false
}

// end gives the slot back, and remembers whether it took long.
func (t *turn) end() {
	t.slots.release()
	switch took := time.Since(t.began); {
	case took >= slice:
		t.lanes.remember(t.habit, maxStrikes)
	case took >= shortSlice:
		t.lanes.remember(t.habit, 1)
	default:
		t.lanes.forgive(t.habit)
	}
}

func (l *lanes) isSlow(h habit) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	strikes, _ := l.habits.Get(h)
	return strikes >= maxStrikes
}

func (l *lanes) remember(h habit, strikes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, _ := l.habits.Peek(h)
	l.habits.Add(h, min(before+strikes, maxStrikes))
}

func (l *lanes) forgive(h habit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.habits.Len() > 0 {
		l.habits.Remove(h)
	}
}
