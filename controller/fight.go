package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// A child that is written as often as this within this time, each time with the same content, is not helped by one
// write more: the API server, or somebody else, makes something else of it.
const (
	fightsAllowed = 5
	fightForgiven = 10 * time.Minute
)

// After that it is still tried, ever more slowly.
const (
	firstTruce = 10 * time.Second
	lastTruce  = 5 * time.Minute
)

// A fight is a child that was written with the same content again and again.
type fight struct {
	rounds   int
	last     time.Time
	reported int // the rounds that were told of
	truce    time.Duration
	until    time.Time // no write before
}

// inVain gives how long op has to wait, zero for not at all, since the same was written too often before. The way on
// is to mend the hook, or to call the other side off.
func (l *loop) inVain(ctx context.Context, parent *object.Object, op plan.Op) time.Duration {
	if op.Differs == nil {
		return 0
	}
	all, child := l.keptOf(object.RefOf(parent)).fights, object.RefOf(op.Object)
	f := all[child]
	if f == nil || !op.Again || time.Since(f.last) > fightForgiven {
		f = &fight{}
		all[child] = f
	}
	wait, news := f.weigh()
	if news {
		l.reportFight(ctx, parent, op, f.rounds)
	}
	return wait
}

// weigh gives how long the next write has to wait, zero for not at all, and whether that is news to tell.
func (f *fight) weigh() (wait time.Duration, news bool) {
	if f.rounds >= fightsAllowed && f.rounds > f.reported {
		f.reported, f.truce, news = f.rounds, min(max(2*f.truce, firstTruce), lastTruce), true
		f.until = time.Now().Add(f.truce)
	}
	return max(time.Until(f.until), 0), news
}

// count counts a write.
func (f *fight) count() { f.rounds, f.last = f.rounds+1, time.Now() }

// countRound notes that op was carried out.
func (l *loop) countRound(parent *object.Object, op plan.Op) {
	if f := l.keptOf(object.RefOf(parent)).fights[object.RefOf(op.Object)]; f != nil && op.Differs != nil && op.Verb != plan.DryRun {
		f.count()
	}
}

// reportFight tells which field of which child is fought over, and with whom, in the log and in an event on parent.
func (l *loop) reportFight(ctx context.Context, parent *object.Object, op plan.Op, rounds int) {
	done := "updated"
	if op.Verb == plan.Delete || op.Verb == plan.DryRun {
		done = "recreated"
	}
	text := fmt.Sprintf("%s was %s %d times, and %s differs again from what the hook wants: %s; it is tried again ever more slowly. Have the hook return it as it is stored, or without this field", object.Describe(op.Object), done, rounds, op.Differs, l.opponents(ctx, op))
	l.log.Warn("fight", "parent", object.RefOf(parent), "child", object.RefOf(op.Object), "field", op.Differs.String(), "detail", text)
	l.events.Warning(parent, "Fight", "%s", text)
}

// opponents says who changes the field in which op's child differs, as the API server knows at this moment.
func (l *loop) opponents(ctx context.Context, op plan.Op) string {
	live, err := l.Live(ctx, op.Object)
	if err != nil {
		return "who changes it could not be read: " + err.Error()
	}
	var names []string
	for _, m := range plan.Managers(live, op.Differs) {
		if !slices.Contains([]string{kube.FieldManager, l.FieldManager}, m.Name) {
			names = append(names, m.String())
		}
	}
	if len(names) == 0 {
		return "no field manager but this one owns it, so that the API server or an admission webhook changes it, or somebody removes it"
	}
	return "it is changed by the field manager " + strings.Join(names, " and ")
}
