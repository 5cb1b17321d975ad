package process

import (
	"context"
	"fmt"
	"os"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"metascript/engine"
	"metascript/runtimes"
)

// The test binary is its own worker.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == Verb {
		work()
	}
	if len(os.Args) == 2 && os.Args[1] == parentVerb {
		haveWorkers()
	}
	goleak.VerifyTestMain(m)
}

func work() {
	all := runtimes.All()
	all[misbehaving] = badRuntime{}
	if err := Main(context.Background(), all, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// newPool returns a pool for a test, and an engine that uses it.
func newPool(t testing.TB, o Options) (*Pool, *engine.Engine) {
	t.Helper()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	languages := []string{engine.Starlark, engine.JavaScript, engine.Jsonnet, misbehaving}
	return p, engine.New(engine.Options{Runtimes: p.Runtimes(languages...), Elsewhere: true, Slots: 4})
}

// parentVerb makes the test binary the parent of two workers, one of which is busy.
const parentVerb = "parent"

func haveWorkers() {
	p, err := New(Options{})
	if err != nil {
		panic(err)
	}
	e := engine.New(engine.Options{Runtimes: p.Runtimes(misbehaving), Elsewhere: true})
	s := engine.Script{Language: misbehaving, Entry: "sync", Files: fstest.MapFS{"sync": {}}}
	program, err := e.Compile(context.Background(), s, engine.Limits{})
	if err != nil {
		panic(err)
	}
	spare := p.spares[0]
	<-spare.done
	env := engine.Env{Limits: engine.Limits{Timeout: time.Hour}, Log: func(engine.Message) {
		fmt.Println(p.Workers()[0].PID, spare.worker.pid)
	}}
	_, err = program.Call(context.Background(), "spin", map[string]any{}, env)
	panic(err)
}
