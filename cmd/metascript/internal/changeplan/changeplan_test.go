package changeplan

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/cmd/metascript/internal/style"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/observe"
	"metascript/controller/plan"
	"metascript/controller/redact"
	"metascript/controller/restarts"
)

var parse = objecttest.ParseObject

// site is the parent of most tests.
func site(name string) object.Ref {
	return object.Ref{Kind: object.Kind{Group: "example.com", Version: "v1", Kind: "Site"}, Key: object.Key{Namespace: "default", Name: name}}
}

func siteObject(t *testing.T, rest string) *object.Object {
	return parse(t, "{apiVersion: example.com/v1, kind: Site, metadata: {namespace: default, name: web"+rest+"}")
}

const owner = `, ownerReferences: [{apiVersion: example.com/v1, kind: Site, name: web, uid: u, controller: true}]`

// page returns a ConfigMap with a text.
func page(t *testing.T, name, text, metadata string) *object.Object {
	return parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: "+name+metadata+"}, data: {text: "+text+"}}")
}

func pod(t *testing.T, image string) *object.Object {
	return parse(t, "{apiVersion: v1, kind: Pod, metadata: {namespace: default, name: p"+owner+"}, spec: {containers: [{name: c, image: "+image+"}]}}")
}

// done returns a write that was done.
func done(verb plan.Verb, why string, before, after *object.Object) observe.Write {
	o := after
	if o == nil {
		o = before
	}
	return observe.Write{Op: plan.Op{Verb: verb, Object: o, Why: why}, Before: before, Stored: o}
}

// plansOf returns the plan of one parent.
func plansOf(name string, writes ...observe.Write) []*ParentPlan {
	var r Reconcile
	for _, w := range writes {
		r.Wrote(site(name), w)
	}
	return []*ParentPlan{{Controller: "CompositeController sites", Parent: site(name), Writes: r.Writes()}}
}

// shapes returns the changes of a document, a line each.
func shapes(d *Document) (all []string) {
	for _, p := range d.Parents {
		for _, c := range p.Changes {
			line := strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Action, c.describe(), strings.Join(c.Fields, ",")))
			if c.Restart != "" {
				line += " restart=" + string(c.Restart)
			}
			if c.Pods != nil {
				line += fmt.Sprintf(" pods=%d", *c.Pods)
			}
			if c.Rolling != "" {
				line += " rolling=" + string(c.Rolling)
			}
			if c.Live != "" {
				line += " live=" + string(c.Live)
			}
			all = append(all, line)
		}
	}
	return all
}

