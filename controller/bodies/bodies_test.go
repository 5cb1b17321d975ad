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

// canceled returns a canceled context, with which a Take that has to wait fails.
func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestTakeWaitsForMemory(t *testing.T) {
	b := New(100)
	first, second := &Lease{}, &Lease{}
	if err := first.Take(t.Context(), b.Share(), 80); err != nil {
		t.Fatal(err)
	}
	var full *fullError
	if err := second.Take(canceled(t), b.Share(), 30); !errors.As(err, &full) || !strings.Contains(err.Error(), "at most 100 bytes together") {
		t.Errorf("error %v, want a fullError with the name of the flag", err)
	}
	taken := make(chan error)
	go func() { taken <- second.Take(t.Context(), b.Share(), 30) }()
	first.Release()
	if err := <-taken; err != nil {
		t.Error(err)
	}
	second.Release()
	if err := first.Take(t.Context(), b.Share(), 100); err != nil {
		t.Errorf("not all memory was returned: %v", err)
	}
}

// startTake starts a Take and returns a channel with its result. It waits until the Take has returned or blocks.
func startTake(ctx context.Context, l *Lease, share *Share, n int64) <-chan error {
	taken := make(chan error, 1)
	go func() { taken <- l.Take(ctx, share, n) }()
	synctest.Wait()
	return taken
}

// take takes n bytes for a body that needs only used of them.
func take(t *testing.T, l *Lease, share *Share, n, used int64) {
	t.Helper()
	if err := l.Take(t.Context(), share, n); err != nil {
		t.Fatal(err)
	}
	l.Shrink(n, used)
}

// checkWaits checks that a Take has not returned.
func checkWaits(t *testing.T, taken <-chan error) {
	t.Helper()
	select {
	case err := <-taken:
		t.Fatalf("Take returned (error %v), want that it waits", err)
	default:
	}
}

func TestBodiesOfOneReconcileWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		share, l := New(128).Share(), &Lease{}
		if err := l.Take(t.Context(), share, 40); err != nil {
			t.Fatal(err)
		}
		second := startTake(t.Context(), l, share, 40)
		checkWaits(t, second)
		l.Shrink(40, 1)
		if err := <-second; err != nil {
			t.Errorf("there is enough memory: %v", err)
		}
	})
}

func TestLeaseWithMemoryIsServedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		share, l, other := New(128).Share(), &Lease{}, &Lease{}
		take(t, l, share, 16, 5)
		if err := other.Take(t.Context(), share, 48); err != nil {
			t.Fatal(err)
		}
		third := &Lease{}
		first := startTake(t.Context(), third, share, 16)
		checkWaits(t, first)
		take(t, l, share, 5, 5)
		second := startTake(t.Context(), l, share, 16)
		checkWaits(t, second)
		other.Shrink(48, 38)
		if err := <-second; err != nil {
			t.Error(err)
		}
		checkWaits(t, first)
		l.Release()
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
}

func TestOneLeaseOfADeadlockFails(t *testing.T) {
	one := New(100).Share()
	two := one.of.Share()
	for _, test := range []struct {
		name   string
		shares [2]*Share
		size   int64
	}{{"in a share", [2]*Share{one, one}, 25}, {"in the budget", [2]*Share{one, two}, 45}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, second := &Lease{}, &Lease{}
				take(t, first, test.shares[0], test.size, test.size)
				take(t, second, test.shares[1], test.size, test.size)
				taken := startTake(t.Context(), first, test.shares[0], 30)
				checkWaits(t, taken)
				var full *fullError
				for range 2 {
					if err := second.Take(t.Context(), test.shares[1], 30); !errors.As(err, &full) {
						t.Errorf("error %v, want a fullError", err)
					}
				}
				checkWaits(t, taken)
				second.Release()
				if err := <-taken; err != nil {
					t.Error(err)
				}
				first.Release()
			})
		})
	}
}

func TestAllCallsOfALeaseInADeadlockFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		share, first, second := New(100).Share(), &Lease{}, &Lease{}
		take(t, first, share, 25, 25)
		take(t, second, share, 20, 20)
		before := startTake(t.Context(), second, share, 30)
		checkWaits(t, before)
		taken := startTake(t.Context(), first, share, 30)
		if err := <-taken; err == nil {
			t.Error("75 of 50 bytes were taken")
		}
		checkWaits(t, before)
		first.Release()
		if err := <-before; err != nil {
			t.Error(err)
		}
	})
}

