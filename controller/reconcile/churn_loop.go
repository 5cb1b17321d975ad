package reconcile

import (
	"fmt"
	"time"

	"metascript/controller/object"
	"metascript/controller/queue"
	"metascript/controller/throttle"
)

// rests gives how long a parent has yet to rest, zero for not at all.
func (l *Reconciler) churnDelay(key object.Ref, why queue.Reason) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kept[key]
	if k == nil || why&queue.Requested != 0 {
		return 0
	}
	return k.churn.Delay(time.Now())
}

// endChurn ends the round of a parent that was just reconciled, and reports a hook that returns something else each time.
func (l *Reconciler) endChurn(key object.Ref) {
	parent := l.parent(key)
	if parent == nil || !l.isOurs(parent) {
		return // nothing is kept for it
	}
	k := l.parentState(key)
	l.mu.Lock()
	often := k.churn.End(parent, time.Now())
	l.mu.Unlock()
	if often != "" {
		text := fmt.Sprintf("%s was written %d times in a row for one generation of this object: the hook returns something else each time it is called. It must not use the time, random numbers or its own earlier answers. Until then the reconciles of this object are delayed by up to %s", often, throttle.ChurnLimit, throttle.LastChurnDelay)
		l.log.Warn("write loop", "kind", key.Kind.Kind, "parent", key, "field", often, "detail", text)
		l.events.Warning(parent, "WriteLoop", "%s", text)
	}
}
