package status

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/kube"
	"metascript/controller/object/objecttest"
	"metascript/controller/reconcile"
	"metascript/controller/spec"
	"metascript/controller/spec/spectest"
	"metascript/controller/throttle"
	"metascript/engine"
	"metascript/runtimes"
)

// names says what discovery knows: a kube.Finder of resources that are all served, but for those with an error.
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

// newLoader is a loader with every language there is, and no worker processes.
func newLoader() *build.Loader {
	sandbox := build.Sandbox{InProcess: engine.New(engine.Options{Runtimes: runtimes.All()}), Missing: []string{"no seccomp"}}
	return &build.Loader{Sandbox: sandbox.WithDefaults()}
}

// load loads a spec that must be sound.
func load(t *testing.T, l *build.Loader, spec string) build.Built {
	t.Helper()
	built, err := l.Read(t.Context(), spectest.Composite(t, spec))
	if err != nil {
		t.Fatalf("%v in\n%s", err, spec)
	}
	return built
}

// withScript is a spec with that Starlark.
func withScript(source string) string {
	return "{parentResource: {apiVersion: example.com/v1, resource: widgets}, script: " + objecttest.Inline("Starlark", source) + "}"
}

// judge gives the verdict on a controller as a server without a cluster would: active is what runs before.
func judge(t *testing.T, cc *spec.Declaration, in names, active *build.Version) *Result {
	t.Helper()
	v := &Result{Active: active, Snapshot: reconcile.Snapshot{Filled: active != nil}, Warnings: append(newLoader().Sandbox.Warnings(cc), cc.Warnings()...)}
	if cc.Settings.Paused {
		return v
	}
	_, v.Resources = spec.Resolve(cc, in)
	v.Discovered = true
	var err error
	if v.Built, err = newLoader().Read(t.Context(), cc); err != nil {
		v.SetError(err)
	}
	v.Warnings = append(v.Warnings, v.Built.Warnings...)
	return v
}

// runningVersion is what a loop was made of.
func runningVersion(generation int64, hooks build.Built) *build.Version {
	return &build.Version{UID: "controller-uid", Generation: generation, Built: hooks, LoadedAt: time.Date(2026, 3, 4, 5, 6, 7, 8e8, time.FixedZone("", 3600))}
}

// normal is the status and the reason of each condition of a controller that runs, has a script and no problem.
var normal = map[string]string{
	"ResourcesDiscovered": "True Discovered", "ScriptReady": "True Loaded", "ScriptsHeld": "False NoneHeld", "ScriptRunaway": "False NoRunaway",
	"FallbackActive": "False NoFallback", "FinalizersHeld": "False NoneHeld", "Permitted": "True NothingForbidden", "SpecSound": "True NoWarnings", "Ready": "True Running",
}

// idle is how the conditions of a controller of which nothing runs differ from normal.
var idle = []string{"ScriptsHeld: Unknown NotRunning", "FallbackActive: Unknown NotRunning", "FinalizersHeld: Unknown NotRunning", "Permitted: Unknown NotRunning"}

// differing returns "Type: Status Reason" of each condition that is not as in normal, and of each that is missing.
func differing(status *v1alpha1.ControllerStatus) []string {
	found, missing := []string(nil), maps.Clone(normal)
	for _, c := range status.Conditions {
		if now := fmt.Sprintf("%s %s", c.Status, c.Reason); now != normal[c.Type] {
			found = append(found, c.Type+": "+now)
		}
		delete(missing, c.Type)
	}
	for kind := range missing {
		found = append(found, kind+" is missing")
	}
	slices.Sort(found)
	return found
}

// sorted joins and sorts lists of conditions.
func sorted(lists ...[]string) []string { return slices.Sorted(slices.Values(slices.Concat(lists...))) }

