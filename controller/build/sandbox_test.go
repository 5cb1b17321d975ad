package build

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/object/objecttest"
	"metascript/controller/spec/spectest"
	"metascript/engine"
)

// A recordingEngine records the owners and the tenants of the scripts that it compiles.
type recordingEngine struct {
	engine.Runtime
	owners, tenants []string
}

func (e *recordingEngine) Compile(ctx context.Context, s engine.Script, l engine.Limits) (engine.Program, error) {
	e.owners, e.tenants = append(e.owners, s.Owner), append(e.tenants, s.Tenant)
	return e.Runtime.Compile(ctx, s, l)
}

func TestIsolationIsTheStricterOfControllerAndServer(t *testing.T) {
	script := "script: " + objecttest.Inline("Starlark", objecttest.Starlark("sync"))
	const inProcess, process = v1alpha1.IsolationInProcess, v1alpha1.IsolationProcess
	for _, c := range []struct {
		name     string
		min      v1alpha1.Isolation // of the server
		set      v1alpha1.Isolation // by the controller
		want     v1alpha1.Isolation
		warnings string
	}{
		{"in process by default", "", "", inProcess, ""},
		{"in process if both set it", inProcess, inProcess, inProcess, ""},
		{"in worker processes if the controller sets it", inProcess, process, process, ""},
		{"in worker processes if the server sets it", process, "", process, ""},
		{"in worker processes if both set it", process, process, process, ""},
		{"never less than the server sets", process, inProcess, process, "isolation InProcess is less than this server requires"},
	} {
		t.Run(c.name, func(t *testing.T) {
			engines := map[v1alpha1.Isolation]*recordingEngine{inProcess: {Runtime: newSandbox().InProcess}, process: {Runtime: newSandbox().InProcess}}
			sandbox := Sandbox{InProcess: engines[inProcess], Process: engines[process], MinIsolation: c.min}.WithDefaults()
			cc := spectest.Composite(t, "{"+script+", isolation: '"+string(c.set)+"'}")
			b := &Builder{Sandbox: sandbox}
			if _, err := b.ReadAndBuild(t.Context(), cc); err != nil {
				t.Fatal(err)
			}
			for where, e := range engines {
				if used := len(e.owners) > 0; used != (where == c.want) {
					t.Errorf("%s: the engine compiled the scripts of %v", where, e.owners)
				} else if used && e.owners[0] != "CompositeController/c" {
					t.Errorf("the owner is %s", e.owners[0])
				}
			}
			if got := strings.Join(append(sandbox.Warnings(cc), cc.Warnings()...), "; "); !strings.HasPrefix(got, c.warnings) || c.warnings == "" && got != "" {
				t.Errorf("warnings: %q, want %q", got, c.warnings)
			}
		})
	}
}

