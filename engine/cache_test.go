package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// newCounting returns an engine whose runtime counts its compilations.
func newCounting(programs int, compile func(context.Context) error) (*Engine, *atomic.Int32) {
	n := new(atomic.Int32)
	r := fake{compile: func(ctx context.Context, _ Script, _ Limits) error {
		n.Add(1)
		return compile(ctx)
	}}
	return New(Options{Runtimes: map[string]Runtime{fakeLanguage: r}, Slots: 8, Programs: programs}), n
}

func TestProgramsAreCached(t *testing.T) {
	e, n := newCounting(2, func(context.Context) error { return nil })
	mustCompile(t, e, fakeScript("a"))
	mustCompile(t, e, fakeScript("b"))
	if p := mustCompile(t, e, fakeScript("a")); p != mustCompile(t, e, fakeScript("a")) || n.Load() != 2 {
		t.Errorf("%d compilations of two scripts", n.Load())
	}
	mustCompile(t, e, fakeScript("c")) // drops b
	mustCompile(t, e, fakeScript("a"))
	if n.Load() != 3 {
		t.Errorf("%d compilations, want 3", n.Load())
	}
	mustCompile(t, e, fakeScript("b"))
	if n.Load() != 4 {
		t.Errorf("%d compilations, want 4", n.Load())
	}
}

func TestFailuresAreNotCached(t *testing.T) {
	fail := true
	e, n := newCounting(2, func(context.Context) error {
		if fail {
			return errors.New("not now")
		}
		return nil
	})
	if _, err := e.Compile(t.Context(), fakeScript("a"), Limits{}); err == nil {
		t.Fatal("no error")
	}
	fail = false
	mustCompile(t, e, fakeScript("a"))
	if n.Load() != 2 {
		t.Errorf("%d compilations, want 2", n.Load())
	}
}

func TestConcurrentCompilesHappenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		e, n := newCounting(2, func(context.Context) error { <-block; return nil })
		var compiles sync.WaitGroup
		programs := make([]Program, 10)
		for i := range programs {
			compiles.Go(func() { programs[i] = mustCompile(t, e, fakeScript("a")) })
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := e.Compile(ctx, fakeScript("a"), Limits{})
		wantKind(t, err, KindCanceled) // a canceled waiter does not affect the others
		close(block)
		compiles.Wait()
		for _, p := range programs {
			if p == nil || p != programs[0] {
				t.Error("not all callers got the same program")
			}
		}
		if n.Load() != 1 {
			t.Errorf("%d compilations, want 1", n.Load())
		}
	})
}

// If the caller that compiles is canceled, a caller that waits compiles instead.
func TestWaiterContinuesACanceledCompilation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		e, n := newCounting(2, func(ctx context.Context) error {
			if first {
				first = false
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		var compiles sync.WaitGroup
		compiles.Go(func() {
			_, err := e.Compile(ctx, fakeScript("a"), Limits{})
			wantKind(t, err, KindCanceled)
		})
		synctest.Wait()
		compiles.Go(func() { mustCompile(t, e, fakeScript("a")) })
		synctest.Wait()
		cancel()
		compiles.Wait()
		if n.Load() != 2 {
			t.Errorf("%d compilations, want 2", n.Load())
		}
	})
}

// The low limits of one caller do not make the compilation of another caller fail.
func TestCompilationsWithDifferentLimitsAreSeparate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		r := fake{compile: func(_ context.Context, _ Script, l Limits) error {
			<-block
			if l.Steps == 1 {
				return &Error{Kind: KindSteps}
			}
			return nil
		}}
		e := newFakeEngine(r)
		var compiles sync.WaitGroup
		compiles.Go(func() {
			_, err := e.Compile(t.Context(), fakeScript("a"), Limits{Steps: 1})
			wantKind(t, err, KindSteps)
		})
		synctest.Wait()
		compiles.Go(func() { mustCompile(t, e, fakeScript("a")) })
		synctest.Wait()
		close(block)
		compiles.Wait()
	})
}

func TestManyScriptsAtOnce(t *testing.T) {
	e, _ := newCounting(3, func(context.Context) error { return nil })
	var calls sync.WaitGroup
	for i := range 64 {
		calls.Go(func() {
			p := mustCompile(t, e, fakeScript(fmt.Sprint(i%5)))
			if _, err := p.Call(t.Context(), "sync", nil, Env{}); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
}
