package process

import (
	"testing"

	"go.uber.org/goleak"

	"metascript/engine"
	"metascript/engine/enginetest"
)

// lasting are the goroutines of a pool's workers; that they end with the pool is seen in TestMain.
var lasting = []goleak.Option{
	goleak.IgnoreAnyFunction("metascript/engine/process.(*worker).wait"),
	goleak.IgnoreAnyFunction("metascript/engine/process.(*firstBytes).drain"),
	goleak.IgnoreAnyFunction("metascript/engine/process.(*Pool).launcher"),
	goleak.IgnoreAnyFunction("metascript/engine/process.(*Pool).prepare.func1"),
}

func TestConformance(t *testing.T) {
	for _, language := range []string{engine.Starlark, engine.JavaScript, engine.Jsonnet} {
		t.Run(language, func(t *testing.T) {
			pool, _ := newPool(t, Options{})
			enginetest.Run(t, language, pool.Runtimes(language)[language], lasting...)
		})
	}
}

// With packed objects, the cases run in the languages that read them where they are.
func TestConformancePacked(t *testing.T) {
	pool, _ := newPool(t, Options{})
	enginetest.RunPacked(t, engine.Starlark, pool.Runtimes(engine.Starlark)[engine.Starlark], lasting...)
}
