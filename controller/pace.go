package controller

import (
	"fmt"
	"time"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// A parent for which the same object is written as often as this, by as many reconciles in a row, faster than once a
// second and for the same generation, does not come to rest: its hook wants something else each time it is asked, since
// it uses the time, a random number, or what it answered before.
const hurried = 60

// Such a parent is reconciled on, but rests in between, longer each time. It is not for long, since the cause may be a
// busy world after all, of which the hook tells.
const (
	firstRest = time.Second
	lastRest  = 10 * time.Second
)

// A pace is how a parent was written for lately. A reconcile that writes nothing ends it.
type pace struct {
	generation int64 // of the parent
	began      time.Time
	rounds     int                // reconciles in a row that wrote something
	writes     map[object.Ref]int // in these rounds, by object

	children []plan.Op // that the round under way has written
	status   bool      // it has written the parent's status, which tells of other things too and counts alone
	other    bool      // it has written something else

	rest  time.Duration
	until time.Time // no reconcile before
}

// note takes a write of the round under way. A child is created or deleted once; it is what exists that may never rest.
func (p *pace) note(op plan.Op, isChild bool) {
	switch {
	case isChild && op.Differs != nil && op.Verb != plan.DryRun:
		p.children = append(p.children, op)
	case op.Verb == plan.UpdateStatus:
		p.status = true
	default:
		p.other = true
	}
}

// end ends a round about a parent. It gives what was written too often, when that is news: "" when nothing was.
func (p *pace) end(parent *object.Object, now time.Time) string {
	children, nothingElse := p.children, p.status && !p.other && len(p.children) == 0
	wrote := len(children) > 0 || p.status || p.other
	p.children, p.status, p.other = nil, false, false
	if slow := p.rest == 0 && now.Sub(p.began) > time.Duration(p.rounds+1)*time.Second; !wrote || slow || p.generation != parent.GetGeneration() {
		*p = pace{generation: parent.GetGeneration(), began: now, writes: map[object.Ref]int{}}
	}
	if !wrote {
		return ""
	}
	p.rounds++
	often := ""
	for _, op := range children {
		if p.written(op.Object) {
			often = fmt.Sprintf("%s of %s", op.Differs, object.Describe(op.Object))
		}
	}
	if nothingElse && p.written(parent) {
		often = "status"
	}
	if often == "" {
		return ""
	}
	news := p.rest == 0
	p.rest = min(max(2*p.rest, firstRest), lastRest)
	p.until = now.Add(p.rest)
	if !news {
		return ""
	}
	return often
}

// written counts a write of o, and reports whether there were too many.
func (p *pace) written(o *object.Object) bool {
	ref := object.RefOf(o)
	p.writes[ref]++
	return p.writes[ref] >= hurried
}
