package controller

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/api/v1alpha1"
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
	v.breaker.clear()
	v.customizing.clear()
	l.tellSwitch(name, active, why)
	if active {
		v.trial.giveUp(why)
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

// fallbackCondition says who answers for the hooks that have both a script and a webhook.
func fallbackCondition(of []fallback) metav1.Condition {
	if len(of) == 0 {
		return metav1.Condition{}
	}
	reason, said := "", []string(nil)
	for _, f := range of {
		if active, why := f.Active(); active {
			reason = cmp.Or(reason, f.reason(why))
			said = append(said, fmt.Sprintf("the webhook answers for the hook %s: %s", f.name, engine.DetailOf(why)))
		}
	}
	if len(said) > 0 {
		return condition(metav1.ConditionTrue, reason, strings.Join(said, "\n"))
	}
	return condition(metav1.ConditionFalse, v1alpha1.ReasonScriptAnswers, "the scripts of all hooks answer")
}

// reason is that of the condition while the webhook answers.
func (f *fallback) reason(why error) string {
	var fault *engine.Error
	switch {
	case f.Script == nil:
		return v1alpha1.ReasonScriptNotLoaded
	case errors.As(why, &fault) && hook.Unavailable(fault.Kind):
		return v1alpha1.ReasonScriptUnavailable
	}
	return v1alpha1.ReasonScriptFailing
}
