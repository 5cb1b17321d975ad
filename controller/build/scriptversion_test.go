package build

import (
	"errors"
	"fmt"
	"testing"
	"testing/fstest"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/spec/spectest"
	"metascript/engine"
	"metascript/scripts"
)

// returning is a script, in YAML, whose functions return a text in the status.
func returning(text string, functions ...string) string {
	source := ""
	for _, name := range functions {
		source += fmt.Sprintf("def %s(): return {'status': {'from': '%s'}, 'children': []}\n", name, text)
	}
	return objecttest.Inline("Starlark", source)
}

// candidate returns a Candidate whose scripts were read.
func candidate(t *testing.T, b *Builder, spec string) *Candidate {
	t.Helper()
	c := &Candidate{Declaration: spectest.Composite(t, spec), Object: object.New(map[string]any{})}
	if err := c.Read(b); err != nil {
		t.Fatal(err)
	}
	return c
}

// Earlier servers stored spec.script under this digest.
func TestDigestOfSpecScriptAloneIsThatOfTheScript(t *testing.T) {
	own := scripts.Assembled{Script: engine.Script{
		Language: "Starlark", Entry: "sync.star", Files: fstest.MapFS{"sync.star": {Data: []byte("def sync(parent): return {'children': []}\n")}},
	}}
	const digest = "f04f8d0be37a6a64767b8dc2dc60e059aca11cd7d486f1d1c171116b6ace281f"
	for name, c := range map[string]struct {
		parts Parts
		same  bool
	}{
		"spec.script":             {Parts{"": own}, true},
		"with a hook's":           {Parts{"": own, "finalize": own}, false},
		"the same script as sync": {Parts{"sync": own}, false},
	} {
		got, err := c.parts.versionDigest()
		if err != nil || (got == digest) != c.same || got == "" {
			t.Errorf("%s: digest %q, error %v", name, got, err)
		}
	}
	if none, err := (Parts{}).versionDigest(); none != "" || err != nil {
		t.Errorf("without scripts the digest is %q, error %v", none, err)
	}
}

func TestDigestChangesWithTheScriptsOfSingleHooks(t *testing.T) {
	digest := func(spec string) string { return load(t, newBuilder(), spec).Digest }
	spec := func(script, sync, more string) string {
		return "{" + script + "hooks: {sync: {script: " + sync + more + "}}}"
	}
	base := digest(spec("", returning("one", "sync"), ""))
	for name, c := range map[string]struct {
		spec string
		same bool
	}{
		"the same":        {spec("", returning("one", "sync"), ""), true},
		"another version": {spec("", returning("one", "sync"), ", version: v2"), true},
		"another script":  {spec("", returning("two", "sync"), ""), false},
		"spec.script too": {spec("script: "+returning("one", "finalize")+", ", returning("one", "sync"), ""), false},
		"as spec.script":  {"script: " + returning("one", "sync"), false},
	} {
		if got := digest(c.spec); (got == base) != c.same || got == "" {
			t.Errorf("%s: digest %s, before %s", name, got, base)
		}
	}
}

func TestOlderVersionHasItsOwnScripts(t *testing.T) {
	const url = "http://x/"
	const webhook = "webhook: {url: '" + url + "'}"
	own := func(text string) string { return "{script: " + returning(text, "sync", "other") + "}" }
	for name, c := range map[string]struct {
		then, now string
		want      [3]string // what serves sync, finalize and customize in the older version
	}{
		"spec.script was edited": {"script: " + returning("then", "sync"), "script: " + returning("now", "sync", "finalize"), [3]string{"then"}},
		"a hook's script was edited": {
			"hooks: {sync: " + own("then") + "}", "hooks: {sync: " + own("now") + "}", [3]string{"then"}},
		"one of two was edited": {
			"{script: " + returning("both", "finalize") + ", hooks: {sync: " + own("then") + "}}",
			"{script: " + returning("both", "finalize") + ", hooks: {sync: " + own("now") + "}}", [3]string{"then", "both"}},
		"the function of a hook was edited": {
			"hooks: {sync: {script: {function: f, " + returning("then", "f")[1:] + "}}", "hooks: {sync: " + own("now") + "}", [3]string{"then"}},
		"a hook got its own script": {
			"script: " + returning("then", "sync"), "{script: " + returning("then", "sync") + ", hooks: {sync: " + own("now") + "}}", [3]string{"then"}},
		"a hook lost its own script": {"hooks: {sync: " + own("then") + "}", "script: " + returning("now", "sync"), [3]string{"then"}},
		"a script became a webhook": {
			"hooks: {sync: " + own("then") + ", finalize: {script: " + returning("then", "finalize") + "}}",
			"hooks: {sync: " + own("now") + ", finalize: {" + webhook + "}}", [3]string{"then", "then"}},
		"a webhook became a script": {
			"hooks: {sync: " + own("then") + ", finalize: {" + webhook + "}}",
			"hooks: {sync: " + own("now") + ", finalize: {" + webhook + ", script: " + returning("now", "finalize") + "}}", [3]string{"then", url}},
		"a hook is new": {
			"hooks: {sync: " + own("then") + "}",
			"hooks: {sync: " + own("now") + ", customize: {script: " + returning("now", "customize") + "}}", [3]string{"then"}},
		"the function of spec.script was edited": {
			"{script: " + returning("then", "f") + ", hooks: {sync: {script: {function: f}}, finalize: {script: " + returning("then", "finalize") + "}}}",
			"{script: " + returning("now", "g") + ", hooks: {sync: {script: {function: g}}, finalize: {script: " + returning("now", "finalize") + "}}}", [3]string{"then", "then"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newBuilder()
			then, now := candidate(t, l, c.then), candidate(t, l, c.now)
			before, err := l.Build(t.Context(), then.Declaration, then.Parts)
			if err != nil {
				t.Fatal(err)
			}
			built, err := l.Build(t.Context(), now.Declaration, now.Parts)
			if err != nil {
				t.Fatal(err)
			}
			older := *l
			older.Before = &built
			for _, stored := range []ScriptVersion{then.ScriptVersion(), {Script: then.ScriptVersion().Script, Hooks: then.ScriptVersion().Hooks}} {
				found, err := older.BuildVersion(t.Context(), now, stored)
				if err != nil {
					t.Fatal(err)
				}
				got := [3]string{servedBy(t, found.Sync), servedBy(t, found.Finalize), servedBy(t, found.Customize)}
				if got != c.want || found.Digest != before.Digest {
					t.Errorf("served by %q, want %q; digest %s, want %s", got, c.want, found.Digest, before.Digest)
				}
			}
		})
	}
}

