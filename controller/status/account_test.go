package status

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/access"
	"metascript/controller/account"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/failures"
	"metascript/controller/finalizers"
	"metascript/controller/guard"
	"metascript/controller/kube"
	"metascript/controller/object/objecttest"
	"metascript/controller/observe"
	"metascript/controller/reconcile"
	"metascript/controller/shadow"
	"metascript/controller/spec/spectest"
	"metascript/controller/throttle"
	"metascript/engine"
	"metascript/scripts"
)

// What users of other tenants must not see has "hush" in it, if it is a name, and "tell" if it is a text.
var (
	hushed   = objecttest.WidgetRef("hush-namespace", "hush-name")
	telltale = &engine.Error{Kind: engine.KindRaised, Pos: engine.Pos{File: "sync.star", Line: 3, Col: 4}, Func: "sync", Msg: "tell", Source: `fail("tell")`, Hint: "tell"}
	failed   = failures.Sum([]failures.Failure{{Parent: hushed, Err: fmt.Errorf("for %s: %w", hushed, telltale)}})
	refusal  = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "hush-child", errors.New(`user "system:serviceaccount:own:account" cannot update resource "configmaps" in API group "" in the namespace "hush-namespace"`))
)

func refusedIn(namespace, name string) error {
	missing := account.Permission{User: "system:serviceaccount:own:account", Verbs: []string{"update"}, Resource: "configmaps", Namespace: namespace, Name: name}
	return fmt.Errorf("update ConfigMap %s/%s: %w", namespace, name, &kube.RefusedError{Missing: missing})
}

func deniedIn(namespace, name string) error {
	scope := access.Scope{GroupResource: schema.GroupResource{Resource: "secrets"}, Namespace: namespace, Name: name}
	return &access.DeniedError{Account: account.Account{Namespace: "own", Name: "account"}, Verbs: []string{"list"}, Scope: scope}
}

const (
	ownAccount   = "serviceAccount: {namespace: own, name: account}\n"
	inConfigMaps = `
parentResource: {apiVersion: example.com/v1, resource: widgets}
script: {configMapRef: {namespace: own, name: scripts, key: sync.star}}
`
)

