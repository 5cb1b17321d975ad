package throttle

import (
	"fmt"
	"time"

	"metascript/controller/inputs"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// ChurnLimit is how often one object may be written for a parent, by reconciles in a row, faster than once a second and for the same
// generation of the parent, while nobody else changes the input of the hook. More writes mean that the hook returns something else in
// each call, because it uses the time, a random number, or its own earlier response.
const ChurnLimit = 60

const (
	// churnUnwatched is how many reconciles in a row may write before it is asked who changed the input. They do not count.
	churnUnwatched = 10
	// churnAllowed is how many writes of an object may follow from one change of the input by somebody else.
	churnAllowed = 5
	// churnPace is the time between reconciles that follow changes of somebody else for long: two parents may react to each other for ever.
	churnPace = 100 * time.Millisecond
)

// churnBackoff is how long such a parent is not reconciled. The delay stays short, since it is possible that the input
// really changes that often.
var churnBackoff = backoff{time.Second, 10 * time.Second}

// LastChurnDelay is the longest delay that a Churn imposes.
var LastChurnDelay = churnBackoff.last

// A Churn counts what the reconciles of one parent write. A reconcile that writes nothing resets it. A reconcile after somebody else has
// changed the input does not count, and churnAllowed of the writes before it are forgotten. The zero value has counted nothing. It is not
// safe for concurrent use.
type Churn struct {
	generation int64 // of the parent
	began      time.Time
	rounds     int                // reconciles in a row that wrote something
	writes     map[object.Ref]int // by these reconciles, for each object

	children []plan.Op // that the current reconcile has written
	status   bool      // it has written the parent's status, which counts only when it is all that was written
	other    bool      // it has written something else

	delays int       // how often a delay was imposed
	until  time.Time // no reconcile before
	paced  time.Time // the same, which is no sign of a loop
}

// Note records a write of the current reconcile. A child is created or deleted once; what exists may be changed for ever.
func (c *Churn) Note(op plan.Op, isChild bool) {
	switch {
	case !op.Verb.Stores():
	case isChild && op.Differs != nil:
		c.children = append(c.children, op)
	case op.Verb == plan.UpdateStatus:
		c.status = true
	default:
		c.other = true
	}
}

// Watches reports whether the next reconcile has to find out who changed the input of the hook.
func (c *Churn) Watches() bool { return c.rounds >= churnUnwatched-1 }

// End ends a reconcile of parent. input says what somebody else has changed in the input of the hook since the reconcile before, if the
// Churn watches. It returns what was written too often, "" for nothing, once for each time that it begins.
func (c *Churn) End(parent *object.Object, input inputs.Changes, now time.Time) string {
	children, nothingElse := c.children, c.status && !c.other && len(c.children) == 0
	wrote := len(children) > 0 || c.status || c.other
	c.children, c.status, c.other = nil, false, false
	if slow := c.delays == 0 && now.Sub(c.began) > time.Duration(c.rounds+1)*time.Second; !wrote || slow || c.generation != parent.GetGeneration() {
		*c = Churn{generation: parent.GetGeneration(), began: now}
	}
	if !wrote {
		return ""
	}
	if c.rounds++; c.rounds <= churnUnwatched {
		return ""
	}
	// What others make of our own write, such as the status of a Deployment, is a reason to write the status of the parent, and none to
	// write children again.
	excused, excusedStatus := input.Others, input.Others || input.Ours
	for ref := range c.writes {
		if excused || excusedStatus && ref == object.RefOf(parent) {
			c.writes[ref] = max(0, c.writes[ref]-churnAllowed)
		}
	}
	often := ""
	for _, op := range children {
		if !excused && c.tooMany(op.Object) {
			often = fmt.Sprintf("%s of %s", op.Differs, object.Describe(op.Object))
		}
	}
	if nothingElse && !excusedStatus && c.tooMany(parent) {
		often = "status"
	}
	if often == "" && excusedStatus && c.rounds > churnUnwatched+ChurnLimit {
		c.paced = now.Add(churnPace)
	}
	if often == "" {
		return ""
	}
	c.until = now.Add(churnBackoff.after(c.delays))
	if c.delays++; c.delays > 1 {
		return ""
	}
	return often
}

// tooMany counts a write of o, and reports whether there were too many.
func (c *Churn) tooMany(o *object.Object) bool {
	ref := object.RefOf(o)
	n := c.writes[ref] + 1
	if c.writes == nil {
		c.writes = map[object.Ref]int{}
	}
	if n == 1 {
		ref = ref.Clone()
	}
	c.writes[ref] = n
	return n >= ChurnLimit
}

// Delay returns how long the parent is not to be reconciled, zero for not at all, and whether that is because of a loop.
func (c *Churn) Delay(now time.Time) (wait time.Duration, loops bool) {
	if wait = c.until.Sub(now); wait > 0 {
		return wait, true
	}
	return max(0, c.paced.Sub(now)), false
}
