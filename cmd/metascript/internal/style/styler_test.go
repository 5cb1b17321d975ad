package style

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/engine"
)

func objectOf(t *testing.T, text string) *object.Object {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	return object.New(content)
}

// pageOf returns a ConfigMap with a text.
func pageOf(t *testing.T, text string) *object.Object {
	return objectOf(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: page, namespace: default}, data: {text: "+text+"}}")
}

// expect compares what is shown of a text.
func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, shown(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestColours(t *testing.T) {
	change := Change{Op: plan.Op{Verb: plan.Update, Object: pageOf(t, "b"), Why: "data.text differs"}, Before: pageOf(t, "a"), After: pageOf(t, "b")}
	want := "\x1b[33m~ ConfigMap default/page: data.text differs\x1b[0m\n    data:\n  \x1b[31m-   text: a\x1b[0m\n  \x1b[32m+   text: b\x1b[0m"
	expect(t, "a change", Styler{colors: true}.Change(change), want)
	if For(&strings.Builder{}).colors {
		t.Error("there are colors although the output is not a terminal")
	}
}

func TestOnlyTheFirstLineOfAFailureHasAColour(t *testing.T) {
	s := Styler{colors: true}
	expect(t, "a failure", s.Failure("sync.star:1:2: what?\n    x\n    ^"), "\x1b[31msync.star:1:2: what?\x1b[0m\n    x\n    ^")
	expect(t, "a failure of one line", s.Failure("what?"), "\x1b[31mwhat?\x1b[0m")
	expect(t, "no warning", s.Warning(""), "")
}

func TestDiffHasColours(t *testing.T) {
	const text = "@@ -1 +1 @@\n a\n-b\n+c\n"
	expect(t, "a diff", Styler{colors: true}.Diff(text), "@@ -1 +1 @@\n a\n\x1b[31m-b\x1b[0m\n\x1b[32m+c\x1b[0m\n")
	expect(t, "a diff without colors", Styler{}.Diff(text), text)
	expect(t, "no diff", Styler{colors: true}.Diff(""), "")
}

func TestChange(t *testing.T) {
	op := func(verb plan.Verb, o *object.Object) plan.Op { return plan.Op{Verb: verb, Object: o, Why: "why"} }
	withStatus := func(text, status string) *object.Object {
		o := pageOf(t, text)
		o.Map()["status"] = status
		return o
	}
	revision := objectOf(t, "{apiVersion: metacontroller.k8s.io/v1alpha1, kind: ControllerRevision, metadata: {name: r}}")
	for _, c := range []struct {
		name   string
		change Change
		want   string
	}{
		{"created", Change{Op: op(plan.Create, pageOf(t, "a")), After: pageOf(t, "a")},
			"+ ConfigMap default/page\n  + data:\n  +   text: a"},
		{"deleted", Change{Op: op(plan.Delete, pageOf(t, "a")), Before: pageOf(t, "a")}, "- ConfigMap default/page: why"},
		{"updated", Change{Op: op(plan.Update, pageOf(t, "b")), Before: pageOf(t, "a"), After: pageOf(t, "b")},
			"~ ConfigMap default/page: why\n    data:\n  -   text: a\n  +   text: b"},
		{"not known before", Change{Op: op(plan.Update, pageOf(t, "b")), After: pageOf(t, "b")}, "~ ConfigMap default/page: why"},
		{"stored as it was", Change{Op: op(plan.Update, pageOf(t, "b")), Before: pageOf(t, "a"), After: pageOf(t, "a")},
			"~ ConfigMap default/page: why\n    the API server keeps it as it was"},
		{"applied as it was", Change{Op: plan.Op{Verb: plan.Apply, Object: pageOf(t, "a"), Observed: pageOf(t, "a"), Why: "why"}, Before: pageOf(t, "a"), After: pageOf(t, "a")}, "~ ConfigMap default/page: why"},
		{"only the status", Change{Op: op(plan.UpdateStatus, withStatus("b", "new")), Before: withStatus("a", "old"), After: withStatus("b", "new")},
			"~ ConfigMap default/page: status\n  - status: old\n  + status: new"},
		{"of a rollout", Change{Op: op(plan.Update, revision), Before: pageOf(t, "a"), After: pageOf(t, "b")}, "~ ControllerRevision r: why"},
	} {
		expect(t, c.name, Styler{}.Change(c.change), c.want)
	}
}

func TestLongChange(t *testing.T) {
	long := pageOf(t, "a")
	lines := map[string]any{}
	for n := range maxLines {
		lines[fmt.Sprintf("line-%03d", n)] = "x"
	}
	long.Map()["data"] = lines
	got := Styler{}.Change(Change{Op: plan.Op{Verb: plan.Create, Object: long}, After: long})
	if !strings.HasSuffix(got, "\n    ... and 1 lines more") || strings.Count(got, "\n") != maxLines+1 {
		t.Errorf("the text has %d lines and ends with %q", strings.Count(got, "\n"), got[len(got)-60:])
	}
}

func TestPrintedAndEvent(t *testing.T) {
	at := engine.Pos{File: "sync.star", Line: 3}
	plain, colored := Styler{}, Styler{colors: true}
	expect(t, "printed", plain.Printed(engine.Message{Level: engine.Info, Text: "one\ntwo", Pos: at}), "| one\n| two  (sync.star:3)")
	expect(t, "a warning", colored.Printed(engine.Message{Level: engine.Warn, Text: "one", Pos: at}), "\x1b[33m| one\x1b[0m\x1b[2m  (sync.star:3)\x1b[0m")
	expect(t, "an event", colored.Event("Normal", "Scaled", "to two"), "! Scaled: to two")
	expect(t, "an event that warns", colored.Event("Warning", "Held", "by two"), "\x1b[33m! Held: by two\x1b[0m")
}
