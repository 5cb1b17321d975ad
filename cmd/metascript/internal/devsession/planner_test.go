package devsession

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/cmd/metascript/internal/changeplan"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/plan"
	"metascript/controller/spec"
	"metascript/engine"
)

// planning returns a planner of a controller c, and the parent that it has.
func planning(options *Planning) (*planner, observe.About) {
	p := newPlanner(options, func(_ string, err error) string { return err.Error() }, func(*object.Object) string { return "it does not run" })
	p.controllers[spec.ID{Kind: "CompositeController", Name: "c"}] = controllerState{waiting: "it is not loaded"}
	site := object.New(map[string]any{"apiVersion": "example.com/v1", "kind": "Site", "metadata": map[string]any{"namespace": "default", "name": "web", "labels": map[string]any{"tier": "gold"}}})
	p.Loaded(controllerNamed("c", nil), seq(site))
	return p, observe.About{Kind: "CompositeController", Controller: "c", Parent: object.RefOf(site)}
}

func (p *planner) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// A parent is planned once: what it does later is not part of the plan.
func TestParentIsPlannedOnce(t *testing.T) {
	p, web := planning(&Planning{})
	if !p.wants(web.Parent) || p.hasEnded() {
		t.Error("the parent is planned already")
	}
	child := object.New(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "default", "name": "x"}})
	write := observe.Write{Op: plan.Op{Verb: plan.Create, Object: child}, Stored: child}
	p.Wrote(web, write)
	p.Reconciled(web, kube.ErrRequeue) // it is repeated, and what it wrote does not count
	p.Wrote(web, write)
	p.Reconciled(web, nil)
	if p.wants(web.Parent) || !p.hasEnded() || p.incomplete() {
		t.Error("the plan has not ended")
	}
	p.Wrote(web, write)
	p.Reconciled(web, errors.New("later"))
	plans := p.plans()
	if len(plans) != 1 || len(plans[0].Writes) != 1 || plans[0].Error != "" {
		t.Errorf("plans %+v", plans)
	}
}

func TestHowOftenAParentIsTried(t *testing.T) {
	sites := schema.GroupResource{Group: "example.com", Resource: "sites"}
	for _, c := range []struct {
		err  error
		want int
	}{
		{fmt.Errorf("sync: %w", &engine.Error{Msg: "no"}), 1},
		{apierrors.NewForbidden(sites, "web", nil), 1},
		{errors.New("connection refused"), maxFailures},
		{apierrors.NewInternalError(errors.New("no")), maxFailures},
		{kube.ErrRequeue, maxRounds},
	} {
		p, web := planning(&Planning{})
		tries := 0
		for ; !p.hasEnded(); tries++ {
			p.Reconciled(web, context.Canceled) // is no attempt
			p.Reconciled(web, c.err)
		}
		if plans := p.plans(); tries != c.want || plans[0].Error != c.err.Error() {
			t.Errorf("%v: tried %d times, want %d; plan %+v", c.err, tries, c.want, plans[0])
		}
	}
}

func TestParentsOfAPlanAreSelected(t *testing.T) {
	for _, c := range []struct {
		options PlanOptions
		want    int
	}{
		{PlanOptions{}, 1}, {PlanOptions{Parent: "web"}, 1}, {PlanOptions{Parent: "w"}, 0}, {PlanOptions{Namespace: "default"}, 1}, {PlanOptions{Namespace: "other"}, 0},
		{PlanOptions{Labels: labels.SelectorFromSet(labels.Set{"tier": "gold"})}, 1}, {PlanOptions{Labels: labels.SelectorFromSet(labels.Set{"tier": "silver"})}, 0},
	} {
		p, _ := planning(&Planning{PlanOptions: c.options})
		if got := len(p.plans()); got != c.want || p.hasEnded() != (c.want == 0) {
			t.Errorf("%+v: %d parents, want %d", c.options, got, c.want)
		}
	}
}

// A controller that does not run has no plan, also if an earlier version of it runs.
func TestControllersWithoutPlan(t *testing.T) {
	ready := func(status, reason, message string) map[string]any {
		return map[string]any{"type": "Ready", "status": status, "reason": reason, "message": message}
	}
	for _, c := range []struct {
		ready   map[string]any
		problem string
		plans   int
	}{
		{nil, "", 1},
		{ready("False", "Starting", "its caches are being filled"), "", 1},
		{ready("False", "Starting", "its caches are being filled: sites is forbidden"), "it does not run", 0},
		{ready("False", "RunningPreviousVersion", "an error"), "it does not run", 0},
		{ready("False", "ResourcesNotDiscovered", "no sites"), "it does not run", 0},
		{ready("True", "Paused", ""), "", 1},
	} {
		p, web := planning(&Planning{})
		p.Status(controllerNamed("c", c.ready))
		if got := p.problem(spec.ID{Kind: "CompositeController", Name: "c"}); got != c.problem || len(p.plans()) != c.plans || p.hasEnded() != (c.plans == 0) {
			t.Errorf("%v: problem %q with %d plans", c.ready, got, len(p.plans()))
		}
		if p.Reconciled(web, nil); !p.hasEnded() {
			t.Errorf("%v: the plan does not end", c.ready)
		}
	}
}

func TestInterruptedPlanHasWhatIsKnown(t *testing.T) {
	p, _ := planning(&Planning{})
	d := changeplan.New(changeplan.AgainstCluster, nil, p.plans(), true)
	want := changeplan.ParentCounts{Total: 1, Pending: 1}
	if diff := cmp.Diff(want, d.Summary.Parents); diff != "" || d.Complete || d.Problem() == "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if text := p.progressText(); text != "planned 0 of 1 parent" {
		t.Errorf("progress: %s", text)
	}
}