func messageOf(t *testing.T, status *v1alpha1.ControllerStatus, kind string) string {
	t.Helper()
	c := meta.FindStatusCondition(status.Conditions, kind)
	if c == nil {
		t.Fatalf("there is no condition %s among %v", kind, differing(status))
	}
	return c.Message
}

func TestConditionsOfAController(t *testing.T) {
	notServed := names{"configmaps": &kube.NotServedError{APIVersion: "v1", Name: "configmaps"}}
	parentNotServed := names{"widgets": &kube.NotServedError{APIVersion: "example.com/v1", Name: "widgets"}}
	unanswered := names{"widgets": errors.New("discover example.com/v1: no answer today")}
	for _, c := range []struct {
		name   string
		spec   string
		in     names
		runs   int64    // the generation that runs
		want   []string // the conditions that are not as in normal, and, when nothing runs, not as in idle
		on     string   // the condition whose message is looked at
		having []string
	}{
		{"running", soundSpec, nil, 7,
			nil,
			"ScriptReady", []string{"hooks: finalize, sync"}},
		{"running without a script", webhookSpec, nil, 7,
			[]string{"ScriptReady: True NoScript"}, "Ready", []string{"generation 7 runs"}},
		{"about to start", soundSpec, nil, 0,
			[]string{"Ready: False Starting"}, "Ready", nil},
		{"paused, and nothing was tried", soundSpec + "paused: true", nil, 0,
			[]string{"ResourcesDiscovered: Unknown NotChecked", "ScriptReady: Unknown NotChecked", "SpecSound: Unknown NotChecked", "Ready: True Paused"}, "Ready", []string{"spec.paused", "nothing is written"}},
		{"more isolation than can be had", soundSpec + "isolation: Process", nil, 0,
			[]string{"ScriptReady: Unknown NotChecked", "SpecSound: Unknown NotChecked", "Ready: False IsolationUnavailable"}, "Ready", []string{"isolation Process", "the system lacks: no seccomp"}},
		{"more isolation than can be had, while an older generation runs", soundSpec + "isolation: Process", nil, 3,
			[]string{"ScriptReady: Unknown NotChecked", "SpecSound: Unknown NotChecked", "Ready: False RunningPreviousVersion"}, "Ready", []string{"generation 3 keeps running", "no seccomp"}},
		{"connection settings of no webhook", webhookSpec + "endpointConfigs: [{host: elsewhere}]", nil, 0,
			[]string{"ScriptReady: True NoScript", "SpecSound: False Doubtful", "Ready: False Starting"}, "SpecSound", []string{"endpointConfigs[0] has no effect", "elsewhere"}},
		{"no hooks", "parentResource: {apiVersion: example.com/v1, resource: widgets}", nil, 0,
			[]string{"ScriptReady: Unknown NotChecked", "SpecSound: Unknown NotChecked", "Ready: False NoHooks"}, "Ready", []string{"no hooks defined"}},
		{"a spec that cannot work", "{parentResource: {apiVersion: example.com/v1, resource: widgets}, hooks: {sync: {webhook: {}}}}", nil, 0,
			[]string{"ScriptReady: Unknown NotChecked", "SpecSound: Unknown NotChecked", "Ready: False InvalidSpec"}, "Ready", []string{"hooks.sync.webhook"}},
		{"a parent kind that is not served", soundSpec, parentNotServed, 0,
			[]string{"ResourcesDiscovered: False ResourceNotFound", "Ready: False ResourcesNotDiscovered"},
			"ResourcesDiscovered", []string{"parentResource", `"widgets"`, "example.com/v1", "by itself when it appears"}},
		{"a child kind that is not served", soundSpec, notServed, 0,
			[]string{"ResourcesDiscovered: False ResourceNotFound", "Ready: False ResourcesNotDiscovered"},
			"ResourcesDiscovered", []string{"childResources[0]", `"configmaps"`}},
		{"a child kind that is not served any more, while this generation runs", soundSpec, notServed, 7,
			[]string{"ResourcesDiscovered: False ResourceNotFound", "Ready: False ResourcesNotDiscovered"}, "Ready", []string{"configmaps"}},
		{"an API server that does not tell", soundSpec, unanswered, 0,
			[]string{"ResourcesDiscovered: Unknown DiscoveryFailed", "Ready: False ResourcesNotDiscovered"},
			"ResourcesDiscovered", []string{"no answer today"}},
		{"a parent kind without a status", strings.Replace(soundSpec, "widgets", "statusless", 1), nil, 0,
			[]string{"Ready: False NoStatusSubresource"},
			"Ready", []string{"does not have subresource 'Status' enabled"}},
		{"a parent kind without a status, and a child kind that is not served", strings.Replace(soundSpec, "widgets", "statusless", 1), notServed, 0,
			[]string{"ResourcesDiscovered: False ResourceNotFound", "Ready: False ResourcesNotDiscovered"},
			"Ready", []string{"configmaps"}},
		{"a script without sync", withScript(objecttest.Starlark("main")), nil, 0,
			[]string{"SpecSound: Unknown NotChecked", "ScriptReady: False FunctionNotFound", "Ready: False ScriptNotReady"},
			"ScriptReady", []string{"no function sync", "it defines main"}},
		{"a script that breaks a limit while it is compiled", "{parentResource: {apiVersion: example.com/v1, resource: widgets}, script: {language: Starlark, limits: {steps: 1000}, inline: 'x = [i for i in range(100000000)]'}}", nil, 0,
			[]string{"SpecSound: Unknown NotChecked", "ScriptReady: False LimitExceeded", "Ready: False ScriptNotReady"},
			"ScriptReady", []string{"sync.star:1:", "steps"}},
		{"a script that does not compile, and a kind that is not served", withScript("def sync("), parentNotServed, 0,
			[]string{"SpecSound: Unknown NotChecked", "ResourcesDiscovered: False ResourceNotFound", "ScriptReady: False CompileError", "Ready: False ResourcesNotDiscovered"}, "Ready", []string{"widgets"}},
		{"doubts", "{parentResource: {apiVersion: example.com/v1, resource: widgets}, hooks: {sync: {webhook: {url: 'http://x/', service: {name: s, namespace: ns}}}, finalize: {}}, " +
			"childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: InPlace, statusChecks: {conditions: [{type: Ready}]}}}]}", nil, 7,
			[]string{"ScriptReady: True NoScript", "SpecSound: False Doubtful"}, "SpecSound",
			[]string{"hooks.sync.webhook has both url and service", "hooks.finalize is empty", "childResources[0].updateStrategy.statusChecks has no effect with method InPlace"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cc := spectest.Composite(t, c.spec)
			var active *build.Version
			if c.runs > 0 {
				active = runningVersion(c.runs, build.Built{})
			}
			status := Of(cc, judge(t, cc, c.in, active))
			if c.runs == 0 {
				c.want = append(c.want, idle...)
			}
			if diff := cmp.Diff(sorted(c.want), differing(status)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			message := messageOf(t, status, c.on)
			for _, part := range c.having {
				if !strings.Contains(message, part) {
					t.Errorf("the message of %s is %q, want %q in it", c.on, message, part)
				}
			}
			for _, condition := range status.Conditions {
				if condition.ObservedGeneration != 7 || condition.LastTransitionTime.IsZero() || condition.Message == "" {
					t.Errorf("condition %s lacks generation, time or message: %+v", condition.Type, condition)
				}
			}
			if status.ObservedGeneration != 7 || status.ActiveGeneration != c.runs {
				t.Errorf("observed and active generation are %d and %d, want 7 and %d", status.ObservedGeneration, status.ActiveGeneration, c.runs)
			}
		})
	}
}

func TestAControllerIsReadyOnceItsCachesAreFilled(t *testing.T) {
	cc := spectest.Composite(t, webhookSpec)
	v := judge(t, cc, nil, runningVersion(7, build.Built{}))
	v.Filled = false
	status := Of(cc, v)
	if diff := cmp.Diff(sorted([]string{"ScriptReady: True NoScript", "FinalizersHeld: Unknown Starting", "Permitted: Unknown Starting", "SpecSound: Unknown Starting", "Ready: False Starting"}), differing(status)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if message := messageOf(t, status, v1alpha1.ConditionReady); !strings.Contains(message, "caches") {
		t.Errorf("the message is %q", message)
	}
}

func TestAScriptThatDoesNotCompileIsToldWithPositionLineAndCaret(t *testing.T) {
	cc := spectest.Composite(t, withScript("def sync(parent):\n    return {\"children\": [}\n"))
	at := regexp.MustCompile(`^sync\.star:2:\d+: .+\n {8}return \{"children": \[\}\n +\^$`)

	status := Of(cc, judge(t, cc, nil, nil))
	if message := messageOf(t, status, v1alpha1.ConditionScriptReady); !at.MatchString(message) {
		t.Errorf("the message of ScriptReady is\n%s", message)
	}
	if diff := cmp.Diff(sorted(idle, []string{"ScriptReady: False CompileError", "SpecSound: Unknown NotChecked", "Ready: False ScriptNotReady"}), differing(status)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}

	status = Of(cc, judge(t, cc, nil, runningVersion(3, build.Built{})))
	excerpt, rest, _ := strings.Cut(messageOf(t, status, v1alpha1.ConditionScriptReady), "\ngeneration")
	if !at.MatchString(excerpt) || rest != " 3 keeps running" {
		t.Errorf("the message of ScriptReady is\n%s\nand its last line goes on with %q", excerpt, rest)
	}
	if diff := cmp.Diff(sorted([]string{"ScriptReady: False CompileError", "SpecSound: Unknown NotChecked", "Ready: False RunningPreviousVersion"}), differing(status)); diff != "" {
		t.Errorf("conditions while generation 3 runs (-want +got):\n%s", diff)
	}
	if message := messageOf(t, status, v1alpha1.ConditionReady); strings.Contains(message, "\n") || !strings.Contains(message, "sync.star:2:") {
		t.Errorf("the message of Ready is %q, want one line with the position", message)
	}
}

func TestTheTimeOfAConditionIsThatOfItsLastChangeOfStatus(t *testing.T) {
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
	status := Of(cc, judge(t, cc, nil, runningVersion(7, build.Built{})))
	kept := map[string]bool{}
	for _, c := range status.Conditions {
		kept[c.Type] = c.LastTransitionTime.Equal(&long)
	}
	want := map[string]bool{
		"ResourcesDiscovered": false, "ScriptReady": true, "ScriptsHeld": false, "ScriptRunaway": false, "FallbackActive": false,
		"FinalizersHeld": false, "Permitted": false, "SpecSound": false, "Ready": true, "Foreign": true,
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("which conditions there are, and whether their time was kept (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, &cc.Status); diff != "" {
		t.Errorf("the status in the cache was changed (-before +after):\n%s", diff)
	}
}

// A status is written only if it differs, and no condition is ever removed.
func TestTheStatusOfAnUnchangedControllerIsEqual(t *testing.T) {
	long := metav1.NewTime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	for name, text := range map[string]string{
		"running": soundSpec, "paused": soundSpec + "paused: true", "webhooks": webhookSpec, "broken": withScript("def sync("),
		"doubts": webhookSpec + "endpointConfigs: [{host: elsewhere}]",
	} {
		for _, active := range []*build.Version{nil, runningVersion(7, build.Built{})} {
			cc := spectest.Composite(t, text)
			first := Of(cc, judge(t, cc, nil, active))
			for i := range first.Conditions {
				first.Conditions[i].LastTransitionTime = long
			}
			cc.Status = *first
			if diff := cmp.Diff(first, Of(cc, judge(t, cc, nil, active))); diff != "" {
				t.Errorf("%s (-first +second):\n%s", name, diff)
			}
		}
	}
}

// A spec that cannot be read is not taken for one without a script.
func TestNothingIsSaidOfASpecThatCannotBeRead(t *testing.T) {
	cc := &spec.Declaration{Kind: v1alpha1.KindCompositeController}
	want := sorted(idle, []string{"ResourcesDiscovered: Unknown NotChecked", "ScriptReady: Unknown NotChecked", "SpecSound: Unknown NotChecked", "Ready: False InvalidSpec"})
	if diff := cmp.Diff(want, differing(Of(cc, &Result{Spec: errors.New("unreadable")}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAPausedControllerWithoutAScriptNeedsNone(t *testing.T) {
	cc := spectest.Composite(t, webhookSpec+"paused: true")
	status := Of(cc, judge(t, cc, nil, nil))
	if !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionScriptReady) || !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("the conditions are %v", differing(status))
	}
}

func TestFinalizersThatAreHeldAreReported(t *testing.T) {
	cc := spectest.Composite(t, soundSpec)
	r := judge(t, cc, nil, runningVersion(7, build.Built{}))
	r.Finalizers = reconcile.HeldFinalizers{Parents: 2, First: objecttest.WidgetRef("default", "w"), HowToFinalize: "define it"}
	status := Of(cc, r)
	if diff := cmp.Diff([]string{"FinalizersHeld: True NoFinalizeHook"}, differing(status)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if message := messageOf(t, status, v1alpha1.ConditionFinalizersHeld); !strings.Contains(message, "on 2 parents, such as default/w") {
		t.Errorf("the message is %q", message)
	}
}

func TestWhatIsNotPermittedIsReported(t *testing.T) {
	cc := spectest.Composite(t, soundSpec)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "widgets"}, "", errors.New("not today"))
	for name, c := range map[string]struct {
		of   reconcile.Snapshot
		want []string
	}{
		"to a parent":           {reconcile.Snapshot{Filled: true, Denied: reconcile.Denied{Parents: 1, First: objecttest.WidgetRef("default", "w"), Err: forbidden}}, []string{"Permitted: False Forbidden"}},
		"to a watch that began": {reconcile.Snapshot{Filled: true, Trouble: forbidden}, []string{"Permitted: False Forbidden", "Ready: False CachesStale"}},
		"to a watch":            {reconcile.Snapshot{Trouble: forbidden}, []string{"FinalizersHeld: Unknown Starting", "Permitted: False Forbidden", "Ready: False Starting", "SpecSound: Unknown Starting"}},
	} {
		r := judge(t, cc, nil, runningVersion(7, build.Built{}))
		r.Snapshot = c.of
		status := Of(cc, r)
		if diff := cmp.Diff(c.want, differing(status)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if message := messageOf(t, status, v1alpha1.ConditionPermitted); !strings.Contains(message, "not today") {
			t.Errorf("%s: the message is %q", name, message)
		}
	}
}

func TestTheStatusTellsWhatRuns(t *testing.T) {
	cc := spectest.Composite(t, soundSpec)
	hooks := load(t, newLoader(), soundSpec)
	loadedAt := metav1.NewTime(time.Date(2026, 3, 4, 4, 6, 7, 0, time.UTC))
	want := &v1alpha1.ScriptStatus{
		Language: "Starlark", Hooks: []string{"finalize", "sync"}, Source: "inline", Digest: "sha256:" + hooks.Digest, LoadedAt: &loadedAt,
	}
	v := &Result{Built: hooks, Active: runningVersion(7, hooks), Snapshot: reconcile.Snapshot{Parents: 12}}
	status := Of(cc, v)
	if diff := cmp.Diff(want, status.Script); diff != "" {
		t.Errorf("script (-want +got):\n%s", diff)
	}
	if status.Parents == nil || *status.Parents != 12 {
		t.Errorf("parents are %v, want 12", status.Parents)
	}
}

func TestThatNoParentIsThereIsToldToo(t *testing.T) {
	status := Of(spectest.Composite(t, webhookSpec), &Result{Active: runningVersion(7, build.Built{})})
	if status.Parents == nil || *status.Parents != 0 {
		t.Errorf("parents are %v, want 0", status.Parents)
	}
}

func TestAScriptIsLoadedAtTheTimeWhenItChanged(t *testing.T) {
	hooks := load(t, newLoader(), soundSpec)
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

func TestWhereNothingRunsTheStatusTellsOfNothingThatRuns(t *testing.T) {
	cc := spectest.Composite(t, withScript("def sync("))
	many := int32(5)
	cc.Status = v1alpha1.ControllerStatus{ActiveGeneration: 6, Parents: &many, Script: &v1alpha1.ScriptStatus{Digest: "sha256:00"}}
	status := Of(cc, judge(t, cc, nil, nil))
	if status.ActiveGeneration != 0 || status.Parents != nil || status.Script != nil {
		t.Errorf("active generation %d, parents %v, script %v: want none of them", status.ActiveGeneration, status.Parents, status.Script)
	}
}

func TestTheStatusTellsOfTheOlderScriptWhileItRuns(t *testing.T) {
	older := load(t, newLoader(), soundSpec)
	cc := spectest.Composite(t, withScript("def sync("))
	status := Of(cc, judge(t, cc, nil, runningVersion(3, older)))
	if status.ActiveGeneration != 3 || status.Script == nil || status.Script.Digest != "sha256:"+older.Digest {
		t.Errorf("active generation %d, script %v: want those of generation 3", status.ActiveGeneration, status.Script)
	}
}

func TestAMessageFitsIntoACondition(t *testing.T) {
	status := Of(spectest.Composite(t, webhookSpec), &Result{Spec: errors.New(strings.Repeat("é", v1alpha1.MaxConditionMessage))})
	if n := len(messageOf(t, status, v1alpha1.ConditionReady)); n > v1alpha1.MaxConditionMessage {
		t.Errorf("the message has %d bytes, and the API server takes %d", n, v1alpha1.MaxConditionMessage)
	}
}

func TestParentsThatAreHeldAreCountedAndTheFirstIsNamed(t *testing.T) {
	cc := spectest.Composite(t, soundSpec)
	fault := &engine.Error{Kind: engine.KindSteps, Pos: engine.Pos{File: "sync.star", Line: 2}, Func: "sync", Msg: "ran more than 5 steps"}
	for parents, want := range map[int]string{
		1: "the script is not run for one parent, default/w, before the parent's spec or the script changes, since it hit a limit 2 times in a row: sync.star:2: in sync: ran more than 5 steps",
		3: "the script is not run for 3 parents, the first of them default/w, before ",
	} {
		v := judge(t, cc, nil, runningVersion(7, build.Built{}))
		v.Held = throttle.Held{Parents: parents, First: objecttest.WidgetRef("default", "w"), Err: fault}
		status := Of(cc, v)
		if message := messageOf(t, status, v1alpha1.ConditionScriptsHeld); !strings.HasPrefix(message, want) {
			t.Errorf("the message is %q, want %q", message, want)
		}
		if diff := cmp.Diff([]string{"ScriptsHeld: True LimitExceeded"}, differing(status)); diff != "" {
			t.Errorf("conditions (-want +got):\n%s", diff)
		}
		cc.Status.Conditions = status.Conditions
	}
	status := Of(cc, judge(t, cc, nil, runningVersion(7, build.Built{})))
	if diff := cmp.Diff([]string(nil), differing(status)); diff != "" {
		t.Errorf("when none is held any more (-want +got):\n%s", diff)
	}
}
