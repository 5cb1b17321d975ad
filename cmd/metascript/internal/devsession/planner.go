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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/cmd/metascript/internal/changeplan"
	"metascript/cmd/metascript/internal/report"
	"metascript/controller"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/binding"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/plan"
	"metascript/controller/spec"
	"metascript/controller/static"
	"metascript/engine"
)

// A planner observes the server of one version of the controllers, and collects the plan of each parent. Its methods may be called
// concurrently. A parent is planned once.
type planner struct {
	options *Planning
	failure func(controller string, err error) string // returns the text of an error
	explain func(controller *object.Object) string    // returns what prevents a controller from running

	mu          sync.Mutex // guards the fields below
	controllers map[spec.ID]controllerState
	parents     map[observe.About]*plannedParent
	started     time.Time
	ended       chan struct{} // closed when nothing is pending
}

// A plannedParent is the state of the plan of one parent.
type plannedParent struct {
	changeplan.Reconcile
	controller string
	paused     bool
	attempts   int // how many reconciles in a row have failed
	done       bool
	failed     string
	writes     []*changeplan.Write
}

func newPlanner(p *Planning, failure func(string, error) string, explain func(*object.Object) string) *planner {
	return &planner{
		options: p, failure: failure, explain: explain,
		controllers: map[spec.ID]controllerState{}, parents: map[observe.About]*plannedParent{}, started: time.Now(), ended: make(chan struct{}),
	}
}

// server returns a server for the controllers in objects, which p observes.
func (p *planner) server(o controller.Options, objects []*object.Object) (*controller.Server, error) {
	for _, c := range objects {
		p.controllers[spec.IDOf(c)] = controllerState{waiting: "it is not loaded"}
	}
	source := &static.Source{OnStatus: p.Status}
	o.Static, o.Only, o.Observer = source, p.wants, p
	server, err := controller.New(o)
	if err == nil {
		source.Set(objects)
	}
	return server, err
}

// run runs the server until nothing is pending.
func (p *planner) run(ctx context.Context, server *controller.Server) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-p.ended:
				cancel()
				return
			case <-ctx.Done():
				return
			case <-tick.C:
				p.giveUpWaiting()
			}
		}
	})
	err := server.Run(ctx)
	cancel()
	watching.Wait()
	return err
}

// wants reports whether a parent is still to be planned.
func (p *planner) wants(ref object.Ref) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.controllers {
		if parent := p.parents[observe.About{Kind: id.Kind, Controller: id.Name, Parent: ref}]; parent != nil && !parent.done {
			return true
		}
	}
	return false
}

// selects reports whether a parent is part of the plan.
func (p *planner) selects(parent *object.Object) bool {
	o := p.options
	return (o.Parent == "" || o.Parent == parent.GetName()) && (o.Namespace == "" || o.Namespace == parent.GetNamespace()) &&
		(o.Labels == nil || o.Labels.Matches(object.LabelsOf(parent)))
}

// Loaded implements observe.Observer. The parents that exist now are planned.
func (p *planner) Loaded(o *object.Object, parents iter.Seq[*object.Object]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for parent := range parents {
		about := observe.About{Kind: o.GetKind(), Controller: o.GetName(), Parent: object.RefOf(parent).Clone()}
		if p.selects(parent) && p.parents[about] == nil {
			p.parents[about] = &plannedParent{controller: object.Describe(o), paused: binding.IsPaused(parent)}
		}
	}
	state := p.controllers[spec.IDOf(o)]
	state.loaded = true
	p.controllers[spec.IDOf(o)] = state
	p.check()
}

// pending returns the state of a parent that is not planned yet; nil if it is. The caller holds the lock.
func (p *planner) pending(about observe.About) *plannedParent {
	if parent := p.parents[about]; parent != nil && !parent.done {
		return parent
	}
	return nil
}

// Wrote implements observe.Observer.
func (p *planner) Wrote(about observe.About, w observe.Write) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if parent := p.pending(about); parent != nil {
		parent.Wrote(about.Parent, w)
	}
}

// Rolling implements observe.PlanObserver.
func (p *planner) Rolling(about observe.About, writes []observe.Write) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if parent := p.pending(about); parent != nil {
		parent.Rolling(writes)
	}
}

// Suppressed implements observe.PlanObserver.
func (p *planner) Suppressed(about observe.About, left []plan.Op) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if parent := p.pending(about); parent != nil {
		parent.Suppressed(left)
	}
}

