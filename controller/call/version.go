package call

import (
	"metascript/controller/build"
	"metascript/controller/object"
	"metascript/controller/remember"
	"metascript/controller/revisions"
	"metascript/controller/throttle"
)

// A Version is the hooks of a Reconciler, and the results of their calls. If a script is edited, a new Version with empty
// breakers replaces the previous one in one step, so that parents for which the previous script was held are tried again.
//
// It is safe for concurrent use.
type Version struct {
	build.Hooks
	Loaded           *build.Loaded        // what the hooks were made of; nil: not known. This package does not use it.
	Revisions        *revisions.Revisions // with the scripts that they refer to; nil: no kind of children has a rolling update method
	Breaker          *throttle.Breaker    // of the sync and the finalize hook
	CustomizeBreaker *throttle.Breaker    // of the customize hook
	Canary           *throttle.Canary     // decides whether the version is good
	Remember         remember.Switch      // off: a script of this version sees more than its requests
}

// NewVersion returns a version without a canary. It calls heldChanged when the script is held for the first parent, and when it
// is held for none any more.
func NewVersion(hooks build.Hooks, revisions *revisions.Revisions, heldChanged func()) *Version {
	return &Version{
		Hooks: hooks, Revisions: revisions,
		Breaker: throttle.NewBreaker(heldChanged), CustomizeBreaker: throttle.NewBreaker(heldChanged),
		Canary: throttle.NoCanary(),
	}
}

// Held returns the parents for which the sync or finalize script is held; if there are none, those for which the customize
// script is held.
func (v *Version) Held() throttle.Held {
	if held := v.Breaker.Held(); held.Parents > 0 {
		return held
	}
	return v.CustomizeBreaker.Held()
}

// Forget drops all state about a parent, after it was deleted.
func (v *Version) Forget(parent object.Ref) {
	v.ResetFailures(parent)
	v.Canary.Forget(parent)
	for _, f := range v.Fallbacks() {
		f.Forget(parent)
	}
	if v.Revisions != nil && v.Revisions.Scripts != nil {
		v.Revisions.Scripts.Forget(parent)
	}
}

// ResetFailures drops the failures of a parent from the breakers, so that the hooks are called for it again.
func (v *Version) ResetFailures(parent object.Ref) {
	v.Breaker.Forget(parent)
	v.CustomizeBreaker.Forget(parent)
}
