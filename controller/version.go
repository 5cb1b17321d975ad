package controller

import (
	"context"
	"time"

	"metascript/controller/object"
	"metascript/controller/throttle"
)

// A version is the hooks of a loop as one whole, and what is known of how they answer. A new one, of an edited script,
// takes the place of the one before in one step, and knows nothing: what was held for the old one is asked anew.
type version struct {
	Hooks
	revisions   *revisions // with the scripts that they are of; nil: no kind rolls
	breaker     *throttle.Breaker
	customizing *throttle.Breaker // of the customize hook
	canary      *throttle.Canary

	customized map[object.Ref]*customized // guarded by the loop's mu
}

// newVersion gives a version that calls heldChanged when the script begins to be held for parents, and when it is for none
// any more.
func newVersion(hooks Hooks, revisions *revisions, heldChanged func()) *version {
	return &version{
		Hooks: hooks, revisions: revisions,
		breaker: throttle.NewBreaker(heldChanged), customizing: throttle.NewBreaker(heldChanged),
		canary: throttle.NoCanary(), customized: map[object.Ref]*customized{},
	}
}

// holds gives the parents for which a script is held.
func (v *version) holds() throttle.Held {
	if held := v.breaker.Held(); held.Parents > 0 {
		return held
	}
	return v.customizing.Held()
}

// forget drops a parent that is gone.
func (v *version) forget(parent object.Ref) {
	v.forgive(parent)
	v.canary.Forget(parent)
	for _, f := range v.fallbacks() {
		f.Forget(parent)
	}
	if v.revisions != nil && v.revisions.scripts != nil {
		v.revisions.scripts.forget(parent)
	}
}

// forgive has a parent asked about as if it had never failed.
func (v *version) forgive(parent object.Ref) {
	v.breaker.Forget(parent)
	v.customizing.Forget(parent)
}

// A turn is one reconcile: the loop, and the version of its hooks that answers from the beginning to the end of it,
// whatever takes its place meanwhile.
type turn struct {
	*loop
	*version
}

// turn begins one, by the version that there is now.
func (l *loop) turn() *turn { return &turn{l, l.current.Load()} }

// reconcile is one turn about a parent.
func (l *loop) reconcile(ctx context.Context, key object.Ref) (time.Duration, error) {
	return l.turn().reconcile(ctx, key)
}

// swap puts a version in the place of the one there is. Turns under way end with that one; all parents come anew.
func (l *loop) swap(v *version) {
	l.follow(v)
	l.current.Store(v)
	if l.leading.IsOpen() {
		l.tellFallbacks()
	}
	l.startAnew(ScriptChanged)
}

// startAnew has all parents asked about anew, by others than before.
func (l *loop) startAnew(why Reason) {
	l.mu.Lock()
	for _, kept := range l.kept {
		kept.outdated = true
	}
	clear(l.said)
	l.mu.Unlock()
	l.spread(why)
}

// So many parents are queued at once when all are, and so many a second after that, unless it would take longer than
// spreadOver: the API server and the neighbours are to notice nothing of it.
const (
	spreadAtOnce    = 100
	spreadPerSecond = 200
	spreadOver      = 5 * time.Minute
)

// failing are the parents for which the version that there is fails.
func (l *loop) failing() map[object.Ref]bool { return l.current.Load().canary.Failing() }

// spread queues every parent, as if none had ever failed, spread over some time if there are many.
func (l *loop) spread(why Reason) {
	var all []object.Ref
	for parent := range l.own() {
		all = append(all, object.RefOf(parent))
	}
	for i, key := range all {
		l.queue.Forget(key)
		if wait := spreadDelay(i, len(all)); wait > 0 {
			l.queue.addAfter(key, why, wait)
		} else {
			l.queue.add(key, why)
		}
	}
}

// spreadDelay is when the i-th of n parents is queued.
func spreadDelay(i, n int) time.Duration {
	if i < spreadAtOnce {
		return 0
	}
	step := min(time.Second/spreadPerSecond, spreadOver/time.Duration(n))
	return time.Duration(i-spreadAtOnce+1) * step
}