// The server can require the isolation Process for the controllers whose account is in some namespaces, or in any.
func TestIsolationOfNamespaces(t *testing.T) {
	const inProcess, process = v1alpha1.IsolationInProcess, v1alpha1.IsolationProcess
	const warning = "isolation InProcess is less than this server requires: the scripts run with isolation Process, because of --process-isolation-namespaces"
	for _, c := range []struct {
		name       string
		namespaces []string // of the flag
		account    string   // the namespace of the account; "" for none
		set        v1alpha1.Isolation
		want       v1alpha1.Isolation
		warns      bool
	}{
		{"a namespace of the list", []string{"b", "a"}, "a", "", process, false},
		{"a namespace of the list, and the controller sets less", []string{"b", "a"}, "a", inProcess, process, true},
		{"another namespace", []string{"b"}, "a", inProcess, inProcess, false},
		{"all namespaces", []string{"*"}, "a", inProcess, process, true},
		{"no account", []string{"*", "a"}, "", inProcess, inProcess, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			engines := map[v1alpha1.Isolation]*recordingEngine{inProcess: {Runtime: newSandbox().InProcess}, process: {Runtime: newSandbox().InProcess}}
			sandbox := Sandbox{InProcess: engines[inProcess], Process: engines[process], ProcessNamespaces: c.namespaces}.WithDefaults()
			text := "isolation: '" + string(c.set) + "', script: " + objecttest.Inline("Starlark", objecttest.Starlark("sync"))
			if c.account != "" {
				text += ", serviceAccount: {namespace: " + c.account + ", name: x}"
			}
			cc := spectest.Composite(t, "{"+text+"}")
			built, err := (&Builder{Sandbox: sandbox}).ReadAndBuild(t.Context(), cc)
			if err != nil {
				t.Fatal(err)
			}
			if built.Isolation != c.want || len(engines[c.want].tenants) != 1 || engines[c.want].tenants[0] != c.account {
				t.Errorf("isolation %s, and the engine %s compiled for the tenants %q; want %s and %q", built.Isolation, c.want, engines[c.want].tenants, c.want, c.account)
			}
			if script := built.Sync.(*hook.Script); script.Tenant != c.account || script.Owner != "CompositeController/c" {
				t.Errorf("the hook is of the tenant %q and the owner %s", script.Tenant, script.Owner)
			}
			if got := sandbox.Warnings(cc); len(got) > 0 != c.warns || c.warns && got[0] != warning {
				t.Errorf("warnings: %q", got)
			}
			sandbox.Process = nil
			_, err = (&Builder{Sandbox: sandbox}).ReadAndBuild(t.Context(), cc)
			if refused := errors.As(err, new(*IsolationError)); refused != (c.want == process) {
				t.Errorf("without worker processes: error %v", err)
			}
		})
	}
}

func TestMissingIsolationIsAnErrorOnlyForScripts(t *testing.T) {
	cc := spectest.Composite(t, "{isolation: Process, script: "+objecttest.Inline("Starlark", objecttest.Starlark("sync"))+"}")
	_, err := newBuilder().ReadAndBuild(t.Context(), cc)
	var refused *IsolationError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "no seccomp") {
		t.Errorf("got error %v, want what is missing", err)
	}
	cc = spectest.Composite(t, "{isolation: Process, hooks: {sync: {webhook: {url: 'http://x/'}}}}")
	if _, err := newBuilder().ReadAndBuild(t.Context(), cc); err != nil {
		t.Errorf("a controller without a script: error %v", err)
	}
	if got := strings.Join(append(newSandbox().Warnings(cc), cc.Warnings()...), "; "); !strings.Contains(got, "isolation Process has no effect") {
		t.Errorf("warnings: %q", got)
	}
}

