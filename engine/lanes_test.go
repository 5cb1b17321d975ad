package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestOwnersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		_ = s.acquire(t.Context(), ownerKey{}, false)
		var order []string
		var waiters sync.WaitGroup
		for _, owner := range []string{"a", "a", "a", "b", "c", "b"} {
			waiters.Go(func() {
				_ = s.acquire(t.Context(), ownerKey{name: owner}, false)
				order = append(order, owner) // guarded by the slot
				s.release()
			})
			synctest.Wait() // until it waits
		}
		s.release()
		waiters.Wait()
		if want := []string{"a", "b", "c", "a", "b", "a"}; !slices.Equal(order, want) {
			t.Errorf("slots were given in the order %v, want %v", order, want)
		}
		if len(s.others.within) != 0 || s.others.turns.Len() != 0 || s.free != 1 {
			t.Errorf("left over: %d queues, %d turns, %d free", len(s.others.within), s.others.turns.Len(), s.free)
		}
	})
}

// Waiters with precedence get slots first, but the others get every fourth slot.
func TestPrecedence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		_ = s.acquire(t.Context(), ownerKey{}, false)
		order := ""
		var waiters sync.WaitGroup
		for i, owner := range "xxyaaabbb" {
			waiters.Go(func() {
				_ = s.acquire(t.Context(), ownerKey{name: string(owner)}, i > 2)
				order += string(owner) // guarded by the slot
				s.release()
			})
			synctest.Wait() // until it waits
		}
		s.release()
		waiters.Wait()
		if want := "abaxbabyx"; order != want {
			t.Errorf("slots were given in the order %s, want %s", order, want)
		}
	})
}

// Any number of new owners with endless scripts delay an owner whose script is known to be quick only by one or two evaluations.
func TestNewSlowScriptsDoNotDelayQuickScripts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began atomic.Int32
		e := New(Options{Runtimes: map[string]Runtime{fakeLanguage: burner(&began)}, Slots: 1})
		good := mustCompile(t, e, fakeScript("good"))
		wait := func() time.Duration {
			start := time.Now()
			if _, err := good.Call(t.Context(), "1ms", nil, Env{Owner: "good"}); err != nil {
				t.Fatal(err)
			}
			return time.Since(start) - time.Millisecond
		}
		for range quickAfter {
			wait()
		}
		ctx, stop := context.WithCancel(t.Context())
		var burners sync.WaitGroup
		for i := range 300 {
			owner := fmt.Sprint("bad ", i)
			bad := mustCompile(t, e, fakeScript(owner))
			burners.Go(func() { _, _ = bad.Call(ctx, "1h", nil, Env{Owner: owner}) })
		}
		synctest.Wait()
		for range 100 {
			if waited := wait(); waited > 2*(quickSlice+lookEvery) {
				t.Errorf("waited %s", waited)
			}
			time.Sleep(time.Millisecond)
		}
		stop()
		burners.Wait()
	})
}

// burner returns a fake whose functions run for the time in their names, or until ctx is done.
func burner(began *atomic.Int32) fake {
	return fake{call: func(ctx context.Context, fn string, _ map[string]any, env Env) (map[string]any, error) {
		began.Add(1)
		long, _ := time.ParseDuration(fn)
		env.Log(Message{Text: "begun"})
		select {
		case <-time.After(long):
			env.Log(Message{Text: "done"})
			return map[string]any{}, nil
		case <-ctx.Done():
			return nil, Stopped(ctx, Pos{File: "main", Line: 1}, env.Limits)
		}
	}}
}

