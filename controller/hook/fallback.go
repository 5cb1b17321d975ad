package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"metascript/controller/object"
	"metascript/controller/throttle"
	"metascript/engine"
)

// A Fallback is a hook with a script, and a webhook that is called in its place while the script is broken.
//
// It switches for all parents at once and never for one call, since two implementations that differ would make children
// change back and forth. It switches to the webhook when the script failed twice in a row and the last call failed for more
// than half of the parents, so that a failure for one parent does not affect the others. It switches back when a probe
// succeeds: from time to time the script is called in addition to the webhook, and its response is not used. A new version
// of the script has a new Fallback, so it is called at once.
//
// While the script is not broken, the webhook is not called. A call of the script that is in progress during a switch to the
// webhook calls the webhook then.
type Fallback struct {
	Script   Hook  // nil: the script is not loaded, and the webhook is called
	Unloaded error // why the script is not loaded
	Webhook  Hook

	OnError    bool          // errors that are not limits or panics, but mistakes in the script, also mean that it is broken
	ProbeEvery time.Duration // default ProbeEvery

	// Switched is called at each switch, with the reason if it is one to the webhook. It may be nil. It is called with a
	// lock held, so it must not block and must not use the Fallback.
	Switched func(active bool, why error)

	Now func() time.Time // default time.Now

	// mu guards the fields below. Switched and Now are called with it locked. So it is taken before all locks that Switched takes,
	// and code that has one of those locked must not use the Fallback.
	mu      sync.Mutex
	tally   throttle.Tally
	active  bool  // the webhook is called
	why     error // why it is active
	period  int   // the number of switches
	probed  time.Time
	probing bool
}

// ProbeEvery is the default of Fallback.ProbeEvery.
const ProbeEvery = 5 * time.Minute

// Call calls the script or the webhook; both for a probe.
func (f *Fallback) Call(ctx context.Context, req *Request) (*Response, error) {
	a := f.begin(object.RefOf(req.Parent))
	unrecorded := *req
	unrecorded.Recorder, unrecorded.Settled = nil, nil
	switch {
	case !a.webhook:
		resp, err := f.Script.Call(ctx, req)
		if active := f.end(a, err); !active {
			return resp, err
		}
	case a.script:
		var probe sync.WaitGroup
		probe.Go(func() { f.end(a, f.probe(ctx, &unrecorded)) })
		defer probe.Wait()
	}
	req.Recorder.Forget()
	return f.Webhook.Call(ctx, &unrecorded)
}

// probe calls the script and returns the error. A panic becomes an error, since nothing else in this goroutine recovers from
// it.
func (f *Fallback) probe(ctx context.Context, req *Request) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &engine.Error{Kind: engine.KindPanic, Msg: fmt.Sprint(r), Stack: string(debug.Stack())}
		}
	}()
	_, err = f.Script.Call(ctx, req)
	return err
}

// An assignment says what is called for a parent: the script, the webhook, or both for a probe.
type assignment struct {
	parent          object.Ref
	period          int // the period of Fallback in which it began; a result counts only in this period
	script, webhook bool
}

func (f *Fallback) begin(parent object.Ref) assignment {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Script == nil {
		return assignment{parent: parent, webhook: true}
	}
	known := f.tally.Begin(parent)
	probe := f.due(known)
	if probe {
		f.probed, f.probing = f.now(), true
		f.tally.MoveLast(known)
	}
	return assignment{parent, f.period, !f.active || probe, f.active}
}

// end records the result of the script, and reports whether the webhook is active.
func (f *Fallback) end(a assignment, err error) (active bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if a.period != f.period {
		return f.active
	}
	if a.webhook {
		f.probing = false
	}
	switch result := f.classify(err); {
	case result == inconclusive:
	case a.webhook && result == works:
		f.tally = throttle.Tally{}
		f.change(false, nil)
	case !a.webhook:
		f.tally.Note(a.parent, result == broken)
		if f.tally.IsBroken() {
			parents, failing := f.tally.Calls()
			f.change(true, fmt.Errorf("the script failed for %d of %d parents, last for %s: %w", failing, parents, a.parent, err))
		}
	}
	return f.active
}

// change switches to the webhook, or back to the script. The caller has locked mu.
func (f *Fallback) change(active bool, why error) {
	f.active, f.why = active, why
	f.period++
	f.probed = f.now()
	if f.Switched != nil {
		f.Switched(active, why)
	}
}

// due reports whether the next call for a parent is a probe. Parents for which the script failed are probed first, and any
// parent if none of these is called for some time.
func (f *Fallback) due(parent *throttle.Attempt) bool {
	if !f.active || f.probing {
		return false
	}
	_, failing := f.tally.Calls()
	every, waited := cmp.Or(max(f.ProbeEvery, 0), ProbeEvery), f.now().Sub(f.probed)
	return waited >= every && (parent.Failed || failing == 0) || waited >= 2*every
}

// Active reports whether the webhook is called in place of the script, and why.
func (f *Fallback) Active() (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.active || f.Script == nil, cmp.Or(f.why, f.Unloaded)
}

// ProbeCandidate returns a parent for which a call would be a probe, if one is due. It returns another parent each time,
// since the call may not happen.
func (f *Fallback) ProbeCandidate() (object.Ref, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tally.Next(f.due)
}

// ProbeDue reports whether a call for parent would be a probe.
func (f *Fallback) ProbeDue(parent object.Ref) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Script != nil && f.due(f.tally.Begin(parent))
}

// Period returns the number of switches so far. Responses of different periods are of different implementations.
func (f *Fallback) Period() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.period
}

// Forget drops the state about a parent that was deleted.
func (f *Fallback) Forget(parent object.Ref) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tally.Forget(parent)
}

func (f *Fallback) now() time.Time {
	if f.Now != nil {
		return f.Now()
	}
	return time.Now()
}

// A finding is what the result of a call says about the script.
type finding int

const (
	inconclusive finding = iota // nothing: the call was canceled, or the error is not one of the script
	works
	broken
)

// classify returns whether err means that the script is broken. A script that rejects its input works.
func (f *Fallback) classify(err error) finding {
	var fault *engine.Error
	var later *RetryAfter
	switch {
	case err == nil, errors.As(err, &later):
		return works
	case !errors.As(err, &fault) || fault.Kind == engine.KindCanceled:
		return inconclusive
	case Unavailable(fault.Kind), f.OnError && fault.Kind != engine.KindRaised:
		return broken
	}
	return works
}

// Unavailable reports whether errors of that kind mean that the script cannot return a response, whether or not it has
// mistakes.
func Unavailable(k engine.Kind) bool { return k.Limit() || k == engine.KindPanic }
