package bodies

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// soon is a context that is done already: what has to wait gets nothing.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestAnAnswerWaitsForRoom(t *testing.T) {
	b := New(100)
	first, second := &Lease{}, &Lease{}
	if err := first.Take(t.Context(), b.Share(), 80); err != nil {
		t.Fatal(err)
	}
	var full *FullError
	if err := second.Take(soon(t), b.Share(), 30); !errors.As(err, &full) || !strings.Contains(err.Error(), "--webhook-memory is 100 bytes") {
		t.Errorf("error %v, want that there is no room, by the name of the flag", err)
	}
	taken := make(chan error)
	go func() { taken <- second.Take(t.Context(), b.Share(), 30) }()
	first.Release()
	if err := <-taken; err != nil {
		t.Error(err)
	}
	second.Release()
	if err := first.Take(t.Context(), b.Share(), 100); err != nil {
		t.Errorf("not all came back: %v", err)
	}
}

// taking starts a Take and gives what it returns. It waits until the Take has ended or has to wait.
func taking(ctx context.Context, l *Lease, share *Share, n int64) <-chan error {
	taken := make(chan error, 1)
	go func() { taken <- l.Take(ctx, share, n) }()
	synctest.Wait()
	return taken
}

func take(t *testing.T, l *Lease, share *Share, n, used int64) {
	t.Helper()
	if err := l.Take(t.Context(), share, n); err != nil {
		t.Fatal(err)
	}
	l.Shrink(n, used)
}

func waits(t *testing.T, taken <-chan error) {
	t.Helper()
	select {
	case err := <-taken:
		t.Fatalf("it ended (error %v), want that it waits", err)
	default:
	}
}

func TestAnswersOfOneReconcileWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		share, l := New(128).Share(), &Lease{}
		if err := l.Take(t.Context(), share, 40); err != nil {
			t.Fatal(err)
		}
		second := taking(t.Context(), l, share, 40)
		waits(t, second)
		l.Shrink(40, 1)
		if err := <-second; err != nil {
			t.Errorf("there is room: %v", err)
		}
	})
}

func TestAReconcileThatHoldsRoomIsServedBeforeOneThatHoldsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		share, l, other := New(128).Share(), &Lease{}, &Lease{}
		take(t, l, share, 16, 5)
		if err := other.Take(t.Context(), share, 48); err != nil {
			t.Fatal(err)
		}
		third := &Lease{}
		first := taking(t.Context(), third, share, 16)
		waits(t, first)
		take(t, l, share, 5, 5)
		second := taking(t.Context(), l, share, 16)
		waits(t, second)
		other.Shrink(48, 38)
		if err := <-second; err != nil {
			t.Error(err)
		}
		waits(t, first)
		l.Release()
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
}

// They would wait for each other for ever.
func TestOneOfThoseThatWaitForEachOtherFails(t *testing.T) {
	one := New(100).Share()
	two := one.of.Share()
	for _, test := range []struct {
		name   string
		shares [2]*Share
		held   int64
	}{{"in a share", [2]*Share{one, one}, 25}, {"in the budget", [2]*Share{one, two}, 45}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, second := &Lease{}, &Lease{}
				take(t, first, test.shares[0], test.held, test.held)
				take(t, second, test.shares[1], test.held, test.held)
				taken := taking(t.Context(), first, test.shares[0], 30)
				waits(t, taken)
				var full *FullError
				for range 2 {
					if err := second.Take(t.Context(), test.shares[1], 30); !errors.As(err, &full) {
						t.Errorf("error %v, want that there is no room", err)
					}
				}
				waits(t, taken)
				second.Release()
				if err := <-taken; err != nil {
					t.Error(err)
				}
				first.Release()
			})
		})
	}
}

