package offline

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/controller/kinds"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/engine"
	"metascript/runtimes"
	"metascript/scripts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// composite returns a CompositeController of Widgets with ConfigMaps as children and this Starlark script.
func composite(t *testing.T, script string) *object.Object {
	t.Helper()
	return objecttest.ParseObject(t, fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: c}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: widgets}
  childResources: [{apiVersion: v1, resource: configmaps}, {apiVersion: rbac.authorization.k8s.io/v1, resource: clusterroles}]
  script: %s
`, objecttest.Inline("Starlark", script)))
}

func testSandbox() build.Sandbox {
	return build.Sandbox{InProcess: engine.New(engine.Options{Runtimes: runtimes.All()})}
}

// newSync returns a Sync of the Widget "w", which has neither a UID nor a namespace.
func newSync(t *testing.T, controller *object.Object) *Sync {
	t.Helper()
	parent := objecttest.ParseObject(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}`)
	return &Sync{Controller: controller, Parent: parent, Resources: &kube.Offline{Kinds: kinds.Kubernetes()}, Sandbox: testSandbox()}
}

// parse returns the objects of these texts.
func parse(t *testing.T, texts ...string) []*object.Object {
	t.Helper()
	var all []*object.Object
	for _, text := range texts {
		all = append(all, objecttest.ParseObject(t, text))
	}
	return all
}

// run calls the hook, which must succeed.
func run(t *testing.T, s *Sync) *hook.Response {
	t.Helper()
	response, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// describe returns the objects of a set as text, in their order.
func describe(set *object.Set) []string {
	var all []string
	for o := range set.All() {
		all = append(all, object.Describe(o))
	}
	return all
}

func TestRunWithChildren(t *testing.T) {
	s := newSync(t, composite(t, `
def sync(parent, children):
    return {
        "status": {
            "configMaps": [c["metadata"]["namespace"] + "/" + name for name, c in sorted(children["ConfigMap.v1"].items())],
            "clusterRoles": sorted(children["ClusterRole.rbac.authorization.k8s.io/v1"]),
            "parent": parent["metadata"]["namespace"] + " " + parent["metadata"]["uid"],
        },
        "children": [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}},
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
        ],
    }
`))
	s.Children = parse(t,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: default}}`,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}}`,
	)
	before := object.Copy(s.Parent)
	response := run(t, s)
	want := map[string]any{
		"configMaps": []any{"default/a", "default/b"}, "clusterRoles": []any{"r"},
		"parent": "default 00000000-0000-0000-0000-000000000000",
	}
	if diff := cmp.Diff(want, response.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ConfigMap default/new", "ConfigMap default/a"}, describe(response.Children)); diff != "" {
		t.Errorf("desired children (-want +got):\n%s", diff)
	}
	if got := response.Children.Len(); got != 2 {
		t.Errorf("%d children, want 2", got)
	}
	if diff := cmp.Diff(before, s.Parent); diff != "" || s.Children[0].GetNamespace() != "" {
		t.Errorf("the objects were changed (-want +got):\n%s", diff)
	}
}

