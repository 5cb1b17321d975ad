package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// swaps is how often a reload test edits its scripts, fewSwaps how often with -short; METASCRIPT_SWAPS overrides both. After
// every tenth edit it waits for its parents.
const swaps, fewSwaps, swapsAtOnce = 100, 30, 10

// perLanguage is how many parents each controller has.
const perLanguage = 7

// TestMountedReloads replaces a mounted ConfigMap again and again while parents are reconciled. It has an entry, four modules
// and a library folder, and all of them return their version. No answer may mix two versions, no parent may go back to an
// earlier version, no hook may get the related objects of another version, no edit may be rejected, and the last one must be
// used.
func TestMountedReloads(t *testing.T) {
	r := newReloading(t, "mounted-reloads")
	volume := filepath.Join(r.dir, "scripts")
	edit := func(version int) error { return mount(volume, volumeOf(version)) }
	r.run(t, edit, "{file: app/sync.%[1]s, libraries: [{file: shared/lib}]}", "--scripts-dir="+volume)
}

// TestConfigMapReloads does the same to a ConfigMap that is read through the API.
func TestConfigMapReloads(t *testing.T) {
	r := newReloading(t, "configmap-reloads")
	edit := func(version int) error {
		data := map[string]any{}
		for name, text := range filesOf(version) {
			data[strings.TrimPrefix(name, "lib/")] = strings.ReplaceAll(text, "lib/lib.", "lib.")
		}
		_, err := r.apply(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "source"}, "data": data,
		}})
		return err
	}
	r.run(t, edit, "{configMapRef: {name: source, namespace: "+r.name+", key: sync.%[1]s}}")
}

// volumeOf returns the files of a mounted ConfigMap whose items have paths.
func volumeOf(version int) map[string]string {
	files := map[string]string{}
	for name, text := range filesOf(version) {
		if strings.HasPrefix(name, "lib/") {
			files["shared/"+name] = text
		} else {
			files["app/"+name] = text
		}
	}
	return files
}

var modules = []string{"one", "two", "three", "four", "lib/lib"}

// filesOf returns a script in three languages whose status has the versions of all its files.
func filesOf(version int) map[string]string {
	v := strconv.Itoa(version)
	files := map[string]string{}
	star, js, jsonnet := []string{v}, []string{v}, []string{v}
	var loads strings.Builder
	for i, name := range modules {
		files[name+".star"] = "version = " + v
		files[name+".js"] = "exports.version = " + v
		files[name+".libsonnet"] = "{ version: " + v + " }"
		fmt.Fprintf(&loads, "load(%q, v%d = \"version\")\n", name+".star", i)
		star = append(star, fmt.Sprintf("v%d", i))
		js = append(js, fmt.Sprintf("require(%q).version", name+".js"))
		jsonnet = append(jsonnet, fmt.Sprintf("(import '%s.libsonnet').version", name))
	}
	files["sync.star"] = loads.String() + fmt.Sprintf(customizing, parity(int64(version)), strings.Join(star, ", "))
	files["sync.js"] = "exports.sync = () => ({children: [], status: {versions: [" + strings.Join(js, ", ") + "]}});\n"
	files["sync.jsonnet"] = "{ sync(parent):: { children: [], status: { versions: [" + strings.Join(jsonnet, ", ") + "] } } }\n"
	return files
}

// customizing selects a related object that depends on the version, and returns which one it got.
const customizing = `
def customize(parent):
    return {"relatedResources": [{"apiVersion": "v1", "resource": "configmaps", "names": ["%s"]}]}

def sync(parent, related):
    return {"children": [], "status": {"versions": [%s], "related": ", ".join(list(related["ConfigMap.v1"]))}}
`

// parity returns the name of the related object of a version.
func parity(version int64) string { return []string{"even", "odd"}[version%2] }

