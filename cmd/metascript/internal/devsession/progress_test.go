package devsession

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"metascript/cmd/metascript/internal/report"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/plan"
	"metascript/controller/spec"
)

// A step is one call of the server to a progress, about one of two parents.
type step func(p *progress, of observe.About)

func written(p *progress, of observe.About) {
	o := object.New(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}})
	p.Wrote(of, observe.Write{Op: plan.Op{Verb: plan.Create, Object: o}, Stored: o})
}

func reconciled(p *progress, of observe.About) { p.Reconciled(of, nil) }

func failedWith(err error) step { return func(p *progress, of observe.About) { p.Reconciled(of, err) } }

// repeated returns the steps n times.
func repeated(n int, steps ...step) []step { return slices.Repeat(steps, n) }

func TestProgress(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name            string
		dryRun          bool
		steps           []step
		pending, failed string
	}{
		{"nothing happened", false, nil, "Site default/web is not settled", ""},
		{"without a change", false, []step{reconciled}, "", ""},
		{"a change", false, []step{written, reconciled}, "Site default/web is not settled", ""},
		{"no change any more", false, []step{written, reconciled, reconciled}, "", ""},
		{"a change afterwards", false, []step{reconciled, written, reconciled}, "Site default/web is not settled", ""},
		{"a change in a dry run", true, []step{written, reconciled}, "", ""},
		{"two failures", false, repeated(2, failedWith(broken)), "Site default/web is not settled", ""},
		{"three failures", false, repeated(3, failedWith(broken)), "", "Site default/web failed"},
		{"three failures in a dry run", true, repeated(3, failedWith(broken)), "", "Site default/web failed"},
		{"not in a row", false, append(repeated(2, failedWith(broken)), reconciled), "", ""},
		{"conflicts do not count", false, repeated(9, failedWith(kube.ErrRequeue)), "Site default/web is not settled", ""},
		{"a change before a conflict", false, []step{written, failedWith(kube.ErrRequeue), reconciled}, "Site default/web is not settled", ""},
		{"a change each time", false, repeated(maxRounds, written, reconciled), "", "Site default/web was changed in 20 reconciles in a row"},
		{"a parent that is dropped", false, []step{func(p *progress, of observe.About) { p.Dropped(of) }}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, web := oneParent(c.dryRun)
			for _, step := range c.steps {
				step(p, web)
			}
			pending, failed := p.results()
			if got := strings.Join(pending, "; "); got != c.pending {
				t.Errorf("pending: %q, want %q", got, c.pending)
			}
			if got := strings.Join(failed, "; "); got != c.failed {
				t.Errorf("failed: %q, want %q", got, c.failed)
			}
		})
	}
}

// oneParent returns the progress of a controller that has loaded with one selected parent.
func oneParent(dryRun bool) (*progress, observe.About) {
	site := func(name string) *object.Object {
		return object.New(map[string]any{"apiVersion": "example.com/v1", "kind": "Site", "metadata": map[string]any{"namespace": "default", "name": name}})
	}
	web := observe.About{Kind: "CompositeController", Controller: "c", Parent: object.RefOf(site("web"))}
	p := newProgress(report.New(new(strings.Builder), dryRun), func(r object.Ref) bool { return r.Name == "web" }, dryRun)
	p.start([]spec.ID{{Kind: "CompositeController", Name: "c"}})
	p.Loaded(controllerNamed("c", nil), seq(site("web"), site("other")))
	return p, web
}

func seq(objects ...*object.Object) iter.Seq[*object.Object] { return slices.Values(objects) }

// controllerNamed returns a controller with a condition Ready; nil means none.
func controllerNamed(name string, ready map[string]any) *object.Object {
	o := object.New(map[string]any{"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "CompositeController", "metadata": map[string]any{"name": name}})
	if ready != nil {
		o.Map()["status"] = map[string]any{"conditions": []any{ready}}
	}
	return o
}

func TestProgressOfControllers(t *testing.T) {
	ready := func(status, reason, message string) map[string]any {
		return map[string]any{"type": "Ready", "status": status, "reason": reason, "message": message}
	}
	for _, c := range []struct {
		name            string
		ready           map[string]any
		pending, failed string
	}{
		{"no status", nil, "CompositeController c does not run yet: it is not loaded", ""},
		{"it waits", ready("False", "ResourcesNotDiscovered", "no sites"), "CompositeController c does not run yet: no sites", ""},
		{"it cannot run", ready("False", "ScriptNotReady", "a text"), "", "CompositeController c does not run: ScriptNotReady"},
		{"it is paused", ready("True", "Paused", ""), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProgress(report.New(new(strings.Builder), false), nil, false)
			p.start([]spec.ID{{Kind: "CompositeController", Name: "c"}})
			p.Status(controllerNamed("c", c.ready))
			pending, failed := p.results()
			if got := strings.Join(pending, "; ") + "|" + strings.Join(failed, "; "); got != c.pending+"|"+c.failed {
				t.Errorf("got %s, want %s|%s", got, c.pending, c.failed)
			}
		})
	}
}

func TestWaitSaysWhatIsPending(t *testing.T) {
	p, web := oneParent(false)
	if err := p.wait(t.Context(), time.Millisecond); err == nil || err.Error() != "after 1ms: Site default/web is not settled" {
		t.Errorf("error %v", err)
	}
	p.Reconciled(web, nil)
	if err := p.wait(t.Context(), time.Hour); err != nil {
		t.Error(err)
	}
}
