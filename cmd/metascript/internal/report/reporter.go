// Package report prints what a server does, for the author of a controller who watches it on a terminal:
//
//	15:04:05 CompositeController c: reloaded
//	15:04:05 Site default/web
//	  ~ ConfigMap default/page: data.text differs
//	      data:
//	    -   text: a
//	    +   text: b
//	  | rendered  (sync.star:3)
//	15:04:06 Site default/blog failed
//	  sync.star:12:5: in sync: missing key "title"
//
// A server repeats itself: it reconciles a parent because of its own writes, it retries what failed, and it sets a status again.
// So the [Reporter] remembers what it printed last about each parent and each controller, and prints what is new. A writer who
// looks for the rules finds those for parents in reconcile.go, and those for controllers in controller.go.
package report

import (
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/style"
	"metascript/controller/object"
	"metascript/controller/reconcile"
)

// A Reporter prints a block for each parent for which a reconcile did something, or failed, and a line for one for which
// there was nothing to do. What it printed before it does not print again.
//
// It implements reconcile.Observer. All methods may be called concurrently. Each prints what it prints at once, with the lock
// held, so that blocks are never mixed.
type Reporter struct {
	Style  style.Styler
	DryRun bool // nothing is stored in the cluster

	out   io.Writer
	clock func() time.Time

	mu         sync.Mutex                          // guards all below, and the order in which out is written
	reconciles map[reconcile.About]*reconcileState // that have begun, and not ended
	outcomes   map[reconcile.About]outcome         // of the last reconcile that ended
	loads      map[string]int                      // how often the hooks of a controller were loaded, by its name
	printed    map[string]string                   // the last text about a subject; see PrintNews
	several    bool                                // there is more than one controller
	finalizes  bool                                // a controller has a finalize hook, and adds finalizers to its parents
}

// New returns a Reporter that prints to out.
func New(out io.Writer, dryRun bool) *Reporter {
	return &Reporter{
		Style: style.For(out), DryRun: dryRun, out: out, clock: time.Now,
		reconciles: map[reconcile.About]*reconcileState{}, outcomes: map[reconcile.About]outcome{},
		loads: map[string]int{}, printed: map[string]string{},
	}
}

// Print prints a line, with the time, and the texts that belong to it indented below.
func (r *Reporter) Print(line string, below ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.print(line, below...)
}

// PrintNews prints as Print does, unless the same was printed last about the subject. Without a line it prints nothing, but
// whatever comes next about the subject is news.
func (r *Reporter) PrintNews(subject, line string, below ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := line + "\n" + strings.Join(below, "\n")
	if r.printed[subject] == all {
		return
	}
	r.printed[subject] = all
	if line != "" {
		r.print(line, below...)
	}
}

// print needs the lock.
func (r *Reporter) print(line string, below ...string) {
	var b strings.Builder
	b.WriteString(r.Style.Dim(r.clock().Format(time.TimeOnly)) + " " + line + "\n")
	for _, text := range below {
		for line := range strings.Lines(text) {
			b.WriteString("  " + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	_, _ = io.WriteString(r.out, b.String()) // if the terminal is closed there is nowhere to report it
}

// SetControllers says how many controllers there are. If there are several, each block names its controller.
func (r *Reporter) SetControllers(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.several = n > 1
}

// Stopped reports that the server has stopped. If a controller added finalizers it says so: nothing removes them now, and their
// objects cannot be deleted.
func (r *Reporter) Stopped() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var below []string
	if r.finalizes && !r.DryRun {
		below = append(below, "objects with a finalizer of a controller that does not run cannot go; metascript gc takes it off")
	}
	r.print("stopped", below...)
}

// Event implements reconcile.Observer. An event about a parent that is being reconciled is part of its block.
func (r *Reporter) Event(o *object.Object, kind, reason, note string) {
	text := r.Style.Event(kind, reason, note)
	if manifest.IsController(o) {
		if !slices.Contains(covered, reason) {
			r.Print(r.Style.Strong(object.Describe(o)), text)
		}
		return
	}
	if !r.inBlock(o, reason, text) {
		r.PrintNews(object.Describe(o)+" "+reason, r.Style.Strong(object.Describe(o)), text)
	}
}

// inBlock adds an event to the reconciles of o that have not ended. It reports whether the event is printed, with them or
// because it is the failure that the last block was about: the server records that event after the reconcile has ended.
func (r *Reporter) inBlock(o *object.Object, reason, text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	in, ref := false, object.RefOf(o)
	for about, reconcile := range r.reconciles {
		if about.Parent == ref {
			reconcile.prints, in = append(reconcile.prints, text), true
		}
	}
	isFailure := reason == "SyncError" || reason == "ScriptHeld"
	for about, last := range r.outcomes {
		in = in || about.Parent == ref && last.failure != "" && isFailure
	}
	return in
}
