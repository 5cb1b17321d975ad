package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// A form is a child as a hook returns it; testdata/forms/forms.yaml says what the fields mean.
type form struct {
	Name       string                      `json:"name"`
	Stored     string                      `json:"stored"`
	Object     json.RawMessage             `json:"object"`
	JSON       string                      `json:"json"`
	Schema     any                         `json:"schema"`
	Value      json.RawMessage             `json:"value"`
	Cluster    bool                        `json:"cluster"`
	Apart      bool                        `json:"apart"`
	Beside     []unstructured.Unstructured `json:"beside"`
	Only       string                      `json:"only"`
	Kubernetes string                      `json:"kubernetes"`
	May        []string                    `json:"may"`
	Short      bool                        `json:"short"`
}

// A way is how a controller writes its children.
type way struct{ strategy, method string }

func (w way) String() string { return w.strategy + " " + w.method }

// short names a way in the names of objects and in the table: di is DynamicApply InPlace, sr is ServerSideApply Recreate.
func (w way) short() string {
	return strings.ToLower(w.strategy[:1]) + map[string]string{"InPlace": "i", "Recreate": "r", "RollingInPlace": "ri", "RollingRecreate": "rr", "OnDelete": "o"}[w.method]
}

// ways returns the combinations that are tested.
func ways() []way {
	methods := []string{"InPlace", "Recreate", "RollingInPlace", "RollingRecreate"}
	if testing.Short() {
		methods = methods[:2]
	}
	var all []way
	for _, strategy := range []string{"DynamicApply", "ServerSideApply"} {
		for _, method := range methods {
			all = append(all, way{strategy, method})
		}
	}
	if !testing.Short() {
		all = append(all, way{"DynamicApply", "OnDelete"})
	}
	return all
}

// A formChild is one form in one way. Its parent has the same name, and no other child.
type formChild struct {
	*form
	way
	namespace, name string // of the parent
	gvk             schema.GroupVersionKind
	path            string // of the child at the API server
	answer          json.RawMessage

	calls   int // of the hook
	created int // the calls before it was created
	refused string
	counts  [2]formCount // before and after a restart of the server, without the creation
	why     []string     // what the server said about its writes
	events  []string
}

// A formCount has how many writes of a child there were.
type formCount struct{ creations, updates, unchanged, dryRuns, deletions int }

// TestForms has each form returned as a child in all ways, and counts the writes of the server at the API server, through which all of
// its requests go. After the creation nothing may be written and nothing deleted while the hook is called again and again; a restart
// of the server may cost one request that changes nothing.
func TestForms(t *testing.T) {
	t.Parallel()
	f := newFormTest(t)
	f.start()
	f.until("are created", func(c *formChild) bool { return c.counts[0].creations > 0 || c.refused != "" })
	f.until("were reconciled", func(c *formChild) bool { return c.refused != "" || c.calls >= c.created+f.resyncs })
	f.restart()
	f.until("were reconciled after a restart", func(c *formChild) bool { return c.refused != "" || c.calls >= c.created+f.resyncs/2 })
	f.readEvents()
	f.readLog()
	f.report()
}

// A formTest is a running TestForms.
type formTest struct {
	*testing.T
	world    *world
	ways     []way
	resyncs  int
	hooks    *httptest.Server
	upstream string // the address of the API server
	client   *http.Client
	dir      string

	mu       sync.Mutex // guards the fields below, and what changes in children
	children []*formChild
	byPath   map[string]*formChild
	byParent map[string]*formChild
	restarts int
}

func newFormTest(t *testing.T) *formTest {
	f := &formTest{T: t, ways: ways(), dir: t.TempDir(), byPath: map[string]*formChild{}, byParent: map[string]*formChild{}}
	var err error
	f.resyncs, err = strconv.Atoi(cmp.Or(os.Getenv("FORMS_RESYNCS"), map[bool]string{true: "5", false: "10"}[testing.Short()]))
	f.check(err)
	f.world, err = newWorld("forms")
	f.check(err)
	f.enter()
	f.Cleanup(f.world.leave)
	f.hooks = httptest.NewServer(http.HandlerFunc(f.hook))
	f.Cleanup(f.hooks.Close)
	all := f.read()
	f.define(all)
	f.add(all)
	for _, by := range f.ways {
		for _, cluster := range []bool{false, true} {
			f.apply(f.controller(by, cluster))
		}
	}
	return f
}

