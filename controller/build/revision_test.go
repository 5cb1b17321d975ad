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

// saying is a script, in YAML, whose functions answer with a text.
func saying(text string, functions ...string) string {
	source := ""
	for _, name := range functions {
		source += fmt.Sprintf("def %s(): return {'status': {'from': '%s'}, 'children': []}\n", name, text)
	}
	return objecttest.Inline("Starlark", source)
}

// candidate is a controller whose scripts are read.
func candidate(t *testing.T, l *Loader, spec string) *Candidate {
	t.Helper()
	c := &Candidate{Declaration: spectest.Composite(t, spec), Object: &object.Object{Object: map[string]any{}}}
	if err := c.Read(l); err != nil {
		t.Fatal(err)
	}
	return c
}

// What a server before stored is found by this name.
func TestTheDigestOfSpecScriptAloneIsThatOfTheScript(t *testing.T) {
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

func TestTheDigestFollowsTheScriptsOfSingleHooks(t *testing.T) {
	digest := func(spec string) string { return Load(t, NewLoader(), spec).Digest }
	spec := func(script, sync, more string) string {
		return "{" + script + "hooks: {sync: {script: " + sync + more + "}}}"
	}
	base := digest(spec("", saying("one", "sync"), ""))
	for name, c := range map[string]struct {
		spec string
		same bool
	}{
		"the same":        {spec("", saying("one", "sync"), ""), true},
		"another version": {spec("", saying("one", "sync"), ", version: v2"), true},
		"another script":  {spec("", saying("two", "sync"), ""), false},
		"spec.script too": {spec("script: "+saying("one", "finalize")+", ", saying("one", "sync"), ""), false},
		"as spec.script":  {"script: " + saying("one", "sync"), false},
	} {
		if got := digest(c.spec); (got == base) != c.same || got == "" {
			t.Errorf("%s: digest %s, before %s", name, got, base)
		}
	}
}

func TestAnOlderVersionIsAnsweredByItsScripts(t *testing.T) {
	const url = "http://x/"
	const webhook = "webhook: {url: '" + url + "'}"
	own := func(text string) string { return "{script: " + saying(text, "sync", "other") + "}" }
	for name, c := range map[string]struct {
		then, now string
		want      [3]string // who answers sync, finalize and customize about the older version
	}{
		"spec.script was edited": {"script: " + saying("then", "sync"), "script: " + saying("now", "sync", "finalize"), [3]string{"then"}},
		"a hook's script was edited": {
			"hooks: {sync: " + own("then") + "}", "hooks: {sync: " + own("now") + "}", [3]string{"then"}},
		"one of two was edited": {
			"{script: " + saying("both", "finalize") + ", hooks: {sync: " + own("then") + "}}",
			"{script: " + saying("both", "finalize") + ", hooks: {sync: " + own("now") + "}}", [3]string{"then", "both"}},
		"its function was another": {
			"hooks: {sync: {script: {function: f, " + saying("then", "f")[1:] + "}}", "hooks: {sync: " + own("now") + "}", [3]string{"then"}},
		"the hook got its own": {
			"script: " + saying("then", "sync"), "{script: " + saying("then", "sync") + ", hooks: {sync: " + own("now") + "}}", [3]string{"then"}},
		"the hook lost its own": {"hooks: {sync: " + own("then") + "}", "script: " + saying("now", "sync"), [3]string{"then"}},
		"the hook got a webhook": {
			"hooks: {sync: " + own("then") + ", finalize: {script: " + saying("then", "finalize") + "}}",
			"hooks: {sync: " + own("now") + ", finalize: {" + webhook + "}}", [3]string{"then", "then"}},
		"a webhook became a script": {
			"hooks: {sync: " + own("then") + ", finalize: {" + webhook + "}}",
			"hooks: {sync: " + own("now") + ", finalize: {" + webhook + ", script: " + saying("now", "finalize") + "}}", [3]string{"then", url}},
		"a hook is new": {
			"hooks: {sync: " + own("then") + "}",
			"hooks: {sync: " + own("now") + ", customize: {script: " + saying("now", "customize") + "}}", [3]string{"then"}},
		"a function of spec.script as before": {
			"{script: " + saying("then", "f") + ", hooks: {sync: {script: {function: f}}, finalize: {script: " + saying("then", "finalize") + "}}}",
			"{script: " + saying("now", "g") + ", hooks: {sync: {script: {function: g}}, finalize: {script: " + saying("now", "finalize") + "}}}", [3]string{"then", "then"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLoader()
			then, now := candidate(t, l, c.then), candidate(t, l, c.now)
			before, err := l.Load(t.Context(), then.Declaration, then.Parts)
			if err != nil {
				t.Fatal(err)
			}
			built, err := l.Load(t.Context(), now.Declaration, now.Parts)
			if err != nil {
				t.Fatal(err)
			}
			older := *l
			older.Before = &built
			for _, stored := range []ScriptVersion{then.ScriptVersion(), {Script: then.ScriptVersion().Script, Hooks: then.ScriptVersion().Hooks}} {
				found, err := older.LoadVersion(t.Context(), now, stored)
				if err != nil {
					t.Fatal(err)
				}
				got := [3]string{who(t, found.Sync), who(t, found.Finalize), who(t, found.Customize)}
				if got != c.want || found.Digest != before.Digest {
					t.Errorf("answered by %q, want %q; digest %s, want %s", got, c.want, found.Digest, before.Digest)
				}
			}
		})
	}
}

// A server before stored spec.script alone, whatever else there was.
func TestAVersionThatWasStoredWithoutTheScriptsOfHooksHasThoseOfNow(t *testing.T) {
	l := NewLoader()
	now := candidate(t, l, "{script: "+saying("now", "sync")+", hooks: {finalize: {script: "+saying("finalizer", "finalize")+"}, customize: {script: "+saying("customizer", "customize")+"}}}")
	then := candidate(t, l, "script: "+saying("then", "sync"))
	found, err := l.LoadVersion(t.Context(), now, then.ScriptVersion())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := [3]string{who(t, found.Sync), who(t, found.Finalize), who(t, found.Customize)}, [3]string{"then", "finalizer", "customizer"}; got != want {
		t.Errorf("answered by %q, want %q", got, want)
	}
	if want, _ := then.Parts.versionDigest(); found.Digest != want {
		t.Errorf("digest %s, want that of what was stored, %s", found.Digest, want)
	}
	helpers := candidate(t, l, "{script: "+saying("now", "f")+", hooks: {sync: {script: "+saying("sync", "sync")+"}}}")
	found, err = l.LoadVersion(t.Context(), helpers, ScriptVersion{Script: helpers.Script})
	if err != nil || who(t, found.Sync) != "sync" {
		t.Errorf("error %v; without a function sync the hook's own script answers", err)
	}
}

func TestAVersionThatCannotBeIsRefused(t *testing.T) {
	l := NewLoader()
	now := candidate(t, l, "hooks: {sync: {script: "+saying("now", "sync")+"}}")
	more := now.ScriptVersion()
	more.Hooks["finalize"] = v1alpha1.Hook{Script: more.Hooks["sync"].Script}
	if _, err := l.LoadVersion(t.Context(), now, more); !errors.Is(err, errOtherParts) {
		t.Errorf("a hook that was added to what is stored: error %v", err)
	}
	broken := candidate(t, l, "script: "+objecttest.Inline("Starlark", "def sync(:"))
	var inScript *engine.Error
	if _, err := l.LoadVersion(t.Context(), now, broken.ScriptVersion()); !errors.As(err, &inScript) {
		t.Errorf("a script that does not compile: error %v", err)
	}
	gone := ScriptVersion{Script: &v1alpha1.ControllerScript{ScriptSource: v1alpha1.ScriptSource{File: "gone.star"}}}
	if _, err := l.LoadVersion(t.Context(), now, gone); err == nil {
		t.Error("a script that is not stored is loaded")
	}
}

func TestAControllerOfWhichSomeScriptsAreMissingHasNoDigest(t *testing.T) {
	l := NewLoader()
	l.Partial = &MissingParts{Parts: map[string]error{}}
	d := spectest.Composite(t, "{script: "+saying("one", "sync")+", hooks: {finalize: {script: "+objecttest.Inline("Starlark", "def finalize(:")+", webhook: {url: 'http://x/'}}}}")
	built, err := l.LoadPartial(t.Context(), &Candidate{Declaration: d, Object: &object.Object{Object: map[string]any{}}})
	if err != nil || built.Missing == "" || built.Digest != "" {
		t.Errorf("error %v, missing %q, digest %q", err, built.Missing, built.Digest)
	}
	if _, isFallback := built.Finalize.(*hook.Fallback); !isFallback || who(t, built.Sync) != "one" {
		t.Error("what can be loaded does not answer")
	}
}
