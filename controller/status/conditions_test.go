package status

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/access"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/delays"
	"metascript/controller/failures"
	"metascript/controller/finalizers"
	"metascript/controller/kube"
	"metascript/controller/object/objecttest"
	"metascript/controller/reconcile"
	"metascript/controller/spec"
	"metascript/controller/spec/spectest"
	"metascript/controller/throttle"
	"metascript/engine"
)

// normal is the status and the reason of each condition of a controller that runs, has a script and no problem.
var normal = map[string]string{
	"ResourcesDiscovered": "True Discovered", "ScriptReady": "True Loaded", "GuardPassed": "True NoGuard", "ScriptsHeld": "False NoneHeld", "ScriptRunaway": "False NoRunaway",
	"FallbackActive": "False NoFallback", "FinalizersHeld": "False NoneHeld", "Permitted": "True NothingForbidden", "ParentsSynced": "True AllSynced",
	"AnswersStored": "True AllStored", "ParentsWaiting": "False NoneWaiting", "APIServerAnswers": "True Answering", "SpecSound": "True NoWarnings", "Ready": "True Running",
}

// idle is how the conditions of a controller of which nothing runs differ from normal.
var idle = []string{"ScriptsHeld: Unknown NotRunning", "FallbackActive: Unknown NotRunning", "FinalizersHeld: Unknown NotRunning", "Permitted: Unknown NotRunning", "ParentsSynced: Unknown NotRunning", "AnswersStored: Unknown NotRunning", "ParentsWaiting: Unknown NotRunning"}

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

func TestConditionsOfController(t *testing.T) {
	notServed := names{"configmaps": &kube.NotServedError{APIVersion: "v1", Name: "configmaps"}}
	misspelled := names{"configmaps": &kube.NotServedError{APIVersion: "v1", Name: "configmapz", Hint: `did you mean "resource: configmaps"?`}}
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
			"ResourcesDiscovered", []string{"parentResource", `"widgets"`, "example.com/v1", "the controller starts by itself when it is served"}},
		{"a child kind that is not served", soundSpec, notServed, 0,
			[]string{"ResourcesDiscovered: False ResourceNotFound", "Ready: False ResourcesNotDiscovered"},
			"ResourcesDiscovered", []string{"childResources[0]", `"configmaps"`}},
		{"a child kind that is misspelled", soundSpec, misspelled, 0,
			[]string{"ResourcesDiscovered: False ResourceNotFound", "Ready: False ResourcesNotDiscovered"},
			"ResourcesDiscovered", []string{`childResources[0]: the API server does not serve resource "configmapz" in v1: did you mean "resource: configmaps"?`}},
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
			var active *build.Loaded
			if c.runs > 0 {
				active = runningVersion(c.runs, build.Built{})
			}
			status := Of(cc, resultOf(t, cc, c.in, active))
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

