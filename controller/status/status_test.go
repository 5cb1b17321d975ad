package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/failures"
	"metascript/controller/kube"
	"metascript/controller/object/objecttest"
	"metascript/controller/reconcile"
	"metascript/controller/spec"
	"metascript/controller/spec/spectest"
	"metascript/engine"
	"metascript/runtimes"
)

// names is a kube.Finder of resources that are all served, except those with an error.
type names map[string]error

func (n names) ByName(_, plural string) (kube.Resource, error) {
	return kube.Resource{Kind: plural, HasStatus: plural != "statusless"}, n[plural]
}

const (
	soundSpec = `
parentResource: {apiVersion: example.com/v1, resource: widgets}
childResources: [{apiVersion: v1, resource: configmaps}]
script:
  language: Starlark
  inline: |
    def sync(parent): return {"children": []}
    def finalize(parent): return {"children": []}
`
	webhookSpec = `
parentResource: {apiVersion: example.com/v1, resource: widgets}
hooks: {sync: {webhook: {url: 'http://x/'}}}
`
)

// newBuilder returns a Builder with every language and without worker processes.
func newBuilder() *build.Builder {
	sandbox := build.Sandbox{InProcess: engine.New(engine.Options{Runtimes: runtimes.All()}), Missing: []string{"no seccomp"}}
	return &build.Builder{Sandbox: sandbox.WithDefaults()}
}

// load loads a spec that must be sound.
func load(t *testing.T, b *build.Builder, spec string) build.Built {
	t.Helper()
	built, err := b.ReadAndBuild(t.Context(), spectest.Composite(t, spec))
	if err != nil {
		t.Fatalf("%v in\n%s", err, spec)
	}
	return built
}

// withScript is a spec with this Starlark script.
func withScript(source string) string {
	return "{parentResource: {apiVersion: example.com/v1, resource: widgets}, script: " + objecttest.Inline("Starlark", source) + "}"
}

// resultOf loads a controller as a server without a cluster would; active is what runs.
func resultOf(t *testing.T, cc *spec.Declaration, in names, active *build.Loaded) *Result {
	t.Helper()
	r := &Result{Active: active, Snapshot: reconcile.Snapshot{Synced: active != nil, Failing: failures.Summary{Known: active != nil}}, Warnings: append(newBuilder().Sandbox.Warnings(cc), cc.Warnings()...)}
	if cc.Settings.Paused {
		return r
	}
	_, r.ResourcesErr = spec.Resolve(cc, in)
	r.Discovered = true
	var err error
	if r.Built, err = newBuilder().ReadAndBuild(t.Context(), cc); err != nil {
		r.SetError(err)
	}
	r.Warnings = append(r.Warnings, r.Built.Warnings...)
	return r
}

// runningVersion is the version of this generation that runs.
func runningVersion(generation int64, hooks build.Built) *build.Loaded {
	return &build.Loaded{UID: "controller-uid", Generation: generation, Built: hooks, LoadedAt: time.Date(2026, 3, 4, 5, 6, 7, 8e8, time.FixedZone("", 3600))}
}

