package engine

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"metascript/engine/cputime"
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

// A noProcessorError is the cause of a ctx that run ends since too much time has passed, in which the evaluation had too little
// of a processor to reach its timeout.
type noProcessorError struct{ had, took time.Duration }

func (e *noProcessorError) Error() string {
	return fmt.Sprintf("given up after %s, in which it had a processor for %s", e.took.Round(time.Second), e.had.Round(time.Millisecond))
}

// errSpent is the cause of a ctx that run ends since the evaluation has used its timeout over several attempts.
var errSpent = errors.New("its timeout is used up, by several attempts")

// run does work in a slot, within its time, and returns its result. It may start work several times: see lanes and watchdog.
func run[T any](ctx context.Context, e *Engine, t task, work func(context.Context) (T, error)) (result T, fault *Error) {
	var used usage
	for attempt := range maxAttempts {
		turn, fault := e.admit(ctx, t, attempt)
		if fault != nil {
			return result, fault
		}
		turn.used = used
		result, again, fault := runOnce(ctx, e, t, turn, work)
		turn.end()
		used = turn.used
		if !again {
			e.refuseTimedOut(t, fault)
			return result, fault
		}
	}
	return result, interrupted(Pos{File: t.entry})
}

// interrupted is the error of an evaluation that was stopped although it did nothing wrong, too often or too late to start again.
func interrupted(at Pos) *Error {
	return &Error{Kind: KindCanceled, Pos: at, Msg: "stopped several times since others needed the memory: it will be tried again"}
}

// A usage is the time that an evaluation has used in earlier attempts. All attempts together have Limits.Timeout. Attempts that
// ended because the turn was over do not count: otherwise the load of other owners would decide whether a script has enough
// time. There are at most maxSliced of these.
type usage struct{ had, took time.Duration }

func (u *usage) add(m *cputime.Meter) {
	u.had += m.Had()
	u.took += m.Took()
}

// cause is why an evaluation ends that has used up its timeout. It is the script's fault, KindTimeout, only if a single attempt
// has used it, and not if others made the script start again.
func (u *usage) cause() error {
	if u.had > 0 {
		return errSpent
	}
	return errTimeout
}

// admit waits for a turn, unless an earlier evaluation of the script still runs.
func (e *Engine) admit(ctx context.Context, t task, attempt int) (*turn, *Error) {
	if fault := e.runaways.check(t); fault != nil {
		return nil, fault
	}
	turn, err := e.lanes.admit(ctx, scriptKey{t.owner, t.digest}, attempt)
	if err != nil {
		return nil, &Error{Kind: KindCanceled, Pos: Pos{File: t.entry}, Msg: "canceled before it could run: others were running"}
	}
	if fault := e.runaways.check(t); fault != nil { // one may have been given up while we waited
		turn.slots.release()
		return nil, fault
	}
	return turn, nil
}

