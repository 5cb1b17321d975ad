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

// Bound returns the maximum wall-clock time of an activity that may use the CPU time d: ten times d and half a minute, because
// even a short activity may have to wait for long until it gets a CPU.
func Bound(d time.Duration) time.Duration { return Factor*d + least }

const (
	// Factor is the factor from a limit of CPU time to the limit of wall-clock time; see [Bound].
	Factor = 10
	// least is the limit of wall-clock time for no CPU time.
	least = 30 * time.Second
)

// A Clock returns the CPU time of a thread or a process, counted from some moment that the Clock chooses. ok is false if the time
// cannot be read, because the system does not report it, or because the thread or process has ended. Calls must not be concurrent.
type Clock func() (cpu time.Duration, ok bool)

// A Meter measures one activity, which begins when the Meter is made and may be waiting before it begins to run. Its
// methods may be called concurrently.
type Meter struct {
	began time.Time // when it was made

	mu      sync.Mutex    // guards the fields below; clock is called with it locked
	clock   Clock         // nil until Start
	started time.Time     // when Start was called last
	cpu     time.Duration // the last result of clock
	read    bool          // the clock could be read
}

// NewMeter returns a Meter for an activity that begins now.
func NewMeter() *Meter { return &Meter{began: time.Now()} }

// Start sets the clock of the activity, which runs from now on. It may be called again when the activity continues on another
// thread or in another process: then only the time after that call counts.
func (m *Meter) Start(clock Clock) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock, m.started, m.cpu, m.read = clock, time.Now(), 0, false
}

// Elapsed returns the wall-clock time since the Meter was made.
func (m *Meter) Elapsed() time.Duration { return time.Since(m.began) }

// CPUTime returns the CPU time of the activity since Start, and 0 before Start. It is never more than the wall-clock time since
// then, although several threads may have run at once. If the clock cannot be read, it is the wall-clock time.
func (m *Meter) CPUTime() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.clock == nil {
		return 0
	}
	elapsed := time.Since(m.started)
	cpu, ok := m.clock()
	switch {
	case ok:
		m.cpu, m.read = min(cpu, elapsed), true
	case !m.read:
		return elapsed
	}
	return m.cpu // for a process that has ended, the last time that was read
}

// shortestWait prevents very short waits when little CPU time is left.
const shortestWait = time.Millisecond

// Wait waits until done is closed, and returns true. It returns false if done is still open when the activity has used the CPU time
// limit since the call of Wait, or when the wall-clock time Bound(limit) has passed.
func (m *Meter) Wait(done <-chan struct{}, limit time.Duration) bool {
	began, before := time.Now(), m.CPUTime()
	tick := time.NewTimer(limit)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return true
		case <-tick.C:
		}
		left := limit - (m.CPUTime() - before)
		if left <= 0 || time.Since(began) >= Bound(limit) {
			return false
		}
		tick.Reset(max(left, shortestWait))
	}
}
