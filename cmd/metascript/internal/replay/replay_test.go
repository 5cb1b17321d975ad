package replay

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"metascript/cmd/metascript/internal/cases"
	"metascript/controller/recording"
	"metascript/engine/process"
	"metascript/runtimes"
)

// TestMain is also the worker process for scripts in TypeScript.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == process.Verb {
		if err := process.Main(context.Background(), runtimes.All(), os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// A recording of each example, replayed with its own scripts, has no differences.
func TestExamplesAnswerAsBefore(t *testing.T) {
	entries, err := os.ReadDir(exampleDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		t.Run(entry.Name(), func(t *testing.T) {
			f := recordExample(t, entry.Name())
			report := f.replay(nil)
			for _, g := range report.Differences { // a step of a simulation may edit the script, so that it fails
				if strings.HasPrefix(g.Shape, "no error ") {
					report.Same, report.Unexpected = report.Same+g.Calls, report.Unexpected-1
				}
			}
			if report.Calls == 0 || report.Same+report.Kept != report.Calls || report.Unexpected > 0 {
				t.Errorf("not all answers are the same:\n%s", text(report))
			}
		})
	}
}

// text returns a report as people see it.
func text(r *Report) string { return r.Text(plain) }

// shapes returns the shapes of the differences of a report.
func shapes(r *Report) map[string]int {
	all := map[string]int{}
	for _, g := range r.Differences {
		all[g.Shape] = g.Parents
	}
	return all
}

// effects returns the effects of a report: the number of children by verb and kind.
func effectsOf(all []Effect) map[string]int {
	found := map[string]int{}
	for _, e := range all {
		found[e.Verb+" "+e.Kind] = e.Children
	}
	return found
}

func TestHarmlessEdit(t *testing.T) {
	r := recordFleet(t).replay(nil, "size = parent[\"spec\"][\"size\"]", "site = parent[\"spec\"]\n          size = site[\"size\"]")
	if r.Same != r.Calls || r.Calls < 8 || r.Parents != 4 || r.Unexpected > 0 {
		t.Error(text(r))
	}
}

func TestEditThatRestartsEverything(t *testing.T) {
	r := recordFleet(t).replay(nil, "image = \"nginx:1\"", "image = \"nginx:2\"")
	if diff := cmp.Diff(map[string]int{"Pod spec.containers[*].image": 4}, shapes(r)); diff != "" {
		t.Errorf("shapes: %s\n%s", diff, text(r))
	}
	if diff := cmp.Diff(map[string]int{"recreate Pod": 10}, effectsOf(r.Effects)); diff != "" {
		t.Errorf("effects: %s\n%s", diff, text(r))
	}
}

func TestEditThatDeletesForSomeParents(t *testing.T) {
	r := recordFleet(t).replay(nil, "range(size)", "range(min(size, 2))")
	if diff := cmp.Diff(map[string]int{"Pod removed": 2, "status.pods": 2}, shapes(r)); diff != "" {
		t.Errorf("shapes: %s\n%s", diff, text(r))
	}
	if diff := cmp.Diff(map[string]int{"delete Pod": 3}, effectsOf(r.Effects)); diff != "" {
		t.Errorf("effects: %s\n%s", diff, text(r))
	}
}

func TestExpectedDifferences(t *testing.T) {
	f := recordFleet(t)
	for _, c := range []struct {
		expect     []string
		unexpected int
		unused     []string
	}{
		{nil, 2, nil},
		{[]string{"deletes"}, 1, nil},
		{[]string{"deletes", "status"}, 0, nil},
		{[]string{"Pod removed", "status.pods", "Pod spec"}, 0, []string{"Pod spec"}},
	} {
		r := f.replay(func(o *Options) { o.Expect = c.expect }, "range(size)", "range(min(size, 2))")
		if r.Unexpected != c.unexpected || !cmp.Equal(r.Unused, c.unused) {
			t.Errorf("%q: %d unexpected, unused %q\n%s", c.expect, r.Unexpected, r.Unused, text(r))
		}
	}
}

// The output does not depend on how many calls are made at a time.
func TestOutputIsTheSameEachTime(t *testing.T) {
	f := generate(t, 300, 3)
	var first string
	for _, workers := range []int{1, 2, 7} {
		r := f.replay(func(o *Options) { o.Workers = workers }, "nginx:1", "nginx:2", `"pods": len(pods)`, `"pods": str(len(pods))`)
		if first == "" {
			first = text(r)
		}
		if diff := cmp.Diff(first, text(r)); diff != "" || r.Different != 300 {
			t.Errorf("with %d workers: %s", workers, diff)
		}
	}
}

func TestErrorsOfTheScript(t *testing.T) {
	f := recordFleet(t)
	r := f.replay(nil, `parent["spec"]["size"]`, `parent["spec"]["sise"]`)
	if len(r.Differences) != 1 || r.Differences[0].Calls != r.Calls || r.Unexpected != 1 {
		t.Fatal(text(r))
	}
	for _, want := range []string{`controller.yaml:14:32: sync.star:3:26: in sync: key "sise" is not in the dict`, `did you mean "size"?`, "--expect 'error in sync: key"} {
		if !strings.Contains(text(r), want) {
			t.Errorf("the output lacks %q:\n%s", want, text(r))
		}
	}
	if r := f.replay(func(o *Options) { o.Expect = []string{"errors"} }, `parent["spec"]["size"]`, `parent["spec"]["sise"]`); r.Unexpected != 0 {
		t.Error(text(r))
	}
	if _, err := f.try(nil, "def sync(parent, children):", "def sync(parent, children) :("); err == nil || !strings.Contains(err.Error(), "sync.star:2:11: got '='") {
		t.Errorf("a script that does not compile: %v", err)
	}
}

func TestSelection(t *testing.T) {
	f := recordFleet(t)
	all := f.replay(nil)
	r := f.replay(func(o *Options) { o.Namespace, o.Parent = "default", "d" })
	if r.Parents != 1 || r.Calls == 0 || r.Calls >= all.Calls {
		t.Error(text(r))
	}
	for _, name := range []string{"Site/d", "d"} {
		if got := f.replay(func(o *Options) { o.Parent = name }); got.Calls != r.Calls {
			t.Errorf("%s: %s", name, text(got))
		}
	}
	if r := f.replay(func(o *Options) { o.Call = 2 }); r.Calls != 1 || r.Same != 1 {
		t.Error(text(r))
	}
	if _, err := f.try(func(o *Options) { o.Namespace = "other" }); err == nil || !strings.HasSuffix(err.Error(), "calls of CompositeController sites, and none is selected") {
		t.Errorf("got error %v", err)
	}
}

// The time is the recorded one.
func TestTime(t *testing.T) {
	dir := fleet(t)
	at := strings.Index(fleetController, "    language: Starlark")
	script := `    language: JavaScript
    inline: |
      function sync({parent, now}) {
        return {status: {n: 1, today: new Date().toISOString().slice(0, 10), date: now.slice(0, 10)}, children: []}
      }
`
	if err := os.WriteFile(filepath.Join(dir, "controller.yaml"), []byte(fleetController[:at]+script), 0o600); err != nil {
		t.Fatal(err)
	}
	f := record(t, dir)
	if r := f.replay(nil); r.Same != r.Calls || r.Varying != nil {
		t.Error(text(r))
	}
	if r := f.replay(nil, "n: 1", "n: 2"); r.Different != r.Calls || len(r.Differences) != 1 || r.Differences[0].Shape != "status.n" {
		t.Error(text(r))
	}
}

// Random values are in the recording as hashes of them, and a replay returns these.
func TestRandomValuesAreReplayed(t *testing.T) {
	dir := fleet(t)
	at := strings.Index(fleetController, "  childResources:")
	script := `  childResources:
  - {apiVersion: v1, resource: secrets, updateStrategy: {method: InPlace}}
  script:
    language: JavaScript
    inline: |
      const {random} = require("metascript")
      function sync({parent, children}) {
        const name = parent.metadata.name
        const password = random.password("admin", children["Secret.v1"][name], "password")
        return {
          status: {zone: random.choice("zone", ["north", "south", "east", "west"]), address: "https://admin:" + password + "@example.com"},
          children: [{apiVersion: "v1", kind: "Secret", metadata: {name}, stringData: {password, token: random.token("token", null, "token")}}],
        }
      }
`
	if err := os.WriteFile(filepath.Join(dir, "controller.yaml"), []byte(fleetController[:at]+script), 0o600); err != nil {
		t.Fatal(err)
	}
	f := record(t, dir)
	if r := f.replay(nil); r.Same != r.Calls || r.Calls < 8 || r.Varying != nil {
		t.Error(text(r))
	}
	if r := f.replay(nil, `"token")}`, `"token", 16)}`); r.Different != r.Calls {
		t.Error(text(r))
	}
	passwords, shown := 0, regexp.MustCompile(`"password":"[^r]|admin:[^r"\\]`)
	f.write(edited(t, f.file, func(all string) string {
		if text := shown.FindString(strings.ReplaceAll(all, `"password":"cmVkYWN0ZWQ`, "")); text != "" { // redacted, in base64
			t.Errorf("the recording has %s", text)
		}
		passwords = strings.Count(all, `"[\"random.password\",\"admin\",24]":"redacted-sha256-`)
		return strings.ReplaceAll(all, `"random":{`, `"was random":{`)
	}))
	if r := f.replay(nil); r.Same > 0 || passwords == 0 {
		t.Errorf("without the %d hashes of passwords\n%s", passwords, text(r))
	}
}

// A difference that the recorded script has too is not one of the edit.
func TestDifferencesThatAreNotOfTheEdit(t *testing.T) {
	f := recordFleet(t)
	f.write(edited(t, f.file, func(lines string) string {
		return strings.ReplaceAll(lines, `"status":{"pods":3`, `"status":{"pods":4`)
	}))
	r := f.replay(nil)
	if r.Unrelated == 0 || r.Unrelated+r.Same != r.Calls || r.Unexpected > 0 || !strings.Contains(text(r), "the recorded script itself answers") {
		t.Error(text(r))
	}
	r = f.replay(nil, `"running": len`, `"runs": len`)
	if diff := cmp.Diff(map[string]int{"status.running": 4, "status.runs": 4}, shapes(r)); diff != "" {
		t.Errorf("%s\n%s", diff, text(r))
	}
}

func TestOtherControllers(t *testing.T) {
	f := recordFleet(t)
	for _, c := range []struct{ old, new, want string }{
		{"name: sites}\nspec", "name: sitess}\nspec", "the recording has no calls of CompositeController sitess: it has those of CompositeController sites"},
		{"apiVersion: example.com/v1, resource: sites", "apiVersion: apps/v1, resource: deployments", "the parents in the recording are of the kind Site, and those of CompositeController sites in the file are of the kind Deployment"},
		{"resource: pods", "resource: widgets", `childResources[0]: there is no resource "widgets" in v1`},
	} {
		if _, err := f.try(nil, c.old, c.new); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want an error with %q, got %v", c.want, err)
		}
	}
	r := f.replay(nil, "{method: Recreate}}", "{method: Recreate}}\n  - {apiVersion: v1, resource: configmaps}")
	if r.Same != r.Calls || !strings.Contains(text(r), "note: the recording has no children of the kind ConfigMap") {
		t.Error(text(r))
	}
}

