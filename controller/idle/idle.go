// Package idle gives memory back to the operating system while a process has nothing to do.
//
// Go keeps about as much free memory as its heap had garbage before the last collection, so that it need not ask for it again. A server that
// has begun with thousands of parents would keep half of its memory for nothing from then on.
package idle

import (
	"runtime/debug"
	"runtime/metrics"
	"time"

	"metascript/controller/work"
)

// period is how long a process has nothing to do before memory is given back.
const period = 15 * time.Second

// GiveBack looks once per period whether there is memory to give back, until stop is called.
func GiveBack() (stop func()) {
	last := now()
	return work.Every(period, func() {
		current := now()
		if due(last, current) {
			debug.FreeOSMemory()
			current = now()
		}
		last = current
	})
}

// A sample is what the runtime tells of the memory of the process, in bytes.
type sample struct {
	allocated uint64 // in all, since the process began
	live      uint64 // the heap after the last collection
	unused    uint64 // garbage since then, and free memory that was not given back
}

const (
	// least is how much memory is given back at least, since all of the heap is collected for it.
	least = 16 << 20
	// restful is the part of the heap that a process that has nothing to do allocates in a period at most.
	restful = 8
)

// due reports whether memory is to be given back: the process has allocated little since the sample before, and has more unused memory than
// a quarter of its heap.
func due(before, now sample) bool {
	rests := now.allocated-before.allocated < max(now.live, least)/restful
	return rests && now.unused > max(now.live/4, least)
}

// now takes a sample.
func now() sample {
	all := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(all)
	of := func(i int) uint64 { return all[i].Value.Uint64() }
	s := sample{allocated: of(0), live: of(1), unused: of(3)}
	if objects := of(2); objects > s.live {
		s.unused += objects - s.live
	}
	return s
}
