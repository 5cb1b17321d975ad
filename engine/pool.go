package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure an [Engine].
type Options struct {
	// Runtimes are the languages, by the names that scripts call them.
	Runtimes map[string]Runtime
	// Slots is how many evaluations, compiles and calls, run at once; by default GOMAXPROCS less one, but at least 1.
	Slots int
	// Programs is how many compiled programs are kept; by default 256.
	Programs int
}

// An Engine is a [Runtime] for several languages that makes running scripts safe and cheap.
//
// Compile and Call wait for a free slot, in the order of asking, for as long as the caller's ctx allows. Then
// Limits.Timeout begins to count. A runtime that panics, or does not return soon after its ctx is done, does no harm
// to the caller, who gets an error of KindPanic or KindTimeout. In the latter case the evaluation is abandoned: its
// slot is given to others, and as long as it runs, further evaluations of the same script are refused, so that one
// script keeps one processor busy at most.
//
// All errors are an [*Error], complete with function, source line, and message and trace cut to their bounds. An
// error of another type, which a runtime should not give, becomes one of KindSyntax when compiling and of
// KindRuntime in a call; one that is a context's becomes KindTimeout or KindCanceled. KindTimeout always means
// Limits.Timeout: when the caller's own deadline passes, that is KindCanceled.
//
// Compiled programs are kept: see cache for when they are reused. Compile has to read and digest the files to know
// which, so who calls often keeps the program.
type Engine struct {
	runtimes map[string]Runtime
	slots    *slots
	programs *cache
	runaways runaways
	grace    time.Duration
}

// defaultGrace is how long after its ctx is done a runtime may take to return.
const defaultGrace = 500 * time.Millisecond

// New returns an Engine.
func New(o Options) *Engine {
	if o.Slots <= 0 {
		o.Slots = max(1, goruntime.GOMAXPROCS(0)-1)
	}
	if o.Programs <= 0 {
		o.Programs = 256
	}
	return &Engine{
		runtimes: maps.Clone(o.Runtimes),
		slots:    newSlots(o.Slots),
		programs: newCache(o.Programs),
		runaways: runaways{of: map[string]int{}},
		grace:    defaultGrace,
	}
}

// Runaways is how many evaluations run on although their time is up.
func (e *Engine) Runaways() int { return e.runaways.count() }

// Compile implements [Runtime].
func (e *Engine) Compile(ctx context.Context, s Script, l Limits) (Program, error) {
	l = l.WithDefaults()
	r, ok := e.runtimes[s.Language]
	if !ok {
		return nil, &Error{
			Kind: KindSource, Pos: Pos{File: s.Entry},
			Msg:  fmt.Sprintf("scripts in %q cannot be run", Clip(s.Language, maxName)),
			Hint: "the languages are " + strings.Join(slices.Sorted(maps.Keys(e.runtimes)), ", "),
		}
	}
	s, digest, err := s.snapshot(l.Source)
	if err != nil {
		return nil, err
	}
	return e.programs.get(ctx, compilation{digest, l}, func() (Program, error) {
		return e.compile(ctx, r, s, digest, l)
	})
}

// compile compiles a script that is not in the cache; s is a snapshot.
func (e *Engine) compile(ctx context.Context, r Runtime, s Script, digest string, l Limits) (Program, error) {
	if err := s.checkNesting(); err != nil {
		return nil, err.complete("", s.Files)
	}
	p, fault := run(ctx, e, task{digest, s.Entry, l, KindSyntax}, func(ctx context.Context) (Program, error) {
		return r.Compile(ctx, s, l)
	})
	if fault != nil {
		return nil, fault.complete("", s.Files)
	}
	return &program{engine: e, inner: p, entry: s.Entry, files: s.Files, digest: digest}, nil
}

// A program is what an Engine gives out for a runtime's.
type program struct {
	engine *Engine
	inner  Program
	entry  string
	files  fs.FS
	digest string
}

// Functions implements [Program].
func (p *program) Functions() []string { return p.inner.Functions() }

// Ported implements [Ported]; it is false when the runtime's program knows nothing of it.
func (p *program) Ported() bool {
	inner, ok := p.inner.(Ported)
	return ok && inner.Ported()
}

// Call implements [Program].
func (p *program) Call(ctx context.Context, fn string, arg map[string]any, env Env) (map[string]any, error) {
	env.Limits = env.Limits.WithDefaults()
	log := newBoundedLog(env.Log, env.Limits.Log)
	env.Log = log.add
	defer log.close()

	t := task{p.digest, p.entry, env.Limits, KindRuntime}
	answer, fault := run(ctx, p.engine, t, func(ctx context.Context) (map[string]any, error) {
		return p.inner.Call(ctx, fn, arg, env)
	})
	if fault != nil {
		return nil, fault.complete(fn, p.files)
	}
	return answer, nil
}

// A task is what run has to know of an evaluation.
type task struct {
	digest string // of the script
	entry  string
	limits Limits
	kind   Kind // of an error that is no *Error
}

// errTimeout is the cause of a ctx that is done because of Limits.Timeout.
var errTimeout = fmt.Errorf("limits.timeout: %w", context.DeadlineExceeded)

// run does work in a slot, within its time, and returns what comes of it.
func run[T any](ctx context.Context, e *Engine, t task, work func(context.Context) (T, error)) (result T, fault *Error) {
	if fault := e.admit(ctx, t); fault != nil {
		return result, fault
	}
	defer e.slots.release()
	limited, cancel := context.WithTimeoutCause(ctx, t.limits.Timeout, errTimeout)
	defer cancel()

	a := begin(limited, work)
	if !a.wait(limited, e.grace) {
		if e.runaways.abandon(t.digest, &a.state) {
			fault := stopped(limited, Pos{File: t.entry}, t.limits)
			fault.Msg += "; it did not stop, and runs on"
			return result, fault
		}
		<-a.done
	}
	if a.err != nil {
		return result, t.fault(limited, a.err)
	}
	return a.result, nil
}

