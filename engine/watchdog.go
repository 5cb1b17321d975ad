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

// A watchdog stops evaluations that make the memory of the process grow too much.
//
// Go does not report which goroutine uses which memory. So the watchdog measures the whole: how much heap and stacks have grown
// since the first of the running evaluations started. It does nothing while the growth stays below what these evaluations may
// use together, with as much again for garbage, and watchSlack. Above that it collects garbage. If that does not help, it stops
// the evaluations one after the other, the one that has run longest first, and measures how much memory each one releases.
// One that releases more than its Limits.Memory was too large; the others start again.
//
// It cannot stop what a single native operation allocates: guards in the runtimes bound those. To find the evaluation takes
// some milliseconds, on a busy machine much longer. So a script that makes large values waits for it: see [WaitForMemory].
type watchdog struct {
	heap    func() int64 // bytes in use, garbage included
	collect func()       // collects garbage

	mu          sync.Mutex    // guards the fields below
	evaluations []*evaluation // in the order they started; each is added when it is first checked
	baseline    int64         // the result of heap when the first evaluation was added

	looking sync.Mutex // serializes findTooLarge; mu, and the lock of a Meter, may be taken while it is locked
}

// watchSlack is how much the process may grow in addition to the memory of its scripts.
const watchSlack = 64 << 20

// An evaluation is one attempt that runs, as its monitor sees it.
type evaluation struct {
	monitor     monitor        // nil if it uses no memory of this process
	memory      int64          // its limit
	meter       *cputime.Meter // counts its time
	stop        func(error)    // cancels its ctx
	done        chan struct{}  // closed when it has ended
	wasTooLarge chan bool      // receives, once it was stopped, whether it was too large; nil until the watchdog knows it

	removed bool // it has ended or was abandoned; guarded by the watchdog's mu
}

// tooLarge waits until the watchdog has measured s, which it stopped.
func (s *evaluation) tooLarge() bool { return <-s.wasTooLarge }

// errMemoryCheck is the cause of a ctx that the watchdog ended. See tooLarge for whether the evaluation was too large.
var errMemoryCheck = errors.New("stopped to find who takes the memory")

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

// add adds s to the evaluations, until remove is called.
func (w *watchdog) add(s *evaluation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.wasTooLarge != nil || s.removed {
		return
	}
	s.wasTooLarge = make(chan bool, 1)
	if len(w.evaluations) == 0 {
		w.baseline = w.heap()
	}
	w.evaluations = append(w.evaluations, s)
}

// remove implements [monitor].
func (w *watchdog) remove(s *evaluation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.removed = true
	if i := slices.Index(w.evaluations, s); i >= 0 {
		w.evaluations = slices.Delete(w.evaluations, i, i+1)
	}
}

// wait implements [monitor]. It always ends: the watchdog either stops an evaluation that is too large, or makes the memory in
// use its new baseline.
func (w *watchdog) wait(ctx context.Context, s *evaluation, _ int64) {
	w.add(s)
	for w.excess() && ctx.Err() == nil {
		time.Sleep(lookAgain)
	}
}

// look implements [monitor].
func (w *watchdog) look(s *evaluation) {
	w.add(s)
	if w.excess() && w.looking.TryLock() {
		defer w.looking.Unlock()
		w.findTooLarge()
	}
}

// excess reports whether memory has grown more than the running evaluations may make it grow.
func (w *watchdog) excess() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	allowed := int64(watchSlack)
	for _, s := range w.evaluations {
		allowed += 2 * s.memory
	}
	return len(w.evaluations) > 0 && w.heap()-w.baseline > allowed
}

func (w *watchdog) findTooLarge() {
	w.collect()
	w.mu.Lock()
	running := slices.Clone(w.evaluations)
	w.mu.Unlock()
	for _, s := range running {
		if !w.excess() {
			return
		}
		w.stopAndMeasure(s)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.baseline = w.heap() // no evaluation uses what is left
}

// stopAndMeasure stops s, and reports to it whether it was too large.
func (w *watchdog) stopAndMeasure(s *evaluation) {
	before := w.heap()
	s.stop(errMemoryCheck)
	_ = s.meter.Wait(s.done, defaultGrace) // if it does not end, it becomes a runaway
	w.collect()
	s.wasTooLarge <- before-w.heap() > s.memory
}
