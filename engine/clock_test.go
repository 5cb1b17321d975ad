package engine

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"metascript/engine/cputime"
)

// A native is a runtime whose programs call a function, on a thread whose CPU time counts.
type native func(ctx context.Context) error

func (n native) Compile(context.Context, Script, Limits) (Program, error) { return n, nil }
func (native) Functions() []string                                        { return []string{"sync"} }

func (n native) Call(ctx context.Context, _ string, _ map[string]any, env Env) (map[string]any, error) {
	if n(ctx) != nil {
		return nil, Stopped(ctx, Pos{File: "main", Line: 1}, env.Limits)
	}
	return map[string]any{}, nil
}

// Only the time counts in which the thread has a CPU, and not the time in which it waits.
func TestTimeoutCountsCPUTime(t *testing.T) {
	limits := Limits{Timeout: 20 * time.Millisecond}
	waits := mustCompile(t, newFakeEngine(native(func(ctx context.Context) error {
		select {
		case <-time.After(3 * limits.Timeout):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})), fakeScript("waits"))
	if _, err := waits.Call(t.Context(), "sync", nil, Env{Limits: limits}); err != nil {
		t.Errorf("a call that waits: %v", err)
	}
	works := mustCompile(t, newFakeEngine(native(func(ctx context.Context) error {
		for ctx.Err() == nil {
		}
		return ctx.Err()
	})), fakeScript("works"))
	_, err := works.Call(t.Context(), "sync", nil, Env{Limits: limits})
	wantKind(t, err, KindTimeout)
}

// An evaluation that gets a small part of a CPU can use its whole timeout. One that gets almost none is stopped, which is not a fault
// of the script.
func TestTimeoutOnABusyMachine(t *testing.T) {
	for share, want := range map[int64]Kind{8: KindTimeout, 1000: KindCanceled} {
		synctest.Test(t, func(t *testing.T) {
			e := newFakeEngine(native(func(ctx context.Context) error {
				began := time.Now()
				CountBy(ctx, func() (time.Duration, bool) { return time.Since(began) / time.Duration(share), true })
				<-ctx.Done()
				return ctx.Err()
			}))
			start, limits := time.Now(), Limits{Timeout: 5 * time.Second}
			_, err := mustCompile(t, e, fakeScript("a")).Call(t.Context(), "sync", nil, Env{Limits: limits})
			got, took := wantKind(t, err, want), time.Since(start)
			if least := time.Duration(share) * limits.Timeout; took < min(least, cputime.Bound(limits.Timeout)) || took > least+time.Second {
				t.Errorf("1/%d of a CPU: ended after %s", share, took)
			}
			if want == KindCanceled && !strings.Contains(got.Msg, "given up after 1m20s, in which it had a processor for 80ms of its timeout of 5s") {
				t.Errorf("got %v", got)
			}
		})
	}
}

// An evaluation that must stop, and gets a small part of a CPU, is a runaway only after it has used the CPU time of the grace period.
func TestGraceCountsCPUTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFakeEngine(native(func(ctx context.Context) error {
			began := time.Now()
			CountBy(ctx, func() (time.Duration, bool) { return time.Since(began) / 5, true })
			<-ctx.Done()
			time.Sleep(4 * defaultGrace)
			return ctx.Err()
		}))
		_, err := mustCompile(t, e, fakeScript("a")).Call(t.Context(), "sync", nil, Env{Limits: Limits{Timeout: time.Second}})
		if got := wantKind(t, err, KindTimeout); strings.Contains(got.Msg, "still runs") || got.Pos.Line != 1 {
			t.Errorf("got %v", got)
		}
	})
}

// An evaluation that gets no CPU time gives its slot to others too, but later.
func TestEvaluationWithoutCPUEndsItsTurnLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(Options{Slots: 1, Runtimes: map[string]Runtime{
			"None": native(func(ctx context.Context) error {
				CountBy(ctx, func() (time.Duration, bool) { return 0, true })
				<-ctx.Done()
				return ctx.Err()
			}),
			fakeLanguage: fake{},
		}})
		none := fakeScript("none")
		none.Language = "None"
		stuck, quick := mustCompile(t, e, none), mustCompile(t, e, fakeScript("quick"))
		ctx, stop := context.WithCancel(t.Context())
		var call sync.WaitGroup
		call.Go(func() { _, _ = stuck.Call(ctx, "sync", nil, Env{Owner: "stuck"}) })
		synctest.Wait()
		start := time.Now()
		if _, err := quick.Call(t.Context(), "sync", nil, Env{Owner: "quick"}); err != nil {
			t.Error(err)
		}
		if waited := time.Since(start); waited > cputime.Factor*shortSlice+lookEvery {
			t.Errorf("waited %s", waited)
		}
		stop()
		call.Wait()
	})
}
