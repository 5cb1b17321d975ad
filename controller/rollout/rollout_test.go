package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/object"
)

var (
	pods    = object.Kind{Version: "v1", Kind: "Pod"}
	configs = object.Kind{Version: "v1", Kind: "ConfigMap"}
)

func text(s string) *string { return &s }

// ready is a rule under which a child needs a condition Ready.
var ready = Rule{Checks: []Check{{Type: "Ready", Status: text("True")}}}

// child makes an object from "a", a Pod, or "ConfigMap/a".
func child(name, image string) *object.Object {
	kind, rest, found := strings.Cut(name, "/")
	if !found {
		kind, rest = "Pod", name
	}
	return object.New(map[string]any{
		"apiVersion": "v1", "kind": kind,
		"metadata": map[string]any{"name": rest, "namespace": "default"},
		"spec":     map[string]any{"image": image},
	})
}

// named is the inverse of child.
func named(o *object.Object) string {
	name := o.GetName()
	if o.GetKind() != "Pod" {
		name = o.GetKind() + "/" + name
	}
	return name + "@" + o.Map()["spec"].(map[string]any)["image"].(string)
}

// observe makes observed children from "a@v1 b@v1!", where what follows the version says
//
//	!  not ready
//	-  being deleted
//	?  has observed an earlier generation
func observe(s string) *object.Set {
	set := &object.Set{}
	set.Declare(pods)
	for _, field := range strings.Fields(s) {
		name, version, _ := strings.Cut(field, "@")
		o := child(name, strings.TrimRight(version, "!-?"))
		o.SetGeneration(2)
		status := map[string]any{"type": "Ready", "status": "True"}
		o.Map()["status"] = map[string]any{"observedGeneration": int64(2), "conditions": []any{status}}
		if strings.Contains(version, "!") {
			status["status"] = "False"
		}
		if strings.Contains(version, "?") {
			o.Map()["status"].(map[string]any)["observedGeneration"] = int64(1)
		}
		if strings.Contains(version, "-") {
			now := metav1.Now()
			o.SetDeletionTimestamp(&now)
		}
		set.Put(o)
	}
	return set
}

// revision makes one from "v1: a b c | a b": its name, which is also the image it wants, what it wants, and the
// children that are at it.
func revision(s string) Revision {
	name, rest, _ := strings.Cut(s, ":")
	wants, has, _ := strings.Cut(rest, "|")
	r := Revision{Name: name, Patch: map[string]any{"spec": name}, Children: Children{}, Desired: &object.Set{}}
	for _, name := range strings.Fields(wants) {
		r.Desired.Put(child(name, r.Name))
	}
	for _, name := range strings.Fields(has) {
		r.Children[ChildOf(child(name, ""))] = true
	}
	return r
}

// list gives the objects of a set as text.
func list(s *object.Set) string {
	var all []string
	for o := range s.Added() {
		all = append(all, named(o))
	}
	return strings.Join(all, " ")
}

// members gives a revision as "v1: a b".
func members(r Revision) string {
	out := r.Name + ":"
	for _, c := range slices.SortedFunc(maps.Keys(r.Children), Child.compare) {
		if out += " "; c.Kind != "Pod" {
			out += c.Kind + "/"
		}
		out += c.Name
	}
	return out
}

func memberships(s Step) string {
	out := []string{members(s.Latest)}
	for _, r := range s.Keep {
		out = append(out, members(r))
	}
	for _, r := range s.Drop {
		out = append(out, "no "+r.Name)
	}
	return strings.Join(out, ", ")
}

