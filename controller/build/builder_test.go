package build

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/spec"
	"metascript/controller/spec/spectest"
	"metascript/engine"
	"metascript/runtimes"
)

// newSandbox returns a Sandbox with all languages and without worker processes.
func newSandbox() *Sandbox {
	return Sandbox{
		InProcess: engine.New(engine.Options{Runtimes: runtimes.All()}), Missing: []string{"no seccomp"},
	}.WithDefaults()
}

// newBuilder returns a Builder with all languages.
func newBuilder() *Builder {
	return &Builder{Sandbox: newSandbox()}
}

// load loads a spec, which must be valid.
func load(t *testing.T, b *Builder, spec string) Built {
	t.Helper()
	loaded, err := b.ReadAndBuild(t.Context(), spectest.Composite(t, spec))
	if err != nil {
		t.Fatalf("%v in\n%s", err, spec)
	}
	return loaded
}

// statusFrom calls a hook with widgetRequest and returns the status in its response.
func statusFrom(t *testing.T, h hook.Hook) map[string]any {
	t.Helper()
	resp, err := h.Call(t.Context(), widgetRequest())
	if err != nil {
		t.Fatal(err)
	}
	return resp.Status
}

// widgetRequest returns a request for a widget with one child, the ConfigMap "old".
func widgetRequest() *hook.Request {
	parent, children := objecttest.Widget(nil), &object.Set{}
	children.Put(objecttest.ConfigMap("old", parent))
	return &hook.Request{Controller: &object.Object{}, Parent: parent, Children: children}
}

// servedBy says what serves a hook: the URL of the webhook, or the name that the script returns in its status.
func servedBy(t *testing.T, h hook.Hook) string {
	t.Helper()
	switch h := h.(type) {
	case nil:
		return ""
	case *hook.Webhook:
		return h.URL
	}
	return fmt.Sprint(statusFrom(t, h)["from"])
}

