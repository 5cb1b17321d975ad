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
	"metascript/engine"
)

// A Fallback is a hook that a script answers, and a webhook in its place while the script is broken.
//
// It switches for all parents at once and never for one call, since two implementations that disagree would make
// children change back and forth. The webhook takes over when the script failed twice in a row and failed last for more than half of
// the parents that it was asked about, so that one parent that breaks it switches nothing for the others. The script
// takes over again when a probe works: once in a while it is asked about one parent beside the webhook, and what it
// answers is not used. A new version of the script is a new Fallback, and so has its chance at once.
//
// While the script answers, the webhook is not called. Calls that are under way at a switch to the webhook end there.
type Fallback struct {
	Script   Hook  // nil: it is not loaded, and the webhook answers
	Unloaded error // why it is not
	Webhook  Hook

	OnError    bool          // also errors of the script's own making mean that it is broken
	ProbeEvery time.Duration // default ProbeEvery

	// Switched is called at each switch, with the reason if it is one to the webhook; nil: nothing is. It is called with a
	// lock held: it must not block, nor use the Fallback.
	Switched func(active bool, why error)

	Now func() time.Time // nil is the clock

	mu      sync.Mutex
	tally   tally
	active  bool  // the webhook answers
	why     error // it is active
	period  int   // how many switches there were
	probed  time.Time
	probing bool
}

// ProbeEvery is how often a script that is broken is probed, when nothing else is said.
const ProbeEvery = 5 * time.Minute

// Call asks who answers at the moment.
func (f *Fallback) Call(ctx context.Context, req *Request) (*Response, error) {
	a := f.begin(object.RefOf(req.Parent))
	switch {
	case !a.webhook:
		resp, err := f.Script.Call(ctx, req)
		if active := f.end(a, err); !active {
			return resp, err
		}
	case a.script:
		var probe sync.WaitGroup
		probe.Go(func() { f.end(a, f.probe(ctx, req)) })
		defer probe.Wait()
	}
	return f.Webhook.Call(ctx, req)
}

// probe asks the script for nothing but the error. Nobody else would recover from a panic.
func (f *Fallback) probe(ctx context.Context, req *Request) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &engine.Error{Kind: engine.KindPanic, Msg: fmt.Sprint(r), Stack: string(debug.Stack())}
		}
	}()
	_, err = f.Script.Call(ctx, req)
	return err
}

// An assignment says who is asked about a parent. Both are, when the script is probed.
type assignment struct {
	parent          object.Ref
	period          int // what comes of the script counts in this one
	script, webhook bool
}

func (f *Fallback) begin(parent object.Ref) assignment {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Script == nil {
		return assignment{parent: parent, webhook: true}
	}
	known := f.tally.begin(parent)
	probe := f.due(known)
	if probe {
		f.probed, f.probing = f.now(), true
		f.tally.pass(known)
	}
	return assignment{parent, f.period, !f.active || probe, f.active}
}

// end notes what came of the script, and reports whether the webhook is to answer.
func (f *Fallback) end(a assignment, err error) (active bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if a.period != f.period {
		return f.active
	}
	if a.webhook {
		f.probing = false
	}
	switch said := f.classify(err); {
	case said == inconclusive:
	case a.webhook && said == works:
		f.tally = tally{}
		f.change(false, nil)
	case !a.webhook:
		f.tally.note(a.parent, said == broken)
		if f.tally.isBroken() {
			f.change(true, fmt.Errorf("the script failed for %d of %d parents, last for %s: %w", f.tally.failing, len(f.tally.parents), a.parent, err))
		}
	}
	return f.active
}

func (f *Fallback) change(active bool, why error) {
	f.active, f.why = active, why
	f.period++
	f.probed = f.now()
	if f.Switched != nil {
		f.Switched(active, why)
	}
}

// due reports whether the next call about a parent is to be a probe. Parents for which the script failed are probed
// first; if none of them comes, any does.
func (f *Fallback) due(parent *attempt) bool {
	if !f.active || f.probing {
		return false
	}
	every, waited := cmp.Or(max(f.ProbeEvery, 0), ProbeEvery), f.now().Sub(f.probed)
	return waited >= every && (parent.failed || f.tally.failing == 0) || waited >= 2*every
}

// Active reports whether the webhook answers, and why.
func (f *Fallback) Active() (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.active || f.Script == nil, cmp.Or(f.why, f.Unloaded)
}

// Candidate gives a parent about which a call would be a probe, if one is due; another one each time, since it may
// never come to a call.
func (f *Fallback) ProbeCandidate() (object.Ref, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tally.next(f.due)
}

// Due reports whether a call about parent would be a probe.
func (f *Fallback) ProbeDue(parent object.Ref) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Script != nil && f.due(f.tally.begin(parent))
}

// Period counts the switches. In different periods different implementations answer.
func (f *Fallback) Period() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.period
}

// Forget drops what is known of a parent that is gone.
func (f *Fallback) Forget(parent object.Ref) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tally.forget(parent)
}

func (f *Fallback) now() time.Time {
	if f.Now != nil {
		return f.Now()
	}
	return time.Now()
}

// A finding is what a call says about the script.
type finding int

const (
	inconclusive finding = iota // nothing: it was canceled, or the fault is not the script's
	works
	broken
)

// judge tells a script that is broken from one that works and rejects its input.
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

// Unavailable reports whether a fault of that kind keeps a script from answering, whatever is right or wrong in it.
func Unavailable(k engine.Kind) bool { return k.Limit() || k == engine.KindPanic }
