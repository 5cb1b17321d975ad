package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"metascript/engine"
)

// Options configure a [Pool].
type Options struct {
	// Command is the argv of a worker, a program that calls [Main]; by default our own executable with [Verb].
	Command []string
	// Workers is how many workers serve calls at the same time; by default GOMAXPROCS and one more.
	Workers int
	// Idle is how long a worker without calls is kept alive; by default 5 minutes.
	Idle time.Duration
	// Memory is the maximum of Limits.Memory of a call; a higher limit is reduced to it. By default 256 MiB.
	Memory int64
	// Calls is how many calls a worker serves before another takes its place; by default 10,000.
	Calls int
	// Log, if set, logs workers that are replaced.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	if len(o.Command) == 0 {
		// /proc/self/exe is this program even when its file has been replaced.
		o.Command = []string{"/proc/self/exe", os.Args[0], Verb}
	} else {
		o.Command = slices.Insert(slices.Clone(o.Command), 0, o.Command[0])
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0) + 1
	}
	if o.Idle <= 0 {
		o.Idle = 5 * time.Minute
	}
	if o.Memory <= 0 {
		o.Memory = 256 << 20
	}
	if o.Calls <= 0 {
		o.Calls = 10_000
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// A Pool keeps worker processes. A worker serves one owner at a time, and never two tenants. An owner gets the worker that served it
// last, or a new one. When there are as many workers as Options.Workers, it gets an idle one of another owner of its tenant, which
// first removes the objects that it has stored. If there is none, an idle worker of another tenant is killed, and a new one takes
// its place. One more worker is always started in advance, to replace at once a worker that was killed.
type Pool struct {
	options Options
	slots   chan struct{}          // one value for each busy worker
	launch  chan chan launchResult // requests to the launcher to start a process
	done    chan struct{}          // closed when the launcher has ended
	started sync.WaitGroup         // of goroutines that start workers
	ending  sync.WaitGroup         // of workers that are being killed and are in none of the fields below

	mu      sync.Mutex               // guards the fields below
	all     map[*worker]bool         // true: busy
	idle    []*worker                // the one that was used last at the end
	spares  []*startingWorker        // started in advance; never empty
	awaited map[*startingWorker]bool // workers that a caller waits for
	closed  bool                     // Close was called
}

// A launchResult is a worker process, or the error of starting it.
type launchResult struct {
	worker *worker
	err    error
}

// A startingWorker is a worker that is being started.
type startingWorker struct {
	done   chan struct{} // closed when the other fields may be read
	worker *worker
	err    error
}

// Missing returns what this system lacks for a Pool, in sentences; if the result is empty, a Pool can be started. It starts a
// worker to find out.
func Missing() []string {
	p, missing, err := open(Options{})
	switch {
	case err != nil:
		return []string{err.Error()}
	case p != nil:
		p.Close()
	}
	return missing
}

// New starts a pool. It returns an error if the system lacks something; see [Missing].
func New(o Options) (*Pool, error) {
	p, missing, err := open(o)
	if len(missing) > 0 {
		return nil, fmt.Errorf("scripts cannot be run in separate processes: this system lacks %s", strings.Join(missing, "; "))
	}
	return p, err
}

// open starts a pool, or returns what the system lacks.
func open(o Options) (*Pool, []string, error) {
	if missing := missingHere(); len(missing) > 0 {
		return nil, missing, nil
	}
	if len(os.Args) == 2 && os.Args[1] == Verb {
		return nil, nil, errors.New("a worker cannot have workers") // a program that does not handle the verb would start itself forever
	}
	o = o.withDefaults()
	p := &Pool{
		options: o, slots: make(chan struct{}, o.Workers),
		launch: make(chan chan launchResult), done: make(chan struct{}), all: map[*worker]bool{}, awaited: map[*startingWorker]bool{},
	}
	go p.launcher()
	first := p.prepare()
	p.spares = []*startingWorker{first}
	<-first.done
	var lacks errMissing
	switch err := first.err; {
	case errors.As(err, &lacks):
		p.Close()
		return nil, lacks, nil
	case err != nil:
		p.Close()
		return nil, nil, fmt.Errorf("a worker process cannot be started: %w", err)
	}
	return p, nil, nil
}

// errMissing lists what the system lacks, as a worker reports it.
type errMissing []string

func (e errMissing) Error() string { return strings.Join(e, "; ") }

// launcher starts processes, all of them on one thread, since they end with the thread that started them.
func (p *Pool) launcher() {
	defer close(p.done)
	runtime.LockOSThread() // and never unlocked: the thread ends with this function
	for result := range p.launch {
		w, err := launch(p.options.Command)
		result <- launchResult{w, err}
	}
}

// prepare starts a worker in the background. It must not be called when the pool is closed.
func (p *Pool) prepare() *startingWorker {
	f := &startingWorker{done: make(chan struct{})}
	p.started.Go(func() {
		defer close(f.done)
		results := make(chan launchResult)
		p.launch <- results
		launched := <-results
		if f.err = launched.err; f.err != nil {
			return
		}
		missing, err := launched.worker.ready(p.options.Memory)
		if err == nil && len(missing) > 0 {
			launched.worker.kill()
			<-launched.worker.dead
			err = errMissing(missing)
		}
		f.worker, f.err = launched.worker, err
	})
	return f
}

// Close ends every worker, and waits until they have ended. Their current calls fail.
func (p *Pool) Close() {
	p.mu.Lock()
	closed := p.closed
	p.closed = true
	p.mu.Unlock()
	if closed {
		return
	}
	p.started.Wait() // no worker starts after this
	p.ending.Wait()
	close(p.launch)
	p.mu.Lock()
	all := slices.Collect(maps.Keys(p.all))
	for _, f := range slices.AppendSeq(p.spares, maps.Keys(p.awaited)) {
		if f.err == nil {
			all = append(all, f.worker)
		}
	}
	p.mu.Unlock()
	for _, w := range all {
		w.kill()
	}
	for _, w := range all {
		<-w.dead
	}
	<-p.done
}

// A Worker describes a worker process.
type Worker struct {
	PID    int
	Tenant string // the tenant that it serves; it never serves another
	Owner  string // the owner that it serves, or served last
	Busy   bool   // it serves a call
}

// Workers returns the worker processes that have served an owner.
func (p *Pool) Workers() []Worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []Worker
	for w, busy := range p.all {
		list = append(list, Worker{w.pid, w.user.tenant, w.user.owner, busy})
	}
	return list
}

