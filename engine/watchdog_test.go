package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A simulated heap: each evaluation uses as many MiB as its function's name says, from 10 ms after its start until its end.
type heap struct{ live, garbage atomic.Int64 }

func (h *heap) engine(slots int) *Engine {
	e := New(Options{Slots: slots, Runtimes: map[string]Runtime{fakeLanguage: fake{
		call: func(ctx context.Context, fn string, _ map[string]any, env Env) (map[string]any, error) {
			var size int64
			_, _ = fmt.Sscan(fn, &size)
			time.Sleep(10 * time.Millisecond)
			h.live.Add(size << 20)
			defer func() {
				h.live.Add(-size << 20)
				h.garbage.Add(size << 20)
			}()
			select {
			case <-time.After(100 * time.Millisecond):
				return map[string]any{}, nil
			case <-ctx.Done():
				return nil, Stopped(ctx, Pos{File: "main", Line: 1}, env.Limits)
			}
		},
	}}})
	w := e.memory.(*watchdog)
	w.heap = func() int64 { return h.live.Load() + h.garbage.Load() }
	w.collect = func() { h.garbage.Store(0) }
	return e
}

func TestWatchdogStopsGrowth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := new(heap).engine(2)
		p := mustCompile(t, e, fakeScript("a"))
		_, err := p.Call(t.Context(), "300", nil, Env{})
		if got := wantKind(t, err, KindMemory); got.Error() != "main:1: in 300: the script needs more than 64Mi of memory (build less at a time, or raise limits.memory)" {
			t.Errorf("got %v", got)
		}
		if _, err := p.Call(t.Context(), "300", nil, Env{Limits: Limits{Memory: 200 << 20}}); err != nil {
			t.Errorf("with a larger limit: %v", err)
		}
		if _, err := p.Call(t.Context(), "60", nil, Env{}); err != nil {
			t.Errorf("a small evaluation: %v", err)
		}
		if len(e.memory.(*watchdog).evaluations) != 0 {
			t.Errorf("%d evaluations are left", len(e.memory.(*watchdog).evaluations))
		}
	})
}

// A small evaluation that runs at the same time starts again, no matter which of them started first.
func TestWatchdogFindsTheLargeEvaluation(t *testing.T) {
	for _, sizes := range [][]string{{"1000", "50"}, {"50", "1000"}} {
		synctest.Test(t, func(t *testing.T) {
			e := new(heap).engine(2)
			var calls sync.WaitGroup
			for _, size := range sizes {
				p := mustCompile(t, e, fakeScript(size))
				calls.Go(func() {
					_, err := p.Call(t.Context(), size, nil, Env{Owner: size})
					if size == "1000" {
						wantKind(t, err, KindMemory)
					} else if err != nil {
						t.Error(err)
					}
				})
				time.Sleep(time.Millisecond)
			}
			calls.Wait()
		})
	}
}

// An evaluation that was stopped and was not too large can use the rest of its timeout. If that is used up, the error is not a fault of
// the script.
func TestAllAttemptsHaveOneTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, until = 3 * time.Second, 2 * time.Second
		h := new(heap)
		e := h.engine(2)
		began := 0
		e.runtimes[fakeLanguage] = fake{call: func(ctx context.Context, fn string, _ map[string]any, env Env) (map[string]any, error) {
			if fn == "endless" {
				began++ // never two at a time
			} else {
				time.Sleep(10 * time.Millisecond)
				h.live.Add(1 << 30)
				defer h.live.Add(-1 << 30)
			}
			<-ctx.Done()
			return nil, Stopped(ctx, Pos{File: "main", Line: 1}, env.Limits)
		}}
		endless, large := mustCompile(t, e, fakeScript("endless")), mustCompile(t, e, fakeScript("large"))
		var calls sync.WaitGroup
		calls.Go(func() {
			start := time.Now()
			_, err := endless.Call(t.Context(), "endless", nil, Env{Owner: "endless", Limits: Limits{Timeout: limit}})
			if got := wantKind(t, err, KindCanceled); !strings.Contains(got.Msg, "it will be tried again") || got.Pos.Line != 1 {
				t.Errorf("got %v", got)
			}
			if took := time.Since(start); began != 2 || took < limit || took > limit+100*time.Millisecond {
				t.Errorf("%d attempts took %s together", began, took)
			}
		})
		time.Sleep(until)
		_, err := large.Call(t.Context(), "large", nil, Env{Owner: "large"})
		wantKind(t, err, KindMemory)
		calls.Wait()
	})
}

// Growth that is not caused by a script, such as caches and garbage, is not counted as a fault of a script.
func TestWatchdogDoesNotBlameOtherEvaluations(t *testing.T) {
	for _, of := range []func(*heap) *atomic.Int64{
		func(h *heap) *atomic.Int64 { return &h.live },
		func(h *heap) *atomic.Int64 { return &h.garbage },
	} {
		synctest.Test(t, func(t *testing.T) {
			h := new(heap)
			e := h.engine(1)
			p := mustCompile(t, e, fakeScript("a"))
			time.AfterFunc(50*time.Millisecond, func() { of(h).Add(1 << 30) })
			if _, err := p.Call(t.Context(), "1", nil, Env{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// A script that uses much memory of the real heap is stopped.
func TestWatchdogOnTheRealHeap(t *testing.T) {
	e := newFakeEngine(fake{call: func(ctx context.Context, _ string, _ map[string]any, env Env) (map[string]any, error) {
		var hoard [][]byte
		for ctx.Err() == nil {
			hoard = append(hoard, make([]byte, 1<<20))
		}
		return map[string]any{"n": int64(len(hoard))}, Stopped(ctx, Pos{}, env.Limits)
	}})
	_, err := mustCompile(t, e, fakeScript("a")).Call(t.Context(), "sync", nil, Env{Limits: Limits{Memory: 8 << 20, Timeout: time.Minute}})
	wantKind(t, err, KindMemory)
}

// An evaluation that makes one large value after the other waits until the watchdog has checked the memory, even if that takes long.
func TestLargeValuesWaitForTheWatchdog(t *testing.T) {
	const size = 50 << 20
	synctest.Test(t, func(t *testing.T) {
		h := new(heap)
		e := h.engine(1)
		e.runtimes[fakeLanguage] = fake{call: func(ctx context.Context, _ string, _ map[string]any, env Env) (map[string]any, error) {
			var made int64
			for made < 100*size && WaitForMemory(ctx, size) == nil {
				h.live.Add(size)
				made += size
			}
			h.live.Add(-made)
			if allowed := 2*env.Limits.Memory + watchSlack; made > allowed+2*size {
				t.Errorf("%d MiB were allocated, more than %d MiB are too much", made>>20, allowed>>20)
			}
			return map[string]any{}, Stopped(ctx, Pos{}, env.Limits)
		}}
		_, err := mustCompile(t, e, fakeScript("a")).Call(t.Context(), "sync", nil, Env{})
		wantKind(t, err, KindMemory)
		if err := WaitForMemory(t.Context(), size); err != nil {
			t.Errorf("without an evaluation: %v", err)
		}
	})
}