// admit waits for a slot, unless the script has a runaway.
func (e *Engine) admit(ctx context.Context, t task) *Error {
	if fault := e.runaways.check(t); fault != nil {
		return fault
	}
	if e.slots.acquire(ctx) != nil {
		return &Error{Kind: KindCanceled, Pos: Pos{File: t.entry}, Msg: "canceled before it could run: others were running"}
	}
	if fault := e.runaways.check(t); fault != nil { // it may be from while we waited
		e.slots.release()
		return fault
	}
	return nil
}

// fault makes an *Error of what a runtime returned.
func (t task) fault(ctx context.Context, err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e) && e != nil:
		if e.Kind == KindTimeout && ctx.Err() != nil {
			if s := stopped(ctx, e.Pos, t.limits); s.Kind != KindTimeout {
				return s
			}
		}
		clone := *e // the runtime may give the same error again
		return &clone
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		return stopped(ctx, Pos{File: t.entry}, t.limits)
	}
	return &Error{Kind: t.kind, Pos: Pos{File: t.entry}, Msg: Clip(err.Error(), maxMsg)}
}

// stopped is Stopped for a ctx of run's, which tells our deadline from the caller's.
func stopped(ctx context.Context, at Pos, l Limits) *Error {
	if !errors.Is(context.Cause(ctx), errTimeout) {
		return &Error{Kind: KindCanceled, Pos: at, Msg: "canceled by its caller"}
	}
	return Stopped(ctx, at, l)
}

// An attempt is work under way in a goroutine of its own. result and err may be read once done is closed.
type attempt[T any] struct {
	result T
	err    error
	done   chan struct{}
	state  atomic.Pointer[func()] // what to do in the end if the caller has left; see runaways.abandon
}

// begin starts work behind a fence.
func begin[T any](ctx context.Context, work func(context.Context) (T, error)) *attempt[T] {
	a := &attempt[T]{done: make(chan struct{})}
	go func() {
		defer a.end()
		a.err = errors.New("the interpreter ended its goroutine") // unless it returns
		a.result, a.err = work(ctx)
	}()
	return a
}

// finished is the state of an attempt that has ended.
var finished = func() {}

func (a *attempt[T]) end() {
	if x := recover(); x != nil {
		a.err = panicked(x)
	}
	close(a.done)
	if forget := a.state.Swap(&finished); forget != nil {
		(*forget)()
	}
}

// panicked is the error of a panic. A value's own methods may panic again, so we look at few kinds of values.
func panicked(x any) *Error {
	e := &Error{
		Kind: KindPanic, Stack: Clip(string(debug.Stack()), maxStack),
		Hint: "this is a fault of the interpreter, or of ours; please report it",
	}
	switch x := x.(type) {
	case goruntime.Error:
		e.Msg = x.Error()
	case string:
		e.Msg = x
	default:
		e.Msg = fmt.Sprintf("a value of type %T", x)
	}
	e.Msg = Clip("the interpreter panicked: "+e.Msg, maxMsg)
	return e
}

const maxStack = 16 << 10

// wait reports whether the attempt ended, at the latest a grace period after ctx is done.
func (a *attempt[T]) wait(ctx context.Context, grace time.Duration) bool {
	select {
	case <-a.done:
		return true
	case <-ctx.Done():
	}
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case <-a.done:
		return true
	case <-patience.C:
		return false
	}
}

// runaways counts the abandoned evaluations that still run, by the script's digest.
type runaways struct {
	mu sync.Mutex
	of map[string]int
}

// abandon counts an attempt until it ends. It reports false when the attempt has ended already.
func (r *runaways) abandon(digest string, state *atomic.Pointer[func()]) bool {
	r.add(digest, 1)
	forget := func() { r.add(digest, -1) }
	if !state.CompareAndSwap(nil, &forget) {
		forget()
		return false
	}
	return true
}

func (r *runaways) add(digest string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of[digest] += n; r.of[digest] == 0 {
		delete(r.of, digest)
	}
}

func (r *runaways) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, k := range r.of {
		n += k
	}
	return n
}

// check refuses a task of a script that has a runaway.
func (r *runaways) check(t task) *Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of[t.digest] == 0 {
		return nil
	}
	return &Error{
		Kind: KindTimeout, Pos: Pos{File: t.entry},
		Msg:  "refused: an earlier call is still running although its time was up",
		Hint: "look for an operation on very large values in the script; it can run again once that call has ended",
	}
}

// A boundedLog hands on messages up to a number of bytes in all, and none after close.
type boundedLog struct {
	mu   sync.Mutex
	emit func(Message)
	left int64
}

const (
	// messageCost is what a message counts besides its text, so that empty ones are bounded as well.
	messageCost = 16
	// truncated is the last message when there are more than may be; room is kept for it.
	truncated = "… log truncated"
)

func newBoundedLog(emit func(Message), limit int64) *boundedLog {
	return &boundedLog{emit: emit, left: limit - messageCost - int64(len(truncated))}
}

func (l *boundedLog) add(m Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.emit == nil {
		return
	}
	l.left -= messageCost
	if int64(len(m.Text)) > l.left {
		if l.left > 0 {
			m.Text = Clip(m.Text, int(l.left))
			l.emit(m)
		}
		l.emit(Message{Level: Warn, Pos: m.Pos, Text: truncated})
		l.emit = nil
		return
	}
	l.left -= int64(len(m.Text))
	l.emit(m)
}

// close makes sure that what an abandoned call prints reaches no one: its caller has gone on.
func (l *boundedLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.emit = nil
}