func TestHookIsListedOrNamedFunction(t *testing.T) {
	const url = "http://hooks.example.com/sync"
	portedJS := objecttest.Inline("JavaScript", "module.exports = async function (context) { return {status: 200, body: {status: {from: 'ported'}, children: []}}; };")
	portedJsonnet := objecttest.Inline("Jsonnet", "function(request) { status: { from: 'ported' }, children: [] }")
	for _, c := range []struct {
		name, spec     string
		sync, finalize string
	}{
		{"spec.script defines sync", "script: " + objecttest.Inline("Starlark", objecttest.Starlark("sync")), "sync", ""},
		{"spec.script defines both, and a helper", "script: " + objecttest.Inline("Starlark", objecttest.Starlark("sync", "finalize", "helper")), "sync", "finalize"},
		{"in JavaScript", "script: " + objecttest.Inline("JavaScript", "exports.sync = () => ({status: {from: 'js'}, children: []});"), "js", ""},
		{"in Jsonnet", "script: " + objecttest.Inline("Jsonnet", "{ sync():: { status: { from: 'jsonnet' }, children: [] } }"), "jsonnet", ""},
		{"a hook names its function in spec.script",
			"{script: " + objecttest.Inline("Starlark", objecttest.Starlark("main", "finalize")) + ", hooks: {sync: {script: {function: main}}}}", "main", "finalize"},
		{"a hook that names no function is the function of its name",
			"{script: " + objecttest.Inline("Starlark", objecttest.Starlark("sync")) + ", hooks: {sync: {script: {}}}}", "sync", ""},
		{"a hook has a script of its own beside spec.script",
			"{script: " + objecttest.Inline("Starlark", objecttest.Starlark("sync", "finalize")) + ", hooks: {finalize: {script: " +
				objecttest.Inline("JavaScript", "function finalize() { return {status: {from: 'own'}, children: []}; }") + "}}}", "sync", "own"},
		{"hooks have scripts of their own and there is no spec.script",
			"hooks: {sync: {script: " + objecttest.Inline("Starlark", objecttest.Starlark("sync")) + "}}", "sync", ""},
		{"a webhook is used in place of the function of its name",
			"{script: " + objecttest.Inline("Starlark", objecttest.Starlark("sync", "finalize")) + ", hooks: {finalize: {webhook: {url: '" + url + "'}}}}", "sync", url},
		{"only a webhook", "hooks: {sync: {webhook: {url: '" + url + "'}}}", url, ""},
		{"a script is used if the fallback is Never",
			"{script: " + objecttest.Inline("Starlark", objecttest.Starlark("sync")) + ", hooks: {sync: {script: {}, webhook: {url: '" + url + "'}, fallback: Never}}}", "sync", ""},
		{"an empty hook is the function of its name if it exists",
			"{script: " + objecttest.Inline("Starlark", objecttest.Starlark("sync", "finalize")) + ", hooks: {finalize: {}}}", "sync", "finalize"},
		{"a ported JavaScript file serves sync alone", "script: " + portedJS, "ported", ""},
		{"a ported JavaScript file serves finalize if it is listed",
			"{script: " + portedJS + ", hooks: {finalize: {script: {}}}}", "ported", "ported"},
		{"a ported Jsonnet file serves sync alone", "script: " + portedJsonnet, "ported", ""},
		{"a ported Jsonnet file serves finalize if it is listed",
			"{script: " + portedJsonnet + ", hooks: {finalize: {script: {}}}}", "ported", "ported"},
		{"a script loads its modules",
			`script: {language: Starlark, inline: "load('lib/names.star', 'name')\ndef sync(): return {'status': {'from': name}, 'children': []}", modules: {lib/names.star: "name = 'module'"}}`, "module", ""},
		{"a hook's own script loads modules of its own",
			`hooks: {sync: {script: {language: JavaScript, inline: "const {name} = require('./names.js'); exports.sync = () => ({status: {from: name}, children: []});", modules: {names.js: "exports.name = 'module';"}}}}`, "module", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			loaded := load(t, newBuilder(), c.spec)
			if got := servedBy(t, loaded.Sync); got != c.sync {
				t.Errorf("sync is served by %q, want %q", got, c.sync)
			}
			if got := servedBy(t, loaded.Finalize); got != c.finalize {
				t.Errorf("finalize is served by %q, want %q", got, c.finalize)
			}
			names := []string{"sync"}
			if c.finalize != "" {
				names = []string{"finalize", "sync"}
			}
			if diff := cmp.Diff(names, loaded.Names); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			if len(loaded.Warnings) > 0 {
				t.Errorf("warnings: %v", loaded.Warnings)
			}
		})
	}
}

func TestHooksWithoutScriptOrWebhookFailEachCall(t *testing.T) {
	for _, spec := range []string{"hooks: {}", "hooks: {sync: {}}"} {
		loaded, err := newBuilder().ReadAndBuild(t.Context(), spectest.Composite(t, spec))
		if err != nil || !strings.Contains(strings.Join(loaded.Warnings, "; "), "hooks.sync is missing or empty") {
			t.Errorf("%s: error %v, warnings %q", spec, err, loaded.Warnings)
			continue
		}
		if _, err := loaded.Sync.Call(t.Context(), nil); err == nil {
			t.Errorf("%s: a call succeeds", spec)
		}
	}
}

