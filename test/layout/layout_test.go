// Package layout asserts which packages may import which. Dependencies point one way:
//
//	cmd -> controller -> engine <- runtimes        scripts -> engine, client-go
//	runtimes -> scripts/lib, which needs nothing of ours
//	controller -> hook, kube, informer -> plan, rollout -> object
//
// Within cmd:
//
//	the verbs -> devsession, rbac, cases, check, hookcall, serverflags -> report, sandbox, manifest -> style, flagvalue
package layout

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A rule says what the packages below from must never import, directly or not.
type rule struct {
	from   string
	never  []string
	reason string
}

// library is what runtimes may import of scripts.
const library = "metascript/scripts/lib"

// values are the forms of values, which depend on nothing: every package may read them.
var values = []string{"metascript/engine/tree", "metascript/engine/packed", "metascript/engine/jsonescapes", "metascript/engine/printable"}

// internal is what the verbs of the program are made of.
const internal = "metascript/cmd/metascript/internal"

var rules = []rule{
	{"metascript/engine", []string{"k8s.io", "sigs.k8s.io", "metascript/controller", "metascript/scripts", "metascript/runtimes", "metascript/cmd"}, "the engine knows nothing of Kubernetes, nor of who calls it"},
	{"metascript/engine/tree", []string{"metascript", "k8s.io", "sigs.k8s.io"}, "a form of values depends on nothing"},
	{"metascript/engine/packed", []string{"metascript", "k8s.io", "sigs.k8s.io"}, "a form of values depends on no other package"},
	{"metascript/engine/jsonescapes", []string{"metascript", "k8s.io", "sigs.k8s.io"}, "a form of texts depends on no other package"},
	{"metascript/engine/printable", []string{"metascript", "k8s.io", "sigs.k8s.io"}, "which characters are printed depends on no other package"},
	{"metascript/runtimes", []string{"k8s.io", "metascript/controller", "metascript/scripts", "metascript/cmd"}, "a runtime knows the engine, and the library that it gives to scripts"},
	{"metascript/scripts/lib", []string{"k8s.io", "sigs.k8s.io", "metascript/controller", "metascript/runtimes", "metascript/cmd"}, "the library is functions of values, and of the random values of a call"},
	{"metascript/scripts", []string{"metascript/controller", "metascript/runtimes", "metascript/cmd"}, "scripts come from anywhere and are run by the engine"},
	{"metascript/controller/object", []string{"metascript/controller/plan", "metascript/controller/hook", "metascript/controller/kube", "metascript/controller/informer", "metascript/engine", "k8s.io/client-go"}, "objects are at the bottom"},
	{"metascript/controller/plan", []string{"metascript/controller/hook", "metascript/controller/kube", "metascript/controller/informer", "metascript/engine", "k8s.io/client-go"}, "a plan is pure: it does no I/O"},
	{"metascript/controller/redact", []string{"metascript/controller/hook", "metascript/controller/kube", "metascript/controller/informer", "metascript/controller/plan", "metascript/engine", "k8s.io/client-go"}, "what a Secret holds is looked for in texts, wherever they come from"},
	{"metascript/controller/secretvalues", []string{"metascript/controller/hook", "metascript/controller/kube", "metascript/controller/informer", "metascript/controller/plan", "metascript/controller/redact", "k8s.io/client-go"}, "what a Secret holds is the same for all who look for it"},
	{"metascript/controller/changes", []string{"metascript/controller/hook", "metascript/controller/kube", "metascript/controller/informer", "metascript/engine", "k8s.io/client-go"}, "what a write changes shows in two objects"},
	{"metascript/controller/rollout", []string{"metascript/controller/hook", "metascript/controller/kube", "metascript/controller/informer", "metascript/engine", "k8s.io/client-go"}, "a rollout is pure: it does no I/O"},
	{"metascript/controller/metrics", []string{"metascript/controller/hook", "metascript/controller/kube", "metascript/controller/informer", "metascript/runtimes"}, "metrics only count"},
	{"metascript/controller/selection", []string{"metascript/controller/hook", "metascript/controller/kube", "metascript/controller/informer", "metascript/engine", "k8s.io/client-go"}, "who looks for an object is a question of labels and names alone"},
	{"metascript/controller/work", []string{"metascript/controller/object", "metascript/controller/hook", "metascript/controller/kube", "metascript/controller/informer", "metascript/engine"}, "a queue knows nothing of its keys"},
	{"metascript/controller/dispatch", []string{"metascript/controller/hook", "metascript/controller/kube", "metascript/controller/plan", "metascript/engine"}, "whom an event concerns is a question of caches and selectors alone"},
	{"metascript/controller/hook", []string{"metascript/controller/kube", "metascript/controller/informer", "metascript/controller/api", "metascript/runtimes", "k8s.io/client-go"}, "a hook asks, and does not look into the cluster"},
	{"metascript/controller/informer", []string{"metascript/controller/hook", "metascript/controller/kube", "metascript/controller/plan", "metascript/engine"}, "an informer only watches"},
	{"metascript/controller/lease", []string{"metascript"}, "a lease is about servers, whatever they do"},
	{"metascript/controller/kube", []string{"metascript/controller/hook", "metascript/controller/informer", "metascript/runtimes"}, "the hands do as they are told"},
	{internal + "/style", []string{"metascript/cmd", "metascript/runtimes", "k8s.io/client-go"}, "a style formats what it is given"},
	{internal + "/report", []string{internal + "/devsession", internal + "/sandbox", "metascript/runtimes"}, "a report is of any server"},
	{internal + "/manifest", []string{internal + "/cases", internal + "/check", internal + "/devsession", internal + "/hookcall", internal + "/report", internal + "/sandbox", internal + "/simulation", internal + "/style", "metascript/runtimes"}, "every verb reads files, whatever it does with them"},
	{internal + "/place", []string{"metascript/cmd", "metascript/controller", "metascript/runtimes"}, "a place is in any file"},
	{internal + "/sandbox", []string{internal + "/manifest", internal + "/report", internal + "/serverflags"}, "how scripts run is the same for every verb"},
	{internal + "/endpoints", []string{"metascript"}, "an endpoint serves handlers, whatever they ask"},
	{internal + "/logging", []string{"metascript/controller", internal + "/sandbox"}, "a log is of any program"},
	{internal + "/flagvalue", []string{"metascript/cmd", "metascript/controller"}, "values of flags are at the bottom"},
	{"metascript/controller", []string{"metascript/cmd", "metascript/runtimes"}, "the controller is given an engine and does not know its languages"},
}

// The rule about metascript/controller is about that package alone, since those below it have their own.
func TestDirectionOfDependencies(t *testing.T) {
	packages := list(t)
	for _, r := range rules {
		seen := false
		for name, imports := range packages {
			if name != r.from && (r.from == "metascript/controller" || !strings.HasPrefix(name, r.from+"/")) {
				continue
			}
			seen = true
			for _, imported := range imports {
				if imported != library && !slices.Contains(values, imported) && slices.ContainsFunc(r.never, func(p string) bool { return imported == p || strings.HasPrefix(imported, p+"/") }) {
					t.Errorf("%s imports %s: %s", name, imported, r.reason)
				}
			}
		}
		if !seen {
			t.Errorf("there is no package %s: a rule about nothing", r.from)
		}
	}
}

func TestNoPackageIsCalledUtil(t *testing.T) {
	for name := range list(t) {
		last := name[strings.LastIndex(name, "/")+1:]
		if slices.Contains([]string{"common", "util", "utils", "helpers", "misc"}, last) {
			t.Errorf("%s: a package is named for what it gives", name)
		}
	}
}

// list returns every package of the module with all that it imports, directly or not.
func list(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "metascript/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		packages[words[0]] = words[1:]
	}
	return packages
}