func TestALeaseThatWaitsForEverFailsAsAWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		share, first, second := New(100).Share(), &Lease{}, &Lease{}
		take(t, first, share, 25, 25)
		take(t, second, share, 20, 20)
		before := taking(t.Context(), second, share, 30)
		waits(t, before)
		taken := taking(t.Context(), first, share, 30)
		if err := <-taken; err == nil {
			t.Error("there is room for 75 of 50")
		}
		waits(t, before)
		first.Release()
		if err := <-before; err != nil {
			t.Error(err)
		}
	})
}

// With a limit as large as the budget, a second answer has what the first left.
func TestAnAnswerOfUnknownLengthHasWhatItsReconcileDoesNotHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		share, l := New(100).Share(), &Lease{}
		if n, err := l.TakeUpTo(t.Context(), share, 1, 100); n != 100 || err != nil {
			t.Fatal(n, err)
		}
		var n int64
		var second sync.WaitGroup
		second.Go(func() {
			var err error
			if n, err = l.TakeUpTo(t.Context(), share, 1, 100); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		l.Shrink(100, 30)
		second.Wait()
		if n != 70 {
			t.Errorf("%d bytes, want the 70 that are left", n)
		}
	})
}

// Each asks three times, for more than it will hold, and holds in the end a sixth of the share.
func TestManyReconcilesOfManyAnswersAllEnd(t *testing.T) {
	share := New(240).Share()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for done := false; !done; {
				ctx, release := Hold(t.Context())
				var failed atomic.Bool
				var answers sync.WaitGroup
				for range 3 {
					answers.Go(func() {
						n, err := Held(ctx).TakeUpTo(ctx, share, 1, 60)
						if err != nil {
							failed.Store(true)
							return
						}
						runtime.Gosched()
						Held(ctx).Shrink(n, 20)
					})
				}
				answers.Wait()
				release()
				done = !failed.Load()
			}
		})
	}
	all.Wait()
	if share.used != 0 || share.of.used != 0 || len(share.of.holders)+len(share.of.queue) > 0 {
		t.Errorf("not all came back: %+v", share)
	}
}

func TestOneControllerHasHalfUnlessOneAnswerIsLarger(t *testing.T) {
	b := New(100)
	share, first, second := b.Share(), &Lease{}, &Lease{}
	if err := first.Take(t.Context(), share, 40); err != nil {
		t.Fatal(err)
	}
	if err := second.Take(soon(t), share, 40); err == nil {
		t.Error("one controller takes more than half with two answers")
	}
	third := &Lease{}
	if err := third.Take(t.Context(), b.Share(), 40); err != nil {
		t.Errorf("another controller finds no room: %v", err)
	}
	first.Release()
	third.Release()
	if err := first.Take(t.Context(), share, 100); err != nil {
		t.Errorf("a single answer may take it all: %v", err)
	}
}

func TestWhatAnAnswerDidNotNeedIsGivenBack(t *testing.T) {
	b := New(100)
	share, first, second := b.Share(), &Lease{}, &Lease{}
	if err := first.Take(t.Context(), share, 90); err != nil {
		t.Fatal(err)
	}
	first.Shrink(90, 20)
	if err := second.Take(t.Context(), share, 30); err != nil {
		t.Errorf("there is room: %v", err)
	}
	if err := (&Lease{}).Take(soon(t), b.Share(), 51); err == nil {
		t.Error("more was given back than there was to give")
	}
	first.Release()
	second.Release()
	if err := first.Take(t.Context(), share, 100); err != nil {
		t.Errorf("not all came back: %v", err)
	}
}

func TestManyAnswersGetTheirTurn(t *testing.T) {
	b := New(100)
	var all sync.WaitGroup
	for i := range 50 {
		share := b.Share()
		all.Go(func() {
			ctx, release := Hold(t.Context())
			defer release()
			if err := Held(ctx).Take(ctx, share, int64(1+i*2)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := (&Lease{}).Take(t.Context(), b.Share(), 100); err != nil {
		t.Errorf("not all came back: %v", err)
	}
}
