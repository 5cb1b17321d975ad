package report

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"metascript/cmd/metascript/internal/style"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/engine"
)

// A reconcileState has what a reconcile of a parent has done so far. It exists from the first report of the server about the
// reconcile, which is a write, a printed line or an event, until the server reports its end.
type reconcileState struct {
	changes, prints []string                      // formatted for the output
	stored          map[object.Ref]*object.Object // the objects that it wrote, after the last write
}

// An outcome is the result of a reconcile that has ended. The last one of each parent is stored, to find out what is new in the next
// one.
type outcome struct {
	load             int // how often the hooks of the controller had been loaded
	changes, failure string
	prints           []string
}

// reconcile returns the state of the current reconcile of a parent. The caller holds the lock.
func (r *Reporter) reconcile(about observe.About) *reconcileState {
	now := r.reconciles[about]
	if now == nil {
		now = &reconcileState{stored: map[object.Ref]*object.Object{}}
		r.reconciles[about] = now
	}
	return now
}

// Wrote implements observe.Observer. It ignores a write that failed, since the reconcile fails then too. If one reconcile writes an
// object twice, such as its spec and its status, the second write is compared with the object that the first one stored: the cache
// may not have it yet.
func (r *Reporter) Wrote(about observe.About, w observe.Write) {
	if w.Err != nil || !w.Verb.Stores() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now, ref := r.reconcile(about), object.RefOf(w.Object)
	before := cmp.Or(now.stored[ref], w.Before)
	now.stored[ref] = w.Stored
	now.changes = append(now.changes, r.Style.Change(style.Change{Op: w.Op, Before: before, After: w.Stored, Hidden: w.Redactor}))
}

// Printed implements observe.Observer.
func (r *Reporter) Printed(about observe.About, _ string, m engine.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.reconcile(about)
	now.prints = append(now.prints, r.Style.Printed(m))
}

// Reconciled implements observe.Observer. If the reconcile is repeated soon, or was canceled, it prints only the writes, and does
// not store the outcome: the author need not know that an object changed meanwhile.
func (r *Reporter) Reconciled(about observe.About, failed error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ended := r.reconcile(about)
	delete(r.reconciles, about)
	if failed != nil && (observe.Unsettled(failed) || errors.Is(failed, context.Canceled)) {
		if len(ended.changes) > 0 && !r.DryRun {
			r.printBlock(about, "", ended.changes, ended.prints)
		}
		return
	}
	before := r.outcomes[about]
	now := outcome{load: r.loads[about.Controller], changes: strings.Join(ended.changes, "\n"), prints: ended.prints}
	if failed != nil {
		now.failure = r.controllers.failure(about.Controller, failed)
	}
	r.outcomes[about] = now
	r.printOutcome(about, before, now, ended.changes)
}

// Dropped implements observe.Observer. If the parent is reconciled again, it is treated like a new parent.
func (r *Reporter) Dropped(about observe.About) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.outcomes, about)
}

// printOutcome prints what is new in an outcome. After a reload it prints a line for each parent, even if nothing is new, so that an
// author who has saved a script sees that it was called.
func (r *Reporter) printOutcome(about observe.About, before, now outcome, changes []string) {
	reloaded, idle := before.load != now.load, now.changes == "" && now.failure == ""
	switch {
	case r.isNew(before, now) && now.failure != "":
		r.printBlock(about, " failed", changes, now.prints, []string{r.Style.Failure(now.failure)})
	case r.isNew(before, now):
		r.printBlock(about, "", changes, now.prints)
	case reloaded && !idle: // a dry run repeats its changes
		r.printBlock(about, ": the same as before", now.prints)
	case idle && before.failure != "": // the failure is fixed
		r.printBlock(about, ": nothing to do any more", now.prints)
	case idle && (reloaded || r.DryRun && before.changes != ""): // or somebody made the changes that the dry run printed
		r.printBlock(about, ": nothing to do", now.prints)
	default:
		r.printNewPrints(about, before, now)
	}
}

// printNewPrints prints what the script printed, without the lines that it also printed in the previous reconcile.
func (r *Reporter) printNewPrints(about observe.About, before, now outcome) {
	var added []string
	for _, text := range now.prints {
		if !slices.Contains(before.prints, text) {
			added = append(added, text)
		}
	}
	if len(added) > 0 {
		r.printBlock(about, "", added)
	}
}

// isNew reports whether the changes or the failure have to be printed. Changes always have, except in a dry run if they are the same
// as in the previous reconcile. A failure has if it is another one, or after a reload.
func (r *Reporter) isNew(before, now outcome) bool {
	same := withoutTimes(now.changes) == withoutTimes(before.changes) && now.failure == before.failure
	if now.failure != "" && (before.load != now.load || !same) {
		return true
	}
	return now.changes != "" && !(r.DryRun && same)
}

// printBlock prints a line with the name of a parent, followed by what, and the texts below it.
func (r *Reporter) printBlock(about observe.About, what string, below ...[]string) {
	subject := about.Parent.Kind.Kind + " " + about.Parent.String()
	if r.several {
		subject += " (" + about.Controller + ")"
	}
	if r.DryRun {
		subject += r.Style.Dim(" (dry run)")
	}
	r.print(r.Style.Strong(subject)+what, slices.Concat(below...)...)
}

// timestamp matches a time. Two reconciles may differ only in times.
var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\dZ+:-]*`)

// withoutTimes removes times, such as the lastTransitionTime of a condition, so that texts which differ only in times become equal.
func withoutTimes(text string) string { return timestamp.ReplaceAllString(text, "") }