func TestRunWithoutChildren(t *testing.T) {
	response := run(t, newSync(t, composite(t, `def sync(children): return {"children": [], "status": {"groups": sorted(children), "sizes": [len(children[g]) for g in children]}}`)))
	want := map[string]any{"groups": []any{"ClusterRole.rbac.authorization.k8s.io/v1", "ConfigMap.v1"}, "sizes": []any{int64(0), int64(0)}}
	if diff := cmp.Diff(want, response.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if got := response.Children.Len(); got != 0 {
		t.Errorf("%d children, want none", got)
	}
}

func TestRunPassesTimeAndLog(t *testing.T) {
	s := newSync(t, composite(t, `
def sync(parent, now):
    print("at", now)
    return {"children": [], "status": {"now": now, "created": parent.metadata.creationTimestamp, "generation": parent.metadata.generation}}
`))
	s.Now = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	var logged []string
	s.Log = func(hookName string, m engine.Message) { logged = append(logged, hookName+": "+m.Text) }
	want := map[string]any{"now": "2026-01-02T15:04:05Z", "created": "2026-01-02T15:04:05Z", "generation": int64(1)}
	if diff := cmp.Diff(want, run(t, s).Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"sync: at 2026-01-02T15:04:05Z"}, logged); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestRunCallsFinalizeHook(t *testing.T) {
	for name, c := range map[string]struct {
		script    string
		finalizes bool
		want      string // of the error; "" if there is none
	}{
		"there is one":  {objecttest.Starlark("sync") + "def finalize(finalizing): return {'status': {'from': 'finalize', 'finalizing': finalizing}, 'children': [], 'finalized': True}\n", true, ""},
		"there is none": {objecttest.Starlark("sync"), false, "CompositeController c has no finalize hook"},
	} {
		s := newSync(t, composite(t, c.script))
		s.Finalizing = true
		response, err := s.Run(t.Context())
		if c.want != "" {
			if err == nil || err.Error() != c.want {
				t.Errorf("%s: error %v, want %s", name, err, c.want)
			}
			continue
		}
		if err != nil || !response.Finalized || response.Status["from"] != "finalize" || response.Status["finalizing"] != true {
			t.Errorf("%s: got %+v, error %v", name, response, err)
		}
	}
}

func TestErrorOfScript(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		kind   engine.Kind // "" if the error is not an engine.Error
		want   string
	}{
		"it cannot be compiled":                  {"def sync(:\n", engine.KindSyntax, "CompositeController c: "},
		"it has no sync function":                {"def other(): return {}\n", "", "CompositeController c: "},
		"it fails":                               {"def sync(parent): return parent['spec']['size']\n", engine.KindRuntime, "spec"},
		"it calls fail":                          {"def sync(): fail('no size')\n", engine.KindRaised, "no size"},
		"it returns a child without a name":      {"def sync(): return {'children': [{'apiVersion': 'v1', 'kind': 'ConfigMap'}]}\n", "", "children[0]"},
		"it returns a child of an unknown kind":  {"def sync(): return {'children': [{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'p'}}]}\n", "", "children[0]"},
		"it returns no object":                   {"def sync(): return 'x'\n", "", "sync"},
		"its customize function fails":           {objecttest.Starlark("sync") + "def customize(): fail('no rules')\n", engine.KindRaised, "no rules"},
		"its customize function names no object": {objecttest.Starlark("sync") + "def customize(): return {'relatedResources': 'x'}\n", "", "relatedResources"},
	} {
		response, err := newSync(t, composite(t, c.script)).Run(t.Context())
		var fault *engine.Error
		if errors.As(err, &fault); err == nil || response != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: response %v, error %v, want %q", name, response, err, c.want)
			continue
		}
		if c.kind != "" && (fault == nil || fault.Kind != c.kind) {
			t.Errorf("%s: error %v, want an engine.Error of kind %s", name, err, c.kind)
		}
	}
}

// selects returns a script whose customize function returns these rules, and whose sync function returns the names of the
// related objects in its status.
func selects(rules string) string {
	return `
def customize(parent): return {"relatedResources": [` + rules + `]}
def sync(related): return {"children": [], "status": {"related": {group: sorted(related[group]) for group in related}}}
`
}