// A body of unknown length may need the whole budget. A second one of the same reconcile gets what the first one left.
func TestTakeUpToTakesTheRestOfTheBudget(t *testing.T) {
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
			t.Errorf("%d bytes, want the remaining 70", n)
		}
	})
}

// Each reconcile reads three bodies, takes more than they need, and in the end has a sixth of the budget.
func TestManyReconcilesWithManyBodiesEnd(t *testing.T) {
	share := New(240).Share()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for done := false; !done; {
				ctx, release := WithLease(t.Context())
				var failed atomic.Bool
				var bodies sync.WaitGroup
				for range 3 {
					bodies.Go(func() {
						n, err := FromContext(ctx).TakeUpTo(ctx, share, 1, 60)
						if err != nil {
							failed.Store(true)
							return
						}
						runtime.Gosched()
						FromContext(ctx).Shrink(n, 20)
					})
				}
				bodies.Wait()
				release()
				done = !failed.Load()
			}
		})
	}
	all.Wait()
	if share.used != 0 || share.of.used != 0 || len(share.of.leases)+len(share.of.queue) > 0 {
		t.Errorf("not all memory was returned: %+v", share)
	}
}

func TestControllerHasHalfOfBudgetUnlessBodyIsLarger(t *testing.T) {
	b := New(100)
	share, first, second := b.Share(), &Lease{}, &Lease{}
	if err := first.Take(t.Context(), share, 40); err != nil {
		t.Fatal(err)
	}
	if err := second.Take(canceled(t), share, 40); err == nil {
		t.Error("two leases of a controller took more than half")
	}
	third := &Lease{}
	if err := third.Take(t.Context(), b.Share(), 40); err != nil {
		t.Errorf("there is no memory for another controller: %v", err)
	}
	first.Release()
	third.Release()
	if err := first.Take(t.Context(), share, 100); err != nil {
		t.Errorf("a single body cannot take the whole budget: %v", err)
	}
}

// A tenant has half of the budget, however many controllers it has. Controllers without a tenant have half each.
func TestTenantHasHalfOfBudget(t *testing.T) {
	for _, c := range []struct {
		tenant string
		taken  int // how many of four controllers can have a body of 25 bytes, while another tenant needs half
	}{{"a", 2}, {"", 4}} {
		b := New(100)
		taken := 0
		for range 4 {
			if err := (&Lease{}).Take(canceled(t), b.ShareOf(c.tenant), 25); err == nil {
				taken++
			}
		}
		if taken != c.taken {
			t.Errorf("tenant %q: %d bodies, want %d", c.tenant, taken, c.taken)
		}
		err := (&Lease{}).Take(canceled(t), b.ShareOf("other"), 50)
		if free := err == nil; free != (c.taken == 2) {
			t.Errorf("tenant %q took %d bytes, and another half of the budget: error %v", c.tenant, 25*taken, err)
		}
	}
}

func TestShrinkReturnsUnusedMemory(t *testing.T) {
	b := New(100)
	share, first, second := b.Share(), &Lease{}, &Lease{}
	if err := first.Take(t.Context(), share, 90); err != nil {
		t.Fatal(err)
	}
	first.Shrink(90, 20)
	if err := second.Take(t.Context(), share, 30); err != nil {
		t.Errorf("there is enough memory: %v", err)
	}
	if err := (&Lease{}).Take(canceled(t), b.Share(), 51); err == nil {
		t.Error("more memory was returned than was unused")
	}
	first.Release()
	second.Release()
	if err := first.Take(t.Context(), share, 100); err != nil {
		t.Errorf("not all memory was returned: %v", err)
	}
}

func TestManyReconcilesAreServed(t *testing.T) {
	b := New(100)
	var all sync.WaitGroup
	for i := range 50 {
		share := b.Share()
		all.Go(func() {
			ctx, release := WithLease(t.Context())
			defer release()
			if err := FromContext(ctx).Take(ctx, share, int64(1+i*2)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := (&Lease{}).Take(t.Context(), b.Share(), 100); err != nil {
		t.Errorf("not all memory was returned: %v", err)
	}
}
