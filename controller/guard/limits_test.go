package guard

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/preview"
)

func limit(text string) *intstr.IntOrString {
	if text == "" {
		return nil
	}
	l := intstr.Parse(text)
	return &l
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name                        string
		deletes, recreates, parents string
		summary                     preview.Summary
		want                        string // in the message; "": within the limits
	}{
		{"nothing is done", "0", "0", "0", preview.Summary{Parents: 5, Children: 9}, ""},
		{"no limit is set for what is done", "", "0", "", preview.Summary{Parents: 5, Changed: 5, Children: 9, Total: preview.Counts{Deletes: 9}}, ""},
		{"as many as permitted", "3", "", "", preview.Summary{Children: 9, Total: preview.Counts{Deletes: 3}}, ""},
		{"one more", "3", "", "", preview.Summary{Children: 9, Total: preview.Counts{Deletes: 4}}, "delete 4 of 9 children (maxDeletes: 3)"},
		{"none are permitted", "0", "", "", preview.Summary{Children: 1, Total: preview.Counts{Deletes: 1}}, "delete 1 of 1 child (maxDeletes: 0)"},
		{"a percentage, rounded down", "10%", "", "", preview.Summary{Children: 29, Total: preview.Counts{Deletes: 2}}, ""},
		{"a percentage that is exceeded", "10%", "", "", preview.Summary{Children: 29, Total: preview.Counts{Deletes: 3}}, "delete 3 of 29 children (maxDeletes: 10%, which is 2)"},
		{"a percentage of few", "10%", "", "", preview.Summary{Children: 9, Total: preview.Counts{Deletes: 1}}, "maxDeletes: 10%, which is 0"},
		{"all", "100%", "100%", "100%", preview.Summary{Parents: 9, Changed: 9, Children: 9, Total: preview.Counts{Deletes: 9, Recreates: 9}}, ""},
		{"recreated", "", "1", "", preview.Summary{Children: 9, Total: preview.Counts{Recreates: 2, Deletes: 5}}, "recreate 2 of 9 children (maxRecreates: 1)"},
		{"parents", "", "", "50%", preview.Summary{Parents: 9, Changed: 5, Children: 9}, "change 5 of 9 parents (maxChangedParents: 50%, which is 4)"},
		{"several", "1", "1", "", preview.Summary{Children: 9, Total: preview.Counts{Recreates: 2, Deletes: 5}}, "delete 5 of 9 children (maxDeletes: 1) and recreate 2 of 9 children (maxRecreates: 1)"},
		{"creations and updates have no limit", "0", "0", "", preview.Summary{Total: preview.Counts{Creates: 99, Updates: 99}}, ""},
		{"no number", "many", "", "", preview.Summary{}, "spec.script.guard.maxDeletes: "},
	} {
		guard := &v1alpha1.ScriptGuard{MaxDeletes: limit(c.deletes), MaxRecreates: limit(c.recreates), MaxChangedParents: limit(c.parents)}
		held, text := judge(guard, "sha256:abc", &c.summary)
		switch {
		case c.want == "" && (held != nil || !strings.Contains(text.whole, "within the limits")):
			t.Errorf("%s: %v, %s", c.name, held, text)
		case c.want != "" && (held == nil || !strings.Contains(held.Message, c.want)):
			t.Errorf("%s: %v, want %s", c.name, held, c.want)
		}
	}
}

func TestLimitOfRestarts(t *testing.T) {
	for text, c := range map[string]struct {
		restarts int
		want     string
	}{
		"":    {10, ""},
		"10":  {10, ""},
		"9":   {10, "restart 10 of 30 Pods (maxRestarts: 9); in all: delete 0, recreate 0, update 0 and create 0 children, and change 0 of 0 parents; 10 Pods of 30 restart"},
		"10%": {4, "restart 4 of 30 Pods (maxRestarts: 10%, which is 3)"},
		"0":   {0, ""},
	} {
		held, _ := judge(&v1alpha1.ScriptGuard{MaxRestarts: limit(text)}, "sha256:abc", &preview.Summary{Restarts: c.restarts, Pods: 30})
		if c.want == "" && held != nil || c.want != "" && (held == nil || !strings.Contains(held.Message, c.want)) {
			t.Errorf("%q: %v, want %q", text, held, c.want)
		}
	}
}

func TestMessages(t *testing.T) {
	var s preview.Summary
	child := objecttest.ConfigMap("a", nil)
	parent := objecttest.WidgetRef("default", "w")
	s.Add(&preview.Result{Parent: parent, Writes: []preview.Write{
		{Op: plan.Op{Object: objecttest.Widget(nil)}, Effect: preview.UpdateStatus, Field: "status.n"},
		{Op: plan.Op{Object: child}, Effect: preview.Recreate, Field: "data.key", Rolls: true},
		{Op: plan.Op{Object: child}, Effect: preview.Update, Field: "data.key", Doubtful: true},
		{Op: plan.Op{Object: child}, Effect: preview.Delete},
	}})
	s.Add(&preview.Result{Parent: objecttest.WidgetRef("default", "x"), Err: errors.New("sync.star:1:2: broken\n  ^")})
	held, _ := judge(&v1alpha1.ScriptGuard{MaxDeletes: limit("0")}, "sha256:abc", &s)
	want := `the guard holds version sha256:abc, which would delete 1 of 0 children (maxDeletes: 0); in all: delete 1, recreate 1, update 1 and create 0 children, and change 1 of 2 parents; 1 of the children in a rolling update, one after the other; for 1 of the children only the API server can tell whether they change; its hooks fail for 1 parent, for which nothing is written, such as Widget default/x: sync.star:1:2: broken
  delete ConfigMap default/a of Widget default/w
  recreate ConfigMap default/a of Widget default/w: data.key differs
  update ConfigMap default/a of Widget default/w: data.key differs
  update status Widget default/w: status.n differs`
	if held == nil || held.Message != want {
		t.Errorf("got\n%v\nwant\n%s", held, want)
	}
	if counts, _, _ := strings.Cut(want, ", such as"); held.Counts != counts {
		t.Errorf("without names: got\n%s\nwant\n%s", held.Counts, counts)
	}
	if got := incomplete("sha256:abc", s, errTimeLimit).Message; !strings.HasPrefix(got, "the guard holds version sha256:abc, since it is not known what it would do: it takes too long; so far, for 2 parents: delete 1,") {
		t.Error(got)
	}
	unnamed := incomplete("sha256:abc", s, errors.New("default/w"))
	if strings.Contains(unnamed.Counts, "default/") || !strings.Contains(unnamed.Message, "default/w; so far") {
		t.Errorf("%s\n%s", unnamed.Counts, unnamed.Message)
	}
}