func TestLimitsAreAtMostTheCeilings(t *testing.T) {
	const timeLimit, memory = 2 * time.Second, 8 << 20
	sandbox := Sandbox{Ceilings: engine.Limits{Timeout: timeLimit, Steps: 1000, Memory: memory, Output: 1 << 10, Log: 5}}.WithDefaults()
	capped := engine.Limits{Timeout: timeLimit, Steps: 1000, Memory: memory, Output: 1 << 10, Source: maxInline, Log: 5}
	for _, c := range []struct {
		name, script string
		want         engine.Limits
		warnings     []string
	}{
		{"defaults above the ceilings", "{}", capped, nil},
		{"below the ceilings", "{timeout: 1s, limits: {steps: 10, memory: 1Mi, output: 100}}",
			engine.Limits{Timeout: time.Second, Steps: 10, Memory: 1 << 20, Output: 100, Source: maxInline, Log: 5}, nil},
		{"at the ceilings", "{timeout: 2s, limits: {steps: 1000, memory: 8Mi, output: 1Ki}}", capped, nil},
		{"above them", "{timeout: 1m, limits: {steps: 1001, memory: 1G, output: 2Ki}}", capped, []string{
			"script.timeout is 1m0s, above the server's maximum, which is used: --max-script-timeout=2s",
			"script.limits.steps is 1001, above the server's maximum, which is used: --max-script-steps=1000",
			"script.limits.memory is 1000000000, above the server's maximum, which is used: --max-script-memory=8Mi",
			"script.limits.output is 2Ki, above the server's maximum, which is used: --max-script-output=1Ki",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := spectest.Composite(t, "script: "+c.script)
			want := c.want.WithDefaults()
			if diff := cmp.Diff(want, sandbox.limits(spec.Script.ScriptSource)); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.warnings, append(sandbox.Warnings(spec), spec.Warnings()...)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
	spec := spectest.Composite(t, "hooks: {sync: {script: {}}, finalize: {script: {timeout: 3s}}}")
	if diff := cmp.Diff([]string{"hooks.finalize.script.timeout is 3s, above the server's maximum, which is used: --max-script-timeout=2s"}, append(sandbox.Warnings(spec), spec.Warnings()...)); diff != "" {
		t.Errorf("warnings about hooks (-want +got):\n%s", diff)
	}
}

func TestDefaultCeilings(t *testing.T) {
	want := engine.Limits{Timeout: 30 * time.Second, Steps: 1e9, Memory: 256 << 20, Output: 16 << 20}
	if diff := cmp.Diff(want, Sandbox{}.WithDefaults().Ceilings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The author of a script cannot raise a limit above the ceiling.
func TestHintDoesNotAdviseToRaiseALimitAtTheCeiling(t *testing.T) {
	at := engine.Limits{Timeout: time.Second, Steps: 1000, Memory: 8 << 20, Output: 1 << 10}
	sandbox := Sandbox{Ceilings: at}.WithDefaults()
	expired, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for _, c := range []struct {
		fault *engine.Error
		want  string // at the ceiling
		below string
	}{
		{engine.Stopped(expired, engine.Pos{}, at), "look for a loop that does not end; timeout is at the server's maximum, --max-script-timeout=1s", "look for a loop that does not end, or raise timeout"},
		{engine.TooManySteps(engine.Pos{}, at), "look for a loop that does not end; limits.steps is at the server's maximum, --max-script-steps=1000", "look for a loop that does not end, or raise limits.steps"},
		{engine.TooMuchMemory(engine.Pos{}, at, ""), "build less at a time; limits.memory is at the server's maximum, --max-script-memory=8Mi", "build less at a time, or raise limits.memory"},
		{engine.NewWalk(at).Count(2 << 10), "return less; limits.output is at the server's maximum, --max-script-output=1Ki", "return less, or raise limits.output"},
		{&engine.Error{Kind: engine.KindSteps, Hint: "something else"}, "something else", "something else"},
	} {
		before := *c.fault
		for _, limits := range []struct {
			engine.Limits
			want string
		}{{at, c.want}, {engine.Limits{Timeout: 1, Steps: 1, Memory: 1, Output: 1}, c.below}} {
			var got *engine.Error
			if err := sandbox.explain(c.fault, limits.Limits); !errors.As(err, &got) || got.Hint != limits.want {
				t.Errorf("%s: the hint is %q, want %q", c.fault.Kind, got.Hint, limits.want)
			}
		}
		if diff := cmp.Diff(before, *c.fault); diff != "" {
			t.Errorf("the error itself changed:\n%s", diff)
		}
	}
}

// The error names the limit, its value and how to raise it.
func TestErrorOfAScriptThatExceedsALimit(t *testing.T) {
	const loop = "def sync():\n    return {'children': [x for x in range(1000000)]}\n"
	for settings, want := range map[string]string{
		"limits: {steps: 1000}":          "ran more than 1000 steps (look for a loop that does not end, or raise limits.steps)",
		"limits: {steps: 2000000000000}": "ran more than 5000 steps (look for a loop that does not end; limits.steps is at the server's maximum, --max-script-steps=5000)",
	} {
		l := newBuilder()
		l.Sandbox.Ceilings.Steps = 5000
		loaded := load(t, l, "script: {language: Starlark, "+settings+", inline: "+objecttest.Quoted(loop)+"}")
		_, err := loaded.Sync.Call(t.Context(), widgetRequest())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", settings, err, want)
		}
	}
}
