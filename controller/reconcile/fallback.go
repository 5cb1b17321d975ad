package reconcile

import (
	"cmp"
	"sync"
	"time"

	"metascript/controller/call"
	"metascript/controller/hook"
	"metascript/controller/queue"
	"metascript/engine"
)

// A fallbackReporter follows who answers for hooks that have both a script and a webhook.
type fallbackReporter struct {
	r *Reconciler

	mu       sync.Mutex      // guards reported
	reported map[string]bool // the hooks of which it was reported that their webhooks answer
}

// followFallbacks has a version, which is about to be the loop's, tell of the switches of its hooks. Those of older scripts, which
// revisions have, are nobody's concern.
func (f *fallbackReporter) followFallbacks(v *call.Version) {
	for _, fallback := range v.Fallbacks() {
		fallback.Switched = func(active bool, why error) { f.onFallback(v, fallback.Name, active, why) }
	}
}

// onFallback has all parents asked about again, by whoever answers now, also those for which the script was held.
func (f *fallbackReporter) onFallback(v *call.Version, name string, active bool, why error) {
	if f.r.current.Load() != v {
		return // a turn that began before it was replaced
	}
	v.Breaker.Clear()
	v.Customizing.Clear()
	f.reportFallback(name, active, why)
	if active {
		v.Canary.GiveUp(why)
	}
	f.r.restart(queue.ScriptChanged)
}

// reportFallbacks tells who answers from now on, where it was another one before.
func (f *fallbackReporter) reportFallbacks() {
	standing := map[string]error{}
	for _, f := range f.r.current.Load().Fallbacks() {
		if active, why := f.Active(); active {
			standing[f.Name] = why
		}
	}
	for _, name := range []string{hook.Sync, hook.Finalize, hook.Customize} {
		why, active := standing[name]
		f.reportFallback(name, active, why)
	}
}

// reportFallback tells who answers for a hook, unless that has been told.
func (f *fallbackReporter) reportFallback(name string, active bool, why error) {
	f.mu.Lock()
	before := f.reported[name]
	f.reported[name] = active
	f.mu.Unlock()
	switch {
	case before == active:
		return
	case active:
		f.r.events.log.Warn("the webhook answers in place of the script", "hook", name, "error", engine.DetailOf(why))
		f.r.events.Warning(f.r.b.Controller, "FallbackStarted", "the webhook answers for the hook %s: %v", name, why)
	default:
		f.r.events.log.Info("the script answers again in place of the webhook", "hook", name)
		f.r.events.Normal(f.r.b.Controller, "FallbackEnded", "the script answers for the hook %s again", name)
	}
	f.r.changed()
}

// A probe is due once in its interval, which begins at any time. It is looked for this often in an interval.
const probesPerInterval = 4

func (f *fallbackReporter) probePeriod() time.Duration {
	return max(cmp.Or(f.r.b.ProbeEvery, hook.ProbeEvery)/probesPerInterval, minResync)
}

// probe has a parent reconciled if a script is to be tried again, since it may be that nothing else happens. It is called
// once a period.
func (f *fallbackReporter) probe() {
	for _, fallback := range f.r.current.Load().Fallbacks() {
		if parent, due := fallback.Candidate(); due {
			f.r.queue.Enqueue(parent, queue.Resync)
		}
	}
}