func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestActions(t *testing.T) {
	recreated := done(plan.Delete, "to be recreated: spec differs", pod(t, "a"), nil)
	recreated.Replacement, recreated.Updated = pod(t, "b"), pod(t, "b")
	immutable := done(plan.DryRun, "spec differs", pod(t, "a"), nil)
	immutable.Stored, immutable.Err = nil, plan.ErrImmutable
	deleted := done(plan.Delete, "to be recreated: spec.containers[0].image differs, and it cannot be changed in place", pod(t, "a"), nil)
	deleted.Differs = plan.Path{"spec", "containers"}
	seen := done(plan.DryRun, "spec differs", pod(t, "a"), pod(t, "c"))
	failed := done(plan.Create, "desired and missing", nil, page(t, "x", "a", ""))
	failed.Err = errors.New("no")
	apply := done(plan.Apply, "desired and missing", nil, page(t, "x", "a", ""))
	for _, c := range []struct {
		name   string
		writes []observe.Write
		want   []string
	}{
		{"nothing", nil, nil},
		{"a failed write", []observe.Write{failed}, nil},
		{"a creation", []observe.Write{done(plan.Create, "desired and missing", nil, page(t, "x", "a", owner))}, []string{"create ConfigMap default/x"}},
		{"a creation by apply", []observe.Write{apply}, []string{"create ConfigMap default/x"}},
		{"an update", []observe.Write{done(plan.Update, "data.text differs", page(t, "x", "a", owner), page(t, "x", "b", owner))}, []string{"update ConfigMap default/x data.text"}},
		{"a deletion", []observe.Write{done(plan.Delete, "no longer desired", page(t, "x", "a", owner), nil)}, []string{"delete ConfigMap default/x"}},
		{"a recreation", []observe.Write{recreated}, []string{"recreate Pod default/p spec.containers[0].image restart=recreated pods=1"}},
		{"a recreation because a field is immutable", []observe.Write{immutable, deleted}, []string{"recreate Pod default/p spec.containers restart=recreated pods=1"}},
		{"a recreation after a dry run of an apply", []observe.Write{seen, deleted}, []string{"recreate Pod default/p spec.containers[0].image restart=recreated pods=1"}},
		{"a dry run of an apply that changes nothing", []observe.Write{seen}, nil},
		{"an adoption and an update", []observe.Write{
			done(plan.Update, "adopted by Site default/web", page(t, "x", "a", ""), page(t, "x", "a", owner)),
			done(plan.Update, "data.text differs", page(t, "x", "a", ""), page(t, "x", "b", owner)),
		}, []string{"adopt ConfigMap default/x metadata.ownerReferences", "update ConfigMap default/x data.text"}},
		{"a release", []observe.Write{done(plan.Update, "released", page(t, "x", "a", owner), page(t, "x", "a", ""))}, []string{"release ConfigMap default/x metadata.ownerReferences"}},
		{"the parent", []observe.Write{
			done(plan.Update, "finalizers: there is a finalize hook", siteObject(t, "}"), siteObject(t, ", finalizers: [f]}")),
			done(plan.Update, "the hook's answer", siteObject(t, "}"), siteObject(t, ", finalizers: [f], labels: {a: b}}")),
			done(plan.UpdateStatus, "the hook's answer", siteObject(t, "}"), siteObject(t, "}, status: {n: 1}")),
		}, []string{"finalizer Site default/web metadata.finalizers", "decorate Site default/web metadata.labels", "status Site default/web status"}},
		{"a revision", []observe.Write{done(plan.Create, "a new revision", nil, parse(t, "{apiVersion: metacontroller.k8s.io/v1alpha1, kind: ControllerRevision, metadata: {namespace: default, name: r}}"))},
			[]string{"revision ControllerRevision default/r"}},
	} {
		d := New(AgainstCluster, nil, plansOf("web", c.writes...), true)
		expect(t, c.name, shapes(d), c.want)
		if d.Changes() != (c.want != nil) {
			t.Errorf("%s: Changes returns %v", c.name, d.Changes())
		}
	}
}

func TestRestarts(t *testing.T) {
	workload := func(kind, spec, status, image string) *object.Object {
		return parse(t, "{apiVersion: "+kind+", metadata: {namespace: default, name: w"+owner+"}, spec: {"+spec+"template: {spec: {containers: [{image: "+image+"}]}}}, status: {"+status+"}}")
	}
	update := func(kind, spec, status string) observe.Write {
		return done(plan.Update, "spec differs", workload(kind, spec, status, "a"), workload(kind, spec, status, "b"))
	}
	scaled := done(plan.Update, "spec.replicas differs", workload("apps/v1, kind: Deployment", "replicas: 1, ", "", "a"), workload("apps/v1, kind: Deployment", "replicas: 3, ", "", "a"))
	recreated := done(plan.Delete, "to be recreated", workload("apps/v1, kind: Deployment", "replicas: 2, ", "", "a"), nil)
	recreated.Replacement = workload("apps/v1, kind: Deployment", "replicas: 2, ", "", "b")
	job := done(plan.Delete, "to be recreated", workload("batch/v1, kind: Job", "", "", "a"), nil)
	job.Replacement = job.Object
	cron := func(image string) *object.Object {
		return parse(t, "{apiVersion: batch/v1, kind: CronJob, metadata: {namespace: default, name: w}, spec: {jobTemplate: {spec: {template: {spec: {containers: [{image: "+image+"}]}}}}}}")
	}
	labeled := pod(t, "a")
	labeled.SetLabels(map[string]string{"a": "b"})
	for _, c := range []struct {
		name  string
		write observe.Write
		how   restarts.How
		pods  int // -1: not known
	}{
		{"a template", update("apps/v1, kind: Deployment", "replicas: 3, ", ""), restarts.Replaced, 3},
		{"replicas in the status", update("apps/v1, kind: Deployment", "replicas: 3, ", "replicas: 5"), restarts.Replaced, 5},
		{"no replicas", update("apps/v1, kind: StatefulSet", "", ""), restarts.Replaced, 1},
		{"all at once", update("apps/v1, kind: Deployment", "strategy: {type: Recreate}, ", ""), restarts.ReplacedAt, 1},
		{"a paused Deployment", update("apps/v1, kind: Deployment", "paused: true, ", ""), restarts.Held, -1},
		{"OnDelete", update("apps/v1, kind: DaemonSet", "updateStrategy: {type: OnDelete}, ", "desiredNumberScheduled: 4"), restarts.Held, -1},
		{"a DaemonSet", update("apps/v1, kind: DaemonSet", "", "desiredNumberScheduled: 4"), restarts.Replaced, 4},
		{"a DaemonSet without a status", update("apps/v1, kind: DaemonSet", "", ""), restarts.Replaced, -1},
		{"a ReplicaSet", update("apps/v1, kind: ReplicaSet", "", ""), restarts.NewPods, -1},
		{"a CronJob", done(plan.Update, "spec differs", cron("a"), cron("b")), restarts.NewPods, -1},
		{"a recreated Deployment", recreated, restarts.Recreated, 2},
		{"a recreated Job", job, restarts.Recreated, -1},
		{"replicas only", scaled, "", -1},
		{"an image of a Pod", done(plan.Update, "spec differs", pod(t, "a"), pod(t, "b")), restarts.Containers, 1},
		{"a label of a Pod", done(plan.Update, "metadata.labels differs", pod(t, "a"), labeled), "", -1},
	} {
		change := New(AgainstCluster, nil, plansOf("web", c.write), true).Parents[0].Changes[0]
		pods := -1
		if change.Pods != nil {
			pods = *change.Pods
		}
		if change.Restart != c.how || pods != c.pods {
			t.Errorf("%s: %q with %d Pods, want %q with %d", c.name, change.Restart, pods, c.how, c.pods)
		}
	}
}