// Reconciled implements observe.Observer. A reconcile that is repeated soon, or was canceled, has no result.
func (p *planner) Reconciled(about observe.About, failed error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	parent := p.pending(about)
	if parent == nil {
		return
	}
	collected := parent.Reconcile
	parent.Reconcile = changeplan.Reconcile{}
	if errors.Is(failed, context.Canceled) {
		return
	}
	if failed != nil {
		if parent.attempts++; parent.attempts < attemptsFor(failed) {
			return
		}
		parent.failed = p.failure(about.Controller, failed)
	}
	parent.done, parent.writes = true, collected.Writes()
	p.check()
}

// attemptsFor returns how often a reconcile is tried that fails with an error.
func attemptsFor(err error) int {
	var script *engine.Error
	switch {
	case observe.Unsettled(err):
		return maxRounds
	case errors.As(err, &script), apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err), apierrors.IsNotFound(err):
		return 1
	}
	return maxFailures
}

// Dropped implements observe.Observer.
func (p *planner) Dropped(about observe.About) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if parent := p.parents[about]; parent != nil && parent.failed == "" && len(parent.writes) == 0 {
		delete(p.parents, about)
	}
	p.check()
}

// Printed implements observe.Observer. What scripts print is not part of a plan.
func (p *planner) Printed(observe.About, string, engine.Message) {}

// Event implements observe.Observer. Events are not part of a plan.
func (p *planner) Event(*object.Object, kube.Event) {}

// Status observes the status of a controller: whether it runs as it is written.
func (p *planner) Status(o *object.Object) {
	ready := report.Ready(o)
	if ready == nil {
		return
	}
	problem := p.explain(o)
	p.mu.Lock()
	defer p.mu.Unlock()
	state := p.controllers[spec.IDOf(o)]
	switch {
	case ready.Reason == v1alpha1.ReasonPaused:
		state.loaded = true
	case ready.Status == metav1.ConditionTrue:
		state.problem, state.waiting = "", ""
	case ready.Reason != v1alpha1.ReasonStarting && ready.Reason != v1alpha1.ReasonCachesStale, strings.Contains(ready.Message, "forbidden"):
		state.problem = problem
	default:
		state.waiting = ready.Message
	}
	p.controllers[spec.IDOf(o)] = state
	p.check()
}

// startTimeout is how long a controller may take to fill its caches while there is an error. Then it is one that does not run.
const startTimeout = 30 * time.Second

// giveUpWaiting ends the wait for controllers that do not start.
func (p *planner) giveUpWaiting() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.started) < startTimeout {
		return
	}
	for id, state := range p.controllers {
		if _, failing, found := strings.Cut(state.waiting, ": "); !state.loaded && found {
			state.problem = id.String() + " does not start: " + failing
			p.controllers[id] = state
		}
	}
	p.check()
}

// check closes the channel ended if nothing is pending. The caller holds the lock.
func (p *planner) check() {
	if p.isPending() {
		return
	}
	select {
	case <-p.ended:
	default:
		close(p.ended)
	}
}

// isPending reports whether a controller or a parent is not planned yet. The caller holds the lock.
func (p *planner) isPending() bool {
	for _, c := range p.controllers {
		if !c.loaded && c.problem == "" {
			return true
		}
	}
	for about, parent := range p.parents {
		if !parent.done && !p.hasProblem(about.Controller) {
			return true
		}
	}
	return false
}

// hasProblem reports whether a controller does not run as it is written. The caller holds the lock.
func (p *planner) hasProblem(controller string) bool {
	for id, c := range p.controllers {
		if id.Name == controller {
			return c.problem != ""
		}
	}
	return false
}

// incomplete reports whether the plan has ended before it was complete.
func (p *planner) incomplete() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.isPending()
}

// problem returns why a controller does not run; "" if it does.
func (p *planner) problem(of spec.ID) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.controllers[of].problem
}

// plans returns the plans of the parents of the controllers that run.
func (p *planner) plans() (all []*changeplan.ParentPlan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for about, parent := range p.parents {
		if !p.hasProblem(about.Controller) {
			all = append(all, &changeplan.ParentPlan{
				Controller: parent.controller, Parent: about.Parent, Paused: parent.paused, Pending: !parent.done, Error: parent.failed, Writes: parent.writes,
			})
		}
	}
	return all
}

// progressText returns how far the plan is, for a person who waits.
func (p *planner) progressText() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	planned := 0
	for _, parent := range p.parents {
		if parent.done {
			planned++
		}
	}
	text := fmt.Sprintf("planned %d of %s", planned, count(len(p.parents), "parent"))
	var waiting []string
	for id, c := range p.controllers {
		if !c.loaded && c.problem == "" {
			waiting = append(waiting, id.String()+": "+c.waiting)
		}
	}
	slices.Sort(waiting)
	return strings.Join(append([]string{text}, waiting...), "; ")
}
