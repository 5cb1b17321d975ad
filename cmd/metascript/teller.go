package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"metascript/controller"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/engine"
)

// A teller prints for an author what a server does: a block for each parent for which something is done, or fails, and a
// line for one for which there is nothing to do. What would be said again is not.
//
// It is the server's controller.Observer.
type teller struct {
	out    io.Writer
	paint  painter
	dryRun bool
	clock  func() time.Time

	mu     sync.Mutex
	rounds map[controller.About]*round // that are under way
	last   map[controller.About]ending // of the last round
	loads  map[string]int              // of each controller, how often its hooks were loaded
	said   map[string]string           // what was said last, by what it is about

	several   bool // controllers there are
	finalizes bool // a controller has a finalize hook, and puts finalizers on its parents
}

// A round is one reconcile as far as it was told.
type round struct {
	changes, prints []string
	stored          map[object.Ref]*object.Object // of what it wrote
}

// An ending is what came of a round.
type ending struct {
	load             int // of the controller's hooks
	changes, failure string
	prints           []string
}

func newTeller(out io.Writer, dryRun bool) *teller {
	return &teller{
		out: out, paint: painterOf(out), dryRun: dryRun, clock: time.Now,
		rounds: map[controller.About]*round{}, last: map[controller.About]ending{},
		loads: map[string]int{}, said: map[string]string{},
	}
}

// say prints one thing, with the time, and what belongs to it below.
func (t *teller) say(what string, below ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.print(what, below...)
}

// sayOnce does not say again what was said last about a subject; "" says nothing.
func (t *teller) sayOnce(subject, what string, below ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := what + "\n" + strings.Join(below, "\n")
	if t.said[subject] == all {
		return
	}
	t.said[subject] = all
	if what != "" {
		t.print(what, below...)
	}
}

func (t *teller) print(what string, below ...string) {
	var b strings.Builder
	b.WriteString(t.paint.dim(t.clock().Format(time.TimeOnly)) + " " + what + "\n")
	for _, text := range below {
		for line := range strings.Lines(text) {
			b.WriteString("  " + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	_, _ = io.WriteString(t.out, b.String()) // nobody is there to be told otherwise
}

// expect says how many controllers there are.
func (t *teller) expect(controllers int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.several = controllers > 1
}

func (t *teller) round(about controller.About) *round {
	r := t.rounds[about]
	if r == nil {
		r = &round{stored: map[object.Ref]*object.Object{}}
		t.rounds[about] = r
	}
	return r
}

// Wrote implements controller.Observer.
func (t *teller) Wrote(about controller.About, w controller.Write) {
	if w.Err != nil || w.Verb == plan.DryRun {
		return // the end of the round tells why, or what follows
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ref := t.round(about), object.RefOf(w.Object)
	before := cmp.Or(r.stored[ref], w.Before)
	r.stored[ref] = w.Stored
	r.changes = append(r.changes, t.paint.change(w, before))
}

// Printed implements controller.Observer.
func (t *teller) Printed(about controller.About, _ string, m engine.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.round(about)
	r.prints = append(r.prints, t.paint.printed(m))
}

// Reconciled implements controller.Observer.
func (t *teller) Reconciled(about controller.About, failed error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.round(about)
	delete(t.rounds, about)
	if failed != nil && (controller.Unsettled(failed) || errors.Is(failed, context.Canceled)) {
		if len(r.changes) > 0 && !t.dryRun {
			t.tell(about, "", r.changes, r.prints)
		}
		return
	}
	before := t.last[about]
	now := ending{load: t.loads[about.Controller], changes: strings.Join(r.changes, "\n"), prints: r.prints}
	if failed != nil {
		now.failure = engine.DetailOf(failed)
	}
	t.last[about] = now
	t.tellEnding(about, before, now, r)
}

// tellEnding tells of a round what is news.
func (t *teller) tellEnding(about controller.About, before, now ending, r *round) {
	anew, idle := before.load != now.load, now.changes == "" && now.failure == ""
	switch {
	case t.isNews(before, now):
		below := append(r.changes, r.prints...)
		if now.failure != "" {
			below = append(below, t.paint.failure(now.failure))
		}
		t.tell(about, verdictOn(now), below)
	case anew && !idle:
		t.tell(about, ": the same as before", r.prints)
	case idle && before.failure != "":
		t.tell(about, ": nothing to do any more", r.prints)
	case idle && (anew || t.dryRun && before.changes != ""):
		t.tell(about, ": nothing to do", r.prints)
	default:
		news := slices.DeleteFunc(slices.Clone(r.prints), func(text string) bool { return slices.Contains(before.prints, text) })
		if len(news) > 0 {
			t.tell(about, "", news)
		}
	}
}

// isNews reports whether what was written is, or what failed. What is only tried is tried again and again.
func (t *teller) isNews(before, now ending) bool {
	again := timeless(now.changes) == timeless(before.changes) && now.failure == before.failure
	return now.changes != "" && !(t.dryRun && again) || now.failure != "" && (before.load != now.load || !again)
}

func verdictOn(o ending) string {
	if o.failure != "" {
		return " failed"
	}
	return ""
}

func (t *teller) tell(about controller.About, what string, below ...[]string) {
	subject := about.Parent.Kind.Kind + " " + about.Parent.String()
	if t.several {
		subject += " (" + about.Controller + ")"
	}
	if t.dryRun {
		subject += t.paint.dim(" (dry run)")
	}
	var all []string
	for _, texts := range below {
		all = append(all, texts...)
	}
	t.print(t.paint.strong(subject)+what, all...)
}

// times are those that differ from one round to the next although nothing else does.
var times = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\dZ+:-]*`)

func timeless(text string) string { return times.ReplaceAllString(text, "") }

// Passed implements controller.Observer.
func (t *teller) Passed(about controller.About) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.last, about)
}

// Event implements controller.Observer.
func (t *teller) Event(o *object.Object, kind, reason, note string) {
	if isController(o) {
		t.controllerEvent(o, kind, reason, note)
		return
	}
	text := t.paint.event(kind, reason, note)
	if !t.inRound(o, reason, text) {
		t.sayOnce(object.Describe(o)+" "+reason, t.paint.strong(object.Describe(o)), text)
	}
}

// inRound adds an event to the rounds about o; it reports whether it is told.
func (t *teller) inRound(o *object.Object, reason, text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	told, ref := false, object.RefOf(o)
	for about, r := range t.rounds {
		if about.Parent == ref {
			r.prints, told = append(r.prints, text), true
		}
	}
	for about, last := range t.last { // what failed is told already
		told = told || about.Parent == ref && last.failure != "" && (reason == "SyncError" || reason == "ScriptHeld")
	}
	return told
}