// An owner whose scripts are endless delays others by two short slices at most, at the beginning.
func TestSlowScriptDelaysOthersByTwoShortSlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began atomic.Int32
		e := New(Options{Runtimes: map[string]Runtime{fakeLanguage: burner(&began)}, Slots: 1})
		bad, good := mustCompile(t, e, fakeScript("bad")), mustCompile(t, e, fakeScript("good"))
		ctx, stop := context.WithCancel(t.Context())
		var burners sync.WaitGroup
		for range 5 {
			burners.Go(func() {
				for ctx.Err() == nil {
					_, _ = bad.Call(ctx, "1h", nil, Env{Owner: "bad"})
				}
			})
		}
		synctest.Wait()
		var waits []time.Duration
		for range 1000 {
			start := time.Now()
			if _, err := good.Call(t.Context(), "1ms", nil, Env{Owner: "good"}); err != nil {
				t.Fatal(err)
			}
			waits = append(waits, time.Since(start)-time.Millisecond)
			time.Sleep(time.Millisecond)
		}
		stop()
		burners.Wait()
		if waits[0]+waits[1] > 2*(shortSlice+lookEvery) || slices.Max(waits[2:]) > 0 {
			t.Errorf("waited %v first and up to %v later", waits[:2], slices.Max(waits[2:]))
		}
	})
}

// An evaluation whose slice ends while no slot of the slow lane is free starts again there later, and does not log a message twice.
func TestStoppedEvaluationStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began atomic.Int32
		e := New(Options{Runtimes: map[string]Runtime{fakeLanguage: burner(&began)}, Slots: 2})
		var calls sync.WaitGroup
		for i := range 2 {
			p := mustCompile(t, e, fakeScript(fmt.Sprint(i)))
			calls.Go(func() {
				var log []string
				_, err := p.Call(t.Context(), "1s", nil, Env{Owner: fmt.Sprint(i), Log: func(m Message) { log = append(log, m.Text) }})
				if err != nil || !slices.Equal(log, []string{"begun", "done"}) {
					t.Errorf("got error %v and log %v", err, log)
				}
			})
		}
		calls.Wait()
		if n := began.Load(); n < 3 || n > 2*(maxSliced+1) {
			t.Errorf("%d evaluations began", n)
		}
		if l := e.lanes; l.fast.free != 2 || l.slow.free != 1 {
			t.Errorf("%d and %d slots are free", l.fast.free, l.slow.free)
		}
	})
}

// A script that was slow and is quick again returns to the fast lane.
func TestScoreFollowsTheLatestEvaluations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began atomic.Int32
		e := New(Options{Runtimes: map[string]Runtime{fakeLanguage: burner(&began)}, Slots: 1})
		p := mustCompile(t, e, fakeScript("a"))
		for _, step := range []struct {
			takes string
			slow  bool
		}{
			{"1ms", false}, {"60ms", false}, {"60ms", false}, {"300ms", true}, {"60ms", true}, {"1ms", false},
			{"300ms", true}, {"2s", true}, {"1ms", false},
		} {
			if _, err := p.Call(t.Context(), step.takes, nil, Env{Owner: "a"}); err != nil {
				t.Fatal(err)
			}
			if got := e.lanes.score(e.lanes.keyOf(t, "a")) >= slowScore; got != step.slow {
				t.Errorf("after %s: known as slow: %v", step.takes, got)
			}
		}
	})
}

// keyOf returns the key of the script of owner.
func (l *lanes) keyOf(t *testing.T, owner string) scriptKey {
	t.Helper()
	for _, key := range l.history.Keys() {
		if key.owner.name == owner {
			return key
		}
	}
	return scriptKey{}
}

// A script that takes some time does not wait until slow scripts of another owner time out, and these are not stopped too often.
func TestSlowLaneIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began atomic.Int32
		e := New(Options{Runtimes: map[string]Runtime{fakeLanguage: burner(&began)}, Slots: 1})
		slow, while := mustCompile(t, e, fakeScript("slow")), mustCompile(t, e, fakeScript("while"))
		var calls sync.WaitGroup
		calls.Go(func() {
			if _, err := slow.Call(t.Context(), "4s", nil, Env{Owner: "slow"}); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Second) // it is in the slow lane
		for range 100 {
			start := time.Now()
			if _, err := while.Call(t.Context(), "100ms", nil, Env{Owner: "while"}); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %s", took)
			}
		}
		calls.Wait()
		if began.Load() > 100+2*(maxSliced+1) {
			t.Errorf("%d evaluations began", began.Load())
		}
	})
}

