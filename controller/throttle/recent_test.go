package throttle

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestHealthResultIsCachedInProportionToItsCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Recent
		looks, took := 0, time.Duration(0)
		look := func() []string {
			looks++
			time.Sleep(took)
			return []string{"a"}
		}
		r.Get(look)
		r.Get(look)
		if looks != 2 {
			t.Errorf("it was computed %d times, want each time while that takes no time", looks)
		}
		took = time.Millisecond
		for range 100 { // some 10 ms
			r.Get(look)
			time.Sleep(100 * time.Microsecond)
		}
		if looks != 3 {
			t.Errorf("it was computed %d times, want 3", looks)
		}
		time.Sleep(20 * time.Millisecond)
		if got := r.Get(look); looks != 4 || len(got) != 1 {
			t.Errorf("it was computed %d times, and the result is %v", looks, got)
		}
	})
}
