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
	"metascript/engine/stack"
)

// A task describes an evaluation for run.
type task struct {
	owner  ownerKey
	digest string // of the script
	entry  string // the path of its entry file
	limits Limits
	kind   Kind // the kind of an error that is not an *Error
}

// text identifies the text of the script.
func (t *task) text() textKey { return textKey{t.owner.tenant, t.digest} }

// The causes with which run cancels the ctx of an evaluation. The watchdog has others.
var (
	errTimeout = fmt.Errorf("limits.timeout: %w", context.DeadlineExceeded)
	errSlice   = errors.New("its turn is over")
)

// A noCPUError is the cause with which run cancels a ctx when cputime.Bound of the timeout has passed, and the evaluation got too
// little CPU time to use up its timeout.
type noCPUError struct{ cpu, elapsed time.Duration }

func (e *noCPUError) Error() string {
	return fmt.Sprintf("given up after %s, in which it had a processor for %s", e.elapsed.Round(time.Second), e.cpu.Round(time.Millisecond))
}

// errSpent is the cause with which run cancels a ctx when the evaluation has used up its timeout in several attempts.
var errSpent = errors.New("its timeout is used up, by several attempts")

// run calls work when there is a slot, within the limits of t, and returns its result. It may call work several times: see lanes
// and watchdog.
func run[T any](ctx context.Context, e *Engine, t task, work func(context.Context) (T, error)) (result T, fault *Error) {
	var used usage
	for attempt := range maxAttempts {
		turn, fault := e.admit(ctx, t, attempt)
		if fault != nil {
			return result, fault
		}
		turn.used = used
		result, retry, fault := runOnce(ctx, e, t, turn, work)
		turn.end()
		used = turn.used
		if !retry {
			e.refuseTimedOut(t, fault)
			return result, fault
		}
	}
	return result, interrupted(Pos{File: t.entry})
}

// interrupted returns the error of an evaluation that was stopped for a reason other than its own fault, and is not started again:
// it has had too many attempts, or they have used up its timeout.
func interrupted(at Pos) *Error {
	return &Error{Kind: KindCanceled, Pos: at, Msg: "stopped several times since other calls needed the memory: it will be tried again"}
}

// A usage is the time that an evaluation has used in earlier attempts. All attempts together have Limits.Timeout. Attempts that
// ended because the turn was over do not count: otherwise the load of other owners would decide whether a script has enough
// time. There are at most maxSliced of these.
type usage struct{ cpu, elapsed time.Duration }

func (u *usage) add(m *cputime.Meter) {
	u.cpu += m.CPUTime()
	u.elapsed += m.Elapsed()
}

// cause returns the cause for an evaluation that has used up its timeout. It is a fault of the script, KindTimeout, only if a
// single attempt has used it up, and not if the script had to start again because of others.
func (u *usage) cause() error {
	if u.cpu > 0 {
		return errSpent
	}
	return errTimeout
}

// admit waits for a turn. It returns an error at once if the text of the script is refused; see refusals.
func (e *Engine) admit(ctx context.Context, t task, attempt int) (*turn, *Error) {
	if fault := e.runaways.check(t); fault != nil {
		return nil, fault
	}
	turn, err := e.lanes.admit(ctx, scriptKey{t.owner, t.digest}, attempt)
	if err != nil {
		return nil, &Error{Kind: KindCanceled, Pos: Pos{File: t.entry}, Msg: "canceled before it could run: other calls were running"}
	}
	if fault := e.runaways.check(t); fault != nil { // an evaluation of it may have been abandoned meanwhile
		turn.slots.release()
		return nil, fault
	}
	return turn, nil
}

// runOnce calls work once. retry reports whether it has to be called again; then the other results are zero.
func runOnce[T any](ctx context.Context, e *Engine, t task, turn *turn, work func(context.Context) (T, error)) (result T, retry bool, fault *Error) {
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

// A limitedContext is the ctx of an evaluation. watch cancels it. A context with its own timer would cost as much as a small
// script, and could not count CPU time.
type limitedContext struct {
	context.Context
	timeout    time.Duration // in CPU time, for all attempts together
	evaluation *evaluation
}

// evaluationKey is the key of the evaluation in the values of a limitedContext.
type evaluationKey struct{}

// Value implements [context.Context].
func (c limitedContext) Value(key any) any {
	if key == (evaluationKey{}) {
		return c.evaluation
	}
	return c.Context.Value(key)
}

// CountBy sets the clock that counts the time of the evaluation with the context ctx from now on. A runtime of an Engine with
// [Options].Elsewhere calls it when the other process begins to work; until then no time counts.
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
	// defaultGrace is how much CPU time a runtime may use after its ctx is done until it returns.
	defaultGrace = 400 * time.Millisecond
)

