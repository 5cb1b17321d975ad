package engine

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// slice is how long an evaluation may stay in the fast lane.
	slice = 250 * time.Millisecond
	// slowAfter is how long one takes that goes to the slow lane the next time.
	slowAfter = 50 * time.Millisecond
	// habitsKept is how many slow scripts are remembered.
	habitsKept = 4096
)

// lanes keep the scripts that take long from holding up the others. There is a slow lane, with a slot for every four
// of the fast one and at least one. An evaluation begins in the fast lane, unless the same script of the same owner took longer than
// slowAfter when it ran last. After its slice there it goes on in the slow lane. If that is taken, it is stopped, and
// begins again when its turn comes: it may, since scripts have no effects, and it loses a slice at most, once, since
// it is known from then on.
//
// So an owner whose scripts burn all their time costs the others one slice in the fast lane, and after that a
// processor's time, but no waiting.
type lanes struct {
	fast, slow *slots

	mu     sync.Mutex
	habits *simplelru.LRU[habit, struct{}] // of those that took long
}

// A habit is what is known of a script.
type habit struct{ owner, digest string }

func newLanes(fast int) *lanes {
	habits, err := simplelru.NewLRU[habit, struct{}](habitsKept, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &lanes{fast: newSlots(fast), slow: newSlots(max(1, fast/4)), habits: habits}
}

// A turn is a slot in one of the lanes.
type turn struct {
	lanes *lanes
	habit habit
	slots *slots
	began time.Time
}

// admit waits for a turn, which must be ended.
func (l *lanes) admit(ctx context.Context, h habit) (*turn, error) {
	for {
		t := &turn{lanes: l, habit: h, slots: l.fast}
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

// over reports whether the turn has to end in the fast lane. It goes on in the slow one when that is free.
func (t *turn) over() bool {
	took := time.Since(t.began)
	if took < slowAfter {
		return false
	}
	t.lanes.remember(t.habit, true)
	if t.slots == t.lanes.slow || took < slice {
		return false
	}
	if !t.lanes.slow.try() {
		return true
	}
	t.slots.release()
	t.slots = t.lanes.slow
	return false
}

// end gives the slot back, and remembers how long it took.
func (t *turn) end() {
	t.slots.release()
	if slow := time.Since(t.began) >= slowAfter; slow || t.slots == t.lanes.slow {
		t.lanes.remember(t.habit, slow)
	}
}

func (l *lanes) isSlow(h habit) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.habits.Contains(h)
}

func (l *lanes) remember(h habit, slow bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slow {
		l.habits.Add(h, struct{}{})
	} else {
		l.habits.Remove(h)
	}
}
