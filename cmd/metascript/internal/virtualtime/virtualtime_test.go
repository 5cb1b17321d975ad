package virtualtime

import (
	"sync/atomic"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestTimePassesOnlyWhenNothingElseIsToBeDone(t *testing.T) {
	Run(start, func(outside *Outside) {
		if !time.Now().Equal(start) {
			t.Errorf("it begins at %s", time.Now())
		}
		var sum atomic.Int64
		done := make(chan struct{})
		go func() {
			defer close(done)
			time.Sleep(time.Hour)
			for n := range 1000 {
				sum.Add(int64(n))
			}
			outside.Do(func() { sum.Add(1) })
		}()
		time.Sleep(time.Hour + 1)
		if sum.Load() != 499501 || time.Since(start) != time.Hour+1 {
			t.Errorf("after %s the sum is %d", time.Since(start), sum.Load())
		}
		<-done
	})
}

func TestOutsideTheRealTimePasses(t *testing.T) {
	var inside, outside time.Duration
	Run(start, func(out *Outside) {
		out.Do(func() {
			began := time.Now()
			time.Sleep(time.Millisecond)
			outside = time.Since(began)
		})
		inside = time.Since(start)
	})
	if inside != 0 || outside < time.Millisecond {
		t.Errorf("inside %s passed, outside %s", inside, outside)
	}
}

func TestGoroutinesThatWaitAreAbandoned(t *testing.T) {
	Run(start, func(*Outside) {
		blocked := make(chan struct{})
		go func() { <-blocked }()
		go time.Sleep(time.Second) // ends
	})
}

func TestPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("there is no panic")
		}
	}()
	Run(start, func(outside *Outside) { panic("x") })
}