var errClosed = &engine.Error{Kind: engine.KindCanceled, Msg: "canceled: the worker processes are stopped"}

// A user is whom a worker serves: the owner of a call, and its tenant.
type user struct{ tenant, owner string }

// acquire waits for a worker for a call of u. memory is the memory limit of the call.
func (p *Pool) acquire(ctx context.Context, u user, memory int64) (*worker, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, engine.Stopped(ctx, engine.Pos{}, engine.Limits{})
	}
	w, err := p.take(ctx, u, memory)
	if err != nil {
		<-p.slots
	}
	return w, err
}

// take returns a worker. The caller has a slot, so one is idle or one more may be started.
func (p *Pool) take(ctx context.Context, u user, memory int64) (*worker, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	w, old := p.choose(u, memory)
	var spare *startingWorker
	if w == nil {
		spare = p.spare()
	}
	p.retire(old)
	p.mu.Unlock()
	if w != nil {
		return w, nil
	}
	return p.fresh(ctx, spare, u)
}

// choose takes an idle worker: one that served u, or, if no more may be started, another one of its tenant. If it returns nil, one
// more may be started, after the worker end has been killed, if that is not nil.
func (p *Pool) choose(u user, memory int64) (w, end *worker) {
	i := len(p.idle) - 1
	for i >= 0 && p.idle[i].user != u {
		i--
	}
	if i < 0 && len(p.all)+len(p.awaited) >= p.options.Workers {
		// The one that has been idle for the longest time, of the same tenant if there is one.
		i = max(0, slices.IndexFunc(p.idle, func(w *worker) bool { return w.user.tenant == u.tenant }))
	}
	if i < 0 {
		return nil, nil
	}
	w = p.idle[i]
	p.idle = slices.Delete(p.idle, i, i+1)
	w.expiry.Stop()
	if !w.fits(u, memory) {
		delete(p.all, w)
		return nil, w
	}
	p.all[w] = true
	w.serve(u)
	return w, nil
}

// spare takes a worker that was started in advance, and starts the next one.
func (p *Pool) spare() *startingWorker {
	f := p.spares[0]
	p.awaited[f] = true
	if p.spares = p.spares[1:]; len(p.spares) == 0 {
		p.spares = append(p.spares, p.prepare())
	}
	return f
}

// fresh waits for a worker that is being started.
func (p *Pool) fresh(ctx context.Context, f *startingWorker, u user) (*worker, error) {
	select {
	case <-f.done:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed // Close ends the workers that are being started
	}
	delete(p.awaited, f)
	switch {
	case ctx.Err() != nil:
		p.spares = append(p.spares, f)
		return nil, engine.Stopped(ctx, engine.Pos{}, engine.Limits{})
	case f.err != nil:
		return nil, &engine.Error{Kind: engine.KindPanic, Msg: engine.Clip("a worker process could not be started: "+f.err.Error(), 4<<10)}
	}
	p.all[f.worker] = true
	f.worker.serve(u)
	return f.worker, nil
}

// retire kills a worker that no caller uses; it does nothing for nil. It does not wait, since a process needs some CPU time to
// end. The caller holds mu, and the pool is not closed.
func (p *Pool) retire(w *worker) {
	if w != nil {
		p.ending.Go(func() {
			w.kill()
			<-w.dead
		})
	}
}

// release makes a worker idle, or ends it.
func (p *Pool) release(w *worker) {
	p.mu.Lock()
	switch {
	case p.closed: // Close ends the worker
	case w.spent, (w.limited || w.calls >= p.options.Calls) && p.prepared():
		delete(p.all, w)
		p.retire(w)
	default:
		p.all[w] = false
		p.idle = append(p.idle, w)
		w.expiry = time.AfterFunc(p.options.Idle, func() { p.expire(w) })
	}
	p.mu.Unlock()
	<-p.slots
}

// prepared reports whether a spare worker is ready.
func (p *Pool) prepared() bool {
	select {
	case <-p.spares[0].done:
		return p.spares[0].err == nil
	default:
		return false
	}
}

// expire ends a worker that has been idle for Options.Idle.
func (p *Pool) expire(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.idle, w); i >= 0 && !p.closed {
		p.idle = slices.Delete(p.idle, i, i+1)
		delete(p.all, w)
		p.retire(w)
	}
}