func TestRollingUpdate(t *testing.T) {
	named := func(name, text string) *object.Object { return page(t, name, text, owner) }
	var r Reconcile
	r.Rolling([]observe.Write{
		done(plan.Update, "data.text differs", named("a", "1"), named("a", "2")),
		done(plan.Update, "data.text differs", named("b", "1"), named("b", "2")),
		{Op: plan.Op{Verb: plan.DryRun, Object: named("c", "2"), Why: "data.text differs", Differs: plan.Path{"data", "text"}}, Before: named("c", "1")},
	})
	r.Wrote(site("web"), done(plan.Update, "data.text differs", named("a", "1"), named("a", "2")))
	r.Suppressed([]plan.Op{{Observed: pod(t, "a"), Differs: plan.Path{"spec"}}})
	d := New(AgainstCluster, nil, []*ParentPlan{{Controller: "c", Parent: site("web"), Writes: r.Writes()}}, true)
	expect(t, "changes", shapes(d), []string{
		"update ConfigMap default/a data.text rolling=now", "suppressed Pod default/p spec",
		"update ConfigMap default/b data.text rolling=later", "recreate ConfigMap default/c data.text rolling=later",
	})
	expect(t, "sums", d.Summary.Rolling, []RollingCount{{"v1", "ConfigMap", 1, 2}})
	if text := d.Text(style.Styler{}, false); !strings.Contains(text, "rolling    3 ConfigMaps one at a time: 1 in the first step, 2 later\n") {
		t.Errorf("text:\n%s", text)
	}
}

// Differences that are only suppressed are no change.
func TestSuppressedIsNoChange(t *testing.T) {
	var r Reconcile
	r.Suppressed([]plan.Op{{Observed: pod(t, "a"), Differs: plan.Path{"spec"}}})
	d := New(AgainstCluster, nil, []*ParentPlan{{Controller: "c", Parent: site("web"), Writes: r.Writes()}}, true)
	if d.Changes() || len(d.Parents) != 1 || d.Parents[0].Result != Unchanged {
		t.Errorf("document %+v", d)
	}
}

