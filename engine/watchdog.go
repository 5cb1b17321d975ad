package engine

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"metascript/engine/cputime"
)

// A watchdog stops evaluations that make the process's memory grow too much.
//
// Go does not tell whose memory is whose, so it looks at the whole: how much heap and stacks have grown since the
// first of the evaluations began that run now. As long as that is below what they may take together, with as much
// again for garbage and some slack, it does nothing. Above, it collects garbage, and when that does not help it stops
// the evaluations one after the other, the longest first, and finds who it was by what comes free: one that gives back
// more than its Limits.Memory was too large. The others begin again.
//
// It cannot stop what a single native operation allocates: guards in the runtimes bound those. It takes some ms to find
// who it was, on a busy machine much longer, so that what makes large values waits for it: see [WaitForMemory].
type watchdog struct {
	heap    func() int64 // bytes in use, garbage included
	collect func()       // collects garbage

	mu       sync.Mutex
	suspects []*suspect // in the order they began; an evaluation becomes one when it is first looked at
	baseline int64      // of heap, from when there were none

	looking sync.Mutex // held while it investigates
}

// watchSlack is how much the process may grow besides what its scripts may take.
const watchSlack = 64 << 20

// A suspect is an evaluation that has run for a while.
type suspect struct {
	monitor monitor        // nil when its memory is not that of this process
	memory  int64          // its limit
	meter   *cputime.Meter // counts its time
	stop    func(error)    // makes it end
	done    chan struct{}  // closed when it has
	verdict chan bool      // receives whether it was to blame, once it was stopped; nil until it is a suspect

	removed bool // guarded by the watchdog's mu
}

// guilty waits for the verdict on a suspect that was stopped.
func (s *suspect) guilty() bool { return <-s.verdict }

// errSuspected is the cause of a ctx that the watchdog ended; the verdict follows.
var errSuspected = errors.New("stopped to find who takes the memory")

func newWatchdog() *watchdog {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	return &watchdog{
		heap: func() int64 {
			s := slices.Clone(samples)
			metrics.Read(s)
			return int64(s[0].Value.Uint64() + s[1].Value.Uint64())
		},
		collect: runtime.GC,
	}
}

// add makes s a suspect until remove is called, if it is none yet.
func (w *watchdog) add(s *suspect) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.verdict != nil || s.removed {
		return
	}
	s.verdict = make(chan bool, 1)
	if len(w.suspects) == 0 {
		w.baseline = w.heap()
	}
	w.suspects = append(w.suspects, s)
}

// remove implements [monitor].
func (w *watchdog) remove(s *suspect) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.removed = true
	if i := slices.Index(w.suspects, s); i >= 0 {
		w.suspects = slices.Delete(w.suspects, i, i+1)
	}
}

// wait implements [monitor]. One of the two that it waits for comes about: the watchdog stops an evaluation that took too
// much, or takes what is in use for the new baseline.
func (w *watchdog) wait(ctx context.Context, s *suspect, _ int64) {
	w.add(s)
	for w.excess() && ctx.Err() == nil {
		time.Sleep(lookAgain)
	}
}

// look implements [monitor].
func (w *watchdog) look(s *suspect) {
	w.add(s)
	if w.excess() && w.looking.TryLock() {
		defer w.looking.Unlock()
		w.investigate()
	}
}

// excess reports whether memory has grown more than the suspects may make it.
func (w *watchdog) excess() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	allowed := int64(watchSlack)
	for _, s := range w.suspects {
		allowed += 2 * s.memory
	}
	return len(w.suspects) > 0 && w.heap()-w.baseline > allowed
}

func (w *watchdog) investigate() {
	w.collect()
	w.mu.Lock()
	suspects := slices.Clone(w.suspects)
	w.mu.Unlock()
	for _, s := range suspects {
		if !w.excess() {
			return
		}
		w.question(s)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.baseline = w.heap() // what is still there is somebody else's
}

// question stops s and tells it whether it was to blame.
func (w *watchdog) question(s *suspect) {
	before := w.heap()
	s.stop(errSuspected)
	_ = s.meter.Wait(s.done, defaultGrace) // or it cannot be stopped: the caller will call it a runaway
	w.collect()
	s.verdict <- before-w.heap() > s.memory
}
