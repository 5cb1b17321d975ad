// Command trial runs hostile scripts, one after the other. It reads jobs from its standard input, as JSON, and writes a report for each
// to its standard output, until the input ends. The tests of test/hostile build it without the race detector, since its shadow memory
// would hide how much memory a script uses.
//
//	trial InProcess|Process
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing/fstest"
	"time"

	"golang.org/x/sys/unix"

	"metascript/engine"
	"metascript/engine/cputime"
	"metascript/engine/process"
	"metascript/runtimes"
)

// A job is a script to run.
type job struct {
	Language, File string
	Timeout        time.Duration
}

// A report is the result of running a script.
type report struct {
	Kind    engine.Kind    // of the error; "" if there is an answer
	Message string         // of the error
	Answer  map[string]any // of the second call
	Took    time.Duration  // the longest of compiling and the calls, by the wall clock
	Used    time.Duration  // CPU time of this process and its workers, from the beginning of the job to its end
	Peak    int64          // the most memory of this process and its workers during the job, in bytes
	Healthy string         // the error of a script of another owner; "" if it has the expected answer
	Goes    bool           // an evaluation still runs some seconds after it should have ended
}

// addressSpace limits the address space of this process, so that a script that evades the limits does not use all memory of the machine.
// Of it, 6 GiB are taken before the first script: go.starlark.net reserves 4 GiB for small integers, and Go its tables. Go gives no addresses
// back, so the rest has to be enough for the scripts of all languages, one after the other.
const addressSpace = 12 << 30

func main() {
	if len(os.Args) == 2 && os.Args[1] == process.Verb {
		if err := process.Main(context.Background(), runtimes.All(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := serve(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(isolation string) error {
	if isolation == "InProcess" {
		if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: addressSpace, Max: addressSpace}); err != nil {
			return err
		}
	}
	jobs, reports := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var j job
		if err := jobs.Decode(&j); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		r, err := run(isolation, j)
		if err == nil {
			err = reports.Encode(r)
		}
		if err != nil {
			return err
		}
	}
}

func run(isolation string, j job) (*report, error) {
	releaseMemory()
	before := used()
	text, err := os.ReadFile(j.File)
	if err != nil {
		return nil, err
	}
	o := engine.Options{Runtimes: runtimes.All(), Slots: 1}
	var pool *process.Pool
	if isolation == "Process" {
		if pool, err = process.New(process.Options{}); err != nil {
			return nil, err
		}
		o.Runtimes, o.Elsewhere = pool.Runtimes(engine.Starlark, engine.JavaScript, engine.TypeScript, engine.Jsonnet), true
	}
	e := engine.New(o)
	r := &report{}
	r.attack(e, engine.Limits{Timeout: j.Timeout}, engine.Script{
		Language: j.Language, Entry: filepath.Base(j.File), Owner: "attacker",
		Files: fstest.MapFS{filepath.Base(j.File): {Data: text, Mode: 0o444}},
	})
	r.Healthy = callOther(e)
	r.Goes = stillRuns(e)
	r.Peak = peak("self")
	if pool != nil {
		r.Peak += peakOfWorkers(pool)
		pool.Close() // their time counts once they have ended
	}
	r.Used = used() - before
	return r, nil
}

// releaseMemory releases the memory of the previous script, and resets the peak memory of this process. If the peak cannot be reset, it
// counts for the next scripts too.
func releaseMemory() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// attack compiles the script and calls it twice, until there is an error.
func (r *report) attack(e *engine.Engine, l engine.Limits, s engine.Script) {
	ctx := context.Background()
	env := engine.Env{Owner: s.Owner, Limits: l, Log: func(engine.Message) {}}
	start := time.Now()
	p, err := e.Compile(ctx, s, l)
	r.Took = time.Since(start)
	for range 2 {
		if err != nil {
			break
		}
		start = time.Now()
		r.Answer, err = p.Call(ctx, "sync", request(), env)
		r.Took = max(r.Took, time.Since(start))
	}
	var fault *engine.Error
	switch {
	case errors.As(err, &fault):
		r.Kind, r.Message = fault.Kind, fault.Detail()
	case err != nil:
		r.Kind, r.Message = "no *engine.Error", err.Error()
	}
}

// used returns the CPU time of this process, and of its workers that have ended.
func used() time.Duration {
	var sum time.Duration
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}

// stillRuns reports whether an evaluation still runs after this process has used some CPU time.
func stillRuns(e *engine.Engine) bool {
	const limit = 10 * time.Second
	meter := cputime.NewMeter()
	meter.Start(cputime.Process(os.Getpid()))
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for len(e.Runaways()) > 0 {
		<-tick.C
		if meter.CPUTime() > limit || meter.Elapsed() > cputime.Bound(limit) {
			return true
		}
	}
	return false
}

// callOther calls a script of another owner. It returns why that failed, or "".
func callOther(e *engine.Engine) string {
	s := engine.Script{Language: engine.Starlark, Entry: "sync.star", Owner: "neighbor", Files: fstest.MapFS{
		"sync.star": {Data: []byte("def sync(children):\n    return {'pods': len(children['Pod.v1'])}\n"), Mode: 0o444},
	}}
	p, err := e.Compile(context.Background(), s, engine.Limits{})
	if err != nil {
		return engine.DetailOf(err)
	}
	answer, err := p.Call(context.Background(), "sync", request(), engine.Env{Owner: s.Owner})
	if err != nil {
		return engine.DetailOf(err)
	}
	if answer["pods"] != int64(pods) {
		return fmt.Sprintf("it answered %v", answer)
	}
	return ""
}

// peakOfWorkers returns the most memory that a worker has had. It includes workers that have ended: those have often used the most.
func peakOfWorkers(pool *process.Pool) (most int64) {
	var ended unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &ended); err == nil {
		most = ended.Maxrss << 10
	}
	for _, w := range pool.Workers() {
		most = max(most, peak(strconv.Itoa(w.PID)))
	}
	return most
}

// peak returns the most memory that a process has had.
func peak(pid string) int64 {
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if size, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(size), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}

// pods is the number of Pods in the request.
const pods = 20

// request returns the request for the scripts: an object and 20 Pods of about 3 KB.
func request() map[string]any {
	group := map[string]any{}
	for i := range pods {
		name := fmt.Sprintf("pod-%d", i)
		group[name] = map[string]any{
			"apiVersion": "v1", "kind": "Pod",
			"metadata": map[string]any{"name": name, "namespace": "default", "labels": map[string]any{"app": "web"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": "web:1", "args": []any{strings.Repeat("x", 2500)}}}},
			"status":   map[string]any{"phase": "Running", "podIP": "10.0.0.1"},
		}
	}
	return map[string]any{
		"controller": map[string]any{"metadata": map[string]any{"name": "attacker"}},
		"parent": map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget",
			"metadata": map[string]any{"name": "w", "namespace": "default", "labels": map[string]any{"app": "web"}, "generation": int64(1)},
			"spec":     map[string]any{"replicas": int64(3), "image": "web:1", "list": []any{int64(1), int64(2)}},
		},
		"children": map[string]any{"Pod.v1": group}, "related": map[string]any{},
		"finalizing": false, "now": "2026-01-01T00:00:00Z",
	}
}