// A reloading is a test of reloads: controllers in three languages, and one in worker processes, with parents each.
type reloading struct {
	*world
	dir     string
	widgets dynamic.ResourceInterface

	mu sync.Mutex
	at map[string]int64 // the version of each parent
}

func newReloading(t *testing.T, name string) *reloading {
	t.Parallel()
	w, err := newWorld(name)
	if err != nil {
		t.Fatal(err)
	}
	r := &reloading{world: w, dir: t.TempDir(), at: map[string]int64{}}
	t.Cleanup(func() {
		w.leave()
		if log, err := os.ReadFile(filepath.Join(r.dir, "log")); err == nil && t.Failed() {
			t.Logf("the end of the log:\n%s", log[max(0, len(log)-32<<10):])
		}
	})
	if err := w.createNamespace(); err != nil {
		t.Fatal(err)
	}
	return r
}

// run makes the edits, with script, formatted with the ending of its language, as the script of every controller.
func (r *reloading) run(t *testing.T, edit func(version int) error, script string, flags ...string) {
	must(t, edit(0))
	must(t, r.populate(script))
	s, err := r.launch(r.dir, "", append(flags, "--namespace="+r.name))
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	defer busy.Wait()
	defer cancel()
	busy.Go(func() { r.watch(ctx, t) })
	must(t, eventually(func() error { return r.reached(0) }))
	busy.Go(func() { r.requestSyncs(ctx, t) })

	n := swaps
	if testing.Short() {
		n = fewSwaps
	}
	if text := os.Getenv("METASCRIPT_SWAPS"); text != "" {
		n, err = strconv.Atoi(text)
		must(t, err)
	}
	for version := 1; version <= n; version++ {
		must(t, edit(version))
		if version%swapsAtOnce == 0 || version == n {
			must(t, eventually(func() error { return r.reached(int64(version)) }))
		}
	}
	must(t, r.editWithoutPause(n, edit))
	metrics, err := fetch(s.metrics + "/metrics")
	must(t, err)
	for line := range strings.Lines(metrics) {
		if strings.Contains(line, `result="rejected"`) && !strings.HasSuffix(line, " 0\n") {
			t.Errorf("an edit was rejected: %s", line)
		}
	}
}

// editWithoutPause edits without a pause until all parents have a later version, and then waits for the last version: a
// version must be used although edits never end.
func (r *reloading) editWithoutPause(version int, edit func(version int) error) error {
	beyond := int64(version)
	err := eventually(func() error {
		version++
		if err := edit(version); err != nil {
			return err
		}
		return r.beyond(beyond)
	})
	if err != nil {
		return err
	}
	return eventually(func() error { return r.reached(int64(version)) })
}

// beyond returns an error with a parent that is not beyond that version.
func (r *reloading) beyond(version int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, at := range r.at {
		if at <= version {
			return fmt.Errorf("%s is at version %d still", name, at)
		}
	}
	return nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// populate creates the kind, the controllers and the parents.
func (r *reloading) populate(script string) error {
	group := r.name + ".example.com"
	crd, err := parse(strings.ReplaceAll(fmt.Sprintf(crdTemplate, "Widget", "widgets", "Namespaced", "status: {}"), "$GROUP", group))
	if err != nil {
		return err
	}
	if _, err := r.apply(crd); err != nil {
		return err
	}
	if err := r.established(crd); err != nil {
		return err
	}
	for _, c := range []struct{ name, ending, isolation string }{
		{"starlark", "star", "InProcess"}, {"javascript", "js", "InProcess"}, {"jsonnet", "jsonnet", "InProcess"}, {"isolated", "star", "Process"},
	} {
		controller := fmt.Sprintf(reloadingController, r.name, c.name, group, c.isolation, fmt.Sprintf(script, c.ending))
		if err := r.applyText(controller); err != nil {
			return err
		}
		for i := range perLanguage {
			if err := r.applyText(fmt.Sprintf(reloadingParent, group, c.name, i)); err != nil {
				return err
			}
		}
	}
	for _, name := range []string{parity(0), parity(1)} {
		if err := r.applyText("{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}}"); err != nil {
			return err
		}
	}
	r.widgets, err = r.named("widgets." + group)
	return err
}

const reloadingController = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %[1]s-%[2]s}
spec:
  generateSelector: true
  isolation: %[4]s
  parentResource: {apiVersion: %[3]s/v1, resource: widgets, labelSelector: {matchLabels: {by: %[2]s}}}
  script: %[5]s