func (f *formTest) check(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *formTest) apply(o map[string]any) {
	f.Helper()
	if o == nil {
		return
	}
	object := &unstructured.Unstructured{Object: o}
	_, err := f.world.apply(object)
	f.check(err)
	if object.GetKind() == "CustomResourceDefinition" {
		f.check(f.world.established(object))
	}
}

// read reads the forms that are tested.
func (f *formTest) read() []*form {
	text, err := os.ReadFile(filepath.Join("testdata", "forms", "forms.yaml"))
	f.check(err)
	var all []*form
	f.check(yaml.UnmarshalStrict(text, &all))
	names := map[string]bool{}
	return slices.DeleteFunc(all, func(s *form) bool {
		if names[s.Name] || s.Name == "" || s.Stored == "" {
			f.Fatalf("the form %q has the name of another one, or does not say what is stored", s.Name)
		}
		names[s.Name] = true
		served := true
		if s.Kubernetes != "" {
			served, err = condition("kubernetes:" + s.Kubernetes)
			f.check(err)
		}
		return !served || testing.Short() && !s.Short || !strings.Contains(s.Name, os.Getenv("FORM"))
	})
}

// define creates the kinds of the parents, and the kind Custom, which has a property for each form with a schema.
func (f *formTest) define(all []*form) {
	properties := map[string]any{}
	for _, s := range all {
		if s.Schema != nil {
			properties[s.Name] = s.Schema
		}
	}
	anything := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	spec := map[string]any{"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "properties": properties}}}
	f.apply(f.definition("Form", "Namespaced", anything))
	f.apply(f.definition("ClusterForm", "Cluster", anything))
	f.apply(f.definition("Custom", "Namespaced", spec))
}

func (f *formTest) group() string { return f.world.name + ".example.com" }

func (f *formTest) definition(kind, scope string, properties map[string]any) map[string]any {
	plural := strings.ToLower(kind) + "s"
	version := map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": properties}}
	if kind != "Custom" {
		version["subresources"] = map[string]any{"status": map[string]any{}}
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + "." + f.group()},
		"spec": map[string]any{
			"group": f.group(), "scope": scope, "names": map[string]any{"kind": kind, "plural": plural}, "versions": []any{version},
		},
	}
}

// add creates the parents of all children, and the namespaces.
func (f *formTest) add(all []*form) {
	var group errgroup.Group
	group.SetLimit(8)
	for _, by := range f.ways {
		f.namespace(f.world.name + "-" + by.short())
		for _, s := range all {
			if s.Only != "" && s.Only != by.strategy || s.Cluster && strings.HasPrefix(by.method, "Rolling") {
				continue
			}
			c := f.child(s, by)
			parent := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": f.group() + "/v1", "kind": map[bool]string{false: "Form", true: "ClusterForm"}[s.Cluster],
				"metadata": map[string]any{"name": c.name, "namespace": c.namespace, "labels": map[string]any{"way": by.short()}},
			}}
			group.Go(func() error {
				_, err := f.world.apply(parent)
				return err
			})
		}
	}
	f.check(group.Wait())
}

func (f *formTest) namespace(name string) {
	f.apply(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}})
}

// child adds the child of a form.
func (f *formTest) child(s *form, by way) *formChild {
	c := &formChild{form: s, way: by, namespace: f.world.name + "-" + by.short(), name: s.Name}
	switch {
	case s.Cluster:
		c.namespace, c.name = "", f.world.name+"-"+by.short()+"-"+s.Name
	case s.Apart:
		c.namespace += "-" + s.Name
		f.namespace(c.namespace)
	}
	for _, o := range s.Beside {
		o = *o.DeepCopy()
		o.SetNamespace(c.namespace)
		f.apply(o.Object)
	}
	object := f.object(s)
	metadata, _ := object["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		object["metadata"] = metadata
	}
	if metadata["name"] == nil {
		metadata["name"] = c.name
	}
	text, err := json.Marshal(object)
	f.check(err)
	c.answer = json.RawMessage(strings.NewReplacer("$NAMESPACE", c.namespace, "$NAME", c.name, "$GROUP", f.group()).Replace(string(text)))
	c.path = f.pathOf(c)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.children = append(f.children, c)
	f.byPath[c.path], f.byParent[c.namespace+"/"+c.name] = c, c
	return c
}

