package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
)

func TestSlotsLimitConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		e := newFakeEngine(fake{call: func(context.Context, string, map[string]any, Env) (map[string]any, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			time.Sleep(10 * time.Millisecond) // of the bubble's clock: all that can run, run now
			return nil, nil
		}})
		p := mustCompile(t, e, fakeScript("a"))
		var calls sync.WaitGroup
		for range 7 {
			calls.Go(func() { _, _ = p.Call(t.Context(), "sync", nil, Env{}) })
		}
		calls.Wait()
		if most.Load() != 2 {
			t.Errorf("%d calls ran at once, want 2", most.Load())
		}
	})
}

func TestSlotsAreGivenInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		if err := s.acquire(t.Context(), ownerKey{name: "a"}, false); err != nil {
			t.Fatal(err)
		}
		var order []int
		var waiters sync.WaitGroup
		for i := range 5 {
			waiters.Go(func() {
				_ = s.acquire(t.Context(), ownerKey{name: "a"}, false)
				order = append(order, i) // guarded by the slot
				s.release()
			})
			synctest.Wait() // until it waits
		}
		s.release()
		waiters.Wait()
		if !slices.IsSorted(order) || len(order) != 5 {
			t.Errorf("slots were given in the order %v", order)
		}
	})
}

func TestSlotOfACanceledWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		_ = s.acquire(t.Context(), ownerKey{name: "a"}, false)
		ctx, cancel := context.WithCancel(t.Context())
		var first, second error = errors.New("unset"), errors.New("unset")
		var waiters sync.WaitGroup
		waiters.Go(func() { first = s.acquire(ctx, ownerKey{name: "a"}, false) })
		synctest.Wait()
		waiters.Go(func() { second = s.acquire(t.Context(), ownerKey{name: "a"}, false) })
		synctest.Wait()
		cancel()
		synctest.Wait()
		s.release()
		waiters.Wait()
		if !errors.Is(first, context.Canceled) || second != nil {
			t.Errorf("got %v and %v", first, second)
		}
		if s.release(); s.free != 1 {
			t.Errorf("%d slots are free, want 1", s.free)
		}
	})
}

func TestCanceledBeforeASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		e := newFakeEngine(fake{call: func(context.Context, string, map[string]any, Env) (map[string]any, error) {
			<-block
			return nil, nil
		}})
		p := mustCompile(t, e, fakeScript("a"))
		var calls sync.WaitGroup
		for range 2 {
			calls.Go(func() { _, _ = p.Call(t.Context(), "sync", nil, Env{}) })
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := p.Call(ctx, "sync", nil, Env{})
		wantKind(t, err, KindCanceled)
		close(block)
		calls.Wait()
	})
}

// The time in which a call waits for a slot does not count for Limits.Timeout.
func TestTimeoutCountsFromTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFakeEngine(fake{call: func(ctx context.Context, _ string, _ map[string]any, _ Env) (map[string]any, error) {
			time.Sleep(40 * time.Millisecond)
			return nil, ctx.Err()
		}})
		p := mustCompile(t, e, fakeScript("a"))
		var calls sync.WaitGroup
		for range 20 { // the last waits for 360 ms
			calls.Go(func() {
				if _, err := p.Call(t.Context(), "sync", nil, Env{Limits: Limits{Timeout: 100 * time.Millisecond}}); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
	})
}

func TestDeadlineOfTheCallerIsNotATimeout(t *testing.T) {
	tests := []struct {
		name   string
		caller time.Duration // 0 is a cancellation after a second
		own    time.Duration
		want   Kind
	}{
		{"the limit", time.Minute, time.Second, KindTimeout},
		{"the caller's", time.Second, time.Minute, KindCanceled},
		{"a cancellation", 0, time.Minute, KindCanceled},
	}
	runtimes := map[string]func(ctx context.Context, l Limits) error{
		"as the contract says": func(ctx context.Context, l Limits) error { return Stopped(ctx, Pos{}, l) },
		"context's error":      func(ctx context.Context, _ Limits) error { return fmt.Errorf("call: %w", ctx.Err()) },
	}
	for _, test := range tests {
		for how, stop := range runtimes {
			t.Run(test.name+"/"+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					e := newFakeEngine(fake{call: func(ctx context.Context, _ string, _ map[string]any, env Env) (map[string]any, error) {
						<-ctx.Done()
						return nil, stop(ctx, env.Limits)
					}})
					p := mustCompile(t, e, fakeScript("a"))
					ctx, cancel := context.WithCancel(t.Context())
					if test.caller > 0 {
						ctx, cancel = context.WithTimeout(t.Context(), test.caller)
					} else {
						time.AfterFunc(time.Second, cancel)
					}
					defer cancel()
					_, err := p.Call(ctx, "sync", nil, Env{Limits: Limits{Timeout: test.own}})
					wantKind(t, err, test.want)
				})
			})
		}
	}
}

