package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"metascript/engine"
)

const (
	fairFor   = 3 * time.Second      // how long it is looked at
	fairEvery = 3 * time.Millisecond // how often the well-behaved one calls
	fairBurn  = time.Second          // the timeout of those that burn it, again and again
	fairCalls = 4                    // that each of them makes at the same time
	fairPods  = 100                  // of the well-behaved one
)

// BenchmarkFairness is how long the calls of a well-behaved controller take beside neighbours whose scripts never end:
// waiting included, and from the neighbours' first call on.
func BenchmarkFairness(b *testing.B) {
	for _, isolation := range isolations {
		for _, neighbours := range []int{0, 1, 8} {
			b.Run(fmt.Sprintf("isolation=%s/neighbours=%d", isolation, neighbours), func(b *testing.B) {
				e := newEngine(b, isolation)
				var took []time.Duration
				for b.Loop() {
					took = append(took, besides(b, e, neighbours)...)
				}
				slices.Sort(took)
				for _, p := range []int{50, 99, 100} {
					at := took[min(len(took)-1, len(took)*p/100)]
					b.ReportMetric(float64(at.Microseconds()), fmt.Sprintf("p%d-us", p))
				}
				b.ReportMetric(float64(len(took))/float64(b.N)/fairFor.Seconds(), "calls/s")
			})
		}
	}
}

// besides returns the times of the calls.
func besides(b *testing.B, e *engine.Engine, neighbours int) []time.Duration {
	call, arg := script(b, e, engine.JavaScript, "status"), request(fairPods)
	for range 10 {
		if _, err := call(b.Context(), arg); err != nil {
			b.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(b.Context(), fairFor)
	defer cancel()
	var burning sync.WaitGroup
	defer burning.Wait()
	for n := range neighbours * fairCalls {
		burning.Go(func() { burn(ctx, b, e, fmt.Sprint("neighbour ", n/fairCalls)) })
	}

	var took []time.Duration
	tick := time.NewTicker(fairEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		began := time.Now()
		if _, err := call(b.Context(), arg); err != nil {
			b.Fatal(engine.DetailOf(err))
		}
		took = append(took, time.Since(began))
		<-tick.C
	}
	return took
}

// burn calls, until ctx is done, what takes all the time it is given.
func burn(ctx context.Context, b *testing.B, e *engine.Engine, owner string) {
	s := load(engine.JavaScript, "burn")
	s.Owner = owner
	p, err := e.Compile(b.Context(), s, engine.Limits{})
	if err != nil {
		b.Error(err)
		return
	}
	for ctx.Err() == nil {
		if _, err := p.Call(ctx, "sync", nil, engine.Env{Owner: owner, Limits: engine.Limits{Timeout: fairBurn}}); err == nil {
			b.Error("it ended by itself")
			return
		}
	}
}
