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

// A starvedError is the cause of a ctx that run ends since too much time has passed, in which the evaluation had too little
// of a processor to reach its timeout.
type starvedError struct{ had, took time.Duration }

func (e *starvedError) Error() string {
	return fmt.Sprintf("given up after %s, in which it had a processor for %s", e.took.Round(time.Second), e.had.Round(time.Millisecond))
}

// errSpent is the cause of a ctx that run ends since the evaluation has used its timeout over several attempts.
var errSpent = errors.New("its timeout is used up, by several attempts")

// run does work in a slot, within its time, and returns what comes of it. It may do so several times: see lanes and
// watchdog.
func run[T any](ctx context.Context, e *Engine, t task, work func(context.Context) (T, error)) (result T, fault *Error) {
	var used usage
	for attempt := range maxAttempts {
		turn, fault := e.admit(ctx, t, attempt)
		if fault != nil {
			return result, fault
		}
		turn.used = used
		result, again, fault := attend(ctx, e, t, turn, work)
		turn.end()
		used = turn.used
		if !again {
			e.remember(t, fault)
			return result, fault
		}
	}
	return result, interrupted(Pos{File: t.entry})
}

// interrupted is the error of an evaluation that was stopped for no fault of its own, too often or too late to begin again.
func interrupted(at Pos) *Error {
	return &Error{Kind: KindCanceled, Pos: at, Msg: "stopped several times since others needed the memory: it will be tried again"}
}

// A usage is the time that an evaluation has used in its earlier attempts. All attempts together have Limits.Timeout, except
// for those that ended since the turn was over: if these counted, it would depend on the neighbours whether a script has
// enough time. Of these there are at most maxSliced.
type usage struct{ had, took time.Duration }

func (u *usage) add(m *cputime.Meter) {
	u.had += m.Had()
	u.took += m.Took()
}

// cause is why an evaluation ends whose timeout is used up. The script is to blame only if one attempt alone has used it: no
// error of KindTimeout comes of what others have made it do again.
func (u *usage) cause() error {
	if u.had > 0 {
		return errSpent
	}
	return errTimeout
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
	s := &suspect{monitor: e.memory, memory: t.limits.Memory, meter: turn.meter, stop: stop, done: make(chan struct{})}
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
	case errors.Is(cause, errSuspected) && !s.guilty():
		turn.used.add(turn.meter)
		return result, true, nil
	}
	return result, false, t.fault(limited, a.err)
}

// A limitedContext is one that watch ends: a context with a timer of its own would cost as much as a small script, and
// would not know what the script had of the processor.
type limitedContext struct {
	context.Context
	timeout time.Duration // of processor time, for all attempts
	suspect *suspect
}

// suspectKey finds the suspect of a limitedContext.
type suspectKey struct{}

// Value implements [context.Context].
func (c limitedContext) Value(key any) any {
	if key == (suspectKey{}) {
		return c.suspect
	}
	return c.Context.Value(key)
}

// CountBy has the time of the evaluation that ctx belongs to counted by clock from now on. A runtime that evaluates in
// another process calls it, in an Engine with [Options].Elsewhere, when that begins to work; until then no time counts.
func CountBy(ctx context.Context, clock cputime.Clock) {
	if s, ok := ctx.Value(suspectKey{}).(*suspect); ok {
		s.meter.Start(clock)
	}
}

const (
	// lookEvery is how often an evaluation is looked at while it runs.
	lookEvery = 2 * time.Millisecond
	// lookAgain is the least time between two looks, when little of the timeout is left.
	lookAgain = lookEvery / 10
	// defaultGrace is for how long a runtime may have a processor after its ctx is done, until it returns.
	defaultGrace = 400 * time.Millisecond
)

// watch waits for the evaluation s to end, and ends ctx when its time is up, keeping an eye on its turn and on memory
// meanwhile. It reports whether it ended, at the latest when it has had a processor for a grace period after ctx is done or,
// if it was to make way, or its process has no memory left, its time is up.
func (e *Engine) watch(ctx limitedContext, turn *turn, s *suspect) (ended bool) {
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
	if cause := context.Cause(ctx); errors.Is(cause, errSlice) || errors.Is(cause, errFull) { // it may take all its time to end
		patience += max(0, ctx.timeout-turn.used.had-turn.meter.Had())
	}
	return turn.meter.Wait(s.done, patience)
}

// look stops what must be stopped, and says when to look again.
func (e *Engine) look(ctx limitedContext, turn *turn, s *suspect) time.Duration {
	held, passed := turn.meter.Had(), turn.meter.Took()
	had, took := turn.used.had+held, turn.used.took+passed
	switch {
	case had >= ctx.timeout:
		s.stop(turn.used.cause())
	case took >= cputime.Bound(ctx.timeout):
		s.stop(&starvedError{had, took})
	case turn.over(max(held, passed/cputime.Factor)):
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
	var starved *starvedError
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
	case errors.Is(cause, errSuspected), errors.Is(cause, errFull):
		return TooMuchMemory(at, l, "")
	case errors.Is(cause, errSlice):
		kind := KindTimeout
		if s, ok := ctx.Value(suspectKey{}).(*suspect); ok && s.meter.Had() < l.Timeout {
			kind = KindCanceled // it was not given the time
		}
		return &Error{Kind: kind, Pos: at, Msg: "could not be interrupted when others waited"}
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

// begin starts work behind a fence. Unless the runtime says what time counts, since it works elsewhere, it has a thread to
// itself, whose processor time counts.
func begin[T any](ctx limitedContext, elsewhere bool, work func(context.Context) (T, error)) *attempt[T] {
	a := &attempt[T]{done: ctx.suspect.done}
	go func() {
		defer a.end()
		if !elsewhere {
			goruntime.LockOSThread()
			defer goruntime.UnlockOSThread()
			ctx.suspect.meter.Start(cputime.Thread())
		}
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