// Several endless scripts time out one after the other, not much later than the sum of their timeouts.
func TestManySlowScriptsTimeOutInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const burners, limit = 6, 3 * time.Second
		var began atomic.Int32
		e := New(Options{Runtimes: map[string]Runtime{fakeLanguage: burner(&began)}, Slots: 1})
		var calls sync.WaitGroup
		start := time.Now()
		for i := range burners {
			p := mustCompile(t, e, fakeScript(fmt.Sprint(i)))
			calls.Go(func() {
				_, err := p.Call(t.Context(), "1h", nil, Env{Owner: fmt.Sprint(i), Limits: Limits{Timeout: limit}})
				wantKind(t, err, KindTimeout)
			})
		}
		calls.Wait()
		if took, most := time.Since(start), burners*(limit+4*slice); took > most {
			t.Errorf("the last one timed out after %s, want %s at most", took, most)
		}
		if n := began.Load(); n > burners*(maxSliced+1) {
			t.Errorf("%d evaluations began", n)
		}
	})
}

// A script that does not stop at the end of its slice is a runaway, as after its timeout.
func TestEvaluationThatDoesNotStopAtItsSliceIsARunaway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		e := newFakeEngine(fake{call: func(context.Context, string, map[string]any, Env) (map[string]any, error) {
			<-block
			return nil, nil
		}})
		e.lanes.slow.tryAcquire()
		_, err := mustCompile(t, e, fakeScript("a")).Call(t.Context(), "sync", nil, Env{})
		wantKind(t, err, KindTimeout)
		if len(e.Runaways()) != 1 || e.lanes.fast.free != 2 {
			t.Errorf("%d runaways, %d free slots", len(e.Runaways()), e.lanes.fast.free)
		}
		close(block)
	})
}

// Attempts that ended because others waited do not count: a script that needs nearly its whole timeout succeeds.
func TestTurnsDoNotReduceTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began atomic.Int32
		e := New(Options{Runtimes: map[string]Runtime{fakeLanguage: burner(&began)}, Slots: 1})
		var calls sync.WaitGroup
		for i := range 3 {
			p := mustCompile(t, e, fakeScript(fmt.Sprint(i)))
			calls.Go(func() {
				env := Env{Owner: fmt.Sprint(i), Limits: Limits{Timeout: 300 * time.Millisecond}}
				if _, err := p.Call(t.Context(), "290ms", nil, env); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		if began.Load() <= 3 {
			t.Error("no evaluation was started again")
		}
	})
}

// In worker processes, slow scripts are not started again while there are workers for them, and do not delay others.
func TestEvaluationsInProcessesContinueInTheSlowLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began atomic.Int32
		e := New(Options{Runtimes: map[string]Runtime{fakeLanguage: burner(&began)}, Slots: 1, Elsewhere: true})
		var calls sync.WaitGroup
		for i := range e.lanes.slow.size {
			p := mustCompile(t, e, fakeScript(fmt.Sprint(i)))
			calls.Go(func() {
				if _, err := p.Call(t.Context(), "4s", nil, Env{Owner: fmt.Sprint(i)}); err != nil {
					t.Error(err)
				}
			})
		}
		quick, start := mustCompile(t, e, fakeScript("quick")), time.Now()
		synctest.Wait()
		if _, err := quick.Call(t.Context(), "1ms", nil, Env{Owner: "quick"}); err != nil {
			t.Error(err)
		}
		if took, most := time.Since(start), time.Duration(e.lanes.slow.size)*(shortSlice+lookEvery)+2*time.Millisecond; took > most {
			t.Errorf("the quick script took %s", took)
		}
		calls.Wait()
		if got, want := int(began.Load()), e.lanes.slow.size+1; got != want {
			t.Errorf("%d evaluations began, want %d", got, want)
		}
	})
}
