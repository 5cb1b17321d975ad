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
	"metascript/controller/plan"
	"metascript/controller/reconcile"
	"metascript/engine"
)

// A reconcileState is what one reconcile of a parent did up to now. It is there from the first thing that the server tells of it, a
// write, a print or an event, until the server tells its end.
type reconcileState struct {
	changes, prints []string
	stored          map[object.Ref]*object.Object // as its last write of them left them
}

// An outcome is what a reconcile had done when it ended. The last one of each parent is kept, to tell what is new in the next.
type outcome struct {
	load             int // how often the hooks of the controller were loaded
	changes, failure string
	prints           []string
}

// reconcile returns the one that has begun for a parent. It needs the lock.
func (r *Reporter) reconcile(about reconcile.About) *reconcileState {
	now := r.reconciles[about]
	if now == nil {
		now = &reconcileState{stored: map[object.Ref]*object.Object{}}
		r.reconciles[about] = now
	}
	return now
}

// Wrote implements reconcile.Observer. A write that failed shows in the failure of its reconcile. Where one reconcile writes an
// object twice, such as its spec and its status, the second write is compared with what the first one stored: the cache may not
// have it yet.
func (r *Reporter) Wrote(about reconcile.About, w reconcile.Write) {
	if w.Err != nil || w.Verb == plan.DryRun {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now, ref := r.reconcile(about), object.RefOf(w.Object)
	before := cmp.Or(now.stored[ref], w.Before)
	now.stored[ref] = w.Stored
	now.changes = append(now.changes, r.Style.Change(style.Change{Op: w.Op, Before: before, After: w.Stored, Hidden: w.Redactor}))
}

// Printed implements reconcile.Observer.
func (r *Reporter) Printed(about reconcile.About, _ string, m engine.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.reconcile(about)
	now.prints = append(now.prints, r.Style.Printed(m))
}

// Reconciled implements reconcile.Observer. Of a reconcile that is soon repeated, or cancelled, only its writes are printed, and
// its outcome is not kept: it is not for the author to know that an object changed meanwhile.
func (r *Reporter) Reconciled(about reconcile.About, failed error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ended := r.reconcile(about)
	delete(r.reconciles, about)
	if failed != nil && (reconcile.Unsettled(failed) || errors.Is(failed, context.Canceled)) {
		if len(ended.changes) > 0 && !r.DryRun {
			r.printBlock(about, "", ended.changes, ended.prints)
		}
		return
	}
	before := r.outcomes[about]
	now := outcome{load: r.loads[about.Controller], changes: strings.Join(ended.changes, "\n"), prints: ended.prints}
	if failed != nil {
		now.failure = engine.DetailOf(failed)
	}
	r.outcomes[about] = now
	r.printOutcome(about, before, now, ended.changes)
}

// Dropped implements reconcile.Observer. A parent that comes back is new.
func (r *Reporter) Dropped(about reconcile.About) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.outcomes, about)
}

// printOutcome prints what is new in an outcome. After a reload each parent has a line, even if nothing is new: an author who
// has saved a script wants to see that it ran.
func (r *Reporter) printOutcome(about reconcile.About, before, now outcome, changes []string) {
	reloaded, idle := before.load != now.load, now.changes == "" && now.failure == ""
	switch {
	case r.isNews(before, now) && now.failure != "":
		r.printBlock(about, " failed", changes, now.prints, []string{r.Style.Failure(now.failure)})
	case r.isNews(before, now):
		r.printBlock(about, "", changes, now.prints)
	case reloaded && !idle: // a dry run repeats its changes
		r.printBlock(about, ": the same as before", now.prints)
	case idle && before.failure != "": // the failure is fixed
		r.printBlock(about, ": nothing to do any more", now.prints)
	case idle && (reloaded || r.DryRun && before.changes != ""): // or the changes that a dry run showed are made
		r.printBlock(about, ": nothing to do", now.prints)
	default:
		r.printNewPrints(about, before, now)
	}
}

// printNewPrints prints what the script printed, except for what it printed in the reconcile before too.
func (r *Reporter) printNewPrints(about reconcile.About, before, now outcome) {
	var news []string
	for _, text := range now.prints {
		if !slices.Contains(before.prints, text) {
			news = append(news, text)
		}
	}
	if len(news) > 0 {
		r.printBlock(about, "", news)
	}
}

// isNews reports whether the changes or the failure are new. A write always is, but not in a dry run, which repeats it in
// each reconcile. A failure is new after a reload, even if it is the same.
func (r *Reporter) isNews(before, now outcome) bool {
	same := withoutTimes(now.changes) == withoutTimes(before.changes) && now.failure == before.failure
	if now.failure != "" && (before.load != now.load || !same) {
		return true
	}
	return now.changes != "" && !(r.DryRun && same)
}

// printBlock prints the name of a parent, followed by what happened, and texts below.
func (r *Reporter) printBlock(about reconcile.About, what string, below ...[]string) {
	subject := about.Parent.Kind.Kind + " " + about.Parent.String()
	if r.several {
		subject += " (" + about.Controller + ")"
	}
	if r.DryRun {
		subject += r.Style.Dim(" (dry run)")
	}
	r.print(r.Style.Strong(subject)+what, slices.Concat(below...)...)
}

// timestamp matches a time, which may be all that two reconciles differ in.
var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\dZ+:-]*`)

// withoutTimes makes the texts of two changes equal that differ in times only, such as a condition's lastTransitionTime.
func withoutTimes(text string) string { return timestamp.ReplaceAllString(text, "") }
