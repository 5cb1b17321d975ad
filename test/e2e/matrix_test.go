package e2e

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"metascript/test/faultproxy"
)

var faultsOnly = flag.Bool("faults", false, "run TestFaults")

const (
	reads  = " but=watch= method=GET"
	writes = " method=POST|PUT|PATCH|DELETE"
)

// matrix are the faults between a server and the API server that TestFaults makes, and for how long.
var matrix = []struct {
	name  string
	rules []string
	lasts time.Duration
}{
	{"429 Retry-After 1 for all", []string{"status 429 retry-after=1 but=watch="}, 8 * time.Second},
	{"429 Retry-After 1 for one kind", []string{"status 429 retry-after=1 path=/configmaps" + writes}, 8 * time.Second},
	{"429 Retry-After 20 for writes", []string{"status 429 retry-after=20" + writes}, 8 * time.Second},
	{"429 without Retry-After for each second write", []string{"status 429 every=2" + writes}, 6 * time.Second},
	{"500 for each write", []string{"status 500" + writes}, 8 * time.Second},
	{"500 with a page for each write", []string{"status 500 page" + writes}, 6 * time.Second},
	{"503 for all, and watches end", []string{"close", "status 503"}, 8 * time.Second},
	{"503 with Retry-After for all", []string{"status 503 retry-after=2 but=watch="}, 8 * time.Second},
	{"504 for each second write", []string{"status 504 every=2" + writes}, 8 * time.Second},
	{"200 with a page for lists, and watches end", []string{"close", "status 200 page" + reads}, 6 * time.Second},
	{"401 for all, and watches end", []string{"close", "status 401"}, 8 * time.Second},
	{"401 while watches live", []string{"status 401 but=watch="}, 8 * time.Second},
	{"403 for writes", []string{"status 403" + writes}, 6 * time.Second},
	{"409 for each write of children", []string{"status 409 path=/configmaps method=PUT|PATCH"}, 8 * time.Second},
	{"404 for each update of children", []string{"status 404 path=/configmaps method=PUT|PATCH"}, 6 * time.Second},
	{"the connection is closed before each third write", []string{"drop every=3" + writes}, 8 * time.Second},
	{"the connection is closed after each second write", []string{"lose every=2" + writes}, 8 * time.Second},
	{"the answers to each second write are cut", []string{"cut every=2" + writes}, 8 * time.Second},
	{"each request is 3 s late", []string{"delay time=3s but=watch="}, 12 * time.Second},
	{"writes hang", []string{"hang" + writes}, 12 * time.Second},
	{"watches are closed within each fifth event", []string{"break every=5"}, 8 * time.Second},
	{"garbage before each fifth event", []string{"garbage every=5"}, 8 * time.Second},
	{"each event twice", []string{"twice"}, 6 * time.Second},
	{"each event 300 ms late", []string{"late time=300ms"}, 12 * time.Second},
	{"watches are silent", []string{"freeze path=configmaps|falls"}, 15 * time.Second},
	{lostEvents, []string{"swallow events=DELETED path=configmaps|falls"}, 6 * time.Second},
	{"410 in watches", []string{"gone path=configmaps|falls"}, 8 * time.Second},
	{"410 for requests of watches", []string{"close path=configmaps|falls", "status 410 path=(configmaps|falls)\\?.*watch="}, 8 * time.Second},
	{"429 for requests of watches", []string{"close path=configmaps|falls", "status 429 retry-after=5 path=(configmaps|falls)\\?.*watch="}, 8 * time.Second},
	{"lists by watches are refused", []string{"close path=configmaps|falls", "status 422 path=sendInitialEvents=true"}, 8 * time.Second},
}

// lostEvents is the fault after which watches must begin again with a list: without it, nobody can know what was lost.
const lostEvents = "events of deletions are lost, then watches begin again"

// fallsOfKind is how many parents each of the two controllers has.
const fallsOfKind = 8

// classes are the labels of the parents of the two controllers; the second one has a finalize hook.
var classes = []string{"plain", "final"}

