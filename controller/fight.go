package controller

import (
	"fmt"
	"time"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// A child that is recreated as often as this within this time, each time with the same content, is not helped by
// being recreated once more: the API server, or somebody else, makes something else of it.
const (
	fightsAllowed = 5
	fightForgiven = 10 * time.Minute
)

// fights are a parent's children that were recreated with the same content.
type fights map[object.Ref]*fight

type fight struct {
	rounds int
	last   time.Time
}

// inVain counts a deletion that is to recreate a child as it was made before, and refuses it when there were too many.
// The way on is to mend the hook; in any case it is tried again after a while.
func (l *loop) inVain(parent object.Ref, op plan.Op) error {
	if op.Differs == "" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.fights[parent]
	if all == nil {
		all = fights{}
		l.fights[parent] = all
	}
	child := object.RefOf(op.Object)
	f := all[child]
	if f == nil || !op.Again || time.Since(f.last) > fightForgiven {
		f = &fight{}
		all[child] = f
	}
	if f.rounds >= fightsAllowed {
		return fmt.Errorf("%s was recreated %d times, and %s differs again from what the hook wants: the API server, or somebody else, changes it; have the hook return it as it is stored, or use another update method", object.Describe(op.Object), f.rounds, op.Differs)
	}
	f.rounds, f.last = f.rounds+1, time.Now()
	return nil
}