func TestPanic(t *testing.T) {
	for _, value := range []any{"boom", errors.New("an error"), strings.Repeat("x", 1<<20), 42} {
		e := newFakeEngine(fake{call: func(context.Context, string, map[string]any, Env) (map[string]any, error) {
			panic(value)
		}})
		_, err := mustCompile(t, e, fakeScript("a")).Call(t.Context(), "sync", nil, Env{})
		got := wantKind(t, err, KindPanic)
		if len(got.Msg) > maxMsg || strings.Contains(got.Msg, "goroutine") || !strings.Contains(got.Stack, "goroutine") {
			t.Errorf("message %q, stack %q", got.Msg, got.Stack)
		}
		if e.lanes.fast.free != 2 {
			t.Errorf("%d slots are free, want 2", e.lanes.fast.free)
		}
	}
}

func TestPanicWhileCompiling(t *testing.T) {
	e := newFakeEngine(fake{compile: func(_ context.Context, s Script, _ Limits) error {
		none := make([]int, 0)
		none[len(s.Entry)]++
		return nil
	}})
	_, err := e.Compile(t.Context(), fakeScript("a"), Limits{})
	if got := wantKind(t, err, KindPanic); !strings.Contains(got.Msg, "index out of range") {
		t.Errorf("message %q", got.Msg)
	}
}

// A runaway delays its caller by no more than the grace period. Further calls of its script are refused. Others are not affected.
func TestRunaway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		logs := make(chan func(Message), 1)
		e := newFakeEngine(fake{call: func(_ context.Context, fn string, _ map[string]any, env Env) (map[string]any, error) {
			if fn == "block" {
				logs <- env.Log
				<-block
			}
			return map[string]any{}, nil
		}})
		p, other := mustCompile(t, e, fakeScript("a")), mustCompile(t, e, fakeScript("b"))
		log := func(m Message) { t.Errorf("got the message %q", m.Text) }

		start := time.Now()
		_, err := p.Call(t.Context(), "block", nil, Env{Limits: Limits{Timeout: time.Second}, Log: log})
		wantKind(t, err, KindTimeout)
		if took := time.Since(start); took != time.Second+defaultGrace { // by the bubble's clock
			t.Errorf("the call took %v", took)
		}
		(<-logs)(Message{Text: "from the grave"})
		if len(e.Runaways()) != 1 || e.lanes.fast.free != 2 {
			t.Errorf("%d runaways, %d free slots; want 1 and 2", len(e.Runaways()), e.lanes.fast.free)
		}
		_, err = p.Call(t.Context(), "sync", nil, Env{})
		if e := wantKind(t, err, KindTimeout); !strings.Contains(e.Msg, "an earlier call is still running") {
			t.Errorf("message %q", e.Msg)
		}
		if _, err := other.Call(t.Context(), "sync", nil, Env{}); err != nil {
			t.Errorf("another script: %v", err)
		}

		close(block)
		synctest.Wait()
		if len(e.Runaways()) != 0 {
			t.Errorf("%d runaways after the end", len(e.Runaways()))
		}
		if _, err := p.Call(t.Context(), "sync", nil, Env{}); err != nil {
			t.Error(err)
		}
	})
}

func TestRunawayCompile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		e := newFakeEngine(fake{compile: func(context.Context, Script, Limits) error {
			<-block
			return nil
		}})
		for range 3 {
			_, err := e.Compile(t.Context(), fakeScript("a"), Limits{})
			wantKind(t, err, KindTimeout)
		}
		if len(e.Runaways()) != 1 {
			t.Errorf("%d runaways, want 1", len(e.Runaways()))
		}
		close(block)
		synctest.Wait()
		mustCompile(t, e, fakeScript("b"))
	})
}

// The result of a call that returns within the grace period is used.
func TestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFakeEngine(fake{call: func(ctx context.Context, _ string, _ map[string]any, env Env) (map[string]any, error) {
			<-ctx.Done()
			time.Sleep(defaultGrace / 2)
			return nil, Stopped(ctx, Pos{File: "main", Line: 1}, env.Limits)
		}})
		_, err := mustCompile(t, e, fakeScript("a")).Call(t.Context(), "sync", nil, Env{})
		if got := wantKind(t, err, KindTimeout); got.Pos.Line != 1 || len(e.Runaways()) != 0 {
			t.Errorf("got %v, and %d runaways", got, len(e.Runaways()))
		}
	})
}

