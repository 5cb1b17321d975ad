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
	// slice is the longest time that an evaluation may stay in the fast lane. shortSlice is the time when another owner waits
	// for the fast lane. quickSlice is the time when another owner waits whose script is known to be quick, and this one is not.
	slice      = 250 * time.Millisecond
	shortSlice = 50 * time.Millisecond
	quickSlice = 10 * time.Millisecond
	// slowScore is the score from which on a script is known to be slow. It takes two slow evaluations in a row: one alone may
	// be slow because the machine is busy.
	slowScore = 2
	// quickAfter is how many quick evaluations in a row give a script precedence.
	quickAfter = 3
	// historySize is how many scripts have a score.
	historySize = 4096
	// maxAttempts is how often an evaluation is started that was stopped for a reason other than its own fault.
	maxAttempts = 6
	// maxSliced is how many of these attempts may end because others wait; the next attempt runs to its end. Each new attempt
	// does the same work again. That work must stay small compared with a timeout, or several scripts that use up their whole
	// timeout would take many times as long.
	maxSliced = 2
)

// lanes keep slow scripts from delaying the others. There is a fast and a slow lane, each with its own slots; the slow lane has
// one slot for every four of the fast lane, and at least one.
//
//   - An evaluation starts in the fast lane, unless its script is known to be slow.
//   - When it has run for a short slice and another owner waits, it is stopped, and starts again when it gets its next turn.
//     That is safe, because scripts have no side effects. The second time, or after a whole slice, it moves to the slow lane:
//     it continues there if a slot is free, and starts again there if not.
//   - In the slow lane it is stopped once more if another owner waits after two slices. The next attempt runs to its end.
//   - A script that was quick several times in a row has precedence in the fast lane. Scripts without a history give their
//     slot to it after 10 ms already. So a hundred new scripts, good or bad, do not delay those that work.
//
// Slices count CPU time, like timeouts: on a busy machine a turn takes longer, as everything does. If a tenth of the time that
// has passed is more, that counts instead, so that an evaluation that gets no CPU time does not delay others for long.
//
// When each evaluation has a process of its own, the operating system shares the CPUs among them, and stopping an
// evaluation would only cost its work. So at the end of its turn it continues in the slow lane the first time already. The slow
// lane then has one slot for each worker process that the fast lane does not use. An evaluation is stopped only while all of
// these slots are taken.
//
// So an owner whose scripts use up their whole timeout costs the others two short slices in the fast lane and, after that, one
// CPU, but no waiting. And a script that takes some time does not wait until the slow scripts of others time out.
type lanes struct {
	fast, slow *slots
	processes  bool // each evaluation has a process of its own

	mu      sync.Mutex                     // guards history
	history *simplelru.LRU[scriptKey, int] // the score: above 0, slow evaluations in a row; below 0, quick ones in a row
}

// A scriptKey identifies a script of an owner.
type scriptKey struct {
	owner  ownerKey
	digest string
}

func newLanes(fast int, processes bool) *lanes {
	slow := fast / 4
	if processes {
		slow = runtime.GOMAXPROCS(0) + 1 - fast // by default a process.Pool has GOMAXPROCS+1 workers
	}
	slow = max(1, slow)
	history, err := simplelru.NewLRU[scriptKey, int](historySize, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &lanes{fast: newSlots(fast), slow: newSlots(slow), processes: processes, history: history}
}

// A turn is a slot in one of the lanes.
type turn struct {
	lanes       *lanes
	script      scriptKey
	quick       bool           // its script has precedence in the fast lane
	slots       *slots         // of the lane in which it has its slot
	meter       *cputime.Meter // counts the time since it got the slot
	used        usage          // by the attempts before this one
	held        time.Duration  // how long it had its slot, when this was last measured
	longest     time.Duration  // how long it may stay in the slow lane when another owner waits
	keptWaiting bool           // another owner had to wait for it
}

// admit waits for a turn, which the caller must end. attempt counts from 0.
func (l *lanes) admit(ctx context.Context, key scriptKey, attempt int) (*turn, error) {
	t := &turn{lanes: l, script: key, longest: slice << attempt}
	if attempt >= maxSliced {
		t.longest = math.MaxInt64
	}
	for {
		score := l.score(key)
		t.quick = score <= -quickAfter
		t.slots = l.fast
		if score >= slowScore {
			t.slots = l.slow
		}
		if err := t.slots.acquire(ctx, key.owner, t.quick); err != nil {
			return nil, err
		}
		if t.slots == l.slow || l.score(key) < slowScore {
			t.meter = cputime.NewMeter()
			return t, nil
		}
		t.slots.release() // it became known as slow while this one waited
	}
}

// mustEnd reports whether the turn has to end after it had its slot for the time held. A turn in the fast lane may instead
// continue in the slow lane, if a slot is free there.
func (t *turn) mustEnd(held time.Duration) bool {
	t.held = held
	slowness := 1
	switch {
	case held < quickSlice:
		return false
	case t.slots == t.lanes.slow:
		return held >= t.longest && t.slots.wanted(t.script.owner)
	case held >= slice:
		slowness = slowScore
	case held >= shortSlice:
		if !t.slots.wanted(t.script.owner) {
			return false
		}
	case t.quick || !t.slots.wantedByQuick(t.script.owner):
		return false
	}
	t.keptWaiting = true
	slow := t.lanes.addSlow(t.script, slowness) >= slowScore
	if !slow && !t.lanes.processes || !t.lanes.slow.tryAcquire() {
		return true
	}
	t.slots.release()
	t.slots = t.lanes.slow
	return false
}

// end releases the slot, and records an evaluation that was quick.
func (t *turn) end() {
	t.slots.release()
	if !t.keptWaiting && t.held < shortSlice {
		t.lanes.addQuick(t.script)
	}
}

// score returns the score of a script, 0 without a history.
func (l *lanes) score(key scriptKey) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	score, _ := l.history.Get(key)
	return score
}

// addSlow adds n to the score for a slow evaluation, and returns the new score. The history of quick evaluations is removed.
func (l *lanes) addSlow(key scriptKey, n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, _ := l.history.Peek(key)
	now := min(max(0, before)+n, slowScore)
	l.history.Add(key, now)
	return now
}

// addQuick lowers the score for a quick evaluation. The history of slow evaluations is removed.
func (l *lanes) addQuick(key scriptKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, _ := l.history.Peek(key)
	if now := max(min(0, before)-1, -quickAfter); now != before {
		l.history.Add(key, now)
	}
}
