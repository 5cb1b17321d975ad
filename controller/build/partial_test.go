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

// servedPartially is servedBy for a spec of which some scripts do not load.
func servedPartially(t *testing.T, h hook.Hook) string {
	t.Helper()
	switch h := h.(type) {
	case UnloadedHook:
		_, err := h.Call(t.Context(), widgetRequest())
		return err.Error()
	case *hook.Fallback:
		if h.Script == nil {
			return "webhook, since " + h.Unloaded.Error()
		}
		return "script " + servedBy(t, h.Script)
	case nil:
		return "none"
	}
	return servedBy(t, h)
}

func TestWebhooksReplaceScriptsThatDoNotLoad(t *testing.T) {
	const webhook = "webhook: {url: 'http://x/'}"
	missing, broken := "{file: gone.star}", objecttest.Inline("Starlark", "def sync(:")
	valid := objecttest.Inline("Starlark", objecttest.Starlark("sync", "finalize"))
	const noFile, noCompile = "spec.script: ", "sync.star:1:9: "
	for _, c := range []struct {
		name, spec                string
		last                      []string // the hooks when the scripts were loaded last
		sync, finalize, customize string   // how the result of servedPartially begins
	}{
		{"a source that does not exist", "{script: " + missing + ", hooks: {sync: {script: {}, " + webhook + "}}}", nil,
			"webhook, since " + noFile, "the script that answers for the hook finalize is not loaded: " + noFile, "none"},
		{"a script that does not compile", "{script: " + broken + ", hooks: {sync: {script: {}, " + webhook + "}}}", nil,
			"webhook, since " + noCompile, "the script that answers for the hook finalize is not loaded: " + noCompile, "none"},
		{"a customize hook that existed before", "{script: " + broken + ", hooks: {sync: {script: {}, " + webhook + "}}}", []string{"customize", "sync"},
			"webhook, since ", "the script that answers for the hook finalize is not loaded: ", "the script that answers for the hook customize is not loaded: "},
		{"a finalize hook that is a webhook", "{script: " + missing + ", hooks: {sync: {script: {}, " + webhook + "}, finalize: {" + webhook + "}}}", nil,
			"webhook, since ", "http://x/", "none"},
		{"a hook whose own script does not compile, and a valid spec.script", "{script: " + valid + ", hooks: {sync: {script: " + broken + ", " + webhook + "}}}", nil,
			"webhook, since hooks.sync.script: " + noCompile, "finalize", "none"},
		{"the same for finalize", "{script: " + valid + ", hooks: {sync: {script: {}, " + webhook + "}, finalize: {script: " + broken + "}}}", nil,
			"script sync", "the script that answers for the hook finalize is not loaded: hooks.finalize.script: " + noCompile, "none"},
		{"a function that does not exist", "{script: " + valid + ", hooks: {sync: {script: {function: snyc}, " + webhook + "}}}", nil,
			"webhook, since hooks.sync: sync.star defines no function snyc", "finalize", "none"},
		{"sync has no webhook", "{script: " + missing + ", hooks: {finalize: {script: {}, " + webhook + "}}}", nil,
			"the script that answers for the hook sync is not loaded: " + noFile, "webhook, since ", "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newBuilder()
			d := spectest.Composite(t, c.spec)
			d.Status.Script = &v1alpha1.ScriptStatus{Hooks: c.last}
			candidate := &Candidate{Declaration: d, Object: object.New(map[string]any{})}
			hooks, err := l.BuildPartial(t.Context(), candidate)
			if err != nil || hooks.Missing == "" || candidate.Identity == "" || hooks.Status.Digest != "" {
				t.Fatalf("error %v, missing %q", err, hooks.Missing)
			}
			for name, served := range map[string]struct {
				hook hook.Hook
				want string
			}{"sync": {hooks.Sync, c.sync}, "finalize": {hooks.Finalize, c.finalize}, "customize": {hooks.Customize, c.customize}} {
				if got := servedPartially(t, served.hook); !strings.HasPrefix(got, served.want) {
					t.Errorf("%s is served by %q, want %q", name, got, served.want)
				}
			}
		})
	}
}

func TestErrorOfAnUnloadedFinalizeHookNamesTheFinalizer(t *testing.T) {
	l := newBuilder()
	d := spectest.Composite(t, "{script: {file: gone.star}, hooks: {sync: {script: {}, webhook: {url: 'http://x/'}}}}")
	hooks, err := l.BuildPartial(t.Context(), &Candidate{Declaration: d, Object: object.New(map[string]any{})})
	if err != nil {
		t.Fatal(err)
	}
	if got := servedPartially(t, hooks.Finalize); !strings.HasSuffix(got, "; correct it, or remove finalizer metacontroller.io/compositecontroller-c from this object") {
		t.Errorf("error %q", got)
	}
}
