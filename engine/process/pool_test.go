package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"metascript/engine"
	"metascript/engine/packed"
)

func compile(t testing.TB, e *engine.Engine, language, text string) engine.Program {
	t.Helper()
	s := engine.Script{Language: language, Entry: "sync", Files: fstest.MapFS{"sync": {Data: []byte(text)}}}
	p, err := e.Compile(t.Context(), s, engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// do runs a function of the misbehaving program.
func do(t *testing.T, p engine.Program, fn string, env engine.Env) (map[string]any, *engine.Error) {
	t.Helper()
	answer, err := p.Call(t.Context(), fn, map[string]any{}, env)
	var fault *engine.Error
	if err != nil && !errors.As(err, &fault) {
		t.Fatalf("%s: %v is no *engine.Error", fn, err)
	}
	return answer, fault
}

func TestSystemLacksNothing(t *testing.T) {
	if missing := Missing(); len(missing) > 0 {
		t.Errorf("%q", missing)
	}
}

func TestValuesLogsAndErrorsAreTransferredCompletely(t *testing.T) {
	_, e := newPool(t, Options{})
	p := compile(t, e, misbehaving, "")
	arg := map[string]any{
		"nil": nil, "yes": true, "no": false, "int": int64(-1 << 62), "float": 1.5, "whole": 2.0, "text": "ä\x00\xff",
		"list": []any{int64(1), []any{}, map[string]any{}}, "map": map[string]any{"": map[string]any{"a": "b"}},
	}
	if got, err := p.Call(t.Context(), "echo", arg, engine.Env{}); err != nil || !reflect.DeepEqual(got, arg) {
		t.Errorf("got %v, %v", got, err)
	}
	var log []engine.Message
	if _, err := do(t, p, "log", engine.Env{Log: func(m engine.Message) { log = append(log, m) }}); err != nil {
		t.Error(err)
	}
	if want := (engine.Message{Level: engine.Warn, Pos: engine.Pos{File: "f", Line: 2}, Text: "line 2"}); len(log) != 3 || log[2] != want {
		t.Errorf("got %v", log)
	}
	if _, err := do(t, p, "fail", engine.Env{}); !reflect.DeepEqual(err, &wholeError) {
		t.Errorf("got %#v", err)
	}
}

// What a script does to its worker is its error, and the next call is served by another.
func TestErrorsOfDeadWorkers(t *testing.T) {
	_, e := newPool(t, Options{})
	p := compile(t, e, misbehaving, "")
	for fn, want := range map[string]struct {
		kind engine.Kind
		text string
	}{
		"spin":     {engine.KindTimeout, "timed out after 100ms"},
		"shout":    {engine.KindTimeout, "timed out"},
		"allocate": {engine.KindMemory, "needs more than 64Mi"},
		"grow":     {engine.KindMemory, "needs more than 64Mi"},
		"recurse":  {engine.KindStack, "64Mi of stack"},
		"panic":    {engine.KindPanic, "on purpose"},
		"crash":    {engine.KindPanic, "exit status 2"},
		"exit":     {engine.KindPanic, "exit status 3"},
		"garbage":  {engine.KindPanic, "sent an invalid message"},
		"huge":     {engine.KindPanic, "sent an invalid message"},
	} {
		t.Run(fn, func(t *testing.T) {
			limits := engine.Limits{Timeout: time.Minute}
			if want.kind == engine.KindTimeout {
				limits.Timeout = 100 * time.Millisecond
			}
			_, err := do(t, p, fn, engine.Env{Limits: limits})
			if err == nil || err.Kind != want.kind || !strings.Contains(err.Error(), want.text) {
				t.Errorf("got %v, want %s: %s", err, want.kind, want.text)
				if err != nil {
					t.Log(err.Stack)
				}
			}
			if err != nil && len(err.Stack) > maxStderr {
				t.Errorf("the stack has %d bytes", len(err.Stack))
			}
			if _, err := do(t, p, "echo", engine.Env{}); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

// One that waits forever has no processor time, and is given up nevertheless. What its worker does meanwhile may come to
// its timeout.
func TestBlockedScriptIsStopped(t *testing.T) {
	t.Parallel() // it takes half a minute
	_, e := newPool(t, Options{})
	_, err := do(t, compile(t, e, misbehaving, ""), "block", engine.Env{Limits: engine.Limits{Timeout: 100 * time.Millisecond}})
	if err == nil || err.Kind != engine.KindTimeout && err.Kind != engine.KindCanceled || !strings.Contains(err.Msg, "100ms") {
		t.Errorf("got %v", err)
	}
}

func TestWorkerIsRestricted(t *testing.T) {
	_, e := newPool(t, Options{})
	p := compile(t, e, misbehaving, "")
	got, err := do(t, p, "escape", engine.Env{})
	if err != nil || len(got) > 0 {
		t.Errorf("succeeded: %v, %v", got, err)
	}
	got, err = do(t, p, "system", engine.Env{})
	if err != nil {
		t.Fatal(err)
	}
	score, readErr := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", got["pid"]))
	if readErr != nil || strings.TrimSpace(string(score)) != "1000" {
		t.Errorf("oom_score_adj: %q, %v", score, readErr)
	}
	threads, readErr := os.ReadDir(fmt.Sprintf("/proc/%d/task", got["pid"]))
	if readErr != nil {
		t.Error(readErr)
	}
	for _, thread := range threads {
		tid, _ := strconv.Atoi(thread.Name())
		if nice, err := syscall.Getpriority(syscall.PRIO_PROCESS, tid); err != nil || 20-nice != 10 {
			t.Errorf("a thread's niceness is %d, %v", 20-nice, err)
		}
	}
	delete(got, "pid")
	if want := map[string]any{"core": int64(0), "procs": int64(2)}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// status returns a field of /proc/PID/status.
func status(t *testing.T, pid int, field string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("no %s", field)
	return ""
}

func TestOwnerGetsItsLastWorker(t *testing.T) {
	pool, e := newPool(t, Options{Workers: 2})
	p := compile(t, e, misbehaving, "")
	serve := func(owner string) int64 {
		got, err := do(t, p, "pid", engine.Env{Owner: owner})
		if err != nil {
			t.Fatal(err)
		}
		return got["pid"].(int64)
	}
	a, b := serve("a"), serve("b")
	if a == b {
		t.Error("two owners, and room for two workers, but both have the same")
	}
	if serve("a") != a || serve("b") != b {
		t.Error("an owner has not got the worker that served it last")
	}
	if c := serve("c"); c != a {
		t.Error("a third owner has not got the worker that was idle for longest")
	}
	if n := len(pool.Workers()); n != 2 {
		t.Errorf("%d workers, want 2", n)
	}
	for _, field := range []string{"NoNewPrivs", "Seccomp"} {
		if got := status(t, int(a), field); got != map[string]string{"NoNewPrivs": "1", "Seccomp": "2"}[field] {
			t.Errorf("%s: %s", field, got)
		}
	}
}

// Many owners at once: no worker is ever two's.
func TestOwnersNeverShareAWorker(t *testing.T) {
	pool, e := newPool(t, Options{Workers: 3})
	p := compile(t, e, misbehaving, "")
	var wg sync.WaitGroup
	var mu sync.Mutex
	serving := map[*worker]string{}
	for i := range 8 {
		wg.Go(func() {
			owner := fmt.Sprint("owner ", i)
			for range 20 {
				w, err := pool.acquire(t.Context(), user{owner: owner}, 64<<20)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if other := serving[w]; other != "" {
					t.Errorf("%s and %s share a worker", owner, other)
				}
				serving[w] = owner
				mu.Unlock()
				if w.user.owner != owner {
					t.Errorf("%s has got a worker of %s", owner, w.user.owner)
				}
				mu.Lock()
				delete(serving, w)
				mu.Unlock()
				pool.release(w)
				if _, err := p.Call(t.Context(), "echo", map[string]any{}, engine.Env{Owner: owner}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(pool.Workers()); n > 3 {
		t.Errorf("%d workers, want 3 at most", n)
	}
}

func identify(object engine.Map) (id, version string) {
	if p, ok := object.(packed.Map); ok { // without an allocation
		return p.Text("uid"), p.Text("version")
	}
	uid, _ := object.Get("uid")
	v, _ := object.Get("version")
	id, _ = uid.(string)
	version, _ = v.(string)
	return id, version
}

// Objects travel once for each worker, version and owner.
func TestObjectsAreSentOnce(t *testing.T) {
	pool, e := newPool(t, Options{Workers: 1})
	p := compile(t, e, misbehaving, "")
	ask := func(owner, version string) (id, got string, sent int64) {
		t.Helper()
		arg := map[string]any{"object": map[string]any{"uid": "u", "version": version, "text": strings.Repeat("x", 1000)}}
		before := int64(0)
		for w := range pool.all {
			before = int64(w.sent.numbers)
		}
		answer, err := p.Call(t.Context(), "identity", arg, engine.Env{Owner: owner, Identify: identify})
		if err != nil {
			t.Fatal(err)
		}
		for w := range pool.all {
			sent = int64(w.sent.numbers) - before
		}
		return answer["id"].(string), answer["version"].(string), sent
	}
	for _, step := range []struct {
		owner, version string
		sent           int64
	}{{"a", "1", 1}, {"a", "1", 0}, {"a", "2", 1}, {"a", "2", 0}, {"a", "1", 1}} {
		if id, version, sent := ask(step.owner, step.version); id != "u" || version != step.version || sent != step.sent {
			t.Errorf("%v: got %s, %s, and %d objects were sent", step, id, version, sent)
		}
	}
	ask("b", "1")
	for w := range pool.all {
		if w.user.owner != "b" || w.sent.numbers != 1 {
			t.Error("another owner's objects are still there")
		}
	}
}

func TestCanceled(t *testing.T) {
	pool, e := newPool(t, Options{})
	p := compile(t, e, engine.Starlark, "def sync():\n  print('on')\n  for i in range(1<<60): pass\n  return {}\n")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := p.Call(ctx, "sync", map[string]any{}, engine.Env{
		Limits: engine.Limits{Steps: 1 << 60, Timeout: time.Minute}, Log: func(engine.Message) { cancel() },
	})
	var fault *engine.Error
	if !errors.As(err, &fault) || fault.Kind != engine.KindCanceled {
		t.Errorf("got %v", err)
	}
	if len(pool.Workers()) > 1 {
		t.Error("the worker has been lost")
	}
}

func TestCloseEndsRunningCalls(t *testing.T) {
	pool, e := newPool(t, Options{})
	p := compile(t, e, misbehaving, "")
	done := make(chan error)
	for _, fn := range []string{"block", "spin"} {
		go func() {
			_, err := p.Call(t.Context(), fn, map[string]any{}, engine.Env{Limits: engine.Limits{Timeout: time.Hour}})
			done <- err
		}()
	}
	if _, err := do(t, p, "echo", engine.Env{}); err != nil {
		t.Error(err)
	}
	pool.Close()
	for range 2 {
		var fault *engine.Error
		if err := <-done; !errors.As(err, &fault) || fault.Kind != engine.KindCanceled {
			t.Errorf("got %v", err)
		}
	}
	if _, err := do(t, p, "echo", engine.Env{}); err == nil || err.Kind != engine.KindCanceled {
		t.Errorf("got %v", err)
	}
	var status syscall.WaitStatus
	if pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil); err != syscall.ECHILD {
		t.Errorf("a process is left: %d, %v", pid, err)
	}
}

// ended waits until a process is no more.
func ended(t *testing.T, pid int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for syscall.Kill(pid, 0) == nil {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("process %d runs on", pid)
		}
	}
}

// A worker that dies while nobody uses it is nobody's fault.
func TestIdleWorkerThatDies(t *testing.T) {
	pool, e := newPool(t, Options{})
	p := compile(t, e, misbehaving, "")
	pool.mu.Lock()
	first := pool.idle[0]
	pool.mu.Unlock()
	if err := syscall.Kill(first.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-first.dead
	if _, err := do(t, p, "echo", engine.Env{}); err != nil {
		t.Error(err)
	}
}

func TestIdleWorkersEnd(t *testing.T) {
	pool, e := newPool(t, Options{Idle: time.Millisecond})
	p := compile(t, e, misbehaving, "")
	got, err := do(t, p, "pid", engine.Env{})
	if err != nil {
		t.Fatal(err)
	}
	ended(t, int(got["pid"].(int64)))
	if n := len(pool.Workers()); n > 0 {
		t.Errorf("%d workers", n)
	}
}

// When the parent dies, so do its workers, whatever they are doing.
func TestWorkersEndWithTheirParent(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(exe, parentVerb)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pids [2]int
	if _, err := fmt.Fscanln(out, &pids[0], &pids[1]); err != nil {
		t.Error(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = parent.Wait() // it was killed
	for _, pid := range pids {
		ended(t, pid)
	}
}

// A worker whose stdin ends exits by itself, even while a script runs.
func TestMainEndsWithItsInput(t *testing.T) {
	runtime.LockOSThread() // and never unlocked: the thread is launch's
	w, err := launch(Options{}.withDefaults().Command)
	if err != nil {
		t.Fatal(err)
	}
	if missing, err := w.ready(64 << 20); err != nil || len(missing) > 0 {
		t.Fatal(missing, err)
	}
	e := &encoder{}
	for _, frame := range []struct {
		kind  kind
		write func()
	}{
		{kindCompile, func() {
			e.compilation(compilation{exchange: 1, digest: "d", script: engine.Script{Language: misbehaving, Entry: "sync", Files: fstest.MapFS{"sync": {}}}})
		}},
	} {
		at := e.begin(frame.kind)
		frame.write()
		e.end(at)
	}
	if err := w.write(e.buf); err != nil {
		t.Fatal(err)
	}
	if k, _, err := readFrame(w.out, 1<<20); err != nil || k != kindProgram {
		t.Fatalf("got %q, %v", k, err)
	}
	if err := w.writeCall(call{exchange: 2, digest: "d", function: "spin", limits: engine.Limits{Timeout: time.Hour, Memory: 1 << 20}}, map[string]any{}, &encoder{}); err != nil {
		t.Fatal(err)
	}
	w.in.Close()
	<-w.dead
	if w.how != "exit status 0" {
		t.Error(w.how, w.stderr.String())
	}
}

func TestWorkersHaveNoWorkers(t *testing.T) {
	if missing := (errMissing{"a", "b"}).Error(); missing != "a; b" {
		t.Error(missing)
	}
	if _, err := New(Options{Command: []string{"/bin/false"}}); err == nil || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("got %v", err)
	}
	if _, err := New(Options{Command: []string{"/does/not/exist"}}); err == nil {
		t.Error("no error")
	}
}

// watchMemory returns the most memory that was resident, once w is dead.
func watchMemory(w *worker) <-chan int64 {
	peak := make(chan int64, 1)
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		most := int64(0)
		for !w.gone() {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.pid)) // it may be gone by now
			if _, rest, ok := strings.Cut(string(text), "VmHWM:"); ok {
				var n int64
				_, _ = fmt.Sscan(rest, &n)
				most = max(most, n<<10)
			}
			<-tick.C
		}
		peak <- most
	}()
	return peak
}

// Scripts that take memory, in one piece or by and by, end for that, and do not get it.
func TestMemoryIsLimited(t *testing.T) {
	limit := int64(64 << 20)
	if testing.Short() {
		limit /= 4
	}
	for name, bomb := range map[string]struct{ language, text string }{
		"grow":     {misbehaving, "grow"},
		"allocate": {misbehaving, "allocate"},
		"append":   {engine.Starlark, "def sync():\n  l = []\n  for i in range(1<<40):\n    l.append('x' * 1000 + str(i))\n"},
		"push":     {engine.JavaScript, "function sync() { const l = []; for (;;) l.push('x' + l.length) }"},
		"double":   {engine.Starlark, "def sync():\n  s = 'x'\n  for i in range(1<<40):\n    s += s\n"},
		"concat":   {engine.Jsonnet, "{ sync():: local f(a) = f(a + a) tailstrict; f([1, 2, 3]) }"},
	} {
		t.Run(name, func(t *testing.T) {
			pool, e := newPool(t, Options{Workers: 1})
			p := compile(t, e, bomb.language, bomb.text)
			var w *worker
			for w = range pool.all {
			}
			peak := watchMemory(w)
			_, err := do(t, p, map[bool]string{true: bomb.text, false: "sync"}[bomb.language == misbehaving],
				engine.Env{Limits: engine.Limits{Memory: limit, Steps: 1 << 40, Timeout: 5 * time.Minute}})
			if err == nil || err.Kind != engine.KindMemory {
				t.Errorf("got %v", err)
				if err != nil {
					t.Log(err.Stack)
				}
			} else if bomb.language != misbehaving && (err.Pos.Col == 0 || err.Source == "") {
				t.Errorf("it has no place: %v", err)
			}
			most := <-peak
			if most > (allowance(limit, 0)+100<<20)*weight {
				t.Errorf("it took %d MiB", most>>20)
			}
			t.Logf("%v, after %d MiB", err, most>>20)
		})
	}
}
