package build

import (
	"strings"
	"testing"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/spec/spectest"
)

// answers says who answers a hook of a spec whose scripts do not all load.
func answers(t *testing.T, h hook.Hook) string {
	t.Helper()
	switch h := h.(type) {
	case UnloadedHook:
		_, err := h.Call(t.Context(), AboutWidget())
		return err.Error()
	case *hook.Fallback:
		if h.Script == nil {
			return "webhook, since " + h.Unloaded.Error()
		}
		return "script " + who(t, h.Script)
	case nil:
		return "nobody"
	}
	return who(t, h)
}

func TestWebhooksStandInForScriptsThatDoNotLoad(t *testing.T) {
	const webhook = "webhook: {url: 'http://x/'}"
	gone, broken := "{file: gone.star}", objecttest.Inline("Starlark", "def sync(:")
	sound := objecttest.Inline("Starlark", objecttest.Starlark("sync", "finalize"))
	const noFile, noCompile = "spec.script: ", "sync.star:1:11: "
	for _, c := range []struct {
		name, spec                string
		served                    []string // by the script, when it was loaded last
		sync, finalize, customize string   // how the answers begin
	}{
		{"a source that is gone", "{script: " + gone + ", hooks: {sync: {script: {}, " + webhook + "}}}", nil,
			"webhook, since " + noFile, "the script that answers for the hook finalize is not loaded: " + noFile, "nobody"},
		{"a script that does not compile", "{script: " + broken + ", hooks: {sync: {script: {}, " + webhook + "}}}", nil,
			"webhook, since " + noCompile, "the script that answers for the hook finalize is not loaded: " + noCompile, "nobody"},
		{"a customize hook that there was", "{script: " + broken + ", hooks: {sync: {script: {}, " + webhook + "}}}", []string{"customize", "sync"},
			"webhook, since ", "the script that answers for the hook finalize is not loaded: ", "the script that answers for the hook customize is not loaded: "},
		{"a finalize hook that is a webhook", "{script: " + gone + ", hooks: {sync: {script: {}, " + webhook + "}, finalize: {" + webhook + "}}}", nil,
			"webhook, since ", "http://x/", "nobody"},
		{"another script than the one that fails", "{script: " + sound + ", hooks: {sync: {script: " + broken + ", " + webhook + "}}}", nil,
			"webhook, since hooks.sync.script: " + noCompile, "finalize", "nobody"},
		{"the other way round", "{script: " + sound + ", hooks: {sync: {script: {}, " + webhook + "}, finalize: {script: " + broken + "}}}", nil,
			"script sync", "the script that answers for the hook finalize is not loaded: hooks.finalize.script: " + noCompile, "nobody"},
		{"a function that is not there", "{script: " + sound + ", hooks: {sync: {script: {function: snyc}, " + webhook + "}}}", nil,
			"webhook, since hooks.sync: sync.star defines no function snyc", "finalize", "nobody"},
		{"sync has no webhook", "{script: " + gone + ", hooks: {finalize: {script: {}, " + webhook + "}}}", nil,
			"the script that answers for the hook sync is not loaded: " + noFile, "webhook, since ", "nobody"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := NewLoader()
			l.Partial = &MissingParts{Parts: map[string]error{}}
			d := spectest.Composite(t, c.spec)
			d.Status.Script = &v1alpha1.ScriptStatus{Hooks: c.served}
			in := &Candidate{Declaration: d, Object: &object.Object{Object: map[string]any{}}}
			hooks, err := l.LoadPartial(t.Context(), in)
			if err != nil || hooks.Missing == "" || in.Identity == "" || hooks.Status.Digest != "" {
				t.Fatalf("%v; it lacks %q", err, hooks.Missing)
			}
			for name, is := range map[string]struct {
				hook hook.Hook
				want string
			}{"sync": {hooks.Sync, c.sync}, "finalize": {hooks.Finalize, c.finalize}, "customize": {hooks.Customize, c.customize}} {
				if got := answers(t, is.hook); !strings.HasPrefix(got, is.want) {
					t.Errorf("%s is answered by %q, want %q", name, got, is.want)
				}
			}
		})
	}
}

func TestWhatAScriptMayDefineNamesTheWayOut(t *testing.T) {
	l := NewLoader()
	l.Partial = &MissingParts{Parts: map[string]error{}}
	d := spectest.Composite(t, "{script: {file: gone.star}, hooks: {sync: {script: {}, webhook: {url: 'http://x/'}}}}")
	hooks, err := l.LoadPartial(t.Context(), &Candidate{Declaration: d, Object: &object.Object{Object: map[string]any{}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := answers(t, hooks.Finalize); !strings.HasSuffix(got, "; mend it, or take finalizer metacontroller.io/compositecontroller-c off this object") {
		t.Errorf("it says %q", got)
	}
}