// watch waits until the evaluation s ends. Meanwhile it checks the time, the turn and the memory of s, and cancels ctx if s must
// stop. It reports whether s ended. It returns false when s has used the CPU time e.grace after ctx was done. An evaluation that
// stops only because its turn is over, or because its process has no memory left, may use the rest of its timeout in addition.
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
	limit := e.grace
	if cause := context.Cause(ctx); errors.Is(cause, errSlice) || errors.Is(cause, errFull) {
		limit += max(0, ctx.timeout-turn.used.cpu-turn.meter.CPUTime())
	}
	return turn.meter.Wait(s.done, limit)
}

// look stops the evaluation if it must stop, and returns the time until the next call.
func (e *Engine) look(ctx limitedContext, turn *turn, s *evaluation) time.Duration {
	cpu, elapsed := turn.meter.CPUTime(), turn.meter.Elapsed()
	allCPU, allElapsed := turn.used.cpu+cpu, turn.used.elapsed+elapsed // of all attempts
	switch {
	case allCPU >= ctx.timeout:
		s.stop(turn.used.cause())
	case allElapsed >= cputime.Bound(ctx.timeout):
		s.stop(&noCPUError{allCPU, allElapsed})
	case turn.mustEnd(max(cpu, elapsed/cputime.Factor)):
		s.stop(errSlice)
	case e.memory != nil:
		e.memory.look(s)
	}
	return max(lookAgain, min(lookEvery, ctx.timeout-allCPU))
}

// fault converts the error that a runtime returned to an *Error.
func (t task) fault(ctx context.Context, err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e) && e != nil:
		if ctx.Err() != nil && (e.Kind == KindTimeout || e.Kind == KindCanceled) {
			why := stopped(ctx, e.Pos, t.limits)
			why.Trace = e.Trace
			return why
		}
		clone := *e // the runtime may return the same error again
		return &clone
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		return stopped(ctx, Pos{File: t.entry}, t.limits)
	}
	return &Error{Kind: t.kind, Pos: Pos{File: t.entry}, Msg: Clip(err.Error(), maxMsg)}
}

// stopped is Stopped for the ctx of an evaluation. Its cause is one of run's or the watchdog's, or else the caller canceled it.
func stopped(ctx context.Context, at Pos, l Limits) *Error {
	var noCPU *noCPUError
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &noCPU):
		return &Error{
			Kind: KindCanceled, Pos: at, Msg: fmt.Sprintf("%s of its timeout of %s", noCPU, l.Timeout),
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
		if s, ok := ctx.Value(evaluationKey{}).(*evaluation); ok && s.meter.CPUTime() < l.Timeout {
			kind = KindCanceled // it did not get the CPU time of its timeout
		}
		return &Error{Kind: kind, Pos: at, Msg: "could not be interrupted when other calls waited"}
	}
	return &Error{Kind: KindCanceled, Pos: at, Msg: "canceled by its caller"}
}

// An attempt is work that runs in its own goroutine. result and err may be read once done is closed.
type attempt[T any] struct {
	result T
	err    error
	done   chan struct{}
	state  atomic.Pointer[func()] // the function to call at the end if it was abandoned, or &finished; see runaways.abandon
}

// begin starts a goroutine that calls work, and recovers its panics. The goroutine has its own thread, whose CPU time counts,
// unless elsewhere is set: then the runtime calls CountBy.
func begin[T any](ctx limitedContext, elsewhere bool, work func(context.Context) (T, error)) *attempt[T] {
	a := &attempt[T]{done: ctx.evaluation.done}
	go func() {
		defer a.end()
		if !elsewhere {
			goruntime.LockOSThread()
			defer goruntime.UnlockOSThread()
			ctx.evaluation.meter.Start(cputime.Thread())
		}
		stack.Grow()
		a.err = errors.New("the interpreter ended its goroutine") // unless it returns
		a.result, a.err = work(ctx)
	}()
	return a
}

// finished is the state of an attempt that has ended. It does nothing.
var finished = func() {}

// end recovers a panic of work, and closes done.
func (a *attempt[T]) end() {
	if x := recover(); x != nil {
		a.err = panicked(x)
	}
	close(a.done)
	if onEnd := a.state.Swap(&finished); onEnd != nil {
		(*onEnd)()
	}
}

// panicked returns the error of a panic with the value x. It calls no methods of x, except for errors of Go's runtime: they could panic again.
func panicked(x any) *Error {
	e := &Error{
		Kind: KindPanic, Stack: Clip(string(debug.Stack()), maxStack),
		Hint: "this is a bug in the interpreter or in metascript; please report it",
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

// maxStack is the maximum of Error.Stack, in bytes.
const maxStack = 16 << 10
