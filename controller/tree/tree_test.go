package tree

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"metascript/controller/binding"
	"metascript/controller/history"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/rollout"
)

func TestReadiness(t *testing.T) {
	for _, c := range []struct{ object, want string }{
		{`{apiVersion: v1, kind: ConfigMap}`, " "},
		{`{kind: Widget, status: {conditions: [{type: Ready, status: "True"}]}}`, "True "},
		{`{kind: Widget, status: {conditions: [{type: Ready, status: "Unknown", reason: Starts, message: not yet}]}}`, "False Ready=Unknown Starts: not yet"},
		{`{kind: Widget, status: {conditions: [{type: Available, status: "False"}, {type: Progressing, status: "False", reason: Deadline}]}}`, "False Available=False, Progressing=False Deadline"},
		{`{kind: Widget, status: {conditions: [{type: Ready, status: "True"}, {type: Stalled, status: "True"}]}}`, "False Stalled=True"},
		{`{kind: Widget, metadata: {generation: 3}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "True"}]}}`, "False has not observed its update yet: status.observedGeneration is 2, and its generation 3"},
		{`{kind: Widget, metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {conditions: [{type: Ready, status: "True"}]}}`, "False "},
		{`{kind: Widget, status: {conditions: nonsense}}`, " "},
		{`{kind: Widget, status: {conditions: [nonsense, {type: 3}]}}`, " "},
		{`{apiVersion: v1, kind: Pod, status: {phase: Succeeded, conditions: [{type: Ready, status: "False"}]}}`, "True "},
		{`{apiVersion: v1, kind: Pod, status: {phase: Failed, reason: Evicted}}`, "False it has failed: Evicted"},
		{`{apiVersion: v1, kind: Pod, status: {phase: Pending, conditions: [{type: Ready, status: "False"}], containerStatuses: [{name: web, state: {waiting: {reason: ImagePullBackOff}}}]}}`, "False Ready=False, container web: ImagePullBackOff"},
		{`{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}}`, "False its phase is Pending"},
		{`{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3}, status: {readyReplicas: 2}}`, "False 2 of 3 replicas are ready"},
		{`{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 0}}`, "True "},
		{`{apiVersion: apps/v1, kind: ReplicaSet, status: {}}`, "False 0 of 1 replicas are ready"},
		{`{apiVersion: apps/v1, kind: DaemonSet, status: {desiredNumberScheduled: 2, numberReady: 2}}`, "True "},
		{`{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded}]}}`, "False Failed=True BackoffLimitExceeded"},
		{`{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Complete, status: "True"}]}}`, "True "},
	} {
		is, why := ReadinessOf(objecttest.ParseObject(t, c.object))
		if got := string(is) + " " + strings.Join(why, ", "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.object, got, c.want)
		}
	}
}

var configMaps = object.Kind{Version: "v1", Kind: "ConfigMap"}

// revision returns a revision with ConfigMaps of these names.
func revision(name string, children ...string) rollout.Revision {
	r := rollout.Revision{Name: name, Children: rollout.Children{}}
	for _, child := range children {
		r.Children[rollout.Child{GroupKind: configMaps.GroupKind(), Name: child}] = true
	}
	return r
}

// rolling is the rollout of ConfigMaps that have to be ready.
func rolling(latest rollout.Revision, older ...rollout.Revision) *Rollout {
	yes := "True"
	return &Rollout{Latest: latest, Older: older, Kinds: map[object.Kind]rollout.Rule{configMaps: {Checks: []rollout.Check{{Type: "Ready", Status: &yes}}}}}
}

