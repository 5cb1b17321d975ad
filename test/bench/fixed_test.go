package bench

import (
	"fmt"
	"runtime"
	"testing"
)

// fixedCalls is how many calls the fixed cost is measured over.
const fixedCalls = 10_000

// BenchmarkFixed is what a call costs that does nothing: the processor's time of the whole process over many calls, what
// is prepared for the next call in the background included, and the garbage collected. make bench runs it in a process of its
// own, where what other benchmarks left is not collected again and again.
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
