package call

import (
	"metascript/controller/build"
	"metascript/controller/object"
	"metascript/controller/revisions"
	"metascript/controller/throttle"
)

// A Version is the hooks of a loop as one whole, and what is known of how they answer. A new one, of an edited script,
// takes the place of the one before in one step, and knows nothing: what was held for the old one is asked anew.
type Version struct {
	build.Hooks
	Loaded      *build.Version       // what the hooks were made of; nil: it is not known. It is not used here.
	Revisions   *revisions.Revisions // with the scripts that they are of; nil: no kind rolls
	Breaker     *throttle.Breaker
	Customizing *throttle.Breaker // of the customize hook
	Canary      *throttle.Canary
}

// NewVersion gives a version that calls heldChanged when the script begins to be held for parents, and when it is for none
// any more.
func NewVersion(hooks build.Hooks, revisions *revisions.Revisions, heldChanged func()) *Version {
	return &Version{
		Hooks: hooks, Revisions: revisions,
		Breaker: throttle.NewBreaker(heldChanged), Customizing: throttle.NewBreaker(heldChanged),
		Canary: throttle.NoCanary(),
	}
}

// Held gives the parents for which a script is held.
func (v *Version) Held() throttle.Held {
	if held := v.Breaker.Held(); held.Parents > 0 {
		return held
	}
	return v.Customizing.Held()
}

// Forget drops a parent that is gone.
func (v *Version) Forget(parent object.Ref) {
	v.Forgive(parent)
	v.Canary.Forget(parent)
	for _, f := range v.Fallbacks() {
		f.Forget(parent)
	}
	if v.Revisions != nil && v.Revisions.Scripts != nil {
		v.Revisions.Scripts.Forget(parent)
	}
}

// Forgive has a parent asked about as if it had never failed.
func (v *Version) Forgive(parent object.Ref) {
	v.Breaker.Forget(parent)
	v.Customizing.Forget(parent)
}
