package failures

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object/objecttest"
	"metascript/engine"
)

func TestResultOf(t *testing.T) {
	refused := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "p", nil)
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, OK},
		{fmt.Errorf("called for it: %w", &engine.Error{Kind: engine.KindRuntime}), ScriptError},
		{fmt.Errorf("called for it: %w", &hook.WebhookError{Err: errors.New("no")}), WebhookError},
		{kube.Join(errors.New("other"), fmt.Errorf("create Pod a/p: %w", refused)), Refused},
		{kube.Requeue(apierrors.NewConflict(schema.GroupResource{}, "p", errors.New("changed"))), Requeued},
		{&hook.RetryAfter{}, Requeued},
		{errors.New("other"), OtherError},
	} {
		if got := ResultOf(c.err); got != c.want {
			t.Errorf("%v: got %s, want %s", c.err, got, c.want)
		}
	}
}

func TestSumFindsErrorOfMostParents(t *testing.T) {
	failure := func(namespace, name, text string) Failure {
		return Failure{objecttest.WidgetRef(namespace, name), errors.New(text)}
	}
	got := Sum([]Failure{
		failure("x", "third", "create Pod x/third-web: it is not valid"),
		failure("y", "first", "create Pod y/first-web: it is not valid"),
		failure("x", "alone", "create Pod x/alone: another"),
		failure("x", "second", "create Pod x/second-web: it is not valid"),
	})
	if got.Failing != 4 || got.Shared != 3 || got.First != objecttest.WidgetRef("x", "second") || got.Text != "create Pod x/second-web: it is not valid" {
		t.Errorf("got %+v", got)
	}
	if got := Sum(nil); got != (Summary{Known: true}) {
		t.Errorf("of none: %+v", got)
	}
}

func TestSumHasCaretOfScriptError(t *testing.T) {
	fault := &engine.Error{Kind: engine.KindRuntime, Pos: engine.Pos{File: "sync.star", Line: 2, Col: 3}, Msg: "no", Source: "  x.y"}
	failed := fmt.Errorf("called: %w", fault)
	if got := Sum([]Failure{{objecttest.WidgetRef("x", "w"), failed}}); got.Text != engine.DetailOf(failed) || got.Text == failed.Error() {
		t.Errorf("got %q", got.Text)
	}
}

func TestReportFollowsErrorAtOnce(t *testing.T) {
	var r Report
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	sum := func(text TextID, failing int) Summary {
		return Summary{Known: true, Parents: 9, Failing: failing, Same: text}
	}
	r.Update(sum(0, 0), 0, at)
	for i := range earlyChanges + 1 { // the first one is not early
		at = at.Add(5 * time.Second)
		if got := r.Update(sum(TextID(i+1), 3), 0, at); got.Same != TextID(i+1) {
			t.Errorf("error %d is not shown at once, but %+v", i+1, got)
		}
		if got := r.Update(sum(TextID(i+1), 4), 0, at.Add(time.Second)); i > 0 && got.Failing != 3 {
			t.Errorf("the number has changed at once: %+v", got)
		}
	}
	if got := r.Update(sum(77, 3), 0, at.Add(5*time.Second)); got.Same == 77 {
		t.Error("an error that changes all the time is shown each time")
	}
	if got := r.Update(sum(78, 3), 0, at.Add(ReportInterval)); got.Same != 78 {
		t.Errorf("after a minute: %+v", got)
	}
	if got := r.Update(sum(0, 0), 0, at.Add(ReportInterval+5*time.Second)); got.Failing != 0 {
		t.Errorf("it does not show at once that no parent fails: %+v", got)
	}
}

func TestTexts(t *testing.T) {
	var texts Texts
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	text := func(name, text string) TextID {
		return TextOf(Failure{objecttest.WidgetRef("default", name), errors.New(text)})
	}
	quota := text("a", "create default/a: exceeded quota")
	if text("b", "create default/b: exceeded quota") != quota || text("a", "create default/a: forbidden") == quota {
		t.Error("a TextID is not that of the text without the names")
	}
	for i, step := range []struct {
		from, to TextID
		changed  bool
	}{{0, quota, true}, {0, quota, false}, {quota, quota, false}, {quota, 1, true}, {quota, 0, true}, {1, 0, true}, {0, 0, false}, {0, quota, true}} {
		if got := texts.Move(step.from, step.to, at.Add(time.Duration(i)*time.Second)); got != step.changed {
			t.Errorf("step %d: changed is %t", i, got)
		}
	}
	if got := texts.Since(quota); got != at.Add(7*time.Second) || !texts.Since(1).IsZero() {
		t.Errorf("since %s", got)
	}
}

func TestReportChangesAtMostOnceAMinute(t *testing.T) {
	var r Report
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	sum := func(failing int) Summary { return Summary{Known: true, Parents: 9, Failing: failing} }
	for _, step := range []struct {
		after   time.Duration
		current Summary
		version int
		want    int
	}{
		{0, Summary{}, 0, 0},
		{0, sum(3), 0, 3}, // the first one
		{time.Second, sum(4), 0, 4},
		{2 * time.Second, sum(5), 0, 4},
		{30 * time.Second, sum(0), 0, 4},
		{time.Minute, sum(0), 0, 4},
		{time.Minute + time.Second, sum(0), 0, 0},
		{2 * time.Minute, sum(2), 0, 0},
		{time.Hour, sum(1), 0, 1}, // at once, after it was the same for long
		{time.Hour + time.Second, Summary{}, 0, 0},
		{time.Hour + 2*time.Second, sum(7), 0, 7},
		{time.Hour + 3*time.Second, sum(5), 0, 5},
		{time.Hour + 4*time.Second, sum(9), 0, 5},
		{time.Hour + 5*time.Second, sum(9), 1, 9}, // of another version of the hooks
		{time.Hour + 6*time.Second, sum(0), 2, 0},
	} {
		if got := r.Update(step.current, step.version, at.Add(step.after)); got.Failing != step.want || got.Known != step.current.Known {
			t.Errorf("after %s: got %+v, want %d", step.after, got, step.want)
		}
	}
}