// child returns a ConfigMap of the parent whose condition Ready has this status, or without one.
func child(parent *object.Object, name, ready string) *object.Object {
	o := objecttest.ConfigMap(name, parent)
	if ready != "" {
		o.Map()["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready}}}
	}
	return o
}

// updated gives a parent the condition Updated.
func updated(reason, message string) func(*object.Object) {
	return func(o *object.Object) {
		o.Map()["status"] = map[string]any{"conditions": []any{map[string]any{"type": rollout.UpdatedCondition, "status": "False", "reason": reason, "message": message}}}
	}
}

// text returns a node in one line, without what is the same for all in the tests.
func text(n *Node) string {
	parts := []string{n.Name}
	if n.Absent {
		parts = append(parts, "absent")
	}
	if n.Ready != "" {
		parts = append(parts, "ready="+string(n.Ready))
	}
	if n.Revision != nil {
		parts = append(parts, fmt.Sprintf("revision=%s/%t", n.Revision.Name, n.Revision.Latest))
	}
	parts = append(append(parts, n.Reasons...), n.Problems...)
	if n.Waits != nil && n.Waits.For != nil {
		parts = append(parts, "waits for "+n.Waits.For.Name+": "+n.Waits.Why)
	} else if n.Waits != nil {
		parts = append(parts, "waits: "+n.Waits.Why)
	}
	return strings.Join(parts, "; ")
}

func nothing(history.Object) bool { return false }

// children returns the children of a parent in lines, and what else there is of them.
func children(in Input) (*Controller, string) {
	if in.Hides == nil {
		in.Hides = nothing
	}
	c := &Controller{}
	Children(in, c)
	var lines []string
	for _, n := range c.Children {
		lines = append(lines, text(n))
	}
	return c, strings.Join(lines, "\n")
}

const notReady = `it has condition Ready with status "False", want "True"`

func TestWhoWaitsForWhomInARollout(t *testing.T) {
	parent := objecttest.Widget(nil)
	secondNamed := objecttest.Widget(updated(rollout.Waiting, "ConfigMap b is not updated yet: data.x"))
	for _, c := range []struct {
		name    string
		parent  *object.Object
		ready   [3]string // of a, b and c; "-" does not exist
		rollout *Rollout
		want    [3]string
	}{
		{"finished", parent, [3]string{"True", "True", "False"}, rolling(revision("two", "a", "b", "c")), [3]string{
			"a; ready=True; revision=two/true", "b; ready=True; revision=two/true", "c; ready=False; revision=two/true; " + notReady}},
		{"the next one has its turn", parent, [3]string{"True", "True", "True"}, rolling(revision("two", "a"), revision("one", "b", "c")), [3]string{
			"a; ready=True; revision=two/true", "b; ready=True; revision=one/false; waits: it waits for its turn: one child is updated after the other",
			"c; ready=True; revision=one/false; waits: it waits for its turn: one child is updated after the other"}},
		{"one is not ready", parent, [3]string{"False", "True", "True"}, rolling(revision("two", "a"), revision("one", "b", "c")), [3]string{
			"a; ready=False; revision=two/true; " + notReady, "b; ready=True; revision=one/false; waits for a: " + notReady[3:], "c; ready=True; revision=one/false; waits for a: " + notReady[3:]}},
		{"one that is old is not ready", parent, [3]string{"True", "False", ""}, rolling(revision("two", "a"), revision("one", "b", "c")), [3]string{
			"a; ready=True; revision=two/true", "b; ready=False; revision=one/false; " + notReady + "; waits: it waits for its turn: one child is updated after the other",
			"c; ready=False; revision=one/false; it has no condition Ready in its status; waits: it waits for its turn: one child is updated after the other"}},
		{"one does not exist", parent, [3]string{"-", "True", "True"}, rolling(revision("two", "a"), revision("one", "b", "c")), [3]string{
			"a; absent; ready=False; revision=two/true", "b; ready=True; revision=one/false; waits for a: does not exist yet", "c; ready=True; revision=one/false; waits for a: does not exist yet"}},
		{"the last reconcile knows better", secondNamed, [3]string{"True", "True", "True"}, rolling(revision("two", "a", "b"), revision("one", "c")), [3]string{
			"a; ready=True; revision=two/true", "b; ready=True; revision=two/true", "c; ready=True; revision=one/false; waits for b: is not updated yet: data.x"}},
		{"what it said is over", objecttest.Widget(updated(rollout.Waiting, "ConfigMap a has no condition Ready in its status")), [3]string{"True", "True", "True"}, rolling(revision("two", "a"), revision("one", "b", "c")), [3]string{
			"a; ready=True; revision=two/true", "b; ready=True; revision=one/false; waits: it waits for its turn: one child is updated after the other",
			"c; ready=True; revision=one/false; waits: it waits for its turn: one child is updated after the other"}},
		{"its parent is paused", objecttest.Widget(func(o *object.Object) { o.SetAnnotations(map[string]string{binding.PausedAnnotation: "true"}) }), [3]string{"False", "True", "True"}, rolling(revision("two", "a", "b"), revision("one", "c")), [3]string{
			"a; ready=False; revision=two/true; " + notReady, "b; ready=True; revision=two/true", "c; ready=True; revision=one/false; waits: it waits for its parent, which is paused"}},
	} {
		in := Input{Parent: c.parent, Rollout: c.rollout}
		for i, name := range []string{"a", "b", "c"} {
			if c.ready[i] != "-" {
				in.Owned = append(in.Owned, child(c.parent, name, c.ready[i]))
			}
		}
		if _, got := children(in); got != strings.Join(c.want[:], "\n") {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, strings.Join(c.want[:], "\n"))
		}
	}
}