func TestControllerIsReadyOnceCachesAreFilled(t *testing.T) {
	cc := spectest.Composite(t, webhookSpec)
	r := resultOf(t, cc, nil, runningVersion(7, build.Built{}))
	r.Snapshot = reconcile.Snapshot{}
	status := Of(cc, r)
	if diff := cmp.Diff(sorted([]string{"ScriptReady: True NoScript", "FinalizersHeld: Unknown Starting", "Permitted: Unknown Starting", "ParentsSynced: Unknown Starting", "SpecSound: Unknown Starting", "Ready: False Starting"}), differing(status)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if message := messageOf(t, status, v1alpha1.ConditionReady); !strings.Contains(message, "caches") {
		t.Errorf("the message is %q", message)
	}
}

// A spec that cannot be read is not taken for one without a script.
func TestUnreadableSpecIsNotChecked(t *testing.T) {
	cc := &spec.Declaration{Kind: v1alpha1.KindCompositeController}
	want := sorted(idle, []string{"GuardPassed: Unknown NotChecked", "ResourcesDiscovered: Unknown NotChecked", "ScriptReady: Unknown NotChecked", "SpecSound: Unknown NotChecked", "Ready: False InvalidSpec"})
	if diff := cmp.Diff(want, differing(Of(cc, &Result{SpecErr: errors.New("unreadable")}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFinalizersHeldNamesParent(t *testing.T) {
	cc := spectest.Composite(t, soundSpec)
	r := resultOf(t, cc, nil, runningVersion(7, build.Built{}))
	r.Finalizers = finalizers.Held{Parents: 2, First: objecttest.WidgetRef("default", "w"), HowToFinalize: "define it"}
	status := Of(cc, r)
	if diff := cmp.Diff([]string{"FinalizersHeld: True NoFinalizeHook"}, differing(status)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if message := messageOf(t, status, v1alpha1.ConditionFinalizersHeld); !strings.Contains(message, "on 2 parents, such as default/w") {
		t.Errorf("the message is %q", message)
	}
}

func TestPermittedHasErrorOfAPIServer(t *testing.T) {
	cc := spectest.Composite(t, soundSpec)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "widgets"}, "", errors.New(`User "u" cannot list resource "widgets"`))
	for name, c := range map[string]struct {
		of   reconcile.Snapshot
		want []string
	}{
		"to a parent":           {reconcile.Snapshot{Synced: true, Failing: failures.Summary{Known: true}, Denied: reconcile.Denied{Parents: 1, First: objecttest.WidgetRef("default", "w"), Err: forbidden}}, []string{"Permitted: False Forbidden"}},
		"to a watch that began": {reconcile.Snapshot{Synced: true, Failing: failures.Summary{Known: true}, CacheError: forbidden}, []string{"Permitted: False Forbidden", "Ready: False CachesStale"}},
		"to a watch":            {reconcile.Snapshot{CacheError: forbidden}, []string{"FinalizersHeld: Unknown Starting", "ParentsSynced: Unknown Starting", "Permitted: False Forbidden", "Ready: False Starting", "SpecSound: Unknown Starting"}},
	} {
		r := resultOf(t, cc, nil, runningVersion(7, build.Built{}))
		r.Snapshot = c.of
		status := Of(cc, r)
		if diff := cmp.Diff(c.want, differing(status)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if message := messageOf(t, status, v1alpha1.ConditionPermitted); !strings.Contains(message, "cannot list resource") {
			t.Errorf("%s: the message is %q", name, message)
		}
	}
}

func TestParentsSyncedHasErrorOfMostParents(t *testing.T) {
	cc := spectest.Composite(t, soundSpec)
	w := objecttest.WidgetRef("default", "w")
	for _, c := range []struct {
		sum  failures.Summary
		want string
	}{
		{failures.Summary{Known: true, Parents: 5, Failing: 1, Shared: 1, First: w, Text: "no\n  ^"}, "False SyncError the last sync failed for 1 of 5 parents, default/w: no\n  ^"},
		{failures.Summary{}, "False SyncError the last sync failed for 1 of 5 parents, default/w: no\n  ^"}, // after a restart
		{failures.Summary{Known: true, Parents: 5, Failing: 3, Shared: 2, First: w, Text: "no"}, "False SyncError the last sync failed for 3 of 5 parents; for 2 of them, such as default/w, with this error: no"},
		{failures.Summary{Known: true, Parents: 5}, "True AllSynced the last sync of no parent failed"},
	} {
		r := resultOf(t, cc, nil, runningVersion(7, build.Built{}))
		r.Failing = c.sum
		status := Of(cc, r)
		condition := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionParentsSynced)
		if got := fmt.Sprintf("%s %s %s", condition.Status, condition.Reason, condition.Message); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
		cc.Status.Conditions = status.Conditions
	}
}

func TestParentsSyncedIsUnknownWithoutAccess(t *testing.T) {
	cc := spectest.Composite(t, soundSpec)
	for parents, want := range map[int]string{0: "Unknown ServiceAccountNotFound", 1: "True AllSynced"} {
		r := resultOf(t, cc, nil, runningVersion(7, build.Built{}))
		r.AccessErr, r.Parents, r.Failing.Known = &access.DeniedError{Missing: true}, parents, true
		condition := meta.FindStatusCondition(Of(cc, r).Conditions, v1alpha1.ConditionParentsSynced)
		if got := fmt.Sprintf("%s %s", condition.Status, condition.Reason); got != want {
			t.Errorf("with %d parents: got %q, want %q", parents, got, want)
		}
	}
}

func TestFailingHasCauseAndItsAge(t *testing.T) {
	cc := spectest.Composite(t, soundSpec)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	sum := func(line string, since time.Time) failures.Summary {
		return failures.Summary{Known: true, Parents: 5, Failing: 3, Shared: 2, Line: line, Kind: "another error", Since: since}
	}
	for i, c := range []struct {
		sum  failures.Summary
		want string
	}{
		{sum("no quota", at), "3 no quota 03:04:05"},
		{failures.Summary{}, "3 no quota 03:04:05"}, // after a restart
		{sum("no quota", at.Add(time.Hour)), "3 no quota 03:04:05"},
		{sum("forbidden", at.Add(2*time.Hour)), "3 forbidden 05:04:05"},
		{failures.Summary{Known: true, Parents: 5}, ""},
		{sum("no quota", at.Add(3*time.Hour)), "3 no quota 06:04:05"},
	} {
		r := resultOf(t, cc, nil, runningVersion(7, build.Built{}))
		r.Failing = c.sum
		status, got := Of(cc, r), ""
		if f := status.Failing; f != nil {
			got = fmt.Sprintf("%d %s %s", f.Parents, f.Cause, f.Since.Format(time.TimeOnly))
		}
		if got != c.want {
			t.Errorf("step %d: got %q, want %q", i, got, c.want)
		}
		cc.Status = *status
	}
	cc.Settings.ServiceAccount = &v1alpha1.ServiceAccountRef{Namespace: "own", Name: "account"}
	r := resultOf(t, cc, nil, runningVersion(7, build.Built{}))
	r.Failing = sum("of hush-name", at)
	if f := Of(cc, r).Failing; f.Cause != "another error" || f.Parents != 3 {
		t.Errorf("with an account: %+v", f)
	}
}

func TestParentsWaitingSaysHowSlowHookIs(t *testing.T) {
	cc := spectest.Composite(t, soundSpec)
	r := resultOf(t, cc, nil, runningVersion(7, build.Built{}))
	r.Workers, r.Delays = 2, delays.Report{Waiting: 28, Longest: 35*time.Second + 1, Hook: "sync", Took: 4012 * time.Millisecond}
	want := "parents that wait: 28, the first of them for 35s; a call of the hook sync takes 4.01s, and 2 parents are reconciled at the same time at most: "
	status := Of(cc, r)
	if got := messageOf(t, status, v1alpha1.ConditionParentsWaiting); !strings.HasPrefix(got, want) {
		t.Errorf("got %q", got)
	}
	if diff := cmp.Diff([]string{"ParentsWaiting: True SlowHooks"}, differing(status)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestAnswersStoredHasWhatMostParentsShare(t *testing.T) {
	cc := spectest.Composite(t, soundSpec)
	w := objecttest.WidgetRef("default", "w")
	for _, c := range []struct {
		sum  failures.Summary
		want string
	}{
		{failures.Summary{Known: true, Failing: 1, Shared: 1, First: w, Text: "x"}, "False FieldsNotStored for the parent default/w: x"},
		{failures.Summary{Known: true, Failing: 3, Shared: 2, First: w, Text: "x"}, "False FieldsNotStored for 3 parents; for 2 of them, such as default/w: x"},
		{failures.Summary{Known: true}, "True AllStored no schema lacks a field that was returned"},
	} {
		r := resultOf(t, cc, nil, runningVersion(7, build.Built{}))
		r.NotStored = c.sum
		condition := meta.FindStatusCondition(Of(cc, r).Conditions, v1alpha1.ConditionAnswersStored)
		if got := fmt.Sprintf("%s %s %s", condition.Status, condition.Reason, condition.Message); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestScriptsHeldCountsParentsAndNamesFirst(t *testing.T) {
	cc := spectest.Composite(t, soundSpec)
	fault := &engine.Error{Kind: engine.KindSteps, Pos: engine.Pos{File: "sync.star", Line: 2}, Func: "sync", Msg: "ran more than 5 steps"}
	for parents, want := range map[int]string{
		1: "the script is not run for one parent, default/w, until the parent's spec or the script changes, since it hit a limit 2 times in a row: sync.star:2: in sync: ran more than 5 steps",
		3: "the script is not run for 3 parents, the first of them default/w, until ",
	} {
		r := resultOf(t, cc, nil, runningVersion(7, build.Built{}))
		r.Held = throttle.Held{Parents: parents, First: objecttest.WidgetRef("default", "w"), Err: fault}
		status := Of(cc, r)
		if message := messageOf(t, status, v1alpha1.ConditionScriptsHeld); !strings.HasPrefix(message, want) {
			t.Errorf("the message is %q, want %q", message, want)
		}
		if diff := cmp.Diff([]string{"ScriptsHeld: True LimitExceeded"}, differing(status)); diff != "" {
			t.Errorf("conditions (-want +got):\n%s", diff)
		}
		cc.Status.Conditions = status.Conditions
	}
	status := Of(cc, resultOf(t, cc, nil, runningVersion(7, build.Built{})))
	if diff := cmp.Diff([]string(nil), differing(status)); diff != "" {
		t.Errorf("when none is held any more (-want +got):\n%s", diff)
	}
}

// Scripts of other controllers do not count, nor those of an earlier controller of this name that was another tenant's.
func TestScriptRunawayNamesScriptsOfController(t *testing.T) {
	since := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	sandbox := build.Sandbox{Runaways: func() []engine.Runaway {
		return []engine.Runaway{
			{Owner: "CompositeController/a", Entry: "sync.js", Compiling: true, Since: since},
			{Owner: "CompositeController/a", Entry: "sync.js", Since: since},
			{Owner: "DecoratorController/a", Entry: "other.js", Since: since},
			{Tenant: "before", Owner: "CompositeController/a", Entry: "other.js", Since: since},
		}
	}}
	r := &Result{Runaways: sandbox.RunawaysOf(spec.ID{Kind: "CompositeController", Name: "a"}, "")}
	c := scriptRunaway(r)
	want := "compiling sync.js, given up at 2026-03-04T05:06:07Z (and 1 more) still runs after its timeout"
	if c.Status != "True" || c.Reason != v1alpha1.ReasonNotStopped || !strings.HasPrefix(c.Message, want) || !strings.Contains(c.Message, "restart the server") {
		t.Errorf("got %+v, want %q", c, want)
	}
	r.Runaways = sandbox.RunawaysOf(spec.ID{Kind: "CompositeController", Name: "b"}, "")
	if c := scriptRunaway(r); c.Status != "False" || c.Reason != v1alpha1.ReasonNoRunaway {
		t.Errorf("another controller has %+v", c)
	}
}

func TestMessageFitsIntoCondition(t *testing.T) {
	status := Of(spectest.Composite(t, webhookSpec), &Result{SpecErr: errors.New(strings.Repeat("é", v1alpha1.MaxConditionMessage))})
	if n := len(messageOf(t, status, v1alpha1.ConditionReady)); n > v1alpha1.MaxConditionMessage {
		t.Errorf("the message has %d bytes, and the API server takes %d", n, v1alpha1.MaxConditionMessage)
	}
}