// runOnce starts work once, and reports whether it has to start again.
func runOnce[T any](ctx context.Context, e *Engine, t task, turn *turn, work func(context.Context) (T, error)) (result T, again bool, fault *Error) {
	stoppable, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := &evaluation{monitor: e.memory, memory: t.limits.Memory, meter: turn.meter, stop: stop, done: make(chan struct{})}
	limited := limitedContext{stoppable, t.limits.Timeout, s}

	a := begin(limited, e.elsewhere, work)
	if !e.watch(limited, turn, s) {
		if e.runaways.abandon(t, &a.state) {
			fault := stopped(limited, Pos{File: t.entry}, t.limits)
			fault.Msg += "; it did not stop and still runs"
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
	case errors.Is(cause, errMemoryCheck) && !s.tooLarge():
		turn.used.add(turn.meter)
		return result, true, nil
	}
	return result, false, t.fault(limited, a.err)
}

// A limitedContext is ended by watch. A context with its own timer would cost as much as a small script, and would not know how
// much processor time the script had.
type limitedContext struct {
	context.Context
	timeout    time.Duration // of processor time, for all attempts
	evaluation *evaluation
}

// evaluationKey finds the evaluation of a limitedContext.
type evaluationKey struct{}

// Value implements [context.Context].
func (c limitedContext) Value(key any) any {
	if key == (evaluationKey{}) {
		return c.evaluation
	}
	return c.Context.Value(key)
}

// CountBy has the time of the evaluation that ctx belongs to counted by clock from now on. A runtime that evaluates in
// another process calls it, in an Engine with [Options].Elsewhere, when that begins to work; until then no time counts.
func CountBy(ctx context.Context, clock cputime.Clock) {
	if s, ok := ctx.Value(evaluationKey{}).(*evaluation); ok {
		s.meter.Start(clock)
	}
}

const (
	// lookEvery is how often a running evaluation is checked.
	lookEvery = 2 * time.Millisecond
	// lookAgain is the shortest time between two checks, when little of the timeout is left.
	lookAgain = lookEvery / 10
	// defaultGrace is how much processor time a runtime may use after its ctx is done until it returns.
	defaultGrace = 400 * time.Millisecond
)

// watch waits for the evaluation s to end. Meanwhile it checks its time, its turn and the memory, and ends ctx if it has to. It
// reports whether s ended. It gives up when s has had the grace period in processor time after ctx was done. An evaluation that
// only has to give up its turn, or whose process has no memory left, has the rest of its timeout in addition.
func (e *Engine) watch(ctx limitedContext, turn *turn, s *evaluation) (ended bool) {
	tick := time.NewTimer(min(lookEvery, ctx.timeout))
	defer tick.Stop()
	if e.memory != nil {
		defer e.memory.remove(s)
	}
	for ctx.Err() == nil {
		select {
		case <-s.done:
			return true
		case <-ctx.Done():
		case <-tick.C:
			tick.Reset(e.look(ctx, turn, s))
		}
	}
	patience := e.grace
	if cause := context.Cause(ctx); errors.Is(cause, errSlice) || errors.Is(cause, errFull) { // it may use the rest of its timeout to end
		patience += max(0, ctx.timeout-turn.used.had-turn.meter.Had())
	}
	return turn.meter.Wait(s.done, patience)
}

// look stops the evaluation if it must be stopped, and returns when to look again.
func (e *Engine) look(ctx limitedContext, turn *turn, s *evaluation) time.Duration {
	held, passed := turn.meter.Had(), turn.meter.Took()
	had, took := turn.used.had+held, turn.used.took+passed
	switch {
	case had >= ctx.timeout:
		s.stop(turn.used.cause())
	case took >= cputime.Bound(ctx.timeout):
		s.stop(&noProcessorError{had, took})
	case turn.mustEnd(max(held, passed/cputime.Factor)):
		s.stop(errSlice)
	case e.memory != nil:
		e.memory.look(s)
	}
	return max(lookAgain, min(lookEvery, ctx.timeout-had))
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
	var starved *noProcessorError
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &starved):
		return &Error{
			Kind: KindCanceled, Pos: at, Msg: fmt.Sprintf("%s of its timeout of %s", starved, l.Timeout),
			Hint: "the machine is busy, or the server's cpu limit is too small",
		}
	case errors.Is(cause, errTimeout):
		return Stopped(ctx, at, l)
	case errors.Is(cause, errSpent):
		return interrupted(at)
	case errors.Is(cause, errMemoryCheck), errors.Is(cause, errFull):
		return TooMuchMemory(at, l, "")
	case errors.Is(cause, errSlice):
		kind := KindTimeout
		if s, ok := ctx.Value(evaluationKey{}).(*evaluation); ok && s.meter.Had() < l.Timeout {
			kind = KindCanceled // it did not get the time
		}
		return &Error{Kind: kind, Pos: at, Msg: "could not be interrupted when others waited"}
	}
	return &Error{Kind: KindCanceled, Pos: at, Msg: "canceled by its caller"}
}

// An attempt is work that runs in its own goroutine. result and err may be read once done is closed.
type attempt[T any] struct {
	result T
	err    error
	done   chan struct{}
	state  atomic.Pointer[func()] // what to call at the end if the caller gave up; see runaways.abandon
}

// begin starts work, and recovers its panics. It runs on its own thread, whose processor time counts, unless the runtime works in
// another process and calls CountBy.
func begin[T any](ctx limitedContext, elsewhere bool, work func(context.Context) (T, error)) *attempt[T] {
	a := &attempt[T]{done: ctx.evaluation.done}
	go func() {
		defer a.end()
		if !elsewhere {
			goruntime.LockOSThread()
			defer goruntime.UnlockOSThread()
			ctx.evaluation.meter.Start(cputime.Thread())
		}
		growStack(false)
		a.err = errors.New("the interpreter ended its goroutine") // unless it returns
		a.result, a.err = work(ctx)
	}()
	return a
}

// growStack makes the goroutine's stack as large as most evaluations need it. Otherwise Go would copy the stack three times while
// it grows, which takes a tenth of the time of a small call.
//
//go:noinline
func growStack(fill bool) {
	if fill {
		var room [6 << 10]byte
		useStack(&room)
	}
}

//go:noinline
func useStack(room *[6 << 10]byte) { room[0]++ }

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

// panicked is the error of a panic with x. It calls no methods of x, except for errors of Go's runtime: they could panic again.
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
