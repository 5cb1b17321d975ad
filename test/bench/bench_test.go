package bench

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"metascript/engine"
)

// A callFunc calls a function once.
type callFunc func(ctx context.Context, arg map[string]any) (map[string]any, error)

var entries = map[string]string{engine.Starlark: "sync.star", engine.JavaScript: "sync.js", engine.Jsonnet: "sync.jsonnet"}

var languages = []string{engine.Starlark, engine.JavaScript, engine.Jsonnet}

// load returns the script of a function in testdata.
func load(language, function string) engine.Script {
	return engine.Script{Language: language, Entry: entries[language], Files: os.DirFS("testdata/" + function)}
}

// script compiles a function in testdata, and returns a function that calls it.
func script(tb testing.TB, e *engine.Engine, language, function string) callFunc {
	tb.Helper()
	p, err := e.Compile(tb.Context(), load(language, function), engine.Limits{})
	if err != nil {
		tb.Fatal(engine.DetailOf(err))
	}
	env := engine.Env{Owner: "bench", Identify: identify, Limits: engine.Limits{Timeout: 30 * time.Second}}
	return func(ctx context.Context, arg map[string]any) (map[string]any, error) {
		return p.Call(ctx, "sync", arg, env)
	}
}

// BenchmarkCall calls a function with the same request each time, as in periodic reconciles of a parent that does not change.
func BenchmarkCall(b *testing.B) {
	for _, function := range []string{"noop", "status", "full"} {
		for _, pods := range []int{1, 10, 100, 1000} {
			b.Run(fmt.Sprintf("function=%s/pods=%d", function, pods), func(b *testing.B) {
				compare(b, function, pods, func(map[string]any, int) {})
			})
		}
	}
}

// BenchmarkChanged changes another Pod before each call, as if Pods become ready one after the other.
func BenchmarkChanged(b *testing.B) {
	for _, pods := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("function=status/pods=%d", pods), func(b *testing.B) {
			compare(b, "status", pods, func(arg map[string]any, i int) { change(arg, i%pods, i) })
		})
	}
}

// compare measures a function in each language and the references, which get maps. It calls before with the request before the i-th
// call in a language.
func compare(b *testing.B, function string, pods int, before func(arg map[string]any, i int)) {
	var ref references
	plain := plainRequest(pods)
	b.Run("by=copy", func(b *testing.B) {
		ref.copied = measure(b, references{}, func(int) {}, func(context.Context) error {
			runtime.DeepCopyJSON(plain)
			return nil
		})
	})
	b.Run("by=webhook", func(b *testing.B) {
		call := webhook(b, function)
		ref.posted = measure(b, ref, func(int) {}, func(ctx context.Context) error {
			_, err := call(ctx, plain)
			return err
		})
	})
	arg := request(pods)
	for _, isolation := range isolations {
		for _, language := range languages {
			b.Run(fmt.Sprintf("by=%s/isolation=%s", language, isolation), func(b *testing.B) {
				call := script(b, newEngine(b, isolation), language, function)
				measure(b, ref, func(i int) { before(arg, i) }, func(ctx context.Context) error {
					_, err := call(ctx, arg)
					return err
				})
			})
		}
	}
}

// references are the times of one operation of the references, in nanoseconds, for ratios; zero means unknown.
type references struct{ copied, posted float64 }

// counter is the argument of before. It is never the same twice in this process, so that each version of an object is new.
var counter int

// measure runs the loop of a benchmark. It returns the time of one operation, in nanoseconds.
func measure(b *testing.B, ref references, before func(i int), work func(context.Context) error) float64 {
	ctx := b.Context()
	once := func() {
		before(counter)
		counter++
		if err := work(ctx); err != nil {
			b.Fatal(engine.DetailOf(err))
		}
	}
	for range 3 {
		once() // fills the caches
	}
	b.ReportAllocs()
	cpu := cpuTime(b)
	for b.Loop() {
		once()
	}
	b.ReportMetric(float64((cpuTime(b)-cpu).Nanoseconds())/float64(b.N), "cpu-ns/op")
	took := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	if ref.copied > 0 {
		b.ReportMetric(took/ref.copied, "copies")
	}
	if ref.posted > 0 {
		b.ReportMetric(took/ref.posted, "webhooks")
	}
	return took
}

// BenchmarkCompile compiles the status function. A server compiles each version of a script once.
func BenchmarkCompile(b *testing.B) {
	for _, language := range languages {
		for _, isolation := range isolations {
			b.Run(fmt.Sprintf("by=%s/isolation=%s", language, isolation), func(b *testing.B) {
				r, s := newRuntimes(b, isolation)[language], load(language, "status")
				measure(b, references{}, func(int) {}, func(ctx context.Context) error {
					_, err := r.Compile(ctx, s, engine.Limits{})
					return err
				})
			})
		}
	}
}
