package idle

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

const mega = 1 << 20

func TestMemoryIsGivenBackAtRestOnly(t *testing.T) {
	for _, c := range []struct {
		what      string
		allocated uint64
		sample
		due bool
	}{
		{"at rest, with much garbage", mega, sample{live: 100 * mega, unused: 100 * mega}, true},
		{"busy", 50 * mega, sample{live: 100 * mega, unused: 100 * mega}, false},
		{"at rest, with little garbage", mega, sample{live: 100 * mega, unused: 20 * mega}, false},
		{"a small heap at rest, with little garbage", mega, sample{live: 5 * mega, unused: 10 * mega}, false},
		{"a small heap at rest, with much garbage", mega, sample{live: 5 * mega, unused: 20 * mega}, true},
		{"a small heap that is busy", 3 * mega, sample{live: 5 * mega, unused: 20 * mega}, false},
	} {
		before := sample{allocated: 1000 * mega}
		now := c.sample
		now.allocated = before.allocated + c.allocated
		if got := due(before, now); got != c.due {
			t.Errorf("%s: %v, want %v", c.what, got, c.due)
		}
	}
}

// garbage makes n bytes of garbage, which is not collected before the heap has doubled.
func garbage(n int) {
	for range n / mega {
		runtime.KeepAlive(make([]byte, mega))
	}
}

// What a process has allocated before it rests is given back, and not as long as it is busy.
func TestUnusedMemoryIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := make([][]byte, 100)
		for i := range kept {
			kept[i] = make([]byte, mega)
		}
		runtime.GC()
		defer GiveBack()()
		runtime.KeepAlive(kept)
		kept = nil
		garbage(40 * mega) // less than what would begin a collection
		time.Sleep(period + time.Second)
		synctest.Wait()
		if s := now(); s.live < 100*mega {
			t.Errorf("after a busy period %d MiB are live: there was a collection", s.live/mega)
		}
		time.Sleep(period)
		synctest.Wait()
		if s := now(); s.live > 50*mega || s.unused > least {
			t.Errorf("at rest %d MiB are live, and %d MiB unused", s.live/mega, s.unused/mega)
		}
	})
}
