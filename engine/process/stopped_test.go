package process

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"metascript/engine"
)

// A worker that is stopped has no processor, like one on a machine that is busy: the time that passes then counts neither
// as its script's nor as its own. Here it is stopped much longer than either may take.
const frozen = 5 * killAfter

// freeze stops the worker that serves owner for some time.
func freeze(t *testing.T, pool *Pool, owner string) {
	t.Helper()
	for _, w := range pool.Workers() {
		if !w.Busy || w.Owner != owner {
			continue
		}
		if err := syscall.Kill(w.PID, syscall.SIGSTOP); err != nil {
			t.Error(err)
		}
		<-time.After(frozen)
		if err := syscall.Kill(w.PID, syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}
}

// pidOf returns the process that serves owner, or served it last.
func pidOf(pool *Pool, owner string) int {
	for _, w := range pool.Workers() {
		if w.Owner == owner {
			return w.PID
		}
	}
	return 0
}

func TestTimeWithoutCPUDoesNotCount(t *testing.T) {
	pool, e := newPool(t, Options{})
	p := compile(t, e, engine.Starlark, "def sync():\n    print('on')\n    return {'a': 1}\n")
	env := engine.Env{Limits: engine.Limits{Timeout: frozen / 2}}
	if _, err := do(t, p, "sync", env); err != nil { // a worker that is up, and knows the script
		t.Fatal(err)
	}
	before := pidOf(pool, "")
	env.Log = func(engine.Message) { freeze(t, pool, "") }
	if answer, err := do(t, p, "sync", env); err != nil || answer["a"] != int64(1) {
		t.Errorf("got %v, %v", answer, err)
	}
	if after := pidOf(pool, ""); after != before {
		t.Error("the worker has been lost")
	}
}

// Whose time is up is asked to end, and says where it stood, although it gets a processor later only.
func TestTimeoutOfAStoppedWorkerHasAPosition(t *testing.T) {
	pool, e := newPool(t, Options{})
	p := compile(t, e, engine.Starlark, "def sync():\n    print('on')\n    for i in range(1 << 62):\n        pass\n")
	var once sync.Once
	_, err := do(t, p, "sync", engine.Env{
		Limits: engine.Limits{Timeout: 2 * killAfter, Steps: 1 << 60},
		Log:    func(engine.Message) { once.Do(func() { freeze(t, pool, "") }) },
	})
	if err == nil || err.Kind != engine.KindTimeout || err.Pos.Line < 3 || err.Source == "" {
		t.Errorf("got %v", err)
	}
}

// A worker that has to make way for another owner's call, and gets no processor to do so, is not killed for that.
func TestWorkerWithoutCPUIsNotKilledAtTheEndOfItsTurn(t *testing.T) {
	pool, _ := newPool(t, Options{Workers: runtime.GOMAXPROCS(0) + 3})
	e := engine.New(engine.Options{Runtimes: pool.Runtimes(engine.Starlark), Elsewhere: true, Slots: 1})
	fillSlowLane(t, e)
	slow := compile(t, e, engine.Starlark, "def sync():\n    print('on')\n    for i in range(200000):\n        pass\n    return {}\n")
	quick := compile(t, e, engine.Starlark, "def sync():\n    return {}\n")
	call := func(p engine.Program, owner string, log func(engine.Message)) {
		if _, err := do(t, p, "sync", engine.Env{Owner: owner, Log: log}); err != nil {
			t.Errorf("%s: %v", owner, err)
		}
	}
	call(slow, "slow", nil)
	before := pidOf(pool, "slow")
	var others sync.WaitGroup
	var once sync.Once
	call(slow, "slow", func(engine.Message) {
		once.Do(func() {
			others.Go(func() { call(quick, "quick", nil) })
			freeze(t, pool, "slow")
		})
	})
	others.Wait()
	if after := pidOf(pool, "slow"); after != before {
		t.Error("the worker has been lost")
	}
}

// fillSlowLane has scripts of other owners run, until the test ends, that leave no room in the slow lane.
func fillSlowLane(t *testing.T, e *engine.Engine) {
	t.Helper()
	endless := compile(t, e, engine.Starlark, "def sync():\n    for i in range(1 << 62):\n        pass\n")
	ctx, stop := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	t.Cleanup(func() { stop(); calls.Wait() })
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for i := range e.Stats().Slow.Slots {
		calls.Go(func() {
			limits := engine.Limits{Timeout: time.Hour, Steps: 1 << 60}
			_, _ = endless.Call(ctx, "sync", map[string]any{}, engine.Env{Owner: fmt.Sprint("endless ", i), Limits: limits})
		})
		for e.Stats().Slow.Busy <= i {
			<-tick.C
		}
	}
}

// An error that ended a worker, which could not say where it stood, names the function.
func TestErrorOfADeadWorkerHasAPosition(t *testing.T) {
	_, e := newPool(t, Options{})
	p := compile(t, e, misbehaving, "the first line\n")
	for _, fn := range []string{"spin", "allocate", "exit"} {
		_, err := p.Call(t.Context(), fn, map[string]any{}, engine.Env{Limits: engine.Limits{Timeout: 2 * killAfter}})
		var fault *engine.Error
		if !errors.As(err, &fault) || fault.Pos.String() != "sync:1" || fault.Func != fn || !strings.Contains(fault.Source, "first") {
			t.Errorf("%s: got %v", fn, err)
		}
	}
}
