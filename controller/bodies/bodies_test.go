package bodies

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
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

// Two that hold some and wait for more would wait for each other.
func TestWhoHoldsRoomDoesNotWait(t *testing.T) {
	b := New(100)
	share, leases := b.Share(), []*Lease{{}, {}}
	for _, l := range leases {
		if err := l.Take(t.Context(), share, 25); err != nil {
			t.Fatal(err)
		}
	}
	other := &Lease{}
	if err := other.Take(t.Context(), b.Share(), 25); err != nil {
		t.Fatal(err)
	}
	var full *FullError
	if err := leases[0].Take(t.Context(), share, 30); !errors.As(err, &full) {
		t.Errorf("error %v, want one at once", err)
	}
	leases[1].Release()
	if err := leases[0].Take(t.Context(), share, 25); err != nil {
		t.Errorf("there is room: %v", err)
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
	if err := second.Take(t.Context(), b.Share(), 40); err != nil {
		t.Errorf("another controller finds no room: %v", err)
	}
	first.Release()
	second.Release()
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