// A fall is what TestFaults edits: two controllers, one with a finalize hook, and their parents, each with two children.
type fall struct {
	*testing.T
	*world
	dir    string
	random *rand.Rand
	want   map[string]int64 // the value of each parent, by name
}

// TestFaults makes each fault of the matrix while parents are edited and deleted. Afterwards all is as it should be, in the end, and the
// server has deleted no child of a parent that exists, and created none twice.
func TestFaults(t *testing.T) {
	if !*faultsOnly {
		t.Skip("it takes long: make test-faults")
	}
	t.Logf("seed %d", *seed)
	w, err := newWorld("faults")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.leave)
	f := &fall{t, w, t.TempDir(), rand.New(rand.NewPCG(*seed, 1)), map[string]int64{}}
	started, err := faultyFor(w.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(started.stop)
	w.faults = started
	f.check(w.createNamespace())
	f.apply(fallDefinition)
	for _, class := range classes {
		finalize := ""
		if class == classes[1] {
			finalize = "\n      def finalize(parent, children):\n          return {\"children\": [], \"finalized\": len(children[\"ConfigMap.v1\"]) == 0}\n"
		}
		f.apply(strings.NewReplacer("$CLASS", class, "$FINALIZE", finalize).Replace(fallController))
	}
	server, err := w.launch(f.dir, "", nil)
	f.check(err)
	f.check(server.ready())
	f.edit()
	f.converged("at first")
	for _, m := range matrix {
		t.Run(m.name, func(t *testing.T) {
			f.T = t
			f.fault(m.name, m.rules, m.lasts)
		})
	}
	f.T = t
	f.check(w.end(nil, 15))
}

const fallDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: falls.faults.example.com}
spec:
  group: faults.example.com
  scope: Namespaced
  names: {kind: Fall, plural: falls}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

const fallController = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: faults-$CLASS}
spec:
  generateSelector: true
  parentResource: {apiVersion: faults.example.com/v1, resource: falls, labelSelector: {matchLabels: {class: $CLASS}}}
  childResources:
  - {apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}
  script:
    language: Starlark
    inline: |
      def sync(parent):
          name, v = parent["metadata"]["name"], parent["spec"]["v"]
          return {"status": {"v": v}, "children": [
              {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name + "-" + k}, "data": {"v": str(v)}}
              for k in ["a", "b"]
          ]}
