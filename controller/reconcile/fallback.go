package reconcile

import (
	"cmp"
	"time"

	"metascript/controller/hook"
	"metascript/controller/queue"
	"metascript/engine"
)

// follow has a version, which is about to be the loop's, tell of the switches of its hooks. Those of older scripts, which
// revisions have, are nobody's concern.
func (l *Reconciler) followFallbacks(v *Version) {
	for _, f := range v.Fallbacks() {
		f.Switched = func(active bool, why error) { l.onFallback(v, f.Name, active, why) }
	}
}

// switched has all parents asked about again, by whoever answers now, also those for which the script was held.
func (l *Reconciler) onFallback(v *Version, name string, active bool, why error) {
	if l.current.Load() != v {
		return // a turn that began before it was replaced
	}
	v.breaker.Clear()
	v.customizing.Clear()
	l.reportFallback(name, active, why)
	if active {
		v.Canary.GiveUp(why)
	}
	l.restart(queue.ScriptChanged)
}

// tellFallbacks tells who answers from now on, where it was another one before.
func (l *Reconciler) reportFallbacks() {
	standing := map[string]error{}
	for _, f := range l.current.Load().Fallbacks() {
		if active, why := f.Active(); active {
			standing[f.Name] = why
		}
	}
	for _, name := range []string{hook.Sync, hook.Finalize, hook.Customize} {
		why, active := standing[name]
		l.reportFallback(name, active, why)
	}
}

// tellSwitch tells who answers for a hook, unless that has been told.
func (l *Reconciler) reportFallback(name string, active bool, why error) {
	l.mu.Lock()
	before := l.fallbackReported[name]
	l.fallbackReported[name] = active
	l.mu.Unlock()
	switch {
	case before == active:
		return
	case active:
		l.log.Warn("the webhook answers in place of the script", "hook", name, "error", engine.DetailOf(why))
		l.events.Warning(l.Controller, "FallbackStarted", "the webhook answers for the hook %s: %v", name, why)
	default:
		l.log.Info("the script answers again in place of the webhook", "hook", name)
		l.events.Normal(l.Controller, "FallbackEnded", "the script answers for the hook %s again", name)
	}
	l.changed()
}

// A probe is tried this often in its interval, which begins at any time.
const probesLooked = 4

func (l *Reconciler) probePeriod() time.Duration {
	return max(cmp.Or(l.ProbeEvery, hook.ProbeEvery)/probesLooked, minResync)
}

// probe has a parent reconciled if a script is to be tried again, since it may be that nothing else happens. It is called
// once a period.
func (l *Reconciler) probe() {
	for _, f := range l.current.Load().Fallbacks() {
		if parent, due := f.Candidate(); due {
			l.Queue.Enqueue(parent, queue.Resync)
		}
	}
}
