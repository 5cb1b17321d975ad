package status

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/object/objecttest"
	"metascript/controller/observe"
	"metascript/controller/shadow"
	"metascript/controller/spec/spectest"
)

func TestShadowAgrees(t *testing.T) {
	differs := &shadow.Difference{Parent: objecttest.WidgetRef("default", "w"), Result: observe.Differs, Text: "ConfigMap default/w: data.a"}
	fails := &shadow.Difference{Parent: objecttest.WidgetRef("default", "w"), Result: observe.Failed, Text: "the candidate fails: x"}
	left := &shadow.Left{Parent: objecttest.WidgetRef("default", "p"), Why: "it is paused"}
	for _, c := range []struct {
		name string
		r    shadow.Report
		want string
	}{
		{"loading", shadow.Report{Waiting: "the candidate is being loaded"}, "Unknown NotCompared the candidate is being loaded"},
		{"not called", shadow.Report{Digest: "d", Share: 10}, "Unknown NotCompared the candidate is about to be compared, among 10% of the parents"},
		{"no parents", shadow.Report{Digest: "d", Share: 10, Counts: shadow.Counts{Done: true}}, "Unknown NotCompared there is no parent, among 10% of the parents"},
		{"only a paused parent", shadow.Report{Digest: "d", Share: 100, Left: left, Counts: shadow.Counts{Total: 1, Done: true}}, "Unknown NotCompared no parent can be compared; parents that cannot be compared: 1, the first was default/p: it is paused"},
		{"a paused parent", shadow.Report{Share: 100, Left: left, Counts: shadow.Counts{Parents: 2, Total: 3, Agree: 2, Done: true}}, "True SameAnswers the answers were the same: comparisons: 2, of parents: 2 of 3; parents that cannot be compared: 1, the first was default/p: it is paused"},
		{"not all yet", shadow.Report{Share: 100, Left: left, Counts: shadow.Counts{Parents: 2, Total: 9, Agree: 2}}, "True SameAnswers the answers were the same: comparisons: 2, of parents: 2 of 9"},
		{"does not load", shadow.Report{Err: errors.New("x")}, "Unknown CandidateNotLoaded the candidate does not load, and the script that runs is not affected: x"},
		{"stopped", shadow.Report{Share: 100, Stopped: errors.New("x"), First: fails, Counts: shadow.Counts{Parents: 2, Total: 5, Agree: 1, Errors: 10}}, "Unknown CandidateStopped the candidate exceeded its limits too often and is not called until it is edited; comparisons: 11, of parents: 2 of 5; errors of the candidate: 10; the last error: x"},
		{"agrees", shadow.Report{Share: 100, Counts: shadow.Counts{Parents: 2, Total: 5, Agree: 3, Dropped: 4}}, "True SameAnswers the answers were the same: comparisons: 3, of parents: 2 of 5; not compared, because the candidate cannot keep up or exceeds a limit: 4"},
		{"differs", shadow.Report{Share: 100, First: differs, Counts: shadow.Counts{Parents: 2, Total: 5, Agree: 3, Differ: 1, Errors: 1}}, "False AnswersDiffer comparisons: 5, of parents: 2 of 5; different answers: 1; errors of the candidate: 1; the first was the parent default/w: ConfigMap default/w: data.a"},
		{"fails", shadow.Report{Share: 100, First: fails, Counts: shadow.Counts{Parents: 2, Total: 5, Agree: 3, Errors: 1}}, "False CandidateFails comparisons: 4, of parents: 2 of 5; errors of the candidate: 1; the first was the parent default/w: the candidate fails: x"},
	} {
		cc := spectest.Composite(t, soundSpec)
		r := resultOf(t, cc, nil, runningVersion(7, build.Built{}))
		r.Shadow = &c.r
		status := Of(cc, r)
		found := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionShadowAgrees)
		if got := fmt.Sprintf("%s %s %s", found.Status, found.Reason, found.Message); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
		if (status.Shadow != nil) != (c.r.Digest != "") {
			t.Errorf("%s: status.shadow is %+v", c.name, status.Shadow)
		}
		cc.Status = *status
		r.Shadow = nil
		if status = Of(cc, r); meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionShadowAgrees) != nil || status.Shadow != nil {
			t.Errorf("%s: it stays without a shadow", c.name)
		}
	}
}

func TestShadowOfPausedController(t *testing.T) {
	cc := spectest.Composite(t, strings.TrimSpace(soundSpec))
	cc.Settings.Paused = true
	if c := shadowAgrees(cc, &shadow.Report{Waiting: "x"}); c.Reason != v1alpha1.ReasonNotCompared || !strings.Contains(c.Message, "paused") {
		t.Errorf("%+v", c)
	}
}