`

const reloadingParent = `
apiVersion: %[1]s/v1
kind: Widget
metadata: {name: %[2]s-%[3]d, labels: {by: %[2]s}}
`

func parse(text string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	return o, yaml.Unmarshal([]byte(text), &o.Object)
}

func (r *reloading) applyText(text string) error {
	o, err := parse(text)
	if err == nil {
		_, err = r.apply(o)
	}
	return err
}

// watch checks every status that a parent has. The API server ends watches when it is busy: then the next watch continues at
// the same resourceVersion.
func (r *reloading) watch(ctx context.Context, t *testing.T) {
	seen := ""
	for ctx.Err() == nil {
		changes, err := r.widgets.Watch(ctx, metav1.ListOptions{ResourceVersion: seen})
		if err != nil && ctx.Err() == nil {
			t.Error(err)
			return
		}
		if err == nil {
			seen = r.follow(ctx, t, changes, seen)
		}
	}
}

// follow checks the events of a watch until it ends, and returns the resourceVersion of the last one.
func (r *reloading) follow(ctx context.Context, t *testing.T, changes watch.Interface, seen string) string {
	defer changes.Stop()
	for change := range changes.ResultChan() {
		parent, ok := change.Object.(*unstructured.Unstructured)
		switch {
		case ctx.Err() != nil:
			return seen
		case !ok:
			t.Errorf("the watch fails: %v", change.Object)
			return seen
		}
		seen = parent.GetResourceVersion()
		r.note(t, parent)
	}
	return seen
}

// note records and checks the version of a parent.
func (r *reloading) note(t *testing.T, parent *unstructured.Unstructured) {
	name := parent.GetName()
	versions, _, _ := unstructured.NestedSlice(parent.Object, "status", "versions")
	if len(versions) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	version, _ := versions[0].(int64)
	if len(versions) != 1+len(modules) || slices.ContainsFunc(versions, func(v any) bool { return v != versions[0] }) {
		t.Errorf("%s has a mixture of versions: %v", name, versions)
	}
	if related, found, _ := unstructured.NestedString(parent.Object, "status", "related"); found && related != parity(version) {
		t.Errorf("%s is at version %d and was given what another asked for: %s", name, version, related)
	}
	if version < r.at[name] {
		t.Errorf("%s goes back from version %d to %d", name, r.at[name], version)
	}
	r.at[name] = version
}

// reached returns an error if a parent has another version.
func (r *reloading) reached(version int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.at) != 4*perLanguage {
		return fmt.Errorf("%d parents have a version, want %d", len(r.at), 4*perLanguage)
	}
	var behind []string
	for name, at := range r.at {
		if at != version {
			behind = append(behind, fmt.Sprintf("%s at %d", name, at))
		}
	}
	if len(behind) > 0 {
		slices.Sort(behind)
		return fmt.Errorf("want version %d, but there are %s", version, strings.Join(behind, ", "))
	}
	return nil
}

// requestSyncs requests a sync of one parent after the other until ctx is done.
func (r *reloading) requestSyncs(ctx context.Context, t *testing.T) {
	for round := 0; ; round++ {
		for _, by := range []string{"starlark", "javascript", "jsonnet", "isolated"} {
			name := fmt.Sprintf("%s-%d", by, round%perLanguage)
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"metacontroller.k8s.io/sync-requested-at":"%d"}}}`, round)
			_, err := r.widgets.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				t.Error(err)
				return
			}
		}
	}
}
