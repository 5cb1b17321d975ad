package reconcile

import (
	"cmp"
	"errors"
	"maps"
	"sync"
	"time"

	"metascript/controller/call"
	"metascript/controller/failures"
	"metascript/controller/hook"
	"metascript/controller/queue"
	"metascript/controller/throttle"
	"metascript/engine"
)

// A fallbackReporter reports when a webhook begins to be called in place of a script, and when the script is called again, for
// hooks that have both.
type fallbackReporter struct {
	r      *Reconciler
	events *parentEvents // about the controller object

	mu sync.Mutex // guards reported

	// reported has, by the names of the hooks, whether the last report said that the webhook is called. A Reconciler that replaces
	// this one begins with a copy.
	reported map[string]bool
}

// follow has the hooks of v call onSwitch. It must be called before v is the current version. The hooks of older revisions are
// not followed.
func (f *fallbackReporter) follow(v *call.Version) {
	for _, fallback := range v.Fallbacks() {
		fallback.Switched = func(active bool, why error) { f.onSwitch(v, fallback.Name, active, why) }
	}
}

// wereReported returns a copy of reported.
func (f *fallbackReporter) wereReported() map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.reported)
}

// onSwitch is called when the hook of this name begins to call its webhook, which is active then, or its script again. It
// requeues all parents, also those for which the script was held.
//
// It is called with the lock of the Fallback locked. So neither it nor what it calls may wait for a call of a hook or a request, or
// call a method of the Fallback, as reportAll, probe, Snapshot, and FallbackActive and Forget of v do.
func (f *fallbackReporter) onSwitch(v *call.Version, name string, active bool, why error) {
	if f.r.current.Load() != v {
		return // v was replaced, and a reconcile that still uses it has called the hook
	}
	v.Breaker.Clear()
	v.CustomizeBreaker.Clear()
	f.report(name, active, why)
	if active {
		v.Canary.GiveUp(why)
	}
	f.r.requeueAll(queue.ScriptChanged)
}

// reportAll reports for each hook of the current version whether its webhook is called, if that differs from the last report.
func (f *fallbackReporter) reportAll() {
	reasons := map[string]error{}
	for _, fallback := range f.r.current.Load().Fallbacks() {
		if active, why := fallback.Active(); active {
			reasons[fallback.Name] = why
		}
	}
	for _, name := range []string{hook.Sync, hook.Finalize, hook.Customize} {
		why, active := reasons[name]
		f.report(name, active, why)
	}
}

// report reports whether the webhook of a hook is called, if that differs from the last report.
func (f *fallbackReporter) report(name string, active bool, why error) {
	f.mu.Lock()
	before := f.reported[name]
	f.reported[name] = active
	f.mu.Unlock()
	switch {
	case before == active:
		return
	case active:
		f.r.events.log.Warn("the webhook answers in place of the script", "hook", name, "error", engine.DetailOf(why))
		if !f.r.binding.Access.Account().IsServer() { // see status.Details
			why = errors.New(failures.Kind(why))
		}
		f.events.Warning(f.r.binding.Controller, "FallbackStarted", "the webhook answers for the hook %s: %v", name, why)
	default:
		f.r.events.log.Info("the script answers again in place of the webhook", "hook", name)
		f.events.Normal(f.r.binding.Controller, "FallbackEnded", "the script answers for the hook %s again", name)
	}
	f.r.changed()
}

// probesPerInterval is how many times in a probe interval the hooks are checked for a probe that is due. A probe is due once in
// an interval, which may begin at any time.
const probesPerInterval = 4

// probePeriod returns the period in which probe is to be called.
func (f *fallbackReporter) probePeriod() time.Duration {
	return max(cmp.Or(f.r.binding.ProbeEvery, hook.ProbeEvery)/probesPerInterval, throttle.MinResync)
}

// probe queues a parent for each script that is to be tried again, since otherwise it may be that no reconcile calls it. It is
// called once in each probePeriod.
func (f *fallbackReporter) probe() {
	for _, fallback := range f.r.current.Load().Fallbacks() {
		if parent, due := fallback.ProbeCandidate(); due {
			f.r.queue.Enqueue(parent, queue.Resync)
		}
	}
}