func TestOwnershipAndWrites(t *testing.T) {
	parent := objecttest.Widget(nil)
	selector := labels.SelectorFromSet(labels.Set{"controller-uid": "u1"})
	other := child(parent, "other", "")
	other.SetLabels(nil)
	deleted := objecttest.With(child(parent, "deleted", ""), objecttest.Deleting, objecttest.WithFinalizers("example.com/f"))
	of := func(name string) history.Object {
		return history.Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: name}
	}
	c, got := children(Input{
		Parent: parent, Selector: selector, Owned: []*object.Object{other, child(parent, "plain", ""), child(parent, "plain", ""), deleted, objecttest.InNamespace("elsewhere", child(parent, "far", ""))},
		Orphans: []*object.Object{objecttest.Matching("orphan", parent)},
		Writes: []history.Write{
			{Verb: "create", Object: of("new"), Error: "exceeded quota"}, {Verb: "create", Object: of("done")}, {Verb: "update", Object: of("plain"), Error: "it is immutable"},
			{Verb: "delete", Object: of("gone"), Error: "not found"}, {Verb: "update status", Object: history.ObjectOf(object.RefOf(parent)), Error: "conflict"},
		},
	})
	want := strings.Join([]string{
		"deleted; ready=False", "new; absent; ready=False; the last create failed: exceeded quota",
		"orphan; it has no controller, and the selector matches it: the next reconcile adopts it",
		"other; the selector of its owner does not match its labels: the next reconcile releases it", "plain; the last update failed: it is immutable",
		"far; it is in another namespace than its owner: the garbage collector deletes it",
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if n := c.Children[0]; n.Deleted == nil || !slices.Equal(n.Finalizers, []string{"example.com/f"}) {
		t.Errorf("what is deleted: %+v", n)
	}
}

func TestWhatTheUserMayNotReadIsCounted(t *testing.T) {
	parent := objecttest.Widget(nil)
	c, got := children(Input{
		Parent: parent, Owned: []*object.Object{child(parent, "a", "False"), child(parent, "b", "True")}, Hides: func(o history.Object) bool { return o.Name == "a" },
		Rollout: rolling(revision("two", "a"), revision("one", "b")), Writes: []history.Write{{Verb: "update", Object: history.Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "a"}, Error: "e"}},
	})
	if want := "b; ready=True; revision=one/false; waits: it waits for a child that you may not read"; got != want || len(c.Hidden) != 1 || c.Hidden[0] != (Hidden{"ConfigMap", 1}) {
		t.Errorf("got %s, and %v hidden", got, c.Hidden)
	}
}

func TestTooManyChildren(t *testing.T) {
	parent := objecttest.Widget(nil)
	in := Input{Parent: parent}
	for i := range 20_000 {
		ready := "True"
		if i >= 19_700 {
			ready = "False"
		}
		in.Owned = append(in.Owned, child(parent, fmt.Sprintf("c-%05d", i), ready))
	}
	c, _ := children(in)
	if len(c.Children) != MaxChildren || c.More != 20_000-MaxChildren || c.NotReady != 300-MaxChildren {
		t.Errorf("%d children, and %d more, of which %d are not ready", len(c.Children), c.More, c.NotReady)
	}
	if c.Children[0].Name != "c-19700" || c.Children[0].Ready != NotReady {
		t.Errorf("the first is %s", text(c.Children[0]))
	}
}

func TestEachTextIsVisited(t *testing.T) {
	secret := errors.New("secret").Error()
	c := &Controller{Problem: secret, Error: secret, Rollout: &Progress{Message: secret}}
	c.Children = []*Node{{Waits: &Wait{Why: secret}, Reasons: []string{secret}, Problems: []string{secret}}}
	n := &Node{Controllers: []*Controller{c}}
	visited := 0
	n.Texts(func(text *string) {
		if *text == secret {
			visited++
		}
	})
	if visited != 6 {
		t.Errorf("%d texts are visited", visited)
	}
}

func TestLongTextsAreCutOff(t *testing.T) {
	o := objecttest.Widget(nil)
	o.SetCreationTimestamp(metav1.Now())
	o.Map()["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False", "message": strings.Repeat("é", 1000)}}}
	n := NodeOf(o)
	if len(n.Reasons) != 1 || len(n.Reasons[0]) > maxText+len("…") || !strings.HasSuffix(n.Reasons[0], "é…") || n.Created == nil {
		t.Errorf("got %q", n.Reasons)
	}
}