func TestRelatedObjects(t *testing.T) {
	objects := []string{
		`{apiVersion: v1, kind: Secret, metadata: {name: a}}`,
		`{apiVersion: v1, kind: Secret, metadata: {name: b, namespace: default, labels: {app: w}}}`,
		`{apiVersion: v1, kind: Secret, metadata: {name: c, namespace: other, labels: {app: w}}}`,
		`{apiVersion: v1, kind: Namespace, metadata: {name: other, labels: {team: x}}}`,
	}
	for _, c := range []struct {
		name, rules string
		want        map[string]any
	}{
		{"no rules", "", map[string]any{}},
		{"by name", `{"apiVersion": "v1", "resource": "secrets", "namespace": "default", "names": ["a", "b"]}`, map[string]any{"Secret.v1": []any{"a", "b"}}},
		{"one is missing", `{"apiVersion": "v1", "resource": "secrets", "namespace": "default", "names": ["a", "missing"]}`, map[string]any{"Secret.v1": []any{"a"}}},
		{"all are missing", `{"apiVersion": "v1", "resource": "secrets", "namespace": "default", "names": ["missing"]}`, map[string]any{"Secret.v1": []any{}}},
		{"no object of the kind", `{"apiVersion": "v1", "resource": "pods"}`, map[string]any{"Pod.v1": []any{}}},
		{"by label, in the namespace of the parent", `{"apiVersion": "v1", "resource": "secrets", "labelSelector": {"matchLabels": {"app": "w"}}}`, map[string]any{"Secret.v1": []any{"b"}}},
		{"a cluster-scoped kind", `{"apiVersion": "v1", "resource": "namespaces", "names": ["other"]}`, map[string]any{"Namespace.v1": []any{"other"}}},
		{"several rules", `{"apiVersion": "v1", "resource": "secrets", "names": ["a"]}, {"apiVersion": "v1", "resource": "secrets", "names": ["b"]}, {"apiVersion": "v1", "resource": "pods"}`, map[string]any{"Secret.v1": []any{"a", "b"}, "Pod.v1": []any{}}},
	} {
		s := newSync(t, composite(t, selects(c.rules)))
		s.Related = parse(t, objects...)
		if diff := cmp.Diff(map[string]any{"related": c.want}, run(t, s).Status); diff != "" {
			t.Errorf("%s: status (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestRelatedObjectsInOtherNamespaces(t *testing.T) {
	for name, c := range map[string]struct {
		rule string
		want []any
	}{
		"by the label of a given Namespace": {`{"apiVersion": "v1", "resource": "secrets", "namespaceSelector": {"matchLabels": {"team": "x"}}}`, []any{"other/c"}},
		"by the name of a namespace":        {`{"apiVersion": "v1", "resource": "secrets", "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "third"}}}`, []any{"third/d"}},
		"no namespace matches":              {`{"apiVersion": "v1", "resource": "secrets", "namespaceSelector": {"matchLabels": {"team": "y"}}}`, []any{}},
	} {
		controller := composite(t, selects(c.rule))
		controller.Map()["spec"].(map[string]any)["hooks"] = map[string]any{"customize": map[string]any{"version": "v2"}, "sync": map[string]any{"version": "v2"}}
		s := newSync(t, controller)
		s.Related = parse(t,
			`{apiVersion: v1, kind: Secret, metadata: {name: c, namespace: other}}`,
			`{apiVersion: v1, kind: Secret, metadata: {name: d, namespace: third}}`,
			`{apiVersion: v1, kind: Namespace, metadata: {name: other, labels: {team: x}}}`,
		)
		response, err := s.Run(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []any
		for _, names := range response.Status["related"].(map[string]any) {
			got = names.([]any)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: related objects (-want +got):\n%s", name, diff)
		}
	}
}

func TestUnsuitableObjectsAreErrors(t *testing.T) {
	sync := objecttest.Starlark("sync")
	for name, c := range map[string]struct {
		script string
		change func(s *Sync)
		want   string
	}{
		"a child of another kind": {sync, func(s *Sync) {
			s.Children = parse(t, `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}}`)
		}, "the observed child Pod default/p is of a kind that is not in the controller's childResources"},
		"a related object without a customize hook": {sync, func(s *Sync) {
			s.Related = parse(t, `{apiVersion: v1, kind: Secret, metadata: {name: a}}`)
		}, "CompositeController c has no customize hook, which would select related objects"},
		"a parent of another apiVersion": {sync, func(s *Sync) {
			s.Parent.SetAPIVersion("example.com/v2")
		}, "Widget w is of example.com/v2, but the parents of CompositeController c are widgets in example.com/v1"},
		"a related resource of which no kind is known": {selects(`{"apiVersion": "example.org/v1", "resource": "gadgets"}`), func(*Sync) {
		}, `sync.star:2:98: in customize: relatedResources[0] of the customize hook: what kind is resource "gadgets" in example.org/v1? give its CustomResourceDefinition, or an object of it`},
	} {
		s := newSync(t, composite(t, c.script))
		c.change(s)
		if response, err := s.Run(t.Context()); err == nil || err.Error() != c.want || response != nil {
			t.Errorf("%s: response %v, error %v, want %s", name, response, err, c.want)
		}
	}
}

func TestErrorsAndWarningsDoNotContainSecrets(t *testing.T) {
	s := newSync(t, composite(t, `
def customize(): return {"relatedResources": [{"apiVersion": "v1", "resource": "secrets", "names": ["a"]}]}
def sync(related): fail("cannot log in with " + related["Secret.v1"]["a"]["stringData"]["password"])
`))
	s.Related = parse(t, `{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {password: correct-horse-battery}}`)
	_, err := s.Run(t.Context())
	if err == nil || strings.Contains(err.Error(), "correct-horse") || !strings.Contains(err.Error(), "cannot log in with") {
		t.Errorf("error %v, want it without the password", err)
	}
}

func TestRunOfDecorator(t *testing.T) {
	controller := objecttest.ParseObject(t, `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: d}
spec:
  resources: [{apiVersion: v1, resource: configmaps}]
  attachments: [{apiVersion: v1, resource: secrets}]
  script: `+objecttest.Inline("Starlark", `def sync(object, attachments): return {"labels": {"seen": str(len(attachments["Secret.v1"]))}, "attachments": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": object["metadata"]["name"]}}]}`)+"\n")
	s := newSync(t, controller)
	s.Parent = parse(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: team}}`)[0]
	s.Children = parse(t, `{apiVersion: v1, kind: Secret, metadata: {name: s}}`)
	response := run(t, s)
	if seen := response.Labels["seen"]; seen == nil || *seen != "1" {
		t.Errorf("labels %v, want seen: 1", response.Labels)
	}
	if diff := cmp.Diff([]string{"Secret team/a"}, describe(response.Children)); diff != "" {
		t.Errorf("attachments (-want +got):\n%s", diff)
	}
	s.Children = parse(t, `{apiVersion: v1, kind: Pod, metadata: {name: p}}`)
	if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "that is not in the controller's attachments") {
		t.Errorf("error %v, want that a Pod is no attachment", err)
	}
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		object *object.Object
		hooks  []string
		want   string // of the error; "" if there is none
	}{
		"sound":        {composite(t, objecttest.Starlark("sync", "finalize")), []string{"finalize", "sync"}, ""},
		"a bad script": {composite(t, "def sync(:\n"), nil, "sync.star:1:9: "},
		"a bad spec":   {objecttest.ParseObject(t, `{apiVersion: metacontroller.k8s.io/v1alpha1, kind: CompositeController, metadata: {name: c}, spec: {parentResource: widgets}}`), nil, "spec"},
		"no hooks":     {objecttest.ParseObject(t, `{apiVersion: metacontroller.k8s.io/v1alpha1, kind: CompositeController, metadata: {name: c}, spec: {parentResource: {apiVersion: v1, resource: widgets}}}`), nil, "no hooks defined"},
	} {
		hooks, _, err := Check(t.Context(), c.object, testSandbox(), scripts.Sources{})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		if diff := cmp.Diff(c.hooks, hooks); c.want == "" && diff != "" {
			t.Errorf("%s: hooks (-want +got):\n%s", name, diff)
		}
	}
}

func TestWarningsOfUnreadableObject(t *testing.T) {
	o := composite(t, objecttest.Starlark("sync"))
	o.Map()["spec"] = "x"
	if got := Warnings(o, testSandbox()); got != nil {
		t.Errorf("warnings %q, want none", got)
	}
}
