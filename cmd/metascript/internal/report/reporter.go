// Package report prints what a server does, for the author of a controller on a terminal:
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
// A server does the same again and again: it reconciles a parent because of its own writes, it retries what failed, and it sets a
// status again. So the [Reporter] stores what it printed last about each parent and each controller, and prints only what is new.
// The rules for parents are in reconcile.go, those for controllers in controller.go.
package report

import (
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/style"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/engine"
)

// A Reporter prints a block for each reconcile that did something or failed, and after a reload a line for each parent with nothing
// to do. It does not print the same twice.
//
// It implements observe.Observer. All methods may be called concurrently. Each prints its whole text while it holds the lock, so
// that blocks are not mixed.
type Reporter struct {
	Style  style.Styler
	DryRun bool // nothing is stored in the cluster

	out   io.Writer
	clock func() time.Time

	mu          sync.Mutex                        // guards the fields below, and writing to out
	reconciles  map[observe.About]*reconcileState // those that have not ended
	outcomes    map[observe.About]outcome         // of the last reconcile of each parent that has ended
	loads       map[string]int                    // how often the hooks of a controller were loaded, by its name
	printed     map[string]string                 // the last text about a subject; see PrintNew
	controllers controllers                       // with the places of their scripts
	hooks       map[string]string                 // the line about the hooks of a controller, by its kind and name
	several     bool                              // there is more than one controller
	finalizes   bool                              // a controller has a finalize hook, and adds finalizers to its parents
}

// New returns a Reporter that prints to out.
func New(out io.Writer, dryRun bool) *Reporter {
	return &Reporter{
		Style: style.For(out), DryRun: dryRun, out: out, clock: time.Now,
		reconciles: map[observe.About]*reconcileState{}, outcomes: map[observe.About]outcome{},
		loads: map[string]int{}, printed: map[string]string{}, hooks: map[string]string{},
	}
}

// Print prints a line with the time before it, and the texts below it, indented.
func (r *Reporter) Print(line string, below ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.print(line, below...)
}

// Section prints the heading of what follows.
func (r *Reporter) Section(title string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = io.WriteString(r.out, "\n"+r.Style.Strong(title)+"\n")
}

// Note prints a text without the time.
func (r *Reporter) Note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = io.WriteString(r.out, text+"\n")
}

// PrintNew is like Print, but prints nothing if the last text about the subject is the same. If line is "", it prints nothing, and the
// next text about the subject is printed.
func (r *Reporter) PrintNew(subject, line string, below ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.printNew(subject, line, below...)
}

// printNew is PrintNew for a caller that holds the lock.
func (r *Reporter) printNew(subject, line string, below ...string) {
	all := line + "\n" + strings.Join(below, "\n")
	if r.printed[subject] == all {
		return
	}
	r.printed[subject] = all
	if line != "" {
		r.print(line, below...)
	}
}

// print is Print for a caller that holds the lock.
func (r *Reporter) print(line string, below ...string) {
	var b strings.Builder
	b.WriteString(r.Style.Dim(r.clock().Format(time.TimeOnly)) + " " + line + "\n")
	for _, text := range below {
		for line := range strings.Lines(text) {
			b.WriteString("  " + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	_, _ = io.WriteString(r.out, b.String()) // an error, such as a closed terminal, cannot be reported anywhere
}

// SetControllers sets the controllers, and the sources of their scripts, so that errors of scripts have their places in files. If there are
// several controllers, each block has the name of its controller.
func (r *Reporter) SetControllers(docs []manifest.Document, sources manifest.Sources) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.several, r.controllers = len(docs) > 1, controllers{map[string]manifest.Document{}, sources}
	for _, doc := range docs {
		r.controllers.docs[doc.GetName()] = doc
	}
}

// Failure returns the text of an error of a controller.
func (r *Reporter) Failure(controller string, err error) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.controllers.failure(controller, err)
}

// controllers say where the scripts of controllers are in files.
type controllers struct {
	docs    map[string]manifest.Document // by name
	sources manifest.Sources
}

// failure returns the text of an error of a controller.
func (c controllers) failure(name string, err error) string {
	return engine.DetailOf(c.sources.Located(c.docs[name], err))
}

// located returns a text about a controller with the place of its script. If the name is "", it is the only controller.
func (c controllers) located(name, text string) string {
	if name == "" && len(c.docs) == 1 {
		name = slices.Collect(maps.Keys(c.docs))[0]
	}
	return c.sources.LocatedText(c.docs[name], text)
}

// Stopped prints that the server has stopped. If a controller added finalizers, it prints a hint: no server removes them now, so their
// objects cannot be deleted.
func (r *Reporter) Stopped() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var below []string
	if r.finalizes && !r.DryRun {
		below = append(below, "objects with a finalizer of a controller that does not run cannot be deleted; metascript gc removes it")
	}
	r.print("stopped", below...)
}

// Event implements observe.Observer. An event about a parent that is being reconciled is part of its block.
func (r *Reporter) Event(o *object.Object, e kube.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := r.Style.Strong(object.Describe(o))
	if manifest.IsController(o) {
		if !slices.Contains(covered, e.Reason) {
			r.print(name, r.Style.Event(e.Type, e.Reason, r.controllers.located(o.GetName(), e.Detail)))
		}
		return
	}
	if !r.inBlock(o, e) {
		r.printNew(object.Describe(o)+" "+e.Reason, name, r.Style.Event(e.Type, e.Reason, r.controllers.located("", e.Detail)))
	}
}

// inBlock adds an event to the reconciles of o that have not ended, so that it is printed with them. It also returns true for an event
// about a failure that the last block has: the server records that event after the reconcile has ended. The caller holds the lock.
func (r *Reporter) inBlock(o *object.Object, e kube.Event) bool {
	found, ref := false, object.RefOf(o)
	for about, reconcile := range r.reconciles {
		if about.Parent == ref {
			reconcile.prints, found = append(reconcile.prints, r.Style.Event(e.Type, e.Reason, r.controllers.located(about.Controller, e.Detail))), true
		}
	}
	isFailure := e.Reason == "SyncError" || e.Reason == "ScriptHeld"
	for about, last := range r.outcomes {
		found = found || about.Parent == ref && last.failure != "" && isFailure
	}
	return found
}