func TestStatusWithAccountHasNoNamesAndTexts(t *testing.T) {
	held := &guard.Error{Reason: v1alpha1.ReasonGuardExceeded, Message: "delete 1: hush tell", Counts: "delete 1"}
	for _, c := range []struct {
		name, spec string
		set        func(*Result)
		shown      string // in the message of a condition
		detail     string // of the details
	}{
		{"failing", soundSpec, func(r *Result) { r.Parents, r.Failing = 1, failed }, "the last sync failed for 1 of 0 parents; for 1 of them with the same error: an error of the script (Raised) at sync.star:3:4; events in namespace own have the details", "ParentsSynced SyncError the last sync failed for 1 of 0 parents, hush-namespace/hush-name: for hush-namespace/hush-name: sync.star:3:4: in sync: tell"},
		{"not stored", soundSpec, func(r *Result) { r.NotStored = failed }, "parents for which fields are not stored: 1; events in namespace own have the details", "AnswersStored FieldsNotStored for the parent hush-namespace/hush-name"},
		{"held scripts", soundSpec, func(r *Result) { r.Held = throttle.Held{Parents: 2, First: hushed, Err: telltale} }, "for some parents (2),", "ScriptsHeld LimitExceeded the script is not run for 2 parents, the first of them hush-namespace/hush-name"},
		{"held finalizers", soundSpec, func(r *Result) { r.Finalizers = finalizers.Held{Parents: 2, Deleted: 1, First: hushed} }, "stays on parents (2), of which 1 cannot be deleted", "FinalizersHeld NoFinalizeHook"},
		{"denied by the API server", soundSpec, func(r *Result) { r.Denied = reconcile.Denied{Parents: 1, First: hushed, Err: refusal} }, "for one of them: a request that the API server refused (Forbidden); events", "Permitted Forbidden"},
		{"denied in another namespace", soundSpec, func(r *Result) { r.Denied = reconcile.Denied{Parents: 1, First: hushed, Err: refusedIn("hush", "")} }, `cannot update resource "configmaps"; events in`, "to permit it, run: kubectl create role account-update-configmaps --namespace=hush"},
		{"denied in its own namespace", soundSpec, func(r *Result) { r.Denied = reconcile.Denied{Parents: 1, First: hushed, Err: refusedIn("own", "")} }, "to permit it, run: kubectl create role account-update-configmaps --namespace=own", "Permitted Forbidden"},
		{"denied an object", soundSpec, func(r *Result) { r.Denied = reconcile.Denied{Parents: 1, First: hushed, Err: refusedIn("own", "hush")} }, `cannot update resource "configmaps"; events in`, "--resource-name=hush"},
		{"reading is denied in another namespace", soundSpec, func(r *Result) { r.AccessErr = deniedIn("hush", "") }, "service account own/account may not list some secrets; events", "in namespace hush"},
		{"reading is denied in its own namespace", soundSpec, func(r *Result) { r.AccessErr = deniedIn("own", "") }, "may not list secrets in namespace own; to permit it, run: kubectl", ""},
		{"caches", soundSpec, func(r *Result) { r.CacheError = errors.New("hush tell") }, "changes are not observed: another error; events", "Ready CachesStale changes are not observed: hush tell"},
		{"overlapping controllers", soundSpec, func(r *Result) { r.Warnings, r.Unshown = []string{"shown", "hush"}, []string{"hush"} }, "shown; warnings about parents or scripts: 1; events", "SpecSound Doubtful shown; hush"},
		{"guard", soundSpec, func(r *Result) { r.ScriptErr = held }, "delete 1; events in namespace own", "GuardPassed GuardExceeded delete 1: hush tell"},
		{"passed the guard", strings.Replace(soundSpec, "  language:", "  guard: {maxDeletes: 1}\n  language:", 1), func(r *Result) {
			r.GuardPassed = &guard.Passed{Reason: "WithinGuard", Message: "it fails for hush: tell", Counts: "it fails for 1"}
		}, "it fails for 1; events", "GuardPassed WithinGuard it fails for hush: tell"},
		{"rolled back", soundSpec, func(r *Result) { r.ScriptErr = &throttle.GivenUpError{Reason: "it failed for hush: tell"} }, throttle.NotTriedAgain + "; events in namespace own have the details", "ScriptReady RolledBack " + throttle.NotTriedAgain + ": it failed for hush: tell"},
		{"an error in a script in the object", soundSpec, func(r *Result) { r.ScriptErr = &engine.Error{Kind: engine.KindSyntax, Msg: "shown"} }, "shown", ""},
		{"an error in a script in a ConfigMap", inConfigMaps, func(r *Result) { r.ScriptErr = telltale }, "an error of the script (Raised) at sync.star:3:4; events in namespace own", "ScriptReady CompileError sync.star:3:4: in sync: tell"},
		{"a key that is not in a ConfigMap", inConfigMaps, func(r *Result) {
			r.ScriptErr = &scripts.Error{Reason: scripts.NotFound, Source: "ConfigMap own/scripts", Msg: "it has no key a", Hint: `did you mean "tell"?`}
		}, "a source of the scripts cannot be used (NotFound); events", `did you mean "tell"?`},
		{"a ConfigMap that cannot be read", inConfigMaps, func(r *Result) {
			r.ScriptErr = &scripts.Error{Source: "own/scripts", Msg: "it is not there", Err: errors.New("it is not there")}
		}, "own/scripts: it is not there", ""},
		{"a candidate that differs", soundSpec, func(r *Result) {
			r.Shadow = &shadow.Report{Share: 100, First: &shadow.Difference{Parent: hushed, Result: observe.Differs, Text: "tell"}, Left: &shadow.Left{Parent: hushed, Why: "tell"}, Counts: shadow.Counts{Parents: 1, Total: 2, Differ: 1, Done: true}}
		}, "comparisons: 1, of parents: 1 of 2; different answers: 1; parents that cannot be compared: 1; events", "ShadowAgrees AnswersDiffer"},
		{"a candidate that fails", soundSpec, func(r *Result) {
			r.Shadow = &shadow.Report{Share: 100, First: &shadow.Difference{Parent: hushed, Result: observe.Failed, Text: "tell"}, Counts: shadow.Counts{Parents: 1, Total: 2, Errors: 1}}
		}, "errors of the candidate: 1; events", "ShadowAgrees CandidateFails"},
		{"a candidate that is stopped", soundSpec, func(r *Result) { r.Shadow = &shadow.Report{Share: 100, Stopped: telltale} }, "the last error: an error of the script (Raised) at sync.star:3:4; events", "the last error: sync.star:3:4: in sync: tell"},
		{"a candidate that does not load", inConfigMaps, func(r *Result) { r.Shadow = &shadow.Report{Err: telltale} }, "the script that runs is not affected: an error of the script (Raised) at sync.star:3:4; events", "ShadowAgrees CandidateNotLoaded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := spectest.Composite(t, ownAccount+c.spec)
			r := &Result{Discovered: true, Active: runningVersion(7, build.Built{}), Snapshot: reconcile.Snapshot{Synced: true, Failing: failures.Summary{Known: true}}}
			c.set(r)
			all := ""
			for _, condition := range Of(d, r).Conditions {
				all += condition.Message + "\n"
			}
			if strings.Contains(all, "hush") || strings.Contains(all, "tell") || !strings.Contains(all, c.shown) {
				t.Errorf("the status says\n%s\nwant %s", all, c.shown)
			}
			var details []string
			for _, detail := range Details(d, r) {
				details = append(details, fmt.Sprintf("%s %s %s", detail.Condition, detail.Reason, detail.Message))
			}
			want := 1
			if c.detail == "" {
				want = 0
			}
			if len(details) != want || want == 1 && !strings.Contains(details[0], c.detail) {
				t.Errorf("the details are %q, want one with %q", details, c.detail)
			}
			d.Settings.ServiceAccount = nil
			if Details(d, r) != nil {
				t.Error("there are details without an account")
			}
		})
	}
}

// An earlier server has written names into the status.
func TestNamesOfEarlierStatusAreDropped(t *testing.T) {
	d := spectest.Composite(t, ownAccount+strings.Replace(soundSpec, "  language:", "  guard: {maxDeletes: 1}\n  language:", 1))
	for _, kind := range []string{v1alpha1.ConditionParentsSynced, v1alpha1.ConditionGuardPassed, v1alpha1.ConditionScriptReady} {
		before := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSyncError, Message: "hush tell", ObservedGeneration: d.Object.Generation}
		if kind == v1alpha1.ConditionGuardPassed {
			before.Status, before.Reason = metav1.ConditionTrue, v1alpha1.ReasonWithinGuard
		}
		d.Status.Conditions = append(d.Status.Conditions, before)
	}
	r := &Result{Discovered: true, Active: runningVersion(7, build.Built{}), Snapshot: reconcile.Snapshot{Synced: true}}
	for _, c := range Of(d, r).Conditions {
		if strings.Contains(c.Message, "hush") {
			t.Errorf("%s: %s", c.Type, c.Message)
		}
	}
}