func TestErrorsAreComplete(t *testing.T) {
	script := Script{Language: fakeLanguage, Entry: "main", Files: fstest.MapFS{
		"main": {Data: []byte("\ufefffirst\r\nsecond")},
	}}
	same := &Error{Kind: KindRuntime, Pos: Pos{"main", 2, 3}, Msg: strings.Repeat("é", 5000), Trace: make([]Frame, 100)}
	e := newFakeEngine(fake{call: func(_ context.Context, fn string, _ map[string]any, _ Env) (map[string]any, error) {
		switch fn {
		case "wrapped":
			return nil, fmt.Errorf("wrapped: %w", &Error{Kind: KindRaised, Pos: Pos{"main", 1, 1}, Func: "inner"})
		case "foreign":
			return nil, errors.New("some other error")
		}
		return nil, same
	}})
	p := mustCompile(t, e, script)

	_, err := p.Call(t.Context(), "sync", nil, Env{})
	got := wantKind(t, err, KindRuntime)
	if got.Func != "sync" || got.Source != "second" || len(got.Msg) > maxMsg || len(got.Trace) != maxTrace {
		t.Errorf("got %+v", got)
	}
	if same.Func != "" || len(same.Trace) != 100 {
		t.Error("the runtime's own error was changed")
	}
	_, err = p.Call(t.Context(), "wrapped", nil, Env{})
	if got := wantKind(t, err, KindRaised); got.Func != "inner" || got.Source != "first" {
		t.Errorf("got %+v", got)
	}
	_, err = p.Call(t.Context(), "foreign", nil, Env{})
	if got := wantKind(t, err, KindRuntime); got.Func != "foreign" || got.Msg != "some other error" {
		t.Errorf("got %+v", got)
	}
}

func TestOtherErrorTypeOfCompile(t *testing.T) {
	e := newFakeEngine(fake{compile: func(context.Context, Script, Limits) error { return errors.New("bad") }})
	_, err := e.Compile(t.Context(), fakeScript("a"), Limits{})
	wantKind(t, err, KindSyntax)
}

func TestUnknownLanguage(t *testing.T) {
	s := fakeScript("a")
	s.Language = "COBOL"
	_, err := newFakeEngine(fake{}).Compile(t.Context(), s, Limits{})
	if got := wantKind(t, err, KindSource); !strings.Contains(got.Error(), fakeLanguage) {
		t.Errorf("got %v", got)
	}
}

func TestPortedIsForwarded(t *testing.T) {
	for _, test := range []struct {
		runtime Runtime
		want    bool
	}{{fake{}, false}, {portedFake{}, true}} {
		p := mustCompile(t, newFakeEngine(test.runtime), fakeScript("a")).(Ported)
		if p.Ported() != test.want {
			t.Errorf("Ported is %v, want %v", p.Ported(), test.want)
		}
	}
}

func TestLogIsLimited(t *testing.T) {
	e := newFakeEngine(fake{call: func(_ context.Context, fn string, _ map[string]any, env Env) (map[string]any, error) {
		for range 1000 {
			env.Log(Message{Level: Info, Text: strings.Repeat(fn, 84)})
		}
		return nil, nil
	}})
	p := mustCompile(t, e, fakeScript("a"))
	for fn, want := range map[string]int{"x": 3, "": 22, "long": 1} {
		var texts []string
		limits := Limits{Log: 16*messageCost + 100 + messageCost + int64(len(truncated))}
		_, _ = p.Call(t.Context(), fn, nil, Env{Limits: limits, Log: func(m Message) { texts = append(texts, m.Text) }})
		last := texts[len(texts)-1]
		if whole := countWhole(texts, len(fn)*84); whole != want || !strings.Contains(last, "truncated") {
			t.Errorf("%q: %d whole messages, the last is %q", fn, whole, last)
		}
		if bytes := len(strings.Join(texts, "")); int64(bytes) > limits.Log {
			t.Errorf("%q: %d bytes", fn, bytes)
		}
	}
	if _, err := p.Call(t.Context(), "x", nil, Env{}); err != nil {
		t.Errorf("without a log: %v", err)
	}
}

func countWhole(texts []string, size int) int {
	n := 0
	for _, text := range texts {
		if len(text) == size {
			n++
		}
	}
	return n
}

// A compilation that is stopped before it knows a place, as on a slow machine, is stopped at the beginning of the script.
func TestPlaceOfACompilation(t *testing.T) {
	for _, at := range []Pos{{}, {File: "main"}} {
		e := newFakeEngine(fake{compile: func(ctx context.Context, s Script, l Limits) error {
			<-ctx.Done()
			return Stopped(ctx, at, l)
		}})
		_, err := e.Compile(t.Context(), fakeScript("x"), Limits{Timeout: time.Millisecond})
		if got := wantKind(t, err, KindTimeout); got.Pos != (Pos{"main", 1, 1}) {
			t.Errorf("%v: got %v", at, got.Pos)
		}
	}
}
