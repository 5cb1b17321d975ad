// Package cputime measures the CPU time of a thread or a process.
//
// The wall-clock time of an activity depends on what else the machine does: on a busy machine, or in a container with a small
// CPU limit, a script may have had a CPU for a hundredth of the time that passed. So time limits count CPU time: a [Clock]
// reads it, a [Meter] counts it for one activity. An activity that waits uses no CPU time, so there is a much higher limit of
// wall-clock time as well: see [Bound].
package cputime

import (
	"sync"
	"time"
)

// Bound returns the maximum wall-clock time of an activity that may use the CPU time d: ten times d and half a minute, since
// even a short activity may have to wait for long until it gets a CPU.
func Bound(d time.Duration) time.Duration { return Factor*d + least }

const (
	// Factor is how many times a limit of CPU time may pass by the wall clock.
	Factor = 10
	least  = 30 * time.Second
)

// A Clock returns the CPU time of a thread or a process since a moment that the Clock chooses. ok is false if it cannot be
// read, because the system does not report it, or because the thread or process has ended. Calls must not be concurrent.
type Clock func() (had time.Duration, ok bool)

// A Meter measures one activity, which begins when the Meter is made and may be waiting before it begins to run. Its
// methods may be called concurrently.
type Meter struct {
	began time.Time

	mu      sync.Mutex
	clock   Clock // nil until Start
	started time.Time
	had     time.Duration // the last result of clock
	read    bool          // the clock could be read
}

// NewMeter returns a Meter for an activity that begins now.
func NewMeter() *Meter { return &Meter{began: time.Now()} }

// Start says that the activity runs from now on, with this clock. It may be called again when the activity continues
// elsewhere: then only the time after that counts.
func (m *Meter) Start(clock Clock) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock, m.started, m.had, m.read = clock, time.Now(), 0, false
}

// Took returns the wall-clock time since the activity began.
func (m *Meter) Took() time.Duration { return time.Since(m.began) }

// Had returns the CPU time of the activity since Start, and 0 before Start. It is never more than the wall-clock time since
// then, although several threads may have run at once. If the clock cannot be read, it is the wall-clock time.
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

// shortestWait prevents very short waits when little CPU time is left.
const shortestWait = time.Millisecond

// Wait waits until done is closed. It returns false if done is still open when the activity has used that much CPU time
// meanwhile, or when Bound(patience) has passed.
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
