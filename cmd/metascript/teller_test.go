package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"metascript/controller"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/engine"
)

// told is a teller at a fixed time, and what it has printed since it was asked last.
func told(dryRun bool) (*teller, func() string) {
	var out strings.Builder
	t := newTeller(&out, dryRun)
	t.clock = func() time.Time { return time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC) }
	return t, func() string {
		defer out.Reset()
		return strings.ReplaceAll(out.String(), "15:04:05 ", "")
	}
}

func objectOf(t *testing.T, text string) *object.Object {
	t.Helper()
	o := &object.Object{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func expectTold(t *testing.T, what, got, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

const someController = `{apiVersion: metacontroller.k8s.io/v1alpha1, kind: CompositeController, metadata: {name: c}}`

var web = controller.About{Controller: "c", Parent: object.Ref{Kind: object.Kind{Kind: "Site"}, Key: object.Key{Namespace: "default", Name: "web"}}}

// page is a child with that text.
func pageOf(t *testing.T, text string) *object.Object {
	return objectOf(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: page, namespace: default}, data: {text: "+text+"}}")
}

func updated(t *testing.T, before, after string) controller.Write {
	op := plan.Op{Verb: plan.Update, Object: pageOf(t, after), Why: "data.text differs"}
	return controller.Write{Op: op, Before: pageOf(t, before), Stored: pageOf(t, after)}
}

func TestATellerTellsOfWhatWasDone(t *testing.T) {
	teller, said := told(false)
	teller.Loaded(objectOf(t, someController))
	expectTold(t, "loaded", said(), "CompositeController c: runs\n")

	teller.Reconciled(web, nil)
	expectTold(t, "nothing to do", said(), "Site default/web: nothing to do\n")
	teller.Reconciled(web, nil)
	expectTold(t, "nothing to do again", said(), "")

	for range 2 {
		teller.Wrote(web, updated(t, "a", "b"))
		teller.Wrote(web, controller.Write{Op: plan.Op{Verb: plan.Delete, Object: pageOf(t, "a"), Why: "no longer desired"}})
		teller.Printed(web, "sync", engine.Message{Level: engine.Info, Text: "one\ntwo", Pos: engine.Pos{File: "sync.star", Line: 3}})
		teller.Reconciled(web, nil)
		expectTold(t, "writes, each time", said(), `
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
		teller.Reconciled(web, errors.New("no such key"))
	}
	expectTold(t, "a failure, once", said(), "Site default/web failed\n  no such key\n")
	teller.Reconciled(web, context.Canceled)
	expectTold(t, "it ends", said(), "")
	teller.Reconciled(web, nil)
	expectTold(t, "mended", said(), "Site default/web: nothing to do any more\n")

	for range 2 {
		teller.Printed(web, "sync", engine.Message{Level: engine.Info, Text: "three", Pos: engine.Pos{File: "sync.star", Line: 4}})
		teller.Reconciled(web, nil)
	}
	expectTold(t, "what is printed, once", said(), "Site default/web\n  | three  (sync.star:4)\n")

	teller.Loaded(objectOf(t, someController))
	teller.Reconciled(web, nil)
	expectTold(t, "reloaded", said(), "CompositeController c: reloaded\nSite default/web: nothing to do\n")
}

func TestATellerOfADryRunTellsOnce(t *testing.T) {
	teller, said := told(true)
	teller.Loaded(objectOf(t, someController))
	said()
	for _, at := range []string{"2026-01-02T15:04:05Z", "2026-01-02T15:04:06Z"} {
		teller.Wrote(web, updated(t, "a", at))
		teller.Reconciled(web, nil)
	}
	expectTold(t, "the same but for the time", said(), `
Site default/web (dry run)
  ~ ConfigMap default/page: data.text differs
      data:
    -   text: a
    +   text: "2026-01-02T15:04:05Z"
`)
	teller.Loaded(objectOf(t, someController))
	said()
	teller.Wrote(web, updated(t, "a", "2026-01-02T15:04:07Z"))
	teller.Reconciled(web, nil)
	expectTold(t, "the same after an edit", said(), "Site default/web (dry run): the same as before\n")
	teller.Wrote(web, updated(t, "a", "c"))
	teller.Reconciled(web, nil)
	expectTold(t, "another change", said(), `
Site default/web (dry run)
  ~ ConfigMap default/page: data.text differs
      data:
    -   text: a
    +   text: c
`)
	teller.Reconciled(web, nil)
	expectTold(t, "none", said(), "Site default/web (dry run): nothing to do\n")
}

func TestATellerTellsWhyAControllerDoesNotRun(t *testing.T) {
	teller, said := told(false)
	status := func(conditions string) string {
		o := objectOf(t, someController)
		o.Object["status"] = objectOf(t, "{kind: x, conditions: ["+conditions+"]}").Object
		teller.status(o)
		return said()
	}
	expectTold(t, "starting", status(`{type: Ready, status: "False", reason: Starting, message: its caches are being filled}`), "")
	broken := `{type: Ready, status: "False", reason: RunningPreviousVersion, message: it does not load}, {type: ScriptReady, status: "False", reason: CompileError, message: "a.star:1:2: what?\n    x\n    ^"}`
	expectTold(t, "broken", status(broken), `
CompositeController c: the script does not load (CompileError)
  a.star:1:2: what?
      x
      ^
`)
	expectTold(t, "broken still", status(broken), "")
	running := `{type: Ready, status: "True", reason: Running}`
	expectTold(t, "mended", status(running), "CompositeController c: runs as it is written again\n")
	expectTold(t, "doubtful", status(running+`, {type: SpecSound, status: "False", message: a doubt}`), "SpecSound: a doubt\n")
	expectTold(t, "sound again", status(running), "")
}

func TestEventsStandWhereTheyBelong(t *testing.T) {
	teller, said := told(false)
	site := objectOf(t, "{kind: Site, metadata: {name: web, namespace: default}}")
	teller.Event(site, "Normal", "Scaled", "to two")
	expectTold(t, "alone", said(), "Site default/web\n  ! Scaled: to two\n")
	teller.Wrote(web, updated(t, "a", "b"))
	teller.Event(site, "Normal", "Scaled", "to three")
	teller.Reconciled(web, errors.New("no such key"))
	teller.Event(site, "Warning", "SyncError", "no such key")
	expectTold(t, "in a round", said(), `
Site default/web failed
  ~ ConfigMap default/page: data.text differs
      data:
    -   text: a
    +   text: b
  ! Scaled: to three
  no such key
`)
}

func TestColours(t *testing.T) {
	p := painter(true)
	got := p.change(updated(t, "a", "b"), pageOf(t, "a"))
	want := "\x1b[33m~ ConfigMap default/page: data.text differs\x1b[0m\n    data:\n  \x1b[31m-   text: a\x1b[0m\n  \x1b[32m+   text: b\x1b[0m"
	expectTold(t, "a change", got, want)
	if painterOf(&strings.Builder{}) {
		t.Error("there are colours where there is no terminal")
	}
}