func TestResults(t *testing.T) {
	changed := plansOf("changed", done(plan.Create, "", nil, page(t, "x", "a", owner)))[0]
	failed := plansOf("failed", done(plan.Create, "", nil, page(t, "x", "a", owner)))[0]
	failed.Error = "sync.star:1:2: no"
	d := New(AgainstCluster, nil, []*ParentPlan{
		{Parent: site("unchanged")}, {Parent: site("paused"), Paused: true}, {Parent: site("pending"), Pending: true}, failed, changed,
	}, true)
	expect(t, "counts", d.Summary.Parents, ParentCounts{Total: 5, Changed: 1, Unchanged: 1, Failed: 1, Paused: 1, Pending: 1})
	expect(t, "the problem", d.Problem(), "1 parent cannot be planned; the plan is not complete")
	expect(t, "sums", d.Summary.Changes, []Count{{Create, "v1", "ConfigMap", 1}})
	broken := New(AgainstCluster, []Controller{{Kind: "CompositeController", Name: "c", Problem: "no"}}, nil, true)
	expect(t, "the problem of a controller", broken.Problem(), "1 controller cannot be planned")
	if good := New(AgainstCluster, nil, nil, true); good.Problem() != "" || good.Changes() {
		t.Errorf("an empty plan: %+v", good)
	}
}

func TestAgainst(t *testing.T) {
	text := func(name, before, after string) observe.Write {
		return done(plan.Update, "data.text differs", page(t, name, before, owner), page(t, name, after, owner))
	}
	gone := func(name string) observe.Write {
		return done(plan.Delete, "no longer desired", page(t, name, "a", owner), nil)
	}
	status := func(at string) observe.Write {
		return done(plan.UpdateStatus, "", siteObject(t, "}"), siteObject(t, `}, status: {at: "`+at+`"}`))
	}
	image := func(image string) observe.Write {
		w := done(plan.Delete, "to be recreated", pod(t, "a"), nil)
		w.Replacement, w.Updated = pod(t, image), pod(t, image)
		return w
	}
	for _, c := range []struct {
		name         string
		edited, live []observe.Write
		want         []string
		drift        int
	}{
		{"the same", []observe.Write{text("x", "a", "b")}, []observe.Write{text("x", "a", "b")}, nil, 1},
		{"the same deletion", []observe.Write{gone("x")}, []observe.Write{gone("x")}, nil, 1},
		{"times only", []observe.Write{status("2026-01-01T00:00:00Z")}, []observe.Write{status("2026-01-01T00:00:01Z")}, nil, 1},
		{"only the edit", []observe.Write{text("x", "a", "b"), gone("z")}, []observe.Write{text("x", "a", "b")}, []string{"delete ConfigMap default/z"}, 1},
		{"another result", []observe.Write{text("x", "a", "c")}, []observe.Write{text("x", "a", "b")}, []string{"update ConfigMap default/x data.text live=update"}, 0},
		{"another action", []observe.Write{gone("x")}, []observe.Write{text("x", "a", "b")}, []string{"delete ConfigMap default/x live=update"}, 0},
		{"only live", nil, []observe.Write{text("x", "a", "b")}, []string{"leave ConfigMap default/x data.text live=update"}, 0},
		{"only live deletes", nil, []observe.Write{gone("x")}, []string{"leave ConfigMap default/x live=delete"}, 0},
		{"both restart", []observe.Write{image("c")}, []observe.Write{image("b")}, []string{"recreate Pod default/p spec.containers[0].image live=recreate"}, 0},
		{"the edit restarts", []observe.Write{image("c")}, nil, []string{"recreate Pod default/p spec.containers[0].image restart=recreated pods=1"}, 0},
	} {
		plans := plansOf("web", c.edited...)
		Against(plans, plansOf("web", c.live...))
		d := New(AgainstLive, nil, plans, true)
		expect(t, c.name, shapes(d), c.want)
		if plans[0].Drift != c.drift || d.Changes() != (c.want != nil) {
			t.Errorf("%s: drift %d, changes %v", c.name, plans[0].Drift, d.Changes())
		}
	}
}

func TestFailedLiveParentIsNotCompared(t *testing.T) {
	plans, live := plansOf("web", done(plan.Create, "", nil, page(t, "x", "a", owner))), plansOf("web", done(plan.Create, "", nil, page(t, "x", "a", owner)))
	live[0].Error = "no"
	Against(plans, live)
	expect(t, "changes", shapes(New(AgainstLive, nil, plans, true)), []string{"create ConfigMap default/x"})
}

