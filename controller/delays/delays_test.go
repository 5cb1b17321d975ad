package delays

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A world is a Meter and the queue that it looks at.
type world struct {
	*Meter
	parents atomic.Int64
	longest time.Duration
	changes atomic.Int64
}

func newWorld(parents int, longest time.Duration) *world {
	w := &world{longest: longest}
	w.parents.Store(int64(parents))
	w.Meter = &Meter{Waiting: func() (int, time.Duration) { return int(w.parents.Load()), w.longest }, Changed: func() { w.changes.Add(1) }}
	return w
}

// calls makes n calls of a hook, one after the other.
func (w *world) calls(n int, took time.Duration) {
	for range n {
		end := w.Begin("sync")
		time.Sleep(took)
		end()
	}
}

func TestSlowHookIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(28, 7*time.Second)
		w.calls(3, 4*time.Second)
		if got, want := w.Report(), (Report{Waiting: 28, Longest: 7 * time.Second, Hook: "sync", Took: 3 * time.Second}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		w.calls(10, 4*time.Second)
		if w.changes.Load() != 1 {
			t.Errorf("it changed %d times within a minute", w.changes.Load())
		}
		w.calls(10, 4*time.Second)
		if got := w.Report(); w.changes.Load() != 2 || got.Took != 4*time.Second {
			t.Errorf("after a minute: %+v, changed %d times", got, w.changes.Load())
		}
		w.parents.Store(0)
		time.Sleep(quietPeriods * period)
		if got := w.Report(); w.changes.Load() != 3 || got != (Report{}) {
			t.Errorf("at the end: %+v, changed %d times", got, w.changes.Load())
		}
		w.Stop()
	})
}

func TestCallThatDoesNotEndIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1, time.Hour)
		end := w.Begin("finalize")
		time.Sleep(period + time.Second)
		if got := w.Report(); got.Took != period || got.Hook != "finalize" {
			t.Errorf("got %+v", got)
		}
		end()
		w.Stop()
	})
}

func TestWhatIsNotSlowIsNotReported(t *testing.T) {
	for name, c := range map[string]struct {
		parents int
		longest time.Duration
		took    time.Duration
	}{
		"fast hooks, as after a start":   {10_000, time.Minute, slow / 2},
		"no parent waits":                {0, 0, time.Second},
		"the parents have waited little": {10, longest - 1, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(c.parents, c.longest)
			w.calls(100, c.took)
			if got := w.Report(); w.changes.Load() != 0 || got != (Report{}) {
				t.Errorf("%s: %+v, changed %d times", name, got, w.changes.Load())
			}
			w.Stop()
		})
	}
}

func TestIdleMeterHasNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it would not end with a timer that fires again and again
		w := newWorld(0, 0)
		w.calls(1, time.Second)
		time.Sleep(2 * period)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.timer != nil {
			t.Error("there is a timer")
		}
	})
}