func TestErrorsOfLoadingHooks(t *testing.T) {
	for _, c := range []struct {
		name, spec string
		inScript   bool // the error is about a script, and not about the spec
		want       []string
	}{
		{"nothing at all", "{}", false, []string{"no hooks defined"}},
		{"a script without sync", "script: " + objecttest.Inline("Starlark", objecttest.Starlark("synk", "helper")), true,
			[]string{"defines no function sync", "did you mean synk?"}},
		{"a script with a misspelled sync and with finalize", "script: " + objecttest.Inline("Starlark", objecttest.Starlark("synk", "finalize")), true,
			[]string{"defines no function sync", "did you mean synk?"}},
		{"a script with other functions", "script: " + objecttest.Inline("Starlark", objecttest.Starlark("reconcile", "helper")), true,
			[]string{"defines no function sync and no function finalize", "it defines helper, reconcile"}},
		{"a script without any function", "script: " + objecttest.Inline("Starlark", "x = 1"), true,
			[]string{"defines no function sync", "it defines none"}},
		{"a function that does not exist", "{script: " + objecttest.Inline("Starlark", objecttest.Starlark("sync")) + ", hooks: {finalize: {script: {function: tidy}}}}", true,
			[]string{"hooks.finalize", "no function tidy", "it defines sync"}},
		{"a function and no script to find it in", "hooks: {sync: {script: {function: main}}}", false,
			[]string{"hooks.sync.script", "main", "no script to find it in"}},
		{"a script that does not compile", "script: " + objecttest.Inline("Starlark", "def sync(parent):\n    return {"), true,
			[]string{"sync.star:2:"}},
		{"a hook's script that does not compile", "hooks: {sync: {script: " + objecttest.Inline("JavaScript", "function sync( {") + "}}", true,
			[]string{"hooks.sync.script: sync.js:1:"}},
		{"a module that does not exist", "script: " + objecttest.Inline("Starlark", "load('lib.star', 'x')\n"+objecttest.Starlark("sync")), true,
			[]string{"sync.star:1:", "lib.star"}},
		{"a module outside of the directory", "script: {language: Starlark, inline: x, modules: {../lib.star: x}}", false,
			[]string{"spec.script", `module "../lib.star"`, "lib/labels.star"}},
		{"a hook's module with the name of the script", "hooks: {sync: {script: {language: JavaScript, inline: x, modules: {sync.js: x}}}}", false,
			[]string{"hooks.sync.script", `module "sync.js"`, "give the module another"}},
		{"no language", "script: {inline: x}", false, []string{"spec.script", "JavaScript, Jsonnet, Starlark"}},
		{"a webhook without an address", "hooks: {sync: {webhook: {}}}", false, []string{"hooks.sync.webhook", "url", "set url, or service and path"}},
		{"a service without a path", "hooks: {sync: {webhook: {service: {name: s, namespace: ns}}}}", false, []string{"hooks.sync.webhook", "no path"}},
		{"a path without a service", "hooks: {sync: {webhook: {path: /sync}}}", false, []string{"hooks.sync.webhook", "no service"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := newBuilder().ReadAndBuild(t.Context(), spectest.Composite(t, c.spec))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got error %q, want %q in it", err, want)
				}
			}
			if inScript := IsScriptError(err); inScript != c.inScript {
				t.Errorf("IsScriptError returns %t, want %t", inScript, c.inScript)
			}
		})
	}
}

func TestControllerWithOnlyAFinalizeHook(t *testing.T) {
	own, webhook := objecttest.Inline("Starlark", objecttest.Starlark("finalize", "helper")), "{webhook: {url: 'http://x/'}}"
	for name, c := range map[string]struct {
		spec    string
		warning bool
	}{
		"a webhook":               {"hooks: {finalize: " + webhook + "}", false},
		"a webhook and customize": {"hooks: {finalize: " + webhook + ", customize: " + webhook + "}", false},
		"a script":                {"script: " + own, true},
		"a script that is listed": {"{script: " + own + ", hooks: {finalize: {script: {}}}}", false},
		"a script of the hook":    {"hooks: {finalize: {script: " + own + "}}", false},
		"a script with a webhook": {"{script: " + own + ", hooks: {finalize: {script: {}, webhook: {url: 'http://x/'}}}}", false},
	} {
		loaded := load(t, newBuilder(), c.spec)
		if loaded.Sync != nil || loaded.Finalize == nil {
			t.Errorf("%s: sync %v, finalize %v, want finalize alone", name, loaded.Sync, loaded.Finalize)
		}
		if got := strings.Contains(strings.Join(loaded.Warnings, ""), "defines no function sync: parents are finalized, and otherwise not changed"); got != c.warning {
			t.Errorf("%s: warnings %q, want one about sync: %t", name, loaded.Warnings, c.warning)
		}
	}
}

func TestEmptyHookIsIgnoredWithAWarning(t *testing.T) {
	loaded := load(t, newBuilder(), "{script: "+objecttest.Inline("Starlark", objecttest.Starlark("sync"))+", hooks: {finalize: {}}}")
	if loaded.Finalize != nil {
		t.Error("there is a finalize hook: parents would get a finalizer that is never removed")
	}
	if got := strings.Join(loaded.Warnings, ""); !strings.Contains(got, "hooks.finalize is empty and is ignored") {
		t.Errorf("warnings: %q", got)
	}
}

