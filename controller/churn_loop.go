package controller

import (
	"fmt"
	"time"

	"metascript/controller/object"
	"metascript/controller/throttle"
)

// rests gives how long a parent has yet to rest, zero for not at all.
func (l *loop) rests(key object.Ref, why Reason) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kept[key]
	if k == nil || why&Requested != 0 {
		return 0
	}
	return k.churn.Delay(time.Now())
}

// endRound ends the round of a parent that was just reconciled, and tells when it does not come to rest.
func (l *loop) endRound(key object.Ref) {
	parent := l.parent(key)
	if parent == nil || !l.mine(parent) {
		return // nothing is kept for it
	}
	k := l.keptOf(key)
	l.mu.Lock()
	often := k.churn.End(parent, time.Now())
	l.mu.Unlock()
	if often != "" {
		text := fmt.Sprintf("%s was written %d times in a row for one generation of this object: the hook wants something else each time it is asked. If it uses the time, a random number or what it answered before, mend it; this object is reconciled more slowly, every %s at least", often, throttle.ChurnLimit, throttle.LastChurnDelay)
		l.log.Warn("no rest", "kind", key.Kind.Kind, "parent", key, "field", often, "detail", text)
		l.events.Warning(parent, "NoRest", "%s", text)
	}
}