func TestNext(t *testing.T) {
	for _, c := range []struct {
		name      string
		latest    string
		older     string // separated by ";"
		observed  string
		rule      Rule
		desired   string
		revisions string
		condition string
	}{
		{
			name: "the first time all children are new", latest: "v1: a b c",
			desired: "a@v1 b@v1 c@v1", revisions: "v1: a b c", condition: "OnLatestRevision: latest ControllerRevision: v1",
		}, {
			name: "nothing to do", latest: "v1: a b c | a b c", observed: "a@v1 b@v1 c@v1",
			desired: "a@v1 b@v1 c@v1", revisions: "v1: a b c", condition: "OnLatestRevision: latest ControllerRevision: v1",
		}, {
			name: "the first child moves", latest: "v2: a b c", older: "v1: a b c | a b c", observed: "a@v1 b@v1 c@v1",
			desired: "a@v2 b@v1 c@v1", revisions: "v2: a, v1: b c", condition: "RolloutProgressing: updating Pod a",
		}, {
			name: "the first is the first in the answer", latest: "v2: c b a", older: "v1: a b c | a b c", observed: "a@v1 b@v1 c@v1",
			desired: "c@v2 b@v1 a@v1", revisions: "v2: c, v1: a b", condition: "RolloutProgressing: updating Pod c",
		}, {
			name: "the second moves when the first is well", latest: "v2: a b c | a", older: "v1: a b c | b c", observed: "a@v2 b@v1 c@v1",
			desired: "a@v2 b@v2 c@v1", revisions: "v2: a b, v1: c", condition: "RolloutProgressing: updating Pod b",
		}, {
			name: "the last move leaves a revision without children", latest: "v2: a b | a", older: "v1: a b | b", observed: "a@v2 b@v1",
			desired: "a@v2 b@v2", revisions: "v2: a b, no v1", condition: "RolloutProgressing: updating Pod b",
		}, {
			name: "the end", latest: "v2: a b | a b", observed: "a@v2 b@v1",
			desired: "a@v2 b@v2", revisions: "v2: a b", condition: "OnLatestRevision: latest ControllerRevision: v2",
		}, {
			name: "not before the first exists again", latest: "v2: a b c | a", older: "v1: a b c | b c", observed: "b@v1 c@v1",
			desired: "a@v2 b@v1 c@v1", revisions: "v2: a, v1: b c", condition: "RolloutWaiting: Pod a does not exist yet",
		}, {
			name: "not while it is being deleted", latest: "v2: a b c | a", older: "v1: a b c | b c", observed: "a@v2- b@v1 c@v1",
			desired: "a@v2 b@v1 c@v1", revisions: "v2: a, v1: b c", condition: "RolloutWaiting: Pod a is still being deleted",
		}, {
			name: "not before it is updated", latest: "v2: a b c | a", older: "v1: a b c | b c", observed: "a@v1 b@v1 c@v1",
			desired: "a@v2 b@v1 c@v1", revisions: "v2: a, v1: b c", condition: "RolloutWaiting: Pod a is not updated yet: spec.image differs",
		}, {
			name: "not before it has passed the checks", latest: "v2: a b c | a", older: "v1: a b c | b c", observed: "a@v2! b@v1 c@v1", rule: ready,
			desired: "a@v2 b@v1 c@v1", revisions: "v2: a, v1: b c", condition: `RolloutWaiting: Pod a has condition Ready with status "False", want "True"`,
		}, {
			name: "checks that are not asked for do not count", latest: "v2: a b c | a", older: "v1: a b c | b c", observed: "a@v2! b@v1 c@v1",
			desired: "a@v2 b@v2 c@v1", revisions: "v2: a b, v1: c", condition: "RolloutProgressing: updating Pod b",
		}, {
			name: "nor does it count how a child at an older revision is", latest: "v2: a b c | a", older: "v1: a b c | b c", observed: "a@v2 b@v1! c@v1!", rule: ready,
			desired: "a@v2 b@v2 c@v1", revisions: "v2: a b, v1: c", condition: "RolloutProgressing: updating Pod b",
		}, {
			name: "in place: not before it has taken note", latest: "v2: a b c | a", older: "v1: a b c | b c", observed: "a@v2? b@v1 c@v1", rule: Rule{InPlace: true},
			desired: "a@v2 b@v1 c@v1", revisions: "v2: a, v1: b c", condition: "RolloutWaiting: Pod a has not observed its update yet: status.observedGeneration is 1, and its generation 2",
		}, {
			name: "recreated: a generation does not count", latest: "v2: a b c | a", older: "v1: a b c | b c", observed: "a@v2? b@v1 c@v1",
			desired: "a@v2 b@v2 c@v1", revisions: "v2: a b, v1: c", condition: "RolloutProgressing: updating Pod b",
		}, {
			name: "a child that was deleted comes back at its own revision", latest: "v2: a b c | a", older: "v1: a b c | b c", observed: "a@v2! b@v1", rule: ready,
			desired: "a@v2 b@v1 c@v1", revisions: "v2: a, v1: b c", condition: `RolloutWaiting: Pod a has condition Ready with status "False", want "True"`,
		}, {
			name: "unless it is its turn", latest: "v2: a b c | a", older: "v1: a b c | b c", observed: "a@v2 c@v1",
			desired: "a@v2 b@v2 c@v1", revisions: "v2: a b, v1: c", condition: "RolloutProgressing: updating Pod b",
		}, {
			name: "a new child is at the latest, and is waited for", latest: "v2: a b new", older: "v1: a b | a b", observed: "a@v1 b@v1",
			desired: "a@v1 b@v1 new@v2", revisions: "v2: new, v1: a b", condition: "RolloutWaiting: Pod new does not exist yet",
		}, {
			name: "what already is as the latest wants it is at it at once", latest: "v2: a b c", older: "v1: a b c | a b c", observed: "a@v1 b@v2 c@v2",
			desired: "a@v2 b@v2 c@v2", revisions: "v2: a b c, no v1", condition: "RolloutProgressing: updating Pod a",
		}, {
			name: "and counts for the gate", latest: "v2: a b c", older: "v1: a b c | a b c", observed: "a@v1 b@v2! c@v1", rule: ready,
			desired: "a@v1 b@v2 c@v1", revisions: "v2: b, v1: a c", condition: `RolloutWaiting: Pod b has condition Ready with status "False", want "True"`,
		}, {
			name: "unless it is being deleted", latest: "v2: a b | a", older: "v1: a b | b", observed: "a@v1 b@v2-",
			desired: "a@v2 b@v1", revisions: "v2: a, v1: b", condition: "RolloutWaiting: Pod a is not updated yet: spec.image differs",
		}, {
			name: "what the latest does not want is at no revision, and nobody waits for it", latest: "v2: a b | a gone", older: "v1: a b gone x | b x", observed: "a@v2 b@v1 x@v1",
			desired: "a@v2 b@v2", revisions: "v2: a b, no v1", condition: "RolloutProgressing: updating Pod b",
		}, {
			name: "back to an older version", latest: "v1: a b c | b c", older: "v2: a b c | a", observed: "a@v2 b@v1 c@v1",
			desired: "a@v1 b@v1 c@v1", revisions: "v1: a b c, no v2", condition: "RolloutProgressing: updating Pod a",
		}, {
			name: "on to a third version", latest: "v3: a b c", older: "v1: a b c | b c; v2: a b c | a", observed: "a@v2! b@v1 c@v1", rule: ready,
			desired: "a@v3 b@v1 c@v1", revisions: "v3: a, v1: b c, no v2", condition: "RolloutProgressing: updating Pod a",
		}, {
			name: "of two revisions that claim a child the latest counts", latest: "v2: a b | a", older: "v1: a b | a b", observed: "a@v1 b@v1",
			desired: "a@v2 b@v1", revisions: "v2: a, v1: b", condition: "RolloutWaiting: Pod a is not updated yet: spec.image differs",
		}, {
			name: "of two older ones the one that it is like", latest: "v3: z a | z", older: "v1: a | a; v2: a | a", observed: "z@v3! a@v2", rule: ready,
			desired: "z@v3 a@v2", revisions: "v3: z, v1: a, v2: a", condition: `RolloutWaiting: Pod z has condition Ready with status "False", want "True"`,
		}, {
			name: "a child of which nobody knows the revision stays as it is until its turn", latest: "v2: a b c", observed: "a@v1 b@v1 c@v0",
			desired: "a@v2", revisions: "v2: a", condition: "RolloutProgressing: updating Pod a",
		}, {
			name: "as does one that its own revision does not want", latest: "v2: a b c | a", older: "v1: b | b c", observed: "a@v2 b@v1 c@v1",
			desired: "a@v2 b@v2", revisions: "v2: a b, v1: c", condition: "RolloutProgressing: updating Pod b",
		}, {
			name: "and when it is gone, it is new", latest: "v2: a b c | a", older: "v1: b | b c", observed: "a@v2! b@v1", rule: ready,
			desired: "a@v2 b@v1 c@v2", revisions: "v2: a c, v1: b", condition: `RolloutWaiting: Pod a has condition Ready with status "False", want "True"`,
		}, {
			name: "kinds that do not roll follow the latest", latest: "v2: ConfigMap/c a b | ConfigMap/c", older: "v1: ConfigMap/c a b | a b ConfigMap/c", observed: "ConfigMap/c@v1 a@v1 b@v1",
			desired: "ConfigMap/c@v2 a@v2 b@v1", revisions: "v2: a, v1: b", condition: "RolloutProgressing: updating Pod a",
		}, {
			name: "the latest wants nothing", latest: "v2: | a", older: "v1: a b | b", observed: "a@v2 b@v1",
			desired: "", revisions: "v2:, no v1", condition: "OnLatestRevision: latest ControllerRevision: v2",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var older []Revision
			for _, s := range strings.Split(c.older, ";") {
				if s != "" {
					older = append(older, revision(strings.TrimSpace(s)))
				}
			}
			rules := Rules{Kinds: map[object.Kind]Rule{pods: c.rule}}
			step := Next(revision(c.latest), older, observe(c.observed), rules)
			got := []string{list(step.Desired), memberships(step), string(step.Condition.Reason) + ": " + step.Condition.Message}
			if diff := cmp.Diff([]string{c.desired, c.revisions, c.condition}, got); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
			if want := step.Condition.Reason == OnLatest; step.Condition.Status != want {
				t.Errorf("condition is %t with reason %s", step.Condition.Status, step.Condition.Reason)
			}
		})
	}
}

