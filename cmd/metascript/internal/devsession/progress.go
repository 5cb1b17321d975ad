package devsession

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/cmd/metascript/internal/report"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/plan"
	"metascript/controller/spec"
)

// A parent that fails maxFailures times in a row has failed, since an error of the API server may be gone at the next attempt. A parent
// that changes something in maxRounds reconciles in a row has failed too: its hook returns something else each time, or somebody else
// changes it back.
const (
	maxFailures = 3
	maxRounds   = 20
)

// settleInterval is the period in which each parent is reconciled again. Usually a change causes the next reconcile, but not each change
// is watched.
const settleInterval = time.Second

// A progress finds out when nothing changes any more: when each parent was reconciled without a change. It passes what it observes on
// to a Reporter. Its methods may be called concurrently.
//
// A dry run stores no change, so that a parent is settled after its first reconcile.
type progress struct {
	*report.Reporter
	only   func(object.Ref) bool // selects the parents; nil selects all
	dryRun bool

	mu          sync.Mutex // guards the fields below
	controllers map[spec.ID]controllerState
	parents     map[observe.About]*parentProgress
	ended       chan struct{} // closed when nothing is pending
}

// A controllerState is what is known of a controller.
type controllerState struct {
	loaded  bool
	problem string // why it does not run and will not before its file is edited
	waiting string // why it does not run yet
}

// A parentProgress has the results of the reconciles of one parent.
type parentProgress struct {
	changed  bool // the current reconcile has changed something
	rounds   int  // how many reconciles in a row have changed something
	failures int  // how many reconciles in a row have failed
	settled  bool // the last reconcile has changed nothing, and has not failed
}

// failed reports whether the parent is not expected to settle.
func (p *parentProgress) failed() bool { return p.failures >= maxFailures || p.rounds >= maxRounds }

func newProgress(to *report.Reporter, only func(object.Ref) bool, dryRun bool) *progress {
	return &progress{
		Reporter: to, only: only, dryRun: dryRun,
		controllers: map[spec.ID]controllerState{}, parents: map[observe.About]*parentProgress{}, ended: make(chan struct{}),
	}
}

// start sets the controllers that have to be loaded.
func (p *progress) start(controllers []spec.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range controllers {
		p.controllers[id] = controllerState{waiting: "it is not loaded"}
	}
}

// Loaded implements observe.Observer.
func (p *progress) Loaded(o *object.Object, parents iter.Seq[*object.Object]) {
	p.Reporter.Loaded(o, parents)
	p.mu.Lock()
	defer p.mu.Unlock()
	for parent := range parents {
		if ref := object.RefOf(parent); p.only == nil || p.only(ref) {
			p.parent(observe.About{Kind: o.GetKind(), Controller: o.GetName(), Parent: ref})
		}
	}
	p.controllers[spec.IDOf(o)] = controllerState{loaded: true}
	p.check()
}

// parent returns the progress of a parent. The caller holds the lock.
func (p *progress) parent(about observe.About) *parentProgress {
	if p.parents[about] == nil {
		p.parents[about] = &parentProgress{}
	}
	return p.parents[about]
}

// Wrote implements observe.Observer.
func (p *progress) Wrote(about observe.About, w observe.Write) {
	p.Reporter.Wrote(about, w)
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.Err == nil && w.Verb != plan.DryRun {
		p.parent(about).changed = true
	}
}

// Reconciled implements observe.Observer. A reconcile that is repeated soon, or was canceled, has no result.
func (p *progress) Reconciled(about observe.About, failed error) {
	p.Reporter.Reconciled(about, failed)
	p.mu.Lock()
	defer p.mu.Unlock()
	if failed != nil && (observe.Unsettled(failed) || errors.Is(failed, context.Canceled)) {
		return
	}
	now := p.parent(about)
	changed := now.changed && !p.dryRun
	now.changed, now.settled = false, failed == nil && !changed
	switch {
	case failed != nil:
		now.failures++
	case changed:
		now.failures, now.rounds = 0, now.rounds+1
	default:
		now.failures, now.rounds = 0, 0
	}
	p.check()
}

// Dropped implements observe.Observer.
func (p *progress) Dropped(about observe.About) {
	p.Reporter.Dropped(about)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.parents, about)
	p.check()
}

// temporary are the reasons of the condition Ready of a controller that starts by itself: when its CustomResourceDefinitions are served,
// or its caches are filled.
var temporary = []string{v1alpha1.ReasonStarting, v1alpha1.ReasonResourcesNotDiscovered, v1alpha1.ReasonCachesStale}

// Status observes the status of a controller: whether it can run.
func (p *progress) Status(o *object.Object) {
	p.Reporter.Status(o)
	ready := report.Ready(o)
	if ready == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	state := p.controllers[spec.IDOf(o)]
	switch {
	case ready.Reason == v1alpha1.ReasonPaused:
		state = controllerState{loaded: true}
	case ready.Status == metav1.ConditionTrue:
		state.problem, state.waiting = "", ""
	case slices.Contains(temporary, ready.Reason):
		state.waiting = ready.Message
	case !state.loaded:
		state.problem = ready.Reason
	}
	p.controllers[spec.IDOf(o)] = state
	p.check()
}

// check closes the channel ended if nothing is pending. The caller holds the lock.
func (p *progress) check() {
	if pending, _ := p.results(); len(pending) > 0 {
		return
	}
	select {
	case <-p.ended:
	default:
		close(p.ended)
	}
}

// results returns a text about each controller and each parent that is pending, and about each that has failed, both sorted. The caller
// holds the lock.
func (p *progress) results() (pending, failed []string) {
	for id, c := range p.controllers {
		switch {
		case c.problem != "":
			failed = append(failed, id.String()+" does not run: "+c.problem)
		case !c.loaded:
			pending = append(pending, id.String()+" does not run yet: "+c.waiting)
		}
	}
	for about, parent := range p.parents {
		name := about.Parent.Kind.Kind + " " + about.Parent.String()
		switch {
		case parent.rounds >= maxRounds:
			failed = append(failed, fmt.Sprintf("%s was changed in %d reconciles in a row", name, parent.rounds))
		case parent.failed():
			failed = append(failed, name+" failed")
		case !parent.settled:
			pending = append(pending, name+" is not settled")
		}
	}
	slices.Sort(pending)
	slices.Sort(failed)
	return pending, failed
}

// wait waits until nothing is pending, and prints the result. It returns an error if something has failed, or is still pending after
// timeout, or when ctx is done.
func (p *progress) wait(ctx context.Context, timeout time.Duration) error {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	late := ""
	select {
	case <-p.ended:
	case <-timer.C:
		late = fmt.Sprintf("after %s: ", timeout)
	case <-ctx.Done():
		late = "interrupted: "
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	pending, failed := p.results()
	if late != "" {
		failed = append(failed, pending...)
	}
	if len(failed) > 0 {
		return errors.New(late + strings.Join(failed, "; "))
	}
	p.Print(fmt.Sprintf("settled: %s", count(len(p.parents), "parent")))
	return nil
}

// count returns a number with a noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
