package engine

import (
	"context"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"metascript/engine/cputime"
)

const (
	// slice is how long an evaluation may stay in the fast lane, shortSlice how long when another owner waits for it, and
	// trialSlice how long one without precedence when another owner with it waits.
	slice      = 250 * time.Millisecond
	shortSlice = 50 * time.Millisecond
	trialSlice = 10 * time.Millisecond
	// maxStrikes is how many times in a row a script may keep others waiting before it is known to be slow: once may be
	// the machine's fault.
	maxStrikes = 2
	// provenAfter is how many times in a row a script must be quick to have precedence.
	provenAfter = 3
	// habitsKept is of how many scripts it is remembered.
	habitsKept = 4096
	// maxAttempts is how often an evaluation is begun that is stopped for no fault of its own.
	maxAttempts = 6
	// maxSliced is how many of these attempts end when others wait; the next has all its time. What is begun again is
	// work done twice: it must stay small beside a timeout, or several scripts that burn theirs would take many times as
	// long to be told.
	maxSliced = 2
)

// lanes keep the scripts that take long from holding up the others. There is a slow lane, with a slot for every four of
// the fast one and at least one. An evaluation begins in the fast lane, unless its script is known to be slow. When it keeps
// others waiting there for a short slice, it is stopped, and begins again when its turn comes: it may, since scripts have
// no effects. The second time, or after a whole slice, it goes on in the slow lane, or begins again there. In that, too, it
// makes way once when another owner waits, after two slices; then it is let finish.
//
// A script that has been quick a few times in a row is proven. In the fast lane it has precedence over those of which
// nothing is known, and these make way for it after a trial slice already: so a hundred new ones, bad or not, do not hold
// up those that work.
//
// Slices are of processor time, as timeouts are: on a busy machine a turn takes longer, and so does everything else. A
// tenth of the time that has passed counts instead if that is more, so that an evaluation without a processor does not hold
// up others for long.
//
// Where each evaluation has a process of its own, the operating system shares the processors among them, and nothing has to be
// begun again for that: whose turn is over goes on in the slow lane the first time already, and that lane has a slot
// for each worker process that the fast one has none for. Only while all of them are taken is an evaluation stopped.
//
// So an owner whose scripts burn all their time costs the others two short slices in the fast lane, and after that a
// processor's time, but no waiting; and somebody whose scripts merely take a while does not wait for theirs to time out.
type lanes struct {
	fast, slow *slots
	processes  bool // each evaluation has a process of its own

	mu     sync.Mutex
	habits *simplelru.LRU[habit, int] // how many times in a row they kept others waiting, or were quick, that negative
}

// A habit is what is known of a script.
type habit struct{ owner, digest string }

func newLanes(fast int, processes bool) *lanes {
	slow := fast / 4
	if processes {
		slow = runtime.GOMAXPROCS(0) + 1 - fast // there are GOMAXPROCS and one more workers by default
	}
	slow = max(1, slow)
	habits, err := simplelru.NewLRU[habit, int](habitsKept, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &lanes{fast: newSlots(fast), slow: newSlots(slow), processes: processes, habits: habits}
}

// A turn is a slot in one of the lanes.
type turn struct {
	lanes    *lanes
	habit    habit
	proven   bool
	slots    *slots
	meter    *cputime.Meter
	held     time.Duration // how long it has been in its slot, when that was last looked at
	patience time.Duration // how long it may stay in the slow lane when another owner waits
	struck   bool          // it kept others waiting
	used     usage         // what attempts before this one have used
}

// admit waits for a turn, which must be ended. attempt counts from 0.
func (l *lanes) admit(ctx context.Context, h habit, attempt int) (*turn, error) {
	t := &turn{lanes: l, habit: h, patience: slice << attempt}
	if attempt >= maxSliced {
		t.patience = math.MaxInt64
	}
	for {
		strikes := l.strikes(h)
		t.proven = strikes <= -provenAfter
		t.slots = l.fast
		if strikes >= maxStrikes {
			t.slots = l.slow
		}
		if err := t.slots.acquire(ctx, h.owner, t.proven); err != nil {
			return nil, err
		}
		if t.slots == l.slow || l.strikes(h) < maxStrikes {
			t.meter = cputime.NewMeter()
			return t, nil
		}
		t.slots.release() // it has shown itself slow while this one waited
	}
}

// over reports whether the turn has to end, which it has held for so long. From the fast lane it goes on in the slow one
// when that is free.
func (t *turn) over(held time.Duration) bool {
	t.held = held
	strikes := 1
	switch {
	case held < trialSlice:
		return false
	case t.slots == t.lanes.slow:
		return held >= t.patience && t.slots.wanted(t.habit.owner)
	case held >= slice:
		strikes = maxStrikes
	case held >= shortSlice:
		if !t.slots.wanted(t.habit.owner) {
			return false
		}
	case t.proven || !t.slots.wantedFirst(t.habit.owner):
		return false
	}
	t.struck = true
	slow := t.lanes.remember(t.habit, strikes) >= maxStrikes
	if !slow && !t.lanes.processes || !t.lanes.slow.try() {
		return true
	}
	t.slots.release()
	t.slots = t.lanes.slow
	return false
}

// end gives the slot back, and remembers who was quick.
func (t *turn) end() {
	t.slots.release()
	if !t.struck && t.held < shortSlice {
		t.lanes.praise(t.habit)
	}
}

// strikes is how many there are, less than 0 for a script that is quick.
func (l *lanes) strikes(h habit) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	strikes, _ := l.habits.Get(h)
	return strikes
}

// remember adds strikes, and gives how many there are now.
func (l *lanes) remember(h habit, strikes int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, _ := l.habits.Peek(h)
	now := min(max(0, before)+strikes, maxStrikes)
	l.habits.Add(h, now)
	return now
}

// praise forgives all strikes.
func (l *lanes) praise(h habit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, _ := l.habits.Peek(h)
	if now := max(min(0, before)-1, -provenAfter); now != before {
		l.habits.Add(h, now)
	}
}
