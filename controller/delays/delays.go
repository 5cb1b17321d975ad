// Package delays finds out whether the parents of a controller wait because its hooks are slow. A [Meter] measures the calls of hooks, and
// looks at the queue while there are calls.
package delays

import (
	"sync"
	"time"
)

// Parents wait because of the hooks if one has waited for longest at least, and a call takes slow at least. The queue is looked at in each
// period. After quietPeriods without a reason, the Report ends; it is up to date at least once in a reportInterval.
const (
	longest        = 5 * time.Second
	slow           = 250 * time.Millisecond
	period         = 3 * time.Second
	quietPeriods   = 5
	reportInterval = time.Minute
)

// A Report says how many parents wait because of slow hooks. The zero value says that none does.
type Report struct {
	Waiting int           // parents
	Longest time.Duration // how long the first of them has waited
	Hook    string        // the name of the hook
	Took    time.Duration // a call, on average; or the longest one that has not ended, if that is longer
}

// A Meter measures the calls of the hooks of one controller. It has a timer only while there are calls or something to report. It is safe
// for concurrent use.
type Meter struct {
	Waiting func() (parents int, longest time.Duration) // returns how many parents wait, and how long the first has waited
	Changed func()                                      // is called when the Report has changed; it must not block

	mu       sync.Mutex // guards the fields below; Waiting is called while it is locked, and Changed is not
	next     int
	running  map[int]call
	ended    int           // calls since the last look
	took     time.Duration // all of these
	hook     string        // of the last of these
	report   Report
	reported time.Time
	quiet    int // periods without a reason for the report
	timer    *time.Timer
	stopped  bool
}

// A call is a call of a hook that has not ended.
type call struct {
	hook  string
	began time.Time
}

// Begin notes that a hook is called. The caller calls end when the call has ended.
func (m *Meter) Begin(hook string) (end func()) {
	if m == nil {
		return func() {}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == nil {
		m.running = map[int]call{}
	}
	m.next++
	id, began := m.next, time.Now()
	m.running[id] = call{hook, began}
	if m.timer == nil && !m.stopped {
		m.timer = time.AfterFunc(period, m.look)
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.running, id)
		m.ended, m.took, m.hook = m.ended+1, m.took+time.Since(began), hook
	}
}

// Report returns what was found last.
func (m *Meter) Report() Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.report
}

// Stop ends the measurement.
func (m *Meter) Stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = true
	if m.timer != nil {
		m.timer.Stop()
	}
}

// look updates the Report, and begins the next period if there is a reason to.
func (m *Meter) look() {
	m.mu.Lock()
	changed := m.update(time.Now())
	if m.timer = nil; !m.stopped && (len(m.running)+m.ended+m.report.Waiting > 0) {
		m.timer = time.AfterFunc(period, m.look)
	}
	m.ended, m.took = 0, 0
	m.mu.Unlock()
	if changed {
		m.Changed()
	}
}

// update sets the Report to what is now, and reports whether it has changed.
func (m *Meter) update(now time.Time) bool {
	current := m.current(now)
	if current == m.report {
		return false
	}
	if current.Waiting > 0 {
		m.quiet = 0
		if m.report.Waiting > 0 && now.Sub(m.reported) < reportInterval {
			return false
		}
		m.report, m.reported = current, now
		return true
	}
	if m.quiet++; m.quiet < quietPeriods {
		return false
	}
	m.report, m.quiet = Report{}, 0
	return true
}

// current returns the Report of the calls since the last look, and of those that have not ended.
func (m *Meter) current(now time.Time) Report {
	r := Report{Hook: m.hook}
	if m.ended > 0 {
		r.Took = m.took / time.Duration(m.ended)
	}
	for _, c := range m.running {
		if took := now.Sub(c.began); took > r.Took {
			r.Took, r.Hook = took, c.hook
		}
	}
	if r.Took < slow {
		return Report{}
	}
	if r.Waiting, r.Longest = m.Waiting(); r.Waiting == 0 || r.Longest < longest {
		return Report{}
	}
	return r
}