// What is left alone is in neither of the sets that are planned with, so that it is not deleted either.
func TestIgnoredChildIsNotPlanned(t *testing.T) {
	rules := Rules{Kinds: map[object.Kind]Rule{pods: {}}}
	step := Next(revision("v2: a b c"), nil, observe("a@v1 b@v1 c@v2 unwanted@v1"), rules)
	if diff := cmp.Diff("a@v2 c@v2", list(step.Desired)); diff != "" {
		t.Errorf("desired (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("a@v1 c@v2 unwanted@v1", list(step.Observed)); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
}

func TestOrderOfResponseIncludesAllKinds(t *testing.T) {
	rules := Rules{Kinds: map[object.Kind]Rule{pods: {}, configs: {}}}
	latest, older := revision("v2: a ConfigMap/b c"), []Revision{revision("v1: a ConfigMap/b c | a ConfigMap/b c")}
	observed := []string{"a@v1 ConfigMap/b@v1 c@v1", "a@v2 ConfigMap/b@v1 c@v1", "a@v2 ConfigMap/b@v2 c@v1"}
	for i, want := range []string{"Pod a", "ConfigMap b", "Pod c"} {
		step := Next(latest, older, observe(observed[i]), rules)
		if got := step.Condition.Message; got != "updating "+want {
			t.Errorf("step %d: %s, want updating %s", i, got, want)
		}
		latest, older = step.Latest, step.Keep
	}
}

func TestIncomparableChildIsNotUpdated(t *testing.T) {
	rules := Rules{
		Kinds:   map[object.Kind]Rule{pods: {}},
		Differs: func(_, _ *object.Object) (string, error) { return "", fmt.Errorf("no idea") },
	}
	step := Next(revision("v2: a b | a"), []Revision{revision("v1: a b | b")}, observe("a@v2 b@v2"), rules)
	if got, want := step.Condition.Message, "Pod a cannot be compared with what is wanted: no idea"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if got := memberships(step); got != "v2: a, v1: b" {
		t.Errorf("revisions %s", got)
	}
}

func TestChecks(t *testing.T) {
	with := func(conditions ...any) *object.Object {
		o := child("a", "v1")
		o.Map()["status"] = map[string]any{"conditions": conditions}
		return o
	}
	full := Check{Type: "Ready", Status: text("True"), Reason: text("Good")}
	for _, c := range []struct {
		check Check
		o     *object.Object
		want  string
	}{
		{full, with(map[string]any{"type": "Other"}, map[string]any{"type": "Ready", "status": "True", "reason": "Good"}), ""},
		{Check{Type: "Ready"}, with(map[string]any{"type": "Ready", "status": "False"}), ""},
		{full, child("a", "v1"), "has no condition Ready in its status"},
		{full, with(), "has no condition Ready in its status"},
		{full, with("Ready", nil, int64(1), map[string]any{"type": int64(1)}), "has no condition Ready in its status"},
		{full, with(map[string]any{"type": "Ready"}), `has condition Ready with status "", want "True"`},
		{full, with(map[string]any{"type": "Ready", "status": true}), `has condition Ready with status "", want "True"`},
		{full, with(map[string]any{"type": "Ready", "status": "False", "message": "no disk"}), `has condition Ready with status "False", want "True": no disk`},
		{full, with(map[string]any{"type": "Ready", "status": "False", "message": strings.Repeat("é", 1000)}), `has condition Ready with status "False", want "True": ` + strings.Repeat("é", 250) + "…"},
		{full, with(map[string]any{"type": "Ready", "status": "True", "reason": "Bad"}), `has condition Ready with reason "Bad", want "Good"`},
	} {
		if got := c.check.wrong(c.o); got != c.want {
			t.Errorf("%v of %v: %q, want %q", c.check.Type, c.o.Map()["status"], got, c.want)
		}
	}
}
