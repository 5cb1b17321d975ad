package bench

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"metascript/engine"
	"metascript/engine/packed"
)

// BenchmarkRecorded calls a function with recorded objects, and in turn with the same request as it is. The metric is the ratio of the
// medians: what it costs to record what a script reads.
func BenchmarkRecorded(b *testing.B) {
	for _, language := range []string{engine.Starlark, engine.JavaScript, engine.Jsonnet} {
		for _, function := range []string{"noop", "status", "full"} {
			for _, isolation := range isolations {
				b.Run(fmt.Sprintf("function=%s/by=%s/isolation=%s", function, language, isolation), func(b *testing.B) {
					call, arg := script(b, newEngine(b, isolation), language, function), request(100)
					var took [2][]time.Duration
					for b.Loop() {
						for i, do := range []func(){
							func() { mustCall(b, call, with(arg, func(object packed.Map) any { return object })) },
							func() {
								var recorder packed.Recorder
								reads := make([]*packed.Recording, 0, 101)
								mustCall(b, call, with(arg, func(object packed.Map) any {
									reads = append(reads, recorder.Record(object))
									return reads[len(reads)-1].Map()
								}))
							},
						} {
							began := time.Now()
							do()
							took[i] = append(took[i], time.Since(began))
						}
					}
					b.ReportMetric(float64(median(took[1]))/float64(median(took[0])), "ratio")
				})
			}
		}
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func mustCall(b *testing.B, call callFunc, arg map[string]any) {
	if _, err := call(b.Context(), arg); err != nil {
		b.Fatal(engine.DetailOf(err))
	}
}

// with returns a request with something in place of its objects.
func with(arg map[string]any, replace func(packed.Map) any) map[string]any {
	pods := make(map[string]any, len(podsOf(arg)))
	for name, pod := range podsOf(arg) {
		pods[name] = replace(pod.(packed.Map))
	}
	changed := maps.Clone(arg)
	changed["parent"], changed["children"] = replace(arg["parent"].(packed.Map)), map[string]any{"Pod.v1": pods}
	return changed
}
