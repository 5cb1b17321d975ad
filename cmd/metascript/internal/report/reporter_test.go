package report

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/plan"
	"metascript/engine"
)

// newReporter returns a Reporter with a fixed time, and a function that returns the output since its previous call.
func newReporter(dryRun bool) (*Reporter, func() string) {
	var out strings.Builder
	r := New(&out, dryRun)
	r.clock = func() time.Time { return time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC) }
	return r, func() string {
		defer out.Reset()
		return strings.ReplaceAll(out.String(), "15:04:05 ", "")
	}
}

func objectOf(t *testing.T, text string) *object.Object {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	return object.New(content)
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

const someController = `{apiVersion: metacontroller.k8s.io/v1alpha1, kind: CompositeController, metadata: {name: c}}`

var web = observe.About{Controller: "c", Parent: object.Ref{Kind: object.Kind{Kind: "Site"}, Key: object.Key{Namespace: "default", Name: "web"}}}

// pageOf returns a child with a text.
func pageOf(t *testing.T, text string) *object.Object {
	return objectOf(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: page, namespace: default}, data: {text: "+text+"}}")
}

func updated(t *testing.T, before, after string) observe.Write {
	op := plan.Op{Verb: plan.Update, Object: pageOf(t, after), Why: "data.text differs"}
	return observe.Write{Op: op, Before: pageOf(t, before), Stored: pageOf(t, after)}
}

func TestReportOfReconciles(t *testing.T) {
	reporter, printed := newReporter(false)
	reporter.Loaded(objectOf(t, someController), nil)
	expect(t, "loaded", printed(), "CompositeController c: runs\n")

	reporter.Reconciled(web, nil)
	expect(t, "nothing to do", printed(), "Site default/web: nothing to do\n")
	reporter.Reconciled(web, nil)
	expect(t, "nothing to do again", printed(), "")

	for range 2 {
		reporter.Wrote(web, updated(t, "a", "b"))
		reporter.Wrote(web, observe.Write{Op: plan.Op{Verb: plan.Delete, Object: pageOf(t, "a"), Why: "no longer desired"}})
		reporter.Printed(web, "sync", engine.Message{Level: engine.Info, Text: "one\ntwo", Pos: engine.Pos{File: "sync.star", Line: 3}})
		reporter.Reconciled(web, nil)
		expect(t, "writes, each time", printed(), `
Site default/web
  ~ ConfigMap default/page: data.text differs
      data:
    -   text: a
    +   text: b
  - ConfigMap default/page: no longer desired
  | one
  | two  (sync.star:3)
`)
	}

	for range 2 {
		reporter.Reconciled(web, errors.New("no such key"))
	}
	expect(t, "a failure, once", printed(), "Site default/web failed\n  no such key\n")
	reporter.Reconciled(web, context.Canceled)
	expect(t, "it ends", printed(), "")
	reporter.Reconciled(web, nil)
	expect(t, "fixed", printed(), "Site default/web: nothing to do any more\n")

	for range 2 {
		reporter.Printed(web, "sync", engine.Message{Level: engine.Info, Text: "three", Pos: engine.Pos{File: "sync.star", Line: 4}})
		reporter.Reconciled(web, nil)
	}
	expect(t, "what is printed, once", printed(), "Site default/web\n  | three  (sync.star:4)\n")

	reporter.Loaded(objectOf(t, someController), nil)
	reporter.Reconciled(web, nil)
	expect(t, "reloaded", printed(), "CompositeController c: reloaded\nSite default/web: nothing to do\n")
}

func TestReportOfDryRunIsNotRepeated(t *testing.T) {
	reporter, printed := newReporter(true)
	reporter.Loaded(objectOf(t, someController), nil)
	printed()
	for _, at := range []string{"2026-01-02T15:04:05Z", "2026-01-02T15:04:06Z"} {
		reporter.Wrote(web, updated(t, "a", at))
		reporter.Reconciled(web, nil)
	}
	expect(t, "the same but for the time", printed(), `
Site default/web (dry run)
  ~ ConfigMap default/page: data.text differs
      data:
    -   text: a
    +   text: "2026-01-02T15:04:05Z"
`)
	reporter.Loaded(objectOf(t, someController), nil)
	printed()
	reporter.Wrote(web, updated(t, "a", "2026-01-02T15:04:07Z"))
	reporter.Reconciled(web, nil)
	expect(t, "the same after an edit", printed(), "Site default/web (dry run): the same as before\n")
	reporter.Wrote(web, updated(t, "a", "c"))
	reporter.Reconciled(web, nil)
	expect(t, "another change", printed(), `
Site default/web (dry run)
  ~ ConfigMap default/page: data.text differs
      data:
    -   text: a
    +   text: c
`)
	reporter.Reconciled(web, nil)
	expect(t, "none", printed(), "Site default/web (dry run): nothing to do\n")
}

func TestReportOfControllerThatDoesNotLoad(t *testing.T) {
	reporter, printed := newReporter(false)
	status := func(conditions string) string {
		o := objectOf(t, someController)
		o.Map()["status"] = objectOf(t, "{kind: x, conditions: ["+conditions+"]}").Map()
		reporter.Status(o)
		return printed()
	}
	expect(t, "starting", status(`{type: Ready, status: "False", reason: Starting, message: its caches are being filled}`), "")
	broken := `{type: Ready, status: "False", reason: RunningPreviousVersion, message: it does not load}, {type: ScriptReady, status: "False", reason: CompileError, message: "a.star:1:2: what?\n    x\n    ^"}`
	expect(t, "broken", status(broken), `
CompositeController c: the script does not load (CompileError)
  a.star:1:2: what?
      x
      ^
`)
	expect(t, "broken still", status(broken), "")
	running := `{type: Ready, status: "True", reason: Running}`
	expect(t, "fixed", status(running), "CompositeController c: the latest version runs again\n")
	expect(t, "doubtful", status(running+`, {type: SpecSound, status: "False", message: a doubt}`), "SpecSound: a doubt\n")
	expect(t, "sound again", status(running), "")
}

func TestEventsAreInTheBlockOfTheirParent(t *testing.T) {
	reporter, printed := newReporter(false)
	site := objectOf(t, "{kind: Site, metadata: {name: web, namespace: default}}")
	reporter.Event(site, kube.Event{Type: "Normal", Reason: "Scaled", Detail: "to two"})
	expect(t, "alone", printed(), "Site default/web\n  ! Scaled: to two\n")
	reporter.Wrote(web, updated(t, "a", "b"))
	reporter.Event(site, kube.Event{Type: "Normal", Reason: "Scaled", Detail: "to three"})
	reporter.Reconciled(web, errors.New("no such key"))
	reporter.Event(site, kube.Event{Type: "Warning", Reason: "SyncError", Detail: "no such key"})
	expect(t, "in a round", printed(), `
Site default/web failed
  ~ ConfigMap default/page: data.text differs
      data:
    -   text: a
    +   text: b
  ! Scaled: to three
  no such key
`)
}

// The status is written before or after the controller is loaded.
func TestHooksArePrintedAfterTheController(t *testing.T) {
	status := strings.TrimSuffix(someController, "}") + ", status: {script: {hooks: [sync, finalize]}}}"
	for _, first := range []string{"status", "load"} {
		r, printed := newReporter(false)
		if first == "status" {
			r.Status(objectOf(t, status))
		}
		r.Loaded(objectOf(t, someController), nil)
		r.Status(objectOf(t, status))
		expect(t, "first the "+first, printed(), `
CompositeController c: runs
CompositeController c: hooks sync, finalize
`)
	}
}
