package details

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientset "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/spec"
	"metascript/controller/status"
)

func TestDetailsAreRecordedWhenTheyChangeAndFromTimeToTime(t *testing.T) {
	var got []string
	events := kube.NewEvents(clientset.NewClientset(), kube.EventBudget{})
	events.Intercept = func(o *object.Object, e kube.Event) bool {
		got = append(got, fmt.Sprintf("%s/%s %s %s %s", o.GetNamespace(), o.GetName(), e.Type, e.Reason, e.Note))
		return true
	}
	t.Cleanup(events.Shutdown)
	r := NewReporter(kube.NewActors(&rest.Config{}, &kube.Actor{Writer: &kube.Writer{}, Events: events}), slog.New(slog.DiscardHandler))
	t.Cleanup(r.Close)
	o := &object.Object{}
	o.SetKind(v1alpha1.KindCompositeController)
	o.SetName("c")
	failing := func(text string) []status.Detail {
		return []status.Detail{{Condition: "ParentsSynced", Reason: "SyncError", Message: text + "\n  ^"}}
	}
	guarded := []status.Detail{{Condition: "GuardPassed", Reason: "WithinGuard", Message: "two\nlines", Good: true}}
	now := time.Now()
	for _, step := range []struct {
		name, account string
		details       []status.Detail
		after         time.Duration
		want          []string
	}{
		{"nothing to tell", "a", nil, 0, nil},
		{"an error", "a", failing("one"), 0, []string{"a/c Warning SyncError ParentsSynced: one"}},
		{"the same", "a", failing("one"), 29 * time.Minute, nil},
		{"the same, later", "a", failing("one"), 2 * time.Minute, []string{"a/c Warning SyncError ParentsSynced: one"}},
		{"another one", "a", failing("two"), 0, []string{"a/c Warning SyncError ParentsSynced: two"}},
		{"it is over", "a", nil, 0, nil},
		{"it is back", "a", failing("two"), 0, []string{"a/c Warning SyncError ParentsSynced: two"}},
		{"nothing is wrong", "a", guarded, 0, []string{"a/c Normal WithinGuard GuardPassed: two lines"}},
		{"another account", "b", guarded, 0, []string{"b/c Normal WithinGuard GuardPassed: two lines"}},
		{"no account", "", nil, 0, nil},
		{"an account again", "b", guarded, 0, []string{"b/c Normal WithinGuard GuardPassed: two lines"}},
	} {
		got, now = nil, now.Add(step.after)
		d := &spec.Declaration{Kind: v1alpha1.KindCompositeController}
		d.Object.Name = "c"
		if step.account != "" {
			d.Settings.ServiceAccount = &v1alpha1.ServiceAccountRef{Namespace: step.account, Name: "account"}
		}
		if err := r.Report(d, o, step.details, now); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}