$FINALIZE`

func (f *fall) check(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// apply applies an object, and waits until a definition is in use.
func (f *fall) apply(text string) {
	f.Helper()
	o := &unstructured.Unstructured{}
	f.check(yaml.Unmarshal([]byte(text), &o.Object))
	_, err := f.world.apply(o)
	f.check(err)
	if o.GetKind() == "CustomResourceDefinition" {
		f.check(f.established(o))
	}
}

// edit gives each parent another value, and creates those that are missing.
func (f *fall) edit() {
	f.Helper()
	for _, class := range classes {
		for i := range fallsOfKind {
			name := fmt.Sprintf("%s%d", class, i)
			f.want[name]++
			f.apply(fmt.Sprintf("{apiVersion: faults.example.com/v1, kind: Fall, metadata: {name: %s, labels: {class: %s}}, spec: {v: %d}}", name, class, f.want[name]))
		}
	}
}

// fault makes a fault, with edits and deletions during it.
func (f *fall) fault(name string, words []string, lasts time.Duration) {
	var rules []*faultproxy.Rule
	for _, text := range words {
		rule, err := ruleOf(text)
		f.check(err)
		rules = append(rules, rule)
	}
	f.faults.set(rules...)
	f.edit()
	falls, err := f.named("falls.faults.example.com")
	f.check(err)
	deleted := map[string]int64{}
	for _, class := range classes {
		name := fmt.Sprintf("%s%d", class, f.random.IntN(fallsOfKind))
		f.check(falls.Delete(context.Background(), name, metav1.DeleteOptions{}))
		deleted[name] = f.want[name]
		delete(f.want, name)
	}
	<-time.After(lasts)
	during := f.faults.Take()
	if name == lostEvents {
		gone, err := ruleOf("gone path=configmaps|falls")
		f.check(err)
		f.faults.Proxy.Set(gone)
		<-time.After(time.Second)
	}
	f.faults.Proxy.Set()
	took := f.converged(fmt.Sprintf("after %s", words))
	f.right(append(during, f.faults.Take()...), deleted)
	f.Logf("%.1f requests a second during the fault; all is right %.1f s after it", float64(len(during))/lasts.Seconds(), took.Seconds())
	for name, v := range deleted {
		f.want[name] = v
	}
	f.edit()
	f.converged("again")
}

func ruleOf(text string) (*faultproxy.Rule, error) { return faultproxy.Parse(strings.Fields(text)) }

// converged waits until the cluster is as it should be, and returns how long that took.
func (f *fall) converged(when string) time.Duration {
	f.Helper()
	began := time.Now()
	if err := eventually(f.wrong); err != nil {
		f.Fatalf("%s: %v", when, err)
	}
	return time.Since(began)
}

// wrong returns what is not as it should be.
func (f *fall) wrong() error {
	falls, err := f.list("falls.faults.example.com")
	if err != nil {
		return err
	}
	configMaps, err := f.list("configmaps")
	if err != nil {
		return err
	}
	children := map[types.UID]map[string]string{}
	for _, c := range configMaps {
		for _, owner := range c.GetOwnerReferences() {
			if children[owner.UID] == nil {
				children[owner.UID] = map[string]string{}
			}
			v, _, _ := unstructured.NestedString(c.Object, "data", "v")
			children[owner.UID][c.GetName()] = v
		}
	}
	if len(falls) != len(f.want) || len(children) != len(f.want) {
		return fmt.Errorf("%d parents and children of %d, want %d", len(falls), len(children), len(f.want))
	}
	for _, parent := range falls {
		name, v := parent.GetName(), fmt.Sprint(f.want[parent.GetName()])
		got := children[parent.GetUID()]
		status, _, _ := unstructured.NestedInt64(parent.Object, "status", "v")
		if fmt.Sprint(status) != v || len(got) != 2 || got[name+"-a"] != v || got[name+"-b"] != v {
			return fmt.Errorf("%s has the status %d and the children %v, want %s", name, status, got, v)
		}
	}
	return nil
}

func (f *fall) list(resource string) ([]unstructured.Unstructured, error) {
	r, err := f.named(resource)
	if err != nil {
		return nil, err
	}
	list, err := r.List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

var child = regexp.MustCompile(`^((?:plain|final)\d)-[ab]$`)

// right checks what the server has done: it has deleted and created only children of parents that were deleted, and has had no panic.
// While it does not see that a parent was deleted, it creates the children again that the garbage collector deletes: how often is printed.
func (f *fall) right(asked []faultproxy.Request, deleted map[string]int64) {
	f.Helper()
	creations := map[string]int{}
	for _, r := range asked {
		path, _, _ := strings.Cut(r.Path, "?")
		name := cmp.Or(r.Name, filepath.Base(path))
		of := child.FindStringSubmatch(name)
		creates, deletes := r.Method == http.MethodPost && r.Code == http.StatusCreated, r.Method == http.MethodDelete && r.Code == http.StatusOK
		if of == nil || !creates && !deletes {
			continue
		}
		if _, was := deleted[of[1]]; !was {
			f.Errorf("a child of a parent that exists: %s %s", r.Method, name)
		}
		if creates {
			creations[name]++
		}
	}
	for name, n := range creations {
		f.Logf("%s was created %d times after its parent was deleted", name, n)
	}
	text, err := os.ReadFile(filepath.Join(f.dir, logOf("")))
	f.check(errors.Join(err))
	if slices.ContainsFunc(strings.Split(string(text), "\n"), func(line string) bool {
		return strings.Contains(line, "please report it") || strings.HasPrefix(line, "panic: ")
	}) {
		f.Error("the server has had a panic")
	}
}
