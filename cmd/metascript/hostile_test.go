package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"metascript/cmd/metascript/internal/place"
	"metascript/controller/recording"
	"metascript/engine/printable"
)

// written returns what is below the current directory, except for what was there before.
func written(t *testing.T, before ...string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if path != "." && !strings.HasPrefix(path, "in") {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all[len(before):]
}

// The author of a recording chooses names of parents and of files. Nothing is written outside of the directory of --case, nothing is replaced, and
// no text becomes a field of the case.
func TestHostileNamesInARecording(t *testing.T) {
	parent := func(name, namespace string) func(*recording.Controller, *recording.Reconcile) {
		return func(_ *recording.Controller, r *recording.Reconcile) {
			r.Parent.Name, r.Parent.Namespace = name, namespace
		}
	}
	file := func(key, name string) func(*recording.Controller, *recording.Reconcile) {
		return func(c *recording.Controller, _ *recording.Reconcile) {
			c.Object = []byte(`{"apiVersion":"metacontroller.k8s.io/v1alpha1","kind":"CompositeController","metadata":{"name":"sites"},"spec":{"parentResource":{"apiVersion":"example.com/v1","resource":"sites"},"hooks":{"` + key + `":{"script":{"inline":"x"}}}}}`)
			if c.Scripts[key] = c.Scripts[""]; key != "" {
				delete(c.Scripts, "")
			}
			c.Scripts[key].Files[name] = "pwned"
		}
	}
	hook := func(name string) func(*recording.Controller, *recording.Reconcile) {
		return func(_ *recording.Controller, r *recording.Reconcile) { r.Calls[0].Hook = name }
	}
	for name, edit := range map[string]func(*recording.Controller, *recording.Reconcile){
		"up":                  parent("../../../out/pwned", "default"),
		"absolute":            parent("/tmp/pwned", "default"),
		"line break":          parent("a\nb", "default"),
		"line in a namespace": parent("a", "default\non: [push]\n# "),
		"control":             parent("a\x1b[8m", "default"),
		"direction":           parent("a\u202eb", "default"),
		"long":                parent(strings.Repeat("a", 300), "default"),
		"no name":             parent("", "default"),
		"hook":                hook("sync\non: [push]\n#"),
		"key":                 file("../../out/home/.ssh", "authorized_keys"),
		"other key":           file("other", "x.star"),
		"file up":             file("sync", "../../x.star"),
		"hidden":              file("sync", ".envrc"),
		"hidden folder":       file("sync", ".git/hooks/pre-commit"),
		"device":              file("sync", "CON.star"),
		"stream":              file("sync", "a:b.star"),
		"backslash":           file("sync", `..\..\x.star`),
		"line break in file":  file("sync", "a\nb.star"),
		"ends with a dot":     file("sync", "a."),
		"case":                file("sync", "SYNC.star"),
	} {
		t.Run(name, func(t *testing.T) {
			inFolder(t, replayed)
			if err := os.MkdirAll("in/deep", 0o700); err != nil {
				t.Fatal(err)
			}
			recordOne(t, "in/one.rec", edit)
			metascript(t, "replay", "in/one.rec", "-f", "controller.yaml", "--call", "1", "--case", "in/deep/case").expect(t, 1, nil, []string{"error: "})
			if all := written(t, "controller.yaml"); len(all) > 0 {
				t.Errorf("it wrote %v", all)
			}
			if all, _ := filepath.Glob("in/deep/case/*"); len(all) > 0 {
				t.Errorf("it wrote %v", all)
			}
		})
	}
}

// The directory of --case may have symbolic links and files.
func TestCaseFollowsNoLinkAndReplacesNothing(t *testing.T) {
	inFolder(t, replayed+"-- outside/empty --\n")
	recordOne(t, "in.rec")
	for name, to := range map[string]string{"controller.yaml": "../outside/new.yaml", "cases": "../outside", "sync.star": "../outside/new.star"} {
		if err := os.Mkdir("case", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join("case", name)); err != nil {
			t.Fatal(err)
		}
		got := metascript(t, "replay", "in.rec", "-f", "controller.yaml", "--call", "1", "--case", "case")
		if all, _ := filepath.Glob("outside/*"); len(all) != 1 {
			t.Errorf("%s: it wrote %v: %v", name, all, got)
		}
		if err := os.RemoveAll("case"); err != nil {
			t.Fatal(err)
		}
	}
	run := func() result {
		return metascript(t, "replay", "in.rec", "-f", "controller.yaml", "--call", "1", "--case", "case")
	}
	run().expect(t, 0, []string{"wrote case/sync.star, case/controller.yaml, case/cases/blog-call-1.yaml"}, nil)
	run().expect(t, 1, nil, []string{"error: nothing was written, because there already is case/cases/blog-call-1.yaml: move it, or name another directory"})
}

// A case is a link to a file of the user that can be read as a case without an expected answer.
func TestUpdateFollowsNoLink(t *testing.T) {
	const mine = "# Only comments.\n"
	inFolder(t, replayed+"-- mine --\n"+mine+`-- suite/parent.yaml --
{apiVersion: example.com/v1, kind: Site, metadata: {name: blog}, spec: {size: 1}}
-- suite/cases/readme --
`)
	for from, to := range map[string]string{"suite/cases/one.yaml": "../../mine", "suite/controller.yaml": "../controller.yaml"} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	metascript(t, "test", "--update", "suite").expect(t, 1, []string{"escapes"}, []string{"error: "})
	if text, err := os.ReadFile("mine"); err != nil || string(text) != mine {
		t.Errorf("the file has %q: %v", text, err)
	}
}

// The limits in a recording are not more than those of the user who replays it.
func TestLimitsInARecording(t *testing.T) {
	inFolder(t, replayed)
	recordOne(t, "in.rec", func(c *recording.Controller, r *recording.Reconcile) {
		script := c.Scripts[""]
		script.Files["sync.star"] = "def sync(parent):\n    for i in range(1 << 40):\n        pass\n"
		r.Calls[0].Limits = &recording.Limits{Timeout: time.Hour, Steps: 1 << 60, Memory: 1 << 60, Output: 1 << 60}
	})
	metascript(t, "replay", "in.rec", "-f", "controller.yaml", "--max-script-steps", "100000").expect(t, 1, []string{"1 answer differs"}, []string{"error: "})
}

// hidden is a text that would end the line, hide what follows it, turn it round and set the title of the window.
const hidden = "a\x1b[8m\u202eb\u2066\u200b\u009b2J\x7f\x1b]0;owned\x07\u2028\U000e0041\r\x08c"

// Whatever a script, a name or a recording has, no command prints a character that a terminal may interpret; and the answer is not lost.
func TestHiddenCharacters(t *testing.T) {
	text, err := json.Marshal(hidden)
	if err != nil {
		t.Fatal(err)
	}
	script := strings.NewReplacer("HIDDEN", printable.Quoted(hidden)).Replace(`
-- controller.yaml --
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: sites}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: sites}
  childResources: [{apiVersion: v1, resource: configmaps}]
  script: {language: JavaScript, file: sync.js}
-- crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Site, plural: sites}
  versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
-- parent.yaml --
{apiVersion: example.com/v1, kind: Site, metadata: {name: blog}, spec: {fail: false, text: HIDDEN}}
-- failing.yaml --
{apiVersion: example.com/v1, kind: Site, metadata: {name: HIDDEN}, spec: {fail: true, text: HIDDEN}}
-- cases/one.yaml --
parent: {apiVersion: example.com/v1, kind: Site, metadata: {name: HIDDEN}, spec: {fail: true, text: HIDDEN}}
answer: {children: [], status: {text: HIDDEN}}
-- cases/two.yaml --
parent: {apiVersion: example.com/v1, kind: Site, metadata: {name: blog}, spec: {fail: false, text: HIDDEN}}
-- simulate.yaml --
steps:
- name: HIDDEN
  apply: [parent.yaml]
- name: a failure
  patch: {object: Site blog, merge: {spec: {fail: true}}}
`)
	inFolder(t, script)
	js := "exports.sync = ({parent}) => {\n  const text = " + string(text) + ";\n  console.log(text + '\\nerror: forged');\n  if (parent.spec.fail) throw new Error(text);\n  return {children: [{apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: text}}], status: {text, [text]: 1}};\n};\n"
	if err := os.WriteFile("sync.js", []byte(js), 0o600); err != nil {
		t.Fatal(err)
	}
	recordOne(t, "in.rec", func(_ *recording.Controller, r *recording.Reconcile) {
		r.Parent.Name, r.Calls[0].Error, r.Calls[0].Answer = hidden, hidden, nil
	})
	run := []string{"run", "-f", "controller.yaml", "--scripts-dir", ".", "--parent"}
	for _, args := range [][]string{
		append(run, "parent.yaml"), append(run, "failing.yaml"), append(run, "parent.yaml,failing.yaml"), append(run, "parent.yaml", "-o", "json"), append(run, "parent.yaml", "-o", "yaml"),
		append(run, "failing.yaml", "-o", "json"), {"test", "."}, {"test", "-o", "json", "."}, {"test", "--update", "."}, {"simulate", "."}, {"simulate", "-o", "yaml", "."}, {"check", "--scripts-dir", ".", "-f", "."},
		{"replay", "in.rec", "-f", "controller.yaml", "--scripts-dir", "."}, {"replay", "in.rec", "-f", "controller.yaml", "--scripts-dir", ".", "-o", "json"}, {"check", "-f", hidden}, {hidden}, {"explain", hidden},
		{"rbac", "-f", "controller.yaml", "--scripts-dir", "."}, {"types", "-f", "controller.yaml", "--scripts-dir", "."},
	} {
		got := metascript(t, args...)
		if !printable.All(got.stdout) || !printable.All(got.stderr) {
			t.Errorf("%q prints hidden characters: %q and %q", args, got.stdout, got.stderr)
		}
		if strings.Contains(got.stderr, "\nerror: forged") {
			t.Errorf("%q prints a line of the script as its own: %s", args, got.stderr)
		}
	}
	for format, decode := range map[string]func([]byte, any) error{"json": json.Unmarshal, "yaml": func(text []byte, into any) error { return yaml.Unmarshal(text, into) }} {
		var all struct {
			Results []struct {
				Answer struct{ Status map[string]any }
			}
		}
		got := metascript(t, append(run, "parent.yaml", "-o", format)...)
		if err := decode([]byte(got.stdout), &all); err != nil || len(all.Results) != 1 || all.Results[0].Answer.Status["text"] != hidden || all.Results[0].Answer.Status[hidden] != 1.0 {
			t.Errorf("-o %s is read as %v: %v", format, all, err)
		}
	}
	var answer struct{ Status map[string]any }
	got := metascript(t, append(run, "parent.yaml")...)
	if err := yaml.Unmarshal([]byte(got.stdout), &answer); err != nil || answer.Status["text"] != hidden || got.code != 0 {
		t.Errorf("the answer is read as %v: %v: %v", answer, err, got)
	}
}

// A script answers with thousands of wrong children, and a file has thousands of wrong fields: the first ones are reported, and how many more there are.
func TestManyAndLongWarnings(t *testing.T) {
	var fields strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&fields, "unknown%d: 1, ", i)
	}
	inFolder(t, `
-- controller.yaml --
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: sites}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: sites}
  childResources: [{apiVersion: v1, resource: pods}]
  script:
    language: JavaScript
    inline: |
      exports.sync = () => {
        const children = [{apiVersion: "v1", kind: "Pod", metadata: {name: "x".repeat(1 << 20)}}];
        for (let i = 0; i < 300; i++) children.push({apiVersion: "v1", kind: "Pod", metadata: {name: "null-" + i}, spec: {["a".repeat(i % 300)]: 1}});
        return {children, status: {}};
      };
-- parent.yaml --
{apiVersion: example.com/v1, kind: Site, metadata: {name: blog}}
-- pod.yaml --
{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {`+fields.String()+`containers: []}}
-- cases/one.yaml --
answer: {children: [], status: {}}
`)
	const most = 40 << 10
	for _, c := range []struct {
		args []string
		more string
	}{
		{[]string{"run", "-f", "controller.yaml", "--parent", "parent.yaml"}, "and "},
		{[]string{"run", "-f", "controller.yaml", "--parent", "parent.yaml", "--children", "pod.yaml"}, "and 980 more"},
		{[]string{"check", "-f", "pod.yaml"}, "and 981 more"},
	} {
		got := metascript(t, c.args...)
		warnings := got.stderr
		if c.args[0] == "check" {
			warnings = got.stdout
		}
		if n := strings.Count(warnings, "unknown field"); len(warnings) > most || n > 40 || !strings.Contains(warnings, c.more) {
			t.Errorf("%q: %d bytes of warnings, %d of them about unknown fields, want %q in them: %.2000s", c.args, len(warnings), n, c.more, warnings)
		}
	}
	var results struct {
		Cases []struct{ Problems, Warnings []string }
	}
	got := metascript(t, "test", "-o", "json", ".")
	if err := json.Unmarshal([]byte(got.stdout), &results); err != nil || len(results.Cases) != 1 || len(results.Cases[0].Problems) != place.Most+1 || len(results.Cases[0].Warnings) > place.Most+1 {
		t.Errorf("got %.2000s, %v", got.stdout, err)
	}
}

// A simulation does not read what is outside of its directory: its hooks would get it.
func TestSimulationReadsNothingOutside(t *testing.T) {
	for name, step := range map[string]string{
		"up": "apply: [../outside.yaml]", "link": "apply: [link.yaml]", "script": "script: {file: ../outside.yaml}", "script link": "script: {file: link.yaml}",
	} {
		inFolder(t, "-- outside.yaml --\n{apiVersion: example.com/v1, kind: Site, metadata: {name: secret}}\n"+strings.Replace(replayed, "controller.yaml", "in/controller.yaml", 1)+"-- in/simulate.yaml --\nsteps: [{name: a, "+step+"}]\n")
		if err := os.Symlink("../outside.yaml", "in/link.yaml"); err != nil {
			t.Fatal(err)
		}
		got := metascript(t, "simulate", "in")
		if got.code != 1 || strings.Contains(got.stdout, "secret") || !strings.Contains(got.stdout+got.stderr, "is not in in") && !strings.Contains(got.stdout+got.stderr, "escapes") {
			t.Errorf("%s: %d: %s%s", name, got.code, got.stdout, got.stderr)
		}
	}
}