func TestExplicitDefaultsAreAccepted(t *testing.T) {
	for name, spec := range map[string]string{
		"defaults": "{isolation: InProcess, applyStrategy: DynamicApply, endpointConfigs: [], script: {language: Starlark, inline: x = 1, rollback: Off, libraries: []}}",
		"methods":  "childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: OnDelete}}, {apiVersion: v1, resource: nodes, updateStrategy: {}}]",
		"webhook":  "hooks: {sync: {webhook: {url: 'http://x/', responseUnMarshallMode: loose, etag: {enabled: false}}}}",
	} {
		t.Run(name, func(t *testing.T) {
			cc := spectest.Composite(t, spec)
			var err error
			if cc.Hooks != nil {
				_, err = newBuilder().ReadAndBuild(t.Context(), cc)
			}
			if err != nil {
				t.Errorf("error: %v", err)
			}
		})
	}
}

func TestURLOfAWebhook(t *testing.T) {
	for _, c := range []struct{ name, webhook, url, warning string }{
		{"url", "{url: 'https://hooks.example.com:8443/sync?a=b'}", "https://hooks.example.com:8443/sync?a=b", ""},
		{"service and path", "{service: {name: catset, namespace: hooks}, path: /sync}", "http://catset.hooks:80/sync", ""},
		{"port and protocol", "{service: {name: catset, namespace: hooks, port: 8443, protocol: https}, path: /sync}", "https://catset.hooks:8443/sync", ""},
		{"https at the default port", "{service: {name: catset, namespace: hooks, protocol: https}, path: /sync}", "https://catset.hooks:80/sync", ""},
		{"an empty protocol", "{service: {name: catset, namespace: hooks, protocol: ''}, path: /sync}", "http://catset.hooks:80/sync", ""},
		{"url and a service", "{url: 'http://x/sync', service: {name: catset, namespace: hooks}, path: /sync}", "http://x/sync",
			"hooks.sync.webhook has both url and service: url is used"},
		{"an empty url", "{url: '', service: {name: catset, namespace: hooks}, path: /sync}", "http://catset.hooks:80/sync", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			loaded := load(t, newBuilder(), "hooks: {sync: {webhook: "+c.webhook+"}}")
			if got := servedBy(t, loaded.Sync); got != c.url {
				t.Errorf("the URL is %s, want %s", got, c.url)
			}
			if got := strings.Join(loaded.Warnings, "; "); got != c.warning {
				t.Errorf("warnings: %q, want %q", got, c.warning)
			}
		})
	}
}

func TestTimeoutOfAWebhook(t *testing.T) {
	loaded := load(t, newBuilder(), "hooks: {sync: {webhook: {url: 'http://x/', timeout: 90s}}}")
	if got := loaded.Sync.(*hook.Webhook).Timeout; got != 90*time.Second {
		t.Errorf("the timeout is %s, want 1m30s", got)
	}
}

// A listed hook has its own version; script.version is that of the hooks that are not listed.
func TestVersionsOfListedAndUnlistedHooks(t *testing.T) {
	const functions = `inline: "def sync(children): return {'status': {'keys': [k for g in children.values() for k in g]}, 'children': []}\nfinalize = sync"`
	for _, c := range []struct{ name, spec, sync, finalize string }{
		{"v1 by default", "script: {language: Starlark, " + functions + "}", "[old]", "[old]"},
		{"v2 for all hooks that are not listed", "script: {language: Starlark, version: v2, " + functions + "}", "[default/old]", "[default/old]"},
		{"a listed hook has its own version", "{script: {language: Starlark, version: v2, " + functions + "}, hooks: {finalize: {version: v1, script: {}}}}", "[default/old]", "[old]"},
		{"a listed hook does not inherit the version of the script", "{script: {language: Starlark, version: v2, " + functions + "}, hooks: {finalize: {script: {}}}}", "[default/old]", "[old]"},
		{"a listed hook of v2", "{script: {language: Starlark, " + functions + "}, hooks: {finalize: {version: v2, script: {}}}}", "[old]", "[default/old]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			loaded := load(t, newBuilder(), c.spec)
			if got := fmt.Sprint(statusFrom(t, loaded.Sync)["keys"]); got != c.sync {
				t.Errorf("sync gets the keys %s, want %s", got, c.sync)
			}
			if got := fmt.Sprint(statusFrom(t, loaded.Finalize)["keys"]); got != c.finalize {
				t.Errorf("finalize gets the keys %s, want %s", got, c.finalize)
			}
		})
	}
	loaded := load(t, newBuilder(), "hooks: {sync: {version: v2, webhook: {url: 'http://x/'}}}")
	if got := loaded.Sync.(*hook.Webhook).Version; got != hook.V2 {
		t.Errorf("the webhook has version %s, want v2", got)
	}
}