// object returns the child of a form with its numbers as they are written.
func (f *formTest) object(s *form) map[string]any {
	decode := func(text []byte) (v any) {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		f.check(decoder.Decode(&v))
		return v
	}
	text := []byte(s.JSON)
	if s.JSON == "" {
		text = s.Object
	}
	if s.Schema == nil {
		return decode(text).(map[string]any)
	}
	if s.JSON == "" {
		text = s.Value
	}
	return map[string]any{"apiVersion": f.group() + "/v1", "kind": "Custom", "spec": map[string]any{s.Name: decode(text)}}
}

// pathOf returns the path of the child of c, whose kind it stores.
func (f *formTest) pathOf(c *formChild) string {
	o := &unstructured.Unstructured{}
	f.check(json.Unmarshal(c.answer, &o.Object))
	c.gvk = o.GroupVersionKind()
	path := "/apis/" + c.gvk.Group + "/" + c.gvk.Version
	if c.gvk.Group == "" {
		path = "/api/" + c.gvk.Version
	}
	if c.namespace != "" {
		path += "/namespaces/" + c.namespace
	}
	return path + "/" + f.resource(c.gvk) + "/" + o.GetName()
}

// resource returns the name of the resource of a kind.
func (f *formTest) resource(gvk schema.GroupVersionKind) string {
	mapping, err := f.world.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	f.check(err)
	return mapping.Resource.Resource
}

