package engine

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// A task is what run has to know of an evaluation.
type task struct {
	owner  string
	digest string // of the script
	entry  string
	limits Limits
	kind   Kind // of an error that is no *Error
}

// The causes of a ctx that run ends, besides the watchdog's.
var (
	errTimeout = fmt.Errorf("limits.timeout: %w", context.DeadlineExceeded)
	errSlice   = errors.New("its turn is over")
)

// run does work in a slot, within its time, and returns what comes of it. It may do so several times: see lanes and
// watchdog.
func run[T any](ctx context.Context, e *Engine, t task, work func(context.Context) (T, error)) (result T, fault *Error) {
	for attempt := range maxAttempts {
		turn, fault := e.admit(ctx, t, attempt)
		if fault != nil {
			return result, fault
		}
		result, again, fault := attend(ctx, e, t, turn, work)
		turn.end()
		if !again {
			return result, fault
		}
	}
	return result, &Error{
		Kind: KindCanceled, Pos: Pos{File: t.entry},
		Msg: "stopped several times since others needed the memory: it will be tried again",
	}
}

// admit waits for a turn, unless the script has a runaway.
func (e *Engine) admit(ctx context.Context, t task, attempt int) (*turn, *Error) {
	if fault := e.runaways.check(t); fault != nil {
		return nil, fault
	}
	turn, err := e.lanes.admit(ctx, habit{t.owner, t.digest}, attempt)
	if err != nil {
		return nil, &Error{Kind: KindCanceled, Pos: Pos{File: t.entry}, Msg: "canceled before it could run: others were running"}
	}
	if fault := e.runaways.check(t); fault != nil { // it may be from while we waited
		turn.slots.release()
		return nil, fault
	}
	return turn, nil
}

// attend does work once, and reports whether it has to be done again.
func attend[T any](ctx context.Context, e *Engine, t task, turn *turn, work func(context.Context) (T, error)) (result T, again bool, fault *Error) {
	stoppable, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	limited := limitedContext{stoppable, turn.began.Add(t.limits.Timeout)}

	a := begin(limited, work)
	s := &suspect{memory: t.limits.Memory, stop: stop, done: a.done}
	if !e.watch(limited, turn, s) {
		if e.runaways.abandon(t, &a.state) {
			fault := stopped(limited, Pos{File: t.entry}, t.limits)
			fault.Msg += "; it did not stop, and runs on"
			return result, false, fault
		}
		<-a.done
	}
	if a.err == nil {
		return a.result, false, nil
	}
	switch cause := context.Cause(limited); {
	case errors.Is(cause, errSlice):
		return result, true, nil
	case errors.Is(cause, errSuspected) && !s.guilty():
		return result, true, nil
	}
	return result, false, t.fault(limited, a.err)
}

// A limitedContext is one that watch ends at its deadline: a context with a timer of its own would cost as much as a
// small script.
type limitedContext struct {
	context.Context
	deadline time.Time
}

// Deadline implements [context.Context]; it is the caller's if that comes first.
func (c limitedContext) Deadline() (time.Time, bool) {
	if d, ok := c.Context.Deadline(); ok && d.Before(c.deadline) {
		return d, true
	}
	return c.deadline, true
}

const (
	// lookEvery is how often an evaluation is looked at while it runs.
	lookEvery = 2 * time.Millisecond
	// defaultGrace is how long after its ctx is done a runtime may take to return.
	defaultGrace = 400 * time.Millisecond
)

// watch waits for the evaluation s to end, and ends ctx when its time is up, keeping an eye on its turn and on memory
// meanwhile. It reports whether it ended, at the latest a grace period after ctx is done or, if it was only to make way, its
// time is up.
func (e *Engine) watch(ctx limitedContext, turn *turn, s *suspect) (ended bool) {
	tick := time.NewTimer(min(lookEvery, ctx.deadline.Sub(turn.began)))
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-s.done:
			return true
		case <-ctx.Done():
		case <-tick.C:
			if s.verdict == nil && e.watchdog != nil {
				e.watchdog.add(s)
				defer e.watchdog.remove(s)
			}
			tick.Reset(e.look(ctx, turn, s))
		}
	}
	patience := e.grace
	if errors.Is(context.Cause(ctx), errSlice) { // it may take all its time for not making way
		patience += max(0, time.Until(ctx.deadline))
	}
	tick.Reset(patience)
	select {
	case <-s.done:
		return true
	case <-tick.C:
		return false
	}
}

// look stops what must be stopped, and says when to look again.
func (e *Engine) look(ctx limitedContext, turn *turn, s *suspect) time.Duration {
	left := time.Until(ctx.deadline)
	switch {
	case left <= 0:
		s.stop(errTimeout)
	case turn.over():
		s.stop(errSlice)
	case e.watchdog != nil:
		e.watchdog.look()
	}
	return max(0, min(lookEvery, left))
}

// fault makes an *Error of what a runtime returned.
func (t task) fault(ctx context.Context, err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e) && e != nil:
		if ctx.Err() != nil && (e.Kind == KindTimeout || e.Kind == KindCanceled) {
			why := stopped(ctx, e.Pos, t.limits)
			why.Trace = e.Trace
			return why
		}
		clone := *e // the runtime may give the same error again
		return &clone
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		return stopped(ctx, Pos{File: t.entry}, t.limits)
	}
	return &Error{Kind: t.kind, Pos: Pos{File: t.entry}, Msg: Clip(err.Error(), maxMsg)}
}

// stopped is Stopped for a ctx of run's, whose cause tells our reasons from the caller's.
func stopped(ctx context.Context, at Pos, l Limits) *Error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTimeout):
		return Stopped(ctx, at, l)
	case errors.Is(cause, errSuspected):
		return TooMuchMemory(at, l, "")
	case errors.Is(cause, errSlice):
		return &Error{Kind: KindTimeout, Pos: at, Msg: "could not be interrupted when others waited"}
	}
	return &Error{Kind: KindCanceled, Pos: at, Msg: "canceled by its caller"}
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
		stretch(false)
		a.err = errors.New("the interpreter ended its goroutine") // unless it returns
		a.result, a.err = work(ctx)
	}()
	return a
}

// stretch makes room on the goroutine's stack: its frame is as large as what most evaluations need. Or else the
// stack would be copied three times on the way there, all frames with it, which is a tenth of a small call.
//
//go:noinline
func stretch(fill bool) {
	if fill {
		var room [6 << 10]byte
		occupy(&room)
	}
}

//go:noinline
func occupy(room *[6 << 10]byte) { room[0]++ }

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
