package work

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// A tenant whose calls take long leaves workers for the others.
func TestCallsOfTenantAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, callers = 8, 32
		l, block := &Limit{Most: most}, make(chan struct{})
		var loaded, postponed atomic.Int32
		load := func() {
			loaded.Add(1)
			<-block
		}
		var all sync.WaitGroup
		for range 2 * callers {
			all.Go(func() { l.Run("a", load, func() { postponed.Add(1) }) })
		}
		synctest.Wait()
		if loaded.Load() != most || postponed.Load() != 2*callers-most {
			t.Errorf("%d calls of a tenant run, and %d were postponed", loaded.Load(), postponed.Load())
		}
		for _, tenant := range []string{"b", ""} {
			all.Go(func() { l.Run(tenant, load, func() { t.Errorf("tenant %q waits for another", tenant) }) })
		}
		for range callers {
			all.Go(func() { l.Run("", load, func() { t.Error("a call without a tenant waits") }) })
		}
		close(block)
		all.Wait()
		l.Run("a", func() {}, func() { t.Error("a tenant waits for calls that have ended") })
		if len(l.now) != 0 {
			t.Errorf("left over: %v", l.now)
		}
	})
}