// edited returns the lines of a recording after an edit, compressed.
func edited(t *testing.T, file string, edit func(string) string) []byte {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	zip, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	to := gzip.NewWriter(&out)
	if _, err := io.WriteString(to, edit(string(lines))); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestDamagedRecordings(t *testing.T) {
	f := recordFleet(t)
	whole, err := os.ReadFile(f.file)
	if err != nil {
		t.Fatal(err)
	}
	all := f.replay(nil)
	f.write(whole[:len(whole)*9/10])
	if r := f.replay(nil); r.Calls >= all.Calls || r.Calls == 0 || r.Same != r.Calls || !strings.Contains(text(r), "cut off") {
		t.Errorf("cut off: %s", text(r))
	}
	f.write(whole)
	f.write(edited(t, f.file, func(lines string) string {
		return strings.Replace(lines, `"spec":{"size":3}`, `"spec":{"size":9}`, 1)
	}))
	if r := f.replay(nil); len(r.NotReplayed) != 1 || r.NotReplayed[0].Parent != "Site default/c" || r.Unexpected != 1 || r.Same+r.NotReplayed[0].Calls != all.Calls {
		t.Errorf("edited by hand: %s", text(r))
	}
	f.write(whole)
	f.write(edited(t, f.file, func(lines string) string { // the last reconcile
		at := strings.LastIndex(lines, `{"reconcile":`)
		return lines[:at] + "[" + lines[at:]
	}))
	if r := f.replay(nil); r.Calls >= all.Calls || r.Same != r.Calls || r.Unexpected != 1 || !strings.Contains(text(r), "it is not a line of a recording: unexpected end of JSON input; this line and what follows it were not read") {
		t.Errorf("a line that is not JSON: %s", text(r))
	}
	f.write(whole)
	f.write(edited(t, f.file, func(lines string) string { return strings.ReplaceAll(lines, `{"object":{`, `{"object":{"x":`) }))
	if _, err := f.try(nil); err == nil || !strings.Contains(err.Error(), "the recording has no calls of CompositeController sites\nline 3: it is not a line of a recording: invalid character") {
		t.Errorf("all objects are not JSON: got error %v", err)
	}
	for name, damaged := range map[string][]byte{"not a recording": []byte("hello"), "empty": nil} {
		f.write(damaged)
		if _, err := recording.Open(f.file, 0); !errors.Is(err, recording.ErrNoRecording) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

// A case that is written of a call passes with the recorded script.
func TestCases(t *testing.T) {
	for _, name := range []string{"fleet", "configmap-propagation", "service-per-pod", "catset"} {
		t.Run(name, func(t *testing.T) {
			record := func(t testing.TB) *fixture { return recordExample(t, name) }
			if name == "fleet" {
				record = recordFleet
			}
			f := record(t)
			dir := t.TempDir()
			files, warnings, err := WriteCase(t.Context(), f.options(func(o *Options) { o.Namespace = "" }), dir)
			if err != nil || len(warnings) > 0 || len(files) < 3 {
				t.Fatal(files, warnings, err)
			}
			crd, err := os.ReadFile(filepath.Join(f.dir, "crd.yaml"))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "crd.yaml"), crd, 0o600)
			}
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			suites, err := cases.ReadSuites([]string{dir})
			if err != nil {
				t.Fatal(err)
			}
			runner := &cases.Runner{Sandbox: f.sandbox, Schemas: f.known}
			results, err := runner.Run(t.Context(), suites)
			if err != nil || results.Err() != nil || results.Run != 1 {
				t.Errorf("%v, %v: %+v", err, results.Err(), results)
			}
		})
	}
}

// Nothing of a webhook is passed over: its calls are counted, unless there is a script now.
func TestWebhooks(t *testing.T) {
	f := recordFleet(t)
	r := f.replay(nil, fleetController[strings.Index(fleetController, "  script:"):], "  hooks: {sync: {webhook: {url: 'http://localhost:1'}}}\n")
	if len(r.NotReplayed) != 1 || r.NotReplayed[0].Calls != r.Calls || r.NotReplayed[0].Reason != "the sync hook is a webhook" || r.Unexpected != 1 {
		t.Error(text(r))
	}
	f.write(edited(t, f.file, func(lines string) string {
		return strings.ReplaceAll(lines, `{"hook":"sync",`, `{"hook":"sync","webhook":true,`)
	}))
	if r := f.replay(nil); r.Same != r.Calls {
		t.Error(text(r))
	}
}
