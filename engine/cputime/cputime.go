// Package cputime measures how long a thread or a process had a processor.
//
// How long something takes by the wall clock depends on what else the machine does: on a busy machine, or in a container
// with a small cpu limit, a script may have had a processor for a hundredth of the time that passed. So limits of time count
// processor time: a [Clock] reads it, a [Meter] counts it for one activity. What waits has no processor time, so
// there is a limit of wall-clock time as well, far above: see [Bound].
package cputime

import (
	"sync"
	"time"
)

// Bound is how long something may take by the wall clock that may have a processor for d: ten times d, and half a minute,
// since what needs little time may have to wait for long until it gets it.
func Bound(d time.Duration) time.Duration { return Factor*d + least }

const (
	// Factor is how many times as much time may pass by the wall clock as a limit of processor time says.
	Factor = 10
	least  = 30 * time.Second
)

// A Clock gives the processor time that a thread or a process has had since a moment which the Clock chooses. ok is false
// when it cannot be read, since the system does not tell, or since the thread or process is gone. Calls must not be
// concurrent.
type Clock func() (had time.Duration, ok bool)

// A Meter measures one activity, which begins when the Meter is made and may be waiting before it begins to run. Its
// methods may be called concurrently.
type Meter struct {
	began time.Time

	mu      sync.Mutex
	clock   Clock // nil: it does not run yet
	started time.Time
	had     time.Duration // what the clock gave last
	read    bool          // the clock could be read
}

// NewMeter returns a Meter for an activity that begins now.
func NewMeter() *Meter { return &Meter{began: time.Now()} }

// Start says that the activity runs from now on, by this clock. It may be called again, when it continues elsewhere: then
// only what follows counts.
func (m *Meter) Start(clock Clock) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock, m.started, m.had, m.read = clock, time.Now(), 0, false
}

// Took is how much time has passed by the wall clock since the activity began.
func (m *Meter) Took() time.Duration { return time.Since(m.began) }

// Had is how long the activity had a processor since Start, and 0 before. It is never more than the time that has passed
// since then, although several threads may have run at once. Where the clock cannot be read it is the time that has passed.
func (m *Meter) Had() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.clock == nil {
		return 0
	}
	passed := time.Since(m.started)
	had, ok := m.clock()
	switch {
	case ok:
		m.had, m.read = min(had, passed), true
	case !m.read:
		return passed
	}
	return m.had // of a process that is gone, what it had at last
}

// shortestWait keeps a Wait from looking again and again when little is missing.
const shortestWait = time.Millisecond

// Wait waits until done is closed. It reports false when the activity has had a processor for as long as patience
// meanwhile, or Bound(patience) has passed, and done is still open.
func (m *Meter) Wait(done <-chan struct{}, patience time.Duration) bool {
	began, before := time.Now(), m.Had()
	tick := time.NewTimer(patience)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return true
		case <-tick.C:
		}
		left := patience - (m.Had() - before)
		if left <= 0 || time.Since(began) >= Bound(patience) {
			return false
		}
		tick.Reset(max(left, shortestWait))
	}
}