func TestConditionKeepsTimeOfUnchangedStatus(t *testing.T) {
	long := metav1.NewTime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	cc := spectest.Composite(t, soundSpec)
	cc.Status.Conditions = []metav1.Condition{
		{Type: "ResourcesDiscovered", Status: "False", Reason: "ResourceNotFound", LastTransitionTime: long, ObservedGeneration: 6},
		{Type: "ScriptReady", Status: "True", Reason: "Loaded", Message: "hooks: sync", LastTransitionTime: long, ObservedGeneration: 6},
		{Type: "SpecSound", Status: "False", Reason: "Doubtful", LastTransitionTime: long},
		{Type: "Permitted", Status: "Unknown", Reason: "NotRunning", LastTransitionTime: long},
		{Type: "Ready", Status: "True", Reason: "Paused", LastTransitionTime: long, ObservedGeneration: 6},
		{Type: "Foreign", Status: "True", Reason: "X", LastTransitionTime: long},
	}
	before := cc.Status.DeepCopy()
	status := Of(cc, resultOf(t, cc, nil, runningVersion(7, build.Built{})))
	kept := map[string]bool{}
	for _, c := range status.Conditions {
		kept[c.Type] = c.LastTransitionTime.Equal(&long)
	}
	want := map[string]bool{
		"ResourcesDiscovered": false, "ScriptReady": true, "GuardPassed": false, "ScriptsHeld": false, "ScriptRunaway": false, "FallbackActive": false,
		"FinalizersHeld": false, "Permitted": false, "ParentsSynced": false, "AnswersStored": false, "ParentsWaiting": false, "APIServerAnswers": false, "SpecSound": false, "Ready": true, "Foreign": true,
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("which conditions there are, and whether their time was kept (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, &cc.Status); diff != "" {
		t.Errorf("the status in the cache was changed (-before +after):\n%s", diff)
	}
}

// A status is written only if it differs, and no condition is ever removed.
func TestStatusOfUnchangedControllerIsEqual(t *testing.T) {
	long := metav1.NewTime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	for name, text := range map[string]string{
		"running": soundSpec, "paused": soundSpec + "paused: true", "webhooks": webhookSpec, "broken": withScript("def sync("),
		"doubts": webhookSpec + "endpointConfigs: [{host: elsewhere}]",
	} {
		for _, active := range []*build.Loaded{nil, runningVersion(7, build.Built{})} {
			cc := spectest.Composite(t, text)
			first := Of(cc, resultOf(t, cc, nil, active))
			for i := range first.Conditions {
				first.Conditions[i].LastTransitionTime = long
			}
			cc.Status = *first
			if diff := cmp.Diff(first, Of(cc, resultOf(t, cc, nil, active))); diff != "" {
				t.Errorf("%s (-first +second):\n%s", name, diff)
			}
		}
	}
}

func TestStatusDescribesRunningScript(t *testing.T) {
	cc := spectest.Composite(t, soundSpec)
	hooks := load(t, newBuilder(), soundSpec)
	loadedAt := metav1.NewTime(time.Date(2026, 3, 4, 4, 6, 7, 0, time.UTC))
	want := &v1alpha1.ScriptStatus{
		Language: "Starlark", Hooks: []string{"finalize", "sync"}, Source: "inline", Digest: "sha256:" + hooks.Digest, LoadedAt: &loadedAt,
	}
	r := &Result{Built: hooks, Active: runningVersion(7, hooks), Snapshot: reconcile.Snapshot{Parents: 12}}
	status := Of(cc, r)
	if diff := cmp.Diff(want, status.Script); diff != "" {
		t.Errorf("script (-want +got):\n%s", diff)
	}
	if status.Parents == nil || *status.Parents != 12 {
		t.Errorf("parents are %v, want 12", status.Parents)
	}
}

func TestZeroParentsAreInStatus(t *testing.T) {
	status := Of(spectest.Composite(t, webhookSpec), &Result{Active: runningVersion(7, build.Built{})})
	if status.Parents == nil || *status.Parents != 0 {
		t.Errorf("parents are %v, want 0", status.Parents)
	}
}

func TestLoadTimeChangesWithScript(t *testing.T) {
	hooks := load(t, newBuilder(), soundSpec)
	first := metav1.NewTime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	for name, c := range map[string]struct {
		before *v1alpha1.ScriptStatus
		want   time.Time
	}{
		"the same script, after a restart": {&v1alpha1.ScriptStatus{Digest: "sha256:" + hooks.Digest, LoadedAt: &first}, first.Time},
		"another script before":            {&v1alpha1.ScriptStatus{Digest: "sha256:00", LoadedAt: &first}, time.Date(2026, 3, 4, 4, 6, 7, 0, time.UTC)},
		"no script before":                 {nil, time.Date(2026, 3, 4, 4, 6, 7, 0, time.UTC)},
	} {
		cc := spectest.Composite(t, soundSpec)
		cc.Status.Script = c.before
		status := Of(cc, &Result{Built: hooks, Active: runningVersion(7, hooks)})
		if !status.Script.LoadedAt.Time.Equal(c.want) {
			t.Errorf("%s: loaded at %s, want %s", name, status.Script.LoadedAt, c.want)
		}
	}
}

func TestStatusOfStoppedControllerDescribesNoScript(t *testing.T) {
	cc := spectest.Composite(t, withScript("def sync("))
	many := int32(5)
	cc.Status = v1alpha1.ControllerStatus{ActiveGeneration: 6, Parents: &many, Script: &v1alpha1.ScriptStatus{Digest: "sha256:00"}}
	status := Of(cc, resultOf(t, cc, nil, nil))
	if status.ActiveGeneration != 0 || status.Parents != nil || status.Script != nil {
		t.Errorf("active generation %d, parents %v, script %v: want none of them", status.ActiveGeneration, status.Parents, status.Script)
	}
}

func TestStatusDescribesOlderScriptWhileItRuns(t *testing.T) {
	older := load(t, newBuilder(), soundSpec)
	cc := spectest.Composite(t, withScript("def sync("))
	status := Of(cc, resultOf(t, cc, nil, runningVersion(3, older)))
	if status.ActiveGeneration != 3 || status.Script == nil || status.Script.Digest != "sha256:"+older.Digest {
		t.Errorf("active generation %d, script %v: want those of generation 3", status.ActiveGeneration, status.Script)
	}
}

// An earlier release removed conditions that had nothing to report: they are added by one write.
func TestMissingConditionsAreAddedOnce(t *testing.T) {
	cc := spectest.Composite(t, soundSpec)
	for _, kind := range []string{"ResourcesDiscovered", "ScriptReady", "Ready"} {
		cc.Status.Conditions = append(cc.Status.Conditions, metav1.Condition{Type: kind, Status: "True"})
	}
	first := Of(cc, resultOf(t, cc, nil, runningVersion(7, build.Built{})))
	if diff := cmp.Diff([]string(nil), differing(first)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	cc.Status = *first
	if diff := cmp.Diff(first, Of(cc, resultOf(t, cc, nil, runningVersion(7, build.Built{})))); diff != "" {
		t.Errorf("the status is written again (-first +second):\n%s", diff)
	}
}
