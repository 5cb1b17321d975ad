package bench

import (
	"fmt"
	"runtime"
	"testing"
)

// fixedCalls is the number of calls in one measurement.
const fixedCalls = 10_000

// BenchmarkFixed measures a call that does nothing: the CPU time of the whole process, divided by the number of calls. It includes
// garbage collection, and work in the background that prepares the next call. make bench runs it in its own process, so that the
// garbage collector does not have to scan the memory of other benchmarks.
func BenchmarkFixed(b *testing.B) {
	for _, language := range languages {
		for _, isolation := range isolations {
			b.Run(fmt.Sprintf("by=%s/isolation=%s", language, isolation), func(b *testing.B) {
				call := script(b, newEngine(b, isolation), language, "noop")
				arg := request(1)
				calls := func(n int) {
					for range n {
						if _, err := call(b.Context(), arg); err != nil {
							b.Fatal(err)
						}
					}
					runtime.GC()
				}
				calls(fixedCalls / 10)
				cpu := cpuTime(b)
				for b.Loop() {
					calls(fixedCalls)
				}
				spent := cpuTime(b) - cpu
				b.ReportMetric(float64(spent.Microseconds())/float64(b.N*fixedCalls), "cpu-us/call")
			})
		}
	}
}