func TestHooksInheritLimitsOfTheScript(t *testing.T) {
	loaded := load(t, newBuilder(), `
script:
  language: Starlark
  inline: "def sync(): return {'children': []}"
  timeout: 3s
  limits: {steps: 1000, memory: 8Mi, output: 1Ki}
hooks:
  finalize:
    script:
      language: Starlark
      inline: "def finalize(): return {'children': []}"
      limits: {steps: 2000}
`)
	want := engine.Limits{Timeout: 3 * time.Second, Steps: 1000, Memory: 8 << 20, Output: 1 << 10, Source: maxInline}.WithDefaults()
	want.Log = 0 // the engine's default
	if diff := cmp.Diff(want, loaded.Sync.(*hook.Script).Limits); diff != "" {
		t.Errorf("limits of sync (-want +got):\n%s", diff)
	}
	want.Steps = 2000
	if diff := cmp.Diff(want, loaded.Finalize.(*hook.Script).Limits); diff != "" {
		t.Errorf("limits of finalize (-want +got):\n%s", diff)
	}
}

func TestErrorForTooMuchSource(t *testing.T) {
	half := strings.Repeat("# forty characters of a comment, or so\n", maxInline/2/39)
	script := func(module string) *spec.Declaration {
		spec := spectest.Composite(t, "script: "+objecttest.Inline("Starlark", objecttest.Starlark("sync")+half))
		spec.Script.Modules = map[string]v1alpha1.ModuleText{"lib.star": v1alpha1.ModuleText(module)}
		return spec
	}
	if _, err := newBuilder().ReadAndBuild(t.Context(), script("")); err != nil {
		t.Errorf("half of the allowed source: error %v", err)
	}
	_, err := newBuilder().ReadAndBuild(t.Context(), script(half))
	var fault *engine.Error
	if !errors.As(err, &fault) || fault.Kind != engine.KindSource {
		t.Fatalf("got error %v, want that the source is too large", err)
	}
	for _, want := range []string{"too large", "in 2 files", "at most 131072 bytes", "leave out"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got error %q, want %q in it", err, want)
		}
	}
}

func TestMessagesOfScriptsAreLoggedWithHookAndParent(t *testing.T) {
	var got []string
	l := newBuilder()
	l.Log = func(name string, req *hook.Request, m engine.Message) {
		got = append(got, fmt.Sprintf("%s of %s at %s: %s", name, object.Describe(req.Parent), m.Pos, m.Text))
	}
	loaded := load(t, l, "script: "+objecttest.Inline("Starlark", "def sync(parent):\n    print('here')\n    return {'children': []}\n"))
	statusFrom(t, loaded.Sync)
	if diff := cmp.Diff([]string{"sync of Widget default/w at sync.star:2:10: here"}, got); diff != "" {
		t.Errorf("logged (-want +got):\n%s", diff)
	}
}

func TestScriptGetsTheTimeOfTheLoader(t *testing.T) {
	l := newBuilder()
	l.Now = func() time.Time { return time.Date(2026, 1, 2, 15, 4, 5, 6, time.FixedZone("", 3600)) }
	loaded := load(t, l, "script: "+objecttest.Inline("Starlark", "def sync(now): return {'status': {'now': now}, 'children': []}"))
	if got := statusFrom(t, loaded.Sync)["now"]; got != "2026-01-02T14:04:05Z" {
		t.Errorf("request.now is %v, want 2026-01-02T14:04:05Z", got)
	}
}