func TestGroups(t *testing.T) {
	var plans []*ParentPlan
	for i := range 2000 {
		name := fmt.Sprintf("s-%04d", i)
		plans = append(plans, plansOf(name, done(plan.Update, "data.text differs", page(t, name, "a", owner), page(t, name, "b", owner)))...)
	}
	plans = append(plans, plansOf("odd", done(plan.Delete, "no longer desired", page(t, "x", "a", owner), nil))...)
	failed := plansOf("fails-1")[0]
	failed.Error = "sync.star:3:5: fails-1 is bad\n    x\n    ^"
	again := plansOf("fails-2")[0]
	again.Error = "sync.star:3:5: fails-2 is bad\n    x\n    ^"
	plans = append(plans, failed, again)
	d := New(AgainstCluster, []Controller{{Kind: "CompositeController", Name: "sites", Notes: []string{"the plan calls its webhooks"}}}, plans, false)
	want := `CompositeController sites: the plan calls its webhooks
- delete 1 ConfigMap of 1 parent
  of Site default/odd
  for example ConfigMap default/x: no longer desired

~ update 2000 ConfigMaps of 2000 parents: data.text
  of Site default/s-0000, Site default/s-0001, Site default/s-0002 and 1997 more (--all names them)
  for example ConfigMap default/s-0000: data.text differs
      data:
    -   text: a
    +   text: b

2 parents cannot be planned
  of Site default/fails-1, Site default/fails-2
  sync.star:3:5: fails-1 is bad
      x
      ^

plan of 2003 parents: 2001 changed, 0 unchanged, 2 failed
  delete     1 ConfigMap
  update     2000 ConfigMaps
  restarts   nothing
`
	expect(t, "text", d.Text(style.Styler{}, false), want)
	all := New(AgainstCluster, nil, plans, true).Text(style.Styler{}, true)
	if strings.Count(all, "~ update ConfigMap default/s-") != 2000 || !strings.Contains(all, "Site default/odd (CompositeController sites)\n  - delete ConfigMap default/x: no longer desired\n") {
		t.Errorf("text with all changes:\n%.2000s", all)
	}
}

func TestPlurals(t *testing.T) {
	for noun, want := range map[string]string{
		"Pod": "Pods", "Ingress": "Ingresses", "NetworkPolicy": "NetworkPolicies", "Gateway": "Gateways", "Endpoints": "Endpoints", "Status": "Statuses",
	} {
		expect(t, noun, plural(noun), want)
	}
}

func TestJSON(t *testing.T) {
	text, err := json.Marshal(New(AgainstCluster, nil, nil, true))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"formatVersion":1,"against":"cluster","complete":true,"controllers":[],"summary":{"parents":{"total":0,"changed":0,"unchanged":0,"drift":0,"failed":0,"paused":0,"pending":0},"changes":[],"restarts":[],"rolling":[]},"groups":[],"parents":[]}`
	expect(t, "an empty document", string(text), want)
}

// No value of a Secret is in a plan, neither of a Secret that is written nor of one that was copied.
func TestSecretsAreRedacted(t *testing.T) {
	const value, other = "correct horse battery", "staple-9f31bc"
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	secret := func(value string) *object.Object {
		return parse(t, "{apiVersion: v1, kind: Secret, metadata: {namespace: default, name: s"+owner+"}, data: {password: "+encode(value)+"}}")
	}
	redactor := redact.New("web")
	redactor.Add(secret(value), secret(other))
	copied := func(value string) observe.Write {
		w := done(plan.Update, "data.text differs", page(t, "x", "a", owner), page(t, "x", `"the password is `+value+`"`, owner))
		w.Redactor = redactor
		return w
	}
	written := done(plan.Update, "data.password differs", secret(value), secret(other))
	written.Redactor = redactor
	plans, live := plansOf("web", written, copied(value)), plansOf("web", copied(other))
	Against(plans, live)
	d := New(AgainstLive, nil, plans, true)
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	all := string(text) + d.Text(style.Styler{}, true) + d.Text(style.Styler{}, false)
	for _, part := range []string{value, other, encode(value), encode(other), value[:10], encode(other)[:8]} {
		if strings.Contains(all, part) {
			t.Errorf("%q is in the plan:\n%s", part, all)
		}
	}
	if !strings.Contains(all, "data.password") {
		t.Errorf("the field of the Secret is not in the plan:\n%s", all)
	}
}