// Earlier servers stored only spec.script, also if hooks had their own scripts.
func TestVersionStoredWithoutScriptsOfHooksGetsTheCurrentOnes(t *testing.T) {
	l := newBuilder()
	now := candidate(t, l, "{script: "+returning("now", "sync")+", hooks: {finalize: {script: "+returning("finalizer", "finalize")+"}, customize: {script: "+returning("customizer", "customize")+"}}}")
	then := candidate(t, l, "script: "+returning("then", "sync"))
	found, err := l.BuildVersion(t.Context(), now, then.ScriptVersion())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := [3]string{servedBy(t, found.Sync), servedBy(t, found.Finalize), servedBy(t, found.Customize)}, [3]string{"then", "finalizer", "customizer"}; got != want {
		t.Errorf("served by %q, want %q", got, want)
	}
	if want, _ := then.Parts.versionDigest(); found.Digest != want {
		t.Errorf("digest %s, want that of the stored version, %s", found.Digest, want)
	}
	helpers := candidate(t, l, "{script: "+returning("now", "f")+", hooks: {sync: {script: "+returning("sync", "sync")+"}}}")
	found, err = l.BuildVersion(t.Context(), helpers, ScriptVersion{Script: helpers.Script})
	if err != nil || servedBy(t, found.Sync) != "sync" {
		t.Errorf("error %v; sync must be served by the script of the hook", err)
	}
}

func TestInvalidVersionsAreErrors(t *testing.T) {
	l := newBuilder()
	now := candidate(t, l, "hooks: {sync: {script: "+returning("now", "sync")+"}}")
	more := now.ScriptVersion()
	more.Hooks["finalize"] = v1alpha1.Hook{Script: more.Hooks["sync"].Script}
	if _, err := l.BuildVersion(t.Context(), now, more); !errors.Is(err, errOtherParts) {
		t.Errorf("a hook was added to the stored version: error %v", err)
	}
	broken := candidate(t, l, "script: "+objecttest.Inline("Starlark", "def sync(:"))
	var inScript *engine.Error
	if _, err := l.BuildVersion(t.Context(), now, broken.ScriptVersion()); !errors.As(err, &inScript) {
		t.Errorf("a script that does not compile: error %v", err)
	}
	missing := ScriptVersion{Script: &v1alpha1.ControllerScript{ScriptSource: v1alpha1.ScriptSource{File: "gone.star"}}}
	if _, err := l.BuildVersion(t.Context(), now, missing); err == nil {
		t.Error("a version without its script loads")
	}
}

func TestControllerWithMissingScriptsHasNoDigest(t *testing.T) {
	l := newBuilder()
	d := spectest.Composite(t, "{script: "+returning("one", "sync")+", hooks: {finalize: {script: "+objecttest.Inline("Starlark", "def finalize(:")+", webhook: {url: 'http://x/'}}}}")
	built, err := l.BuildPartial(t.Context(), &Candidate{Declaration: d, Object: object.New(map[string]any{})})
	if err != nil || built.Missing == "" || built.Digest != "" {
		t.Errorf("error %v, missing %q, digest %q", err, built.Missing, built.Digest)
	}
	if _, isFallback := built.Finalize.(*hook.Fallback); !isFallback || servedBy(t, built.Sync) != "one" {
		t.Error("the hooks that can be loaded do not work")
	}
}
