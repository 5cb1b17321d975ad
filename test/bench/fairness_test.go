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
	fairFor   = 3 * time.Second      // the time of one measurement
	fairEvery = 3 * time.Millisecond // the interval of the measured calls
	fairBurn  = time.Second          // the timeout of the endless calls
	fairCalls = 4                    // concurrent endless calls of each controller
	fairPods  = 100                  // Pods in the request of the measured calls
)

// BenchmarkFairness measures the calls of a controller while other controllers run endless scripts. The times include waiting, and begin
// with the first call of the others.
func BenchmarkFairness(b *testing.B) {
	for _, isolation := range isolations {
		for _, neighbors := range []int{0, 1, 8} {
			b.Run(fmt.Sprintf("isolation=%s/neighbors=%d", isolation, neighbors), func(b *testing.B) {
				e := newEngine(b, isolation)
				var took []time.Duration
				for b.Loop() {
					took = append(took, callTimes(b, e, neighbors)...)
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

// callTimes returns the times of the measured calls.
func callTimes(b *testing.B, e *engine.Engine, neighbors int) []time.Duration {
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
	for n := range neighbors * fairCalls {
		burning.Go(func() { burn(ctx, b, e, fmt.Sprint("neighbor ", n/fairCalls)) })
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

// burn calls an endless script again and again until ctx is done.
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
			b.Error("the endless script ended")
			return
		}
	}
}
