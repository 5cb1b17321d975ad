package controller

import (
	"cmp"
	"time"

	"metascript/controller/hook"
	"metascript/engine"
)

// follow has a version, which is about to be the loop's, tell of the switches of its hooks. Those of older scripts, which
// revisions have, are nobody's concern.
func (l *loop) follow(v *version) {
	for _, f := range v.fallbacks() {
		f.Switched = func(active bool, why error) { l.switched(v, f.name, active, why) }
	}
}

// switched has all parents asked about again, by whoever answers now, also those for which the script was held.
func (l *loop) switched(v *version, name string, active bool, why error) {
	if l.current.Load() != v {
		return // a turn that began before it was replaced
	}
	v.breaker.Clear()
	v.customizing.Clear()
	l.tellSwitch(name, active, why)
	if active {
		v.canary.GiveUp(why)
	}
	l.startAnew(ScriptChanged)
}

// tellFallbacks tells who answers from now on, where it was another one before.
func (l *loop) tellFallbacks() {
	standing := map[string]error{}
	for _, f := range l.current.Load().fallbacks() {
		if active, why := f.Active(); active {
			standing[f.name] = why
		}
	}
	for _, name := range []string{hook.Sync, hook.Finalize, hook.Customize} {
		why, active := standing[name]
		l.tellSwitch(name, active, why)
	}
}

// tellSwitch tells who answers for a hook, unless that has been told.
func (l *loop) tellSwitch(name string, active bool, why error) {
	l.mu.Lock()
	before := l.standing[name]
	l.standing[name] = active
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

func (l *loop) probePeriod() time.Duration {
	return max(cmp.Or(l.ProbeEvery, hook.ProbeEvery)/probesLooked, soonest)
}

// probe has a parent reconciled if a script is to be tried again, since it may be that nothing else happens. It is called
// once a period.
func (l *loop) probe() {
	for _, f := range l.current.Load().fallbacks() {
		if parent, due := f.Candidate(); due {
			l.queue.add(parent, Resync)
		}
	}
}