func TestDigestChangesWithTheScriptAndItsModules(t *testing.T) {
	digest := func(spec string) string { return load(t, newBuilder(), spec).Digest }
	one := "script: {language: Starlark, inline: \"def sync(): return {}\""
	base := digest(one + "}")
	if again := digest(one + ", timeout: 3s}"); again != base || base == "" {
		t.Errorf("the same script has the digests %q and %q", base, again)
	}
	if other := digest(one + ", modules: {lib.star: x = 1}}"); other == base {
		t.Error("an additional module does not change the digest")
	}
	if none := digest("hooks: {sync: {webhook: {url: 'http://x/'}}}"); none != "" {
		t.Errorf("without a script the digest is %q", none)
	}
}

func TestStrictDependsOnModeAndVersion(t *testing.T) {
	for settings, want := range map[string]bool{
		"webhook: {url: 'http://x/'}":                                              false,
		"webhook: {url: 'http://x/', responseUnMarshallMode: strict}":              true,
		"version: v2, webhook: {url: 'http://x/'}":                                 true,
		"version: v2, webhook: {url: 'http://x/', responseUnMarshallMode: loose}":  false,
		"version: v1, webhook: {url: 'http://x/', responseUnMarshallMode: strict}": true,
	} {
		cc := spectest.Composite(t, "hooks: {sync: {"+settings+"}}")
		loaded, err := newBuilder().ReadAndBuild(t.Context(), cc)
		if err != nil {
			t.Fatal(err)
		}
		if got := loaded.Sync.(*hook.Webhook).Strict; got != want {
			t.Errorf("%s: strict is %t, want %t", settings, got, want)
		}
	}
}

func TestErrorForAnInvalidResultHasTheLineOfTheValue(t *testing.T) {
	for language, source := range map[string]string{
		"Starlark":   "\ndef sync(parent):\n    return {\"childs\": []}\n",
		"JavaScript": "\nfunction sync() {\n  return {childs: []};\n}\n",
		"Jsonnet":    "{\n  sync(parent)::\n    { childs: [] },\n}\n",
	} {
		t.Run(language, func(t *testing.T) {
			_, err := load(t, newBuilder(), "script: "+objecttest.Inline(language, source)).Sync.Call(t.Context(), widgetRequest())
			var fault *engine.Error
			if !errors.As(err, &fault) || fault.Kind != engine.KindResult || fault.Pos.Line != 3 || !strings.Contains(fault.Source, "childs") {
				t.Errorf("got %v, want an error at line 3 with its text", engine.DetailOf(err))
			}
		})
	}
}

func TestTypeScriptRunsInWorkerProcesses(t *testing.T) {
	script := "script: " + objecttest.Inline("TypeScript", "export const sync = (r: object) => ({children: []})")
	_, err := newBuilder().ReadAndBuild(t.Context(), spectest.Composite(t, script))
	var missing *IsolationError
	if !errors.As(err, &missing) {
		t.Errorf("without worker processes: error %v, want an IsolationError", err)
	}
	b := newBuilder()
	b.Sandbox.Process, b.Sandbox.InProcess = b.Sandbox.InProcess, nil
	loaded, err := b.ReadAndBuild(t.Context(), spectest.Composite(t, script))
	if err != nil {
		t.Fatal(err)
	}
	if loaded.Isolation != v1alpha1.IsolationProcess {
		t.Errorf("the isolation is %s", loaded.Isolation)
	}
}

// Otherwise all versions of a script that is edited often would stay in memory.
func TestHooksDoNotReferToTheHooksBefore(t *testing.T) {
	d := spectest.Composite(t, "{script: "+objecttest.Inline("Starlark", objecttest.Starlark("sync"))+", hooks: {finalize: {webhook: {url: 'http://x/'}}}}")
	var before weak.Pointer[hook.Script]
	second := func() Built {
		first := newBuilder()
		first.Log = func(string, *hook.Request, engine.Message) {}
		hooks, err := first.ReadAndBuild(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		before = weak.Make(hooks.Sync.(*hook.Script))
		next := *first
		next.Before = &hooks
		again, err := next.ReadAndBuild(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		if again.Finalize != hooks.Finalize {
			t.Error("the webhook is not the one before")
		}
		return again
	}()
	for range 100 {
		if runtime.GC(); before.Value() == nil {
			break
		}
	}
	if before.Value() != nil {
		t.Error("the hooks refer to those that they replaced")
	}
	runtime.KeepAlive(second.Sync)
}