// controller returns the controller whose parents are in the cluster, or in namespaces; nil if there is none.
func (f *formTest) controller(by way, cluster bool) map[string]any {
	kinds := map[schema.GroupVersionKind]bool{}
	for _, c := range f.children {
		if c.way == by && c.Cluster == cluster {
			kinds[c.gvk] = true
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	var rules []any
	for gvk := range kinds {
		rules = append(rules, map[string]any{
			"apiVersion": gvk.GroupVersion().String(), "resource": f.resource(gvk), "updateStrategy": map[string]any{"method": by.method},
		})
	}
	parents := map[bool]string{false: "forms", true: "clusterforms"}[cluster]
	return map[string]any{
		"apiVersion": ownGroup + "/v1alpha1", "kind": "CompositeController", "metadata": map[string]any{"name": by.short() + "-" + parents},
		"spec": map[string]any{
			"generateSelector": true, "applyStrategy": by.strategy, "resyncPeriodSeconds": int64(map[bool]int{true: 1, false: 5}[testing.Short()]),
			"parentResource": map[string]any{
				"apiVersion": f.group() + "/v1", "resource": parents, "labelSelector": map[string]any{"matchLabels": map[string]any{"way": by.short()}},
			},
			"childResources": rules,
			"hooks":          map[string]any{"sync": map[string]any{"webhook": map[string]any{"url": f.hooks.URL}}},
		},
	}
}

// hook answers the call of a hook, in the text of the form.
func (f *formTest) hook(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Parent struct {
			Metadata struct{ Name, Namespace string }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	parent := request.Parent.Metadata
	f.mu.Lock()
	c := f.byParent[parent.Namespace+"/"+parent.Name]
	if c != nil {
		c.calls++
	}
	f.mu.Unlock()
	if c == nil {
		http.Error(w, "no form has this parent", http.StatusNotFound)
		return
	}
	fmt.Fprintf(w, `{"status": {}, "children": [%s]}`, c.answer)
}

// start starts the server, and waits until it is ready.
func (f *formTest) start() {
	s, err := f.world.launch(f.dir, "", []string{"--events-qps=1000", "--events-burst=10000"})
	f.check(err)
	f.check(s.ready())
}

// restart starts the server again. Writes are counted anew.
func (f *formTest) restart() {
	f.check(f.world.end(nil, syscall.SIGTERM))
	f.mu.Lock()
	f.restarts++
	for _, c := range f.children {
		c.created = c.calls
	}
	f.mu.Unlock()
	f.start()
}

// until waits until all children fulfill a condition. A child that does not is reported, and the test goes on without it.
func (f *formTest) until(what string, done func(*formChild) bool) {
	var left []*formChild
	err := eventually(func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		left = slices.DeleteFunc(slices.Clone(f.children), func(c *formChild) bool { return done(c) })
		if len(left) > 0 {
			return fmt.Errorf("%d children", len(left))
		}
		return nil
	})
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range left {
		f.Errorf("%s, %s: it is not that its children %s: %d calls, %+v", c.Name, c.way, what, c.calls, c.counts)
	}
	f.children = slices.DeleteFunc(f.children, func(c *formChild) bool { return slices.Contains(left, c) })
}

// readEvents adds the events about the parents to the children. OnDelete reports a difference by an event that is not a warning.
func (f *formTest) readEvents() {
	list, err := f.world.client.Resource(eventsResource).List(context.Background(), metav1.ListOptions{})
	f.check(err)
	for _, e := range list.Items {
		text := func(fields ...string) string {
			found, _, _ := unstructured.NestedString(e.Object, fields...)
			return found
		}
		c := f.byParent[text("involvedObject", "namespace")+"/"+text("involvedObject", "name")]
		reason := text("reason")
		if c == nil || !strings.HasSuffix(text("involvedObject", "kind"), "Form") || text("type") != "Warning" && reason != "UpdateSuppressed" {
			continue
		}
		if !slices.Contains(c.May, reason) {
			c.events = append(c.events, reason+" "+text("message"))
		}
	}
}

// wroteLine matches what the server logs about a write.
var wroteLine = regexp.MustCompile(`msg=wrote .*op="([^"]*)"`)

// readLog adds to the children what the server logged about their writes.
func (f *formTest) readLog() {
	text, err := os.ReadFile(filepath.Join(f.dir, logOf("")))
	f.check(err)
	byName := map[string]*formChild{}
	for _, c := range f.children {
		name := c.path[strings.LastIndex(c.path, "/")+1:]
		if c.namespace != "" {
			name = c.namespace + "/" + name
		}
		byName[c.gvk.Kind+" "+name] = c
	}
	for line := range strings.Lines(string(text)) {
		found := wroteLine.FindStringSubmatch(line)
		if found == nil || strings.HasSuffix(found[1], "desired and missing") {
			continue
		}
		for what, c := range byName {
			if strings.Contains(found[1], what+":") && !slices.Contains(c.why, found[1]) {
				c.why = append(c.why, found[1])
			}
		}
	}
}

// report fails for each form of which a child was written again, and prints the table of forms and ways.
func (f *formTest) report() {
	byForm := map[string]map[way]*formChild{}
	for _, c := range f.children {
		if byForm[c.Name] == nil {
			byForm[c.Name] = map[way]*formChild{}
		}
		byForm[c.Name][c.way] = c
	}
	var table strings.Builder
	f.row(&table, "updates/deletions", func(by way) string { return by.short() })
	bad := map[way]int{}
	for _, name := range slices.Sorted(maps.Keys(byForm)) {
		of := byForm[name]
		f.row(&table, name, func(by way) string { return of[by].cell() })
		for _, by := range f.ways {
			if c := of[by]; c != nil && c.problem() != "" {
				bad[by]++
				f.Errorf("%s, %s: %s", name, by, c.problem())
			}
		}
	}
	f.row(&table, "forms with a problem", func(by way) string { return strconv.Itoa(bad[by]) })
	f.Logf("%d forms, %d children, %d resyncs and %d after a restart\n%s", len(byForm), len(f.children), f.resyncs, f.resyncs/2, table.String())
}

func (f *formTest) row(to io.Writer, name string, cell func(way) string) {
	fmt.Fprintf(to, "%-30s", name)
	for _, by := range f.ways {
		fmt.Fprintf(to, "%7s", cell(by))
	}
	fmt.Fprintln(to)
}

// cell returns the cell of the table for a child: its updates and deletions.
func (c *formChild) cell() string {
	switch {
	case c == nil:
		return ""
	case c.refused != "":
		return "refused"
	case c.problem() == "":
		return "."
	}
	a, b := c.counts[0], c.counts[1]
	return fmt.Sprintf("%d/%d", a.updates+a.unchanged+b.updates+b.unchanged, a.deletions+b.deletions)
}

// problem says what is wrong with the writes of a child; "" if nothing is.
func (c *formChild) problem() string {
	first, again := c.counts[0], c.counts[1]
	var text []string
	if c.refused != "" {
		return "the API server refuses it, so that it is no form: " + c.refused
	}
	if first.creations != 1 || first.updates+first.unchanged+first.deletions > 0 || first.dryRuns > 1 {
		text = append(text, fmt.Sprintf("%+v", first))
	}
	if again.creations+again.updates+again.deletions > 0 || again.unchanged+again.dryRuns > 2 { // a dry run may be repeated on a busy machine
		text = append(text, fmt.Sprintf("after a restart %+v", again))
	}
	if len(c.events) > 0 {
		text = append(text, "events: "+strings.Join(c.events, "; "))
	}
	if len(text) > 0 && len(c.why) > 0 {
		text = append(text, "writes: "+strings.Join(c.why, "; "))
	}
	return strings.Join(text, "\n\t")
}
