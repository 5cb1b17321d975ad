package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
)

func TestMergeShadow(t *testing.T) {
	for _, c := range []struct{ name, live, candidate, want string }{
		{"no script", "", "{language: Starlark, inline: a}", "{language: Starlark, inline: a}"},
		{"another source", "{language: Starlark, inline: a, modules: {m: b}}", "{file: a.js}", "{file: a.js}"},
		{"settings stay", "{file: a.js, timeout: 1s, rollback: OnError, libraries: [{file: l}]}", "{file: b.js, timeout: 2s}", "{file: b.js, timeout: 2s, rollback: OnError, libraries: [{file: l}]}"},
		{"each limit", "{file: a.js, limits: {steps: 1, memory: 2}}", "{file: b.js, limits: {steps: 3}}", "{file: b.js, limits: {steps: 3, memory: 2}}"},
		{"a ConfigMap as a whole", "{configMapRef: {name: a, namespace: b, key: c}}", "{configMapRef: {name: d}}", "{configMapRef: {name: d}}"},
	} {
		want := decoded(t, c.want)
		if diff := cmp.Diff(want, MergeShadow(decoded(t, c.live), decoded(t, c.candidate))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func decoded(t *testing.T, text string) (m map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func read(t *testing.T, spec string) *Declaration {
	t.Helper()
	d, err := Read(object.New(decoded(t, "{kind: CompositeController, metadata: {name: c}, spec: "+spec+"}")))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestWithShadow(t *testing.T) {
	d := read(t, `{script: {file: a.js, timeout: 1s, limits: {memory: 32Mi}}, shadow: {script: {language: Starlark, inline: x}}, hooks: {finalize: {webhook: {url: u}}, customize: {script: {}}, sync: {script: {file: b.js}}}}`)
	with, err := d.WithShadow()
	if err != nil || with.Script.File != "" || with.Script.Inline != "x" || with.Script.Timeout.Duration.String() != "1s" || with.Script.Limits.Memory.String() != "32Mi" || d.Script.File != "a.js" {
		t.Errorf("%+v, error %v", with, err)
	}
	for name, want := range map[string]bool{"sync": false, "finalize": false, "customize": true, "other": true} {
		if got := with.UsesScript(name); got != want {
			t.Errorf("%s is of spec.script: %t", name, got)
		}
	}
}

// A shadow that cannot be read is no error of the version that runs.
func TestUnreadableShadow(t *testing.T) {
	d := read(t, `{script: {file: a.js}, shadow: {script: {timeout: 1 day}}}`)
	if d.Script.File != "a.js" || d.Settings.Shadow != nil || d.ShadowErr == nil || !strings.Contains(d.ShadowErr.Error(), "spec.shadow.script.timeout") {
		t.Errorf("%+v, error %v", d, d.ShadowErr)
	}
	if _, err := d.WithShadow(); err != d.ShadowErr {
		t.Errorf("error %v", err)
	}
}

func TestShadowShare(t *testing.T) {
	for text, want := range map[string]int{"": 100, "1%": 1, "10%": 10, "100%": 100, "0%": 0, "101%": 0, "10": 0, "x%": 0, "1.5%": 0} {
		if got, err := ShadowShare(&v1alpha1.ShadowScript{Share: text}); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, error %v", text, got, err)
		}
	}
}
