package promote

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"metascript/controller/api/v1alpha1"
)

// clientOf returns a client of an API server with these objects.
func clientOf(t *testing.T, objects ...string) *fake.FakeDynamicClient {
	t.Helper()
	var all []runtime.Object
	for _, text := range objects {
		o := &unstructured.Unstructured{}
		json, err := yaml.YAMLToJSON([]byte(text))
		if err == nil {
			err = o.UnmarshalJSON(json)
		}
		if err != nil {
			t.Fatal(err)
		}
		o.SetAPIVersion(v1alpha1.GroupVersion.String())
		all = append(all, o)
	}
	kinds := map[schema.GroupVersionResource]string{v1alpha1.CompositeControllers: "CompositeControllerList", v1alpha1.DecoratorControllers: "DecoratorControllerList"}
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, all...)
}

const (
	shadowed = `{kind: CompositeController, metadata: {name: a, resourceVersion: "7"}, spec: {generateSelector: true, script: {language: Starlark, inline: x, timeout: 1s}, shadow: {share: 10%, script: {file: b.js}}}}`
	plain    = `{kind: CompositeController, metadata: {name: plain}, spec: {script: {file: a.js}}}`
	both     = `{metadata: {name: both}, spec: {shadow: {script: {file: b.js}}}, kind: `
)

func TestPromotionIsOneUpdate(t *testing.T) {
	client := clientOf(t, shadowed)
	p, err := Find(t.Context(), client, "a")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"timeout"}, p.Kept); diff != "" || p.Doubt() == "" || p.Condition.Reason != v1alpha1.ReasonNotCompared {
		t.Errorf("kept %v, condition %+v", p.Kept, p.Condition)
	}
	client.ClearActions()
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	actions := client.Actions()
	if len(actions) != 1 || actions[0].GetVerb() != "update" {
		t.Fatalf("the requests are %v", actions)
	}
	o := actions[0].(clienttesting.UpdateAction).GetObject().(*unstructured.Unstructured)
	want := map[string]any{"generateSelector": true, "script": map[string]any{"file": "b.js", "timeout": "1s"}}
	if diff := cmp.Diff(want, o.Object["spec"]); diff != "" || o.GetResourceVersion() != "7" {
		t.Errorf("resourceVersion %s, spec (-want +got):\n%s", o.GetResourceVersion(), diff)
	}
}

func TestDoubt(t *testing.T) {
	const object = `{kind: CompositeController, metadata: {name: a, generation: 2}, spec: {shadow: {script: {file: b.js}}}, status: {shadow: {parents: %d, total: 40}, conditions: [{type: ShadowAgrees, status: "%s", observedGeneration: %d}]}}`
	for _, c := range []struct {
		parents    int
		status     string
		generation int
		want       string
	}{
		{40, "True", 2, ""},
		{3, "True", 2, "the candidate of CompositeController a was compared for 3 of 40 parents"},
		{40, "False", 2, "the condition ShadowAgrees of CompositeController a is False"},
		{40, "True", 1, "the condition ShadowAgrees of CompositeController a is Unknown"},
	} {
		p, err := Find(t.Context(), clientOf(t, fmt.Sprintf(object, c.parents, c.status, c.generation)), "a")
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Doubt(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// Whatever the sources are, that of the candidate becomes the only source of the script, and the other settings stay.
func TestPromotionOfEachSource(t *testing.T) {
	sources := map[string]map[string]any{
		"inline":    {"language": "JavaScript", "inline": "exports.sync = 1", "modules": map[string]any{"lib.js": "exports.a = 1"}},
		"file":      {"file": "next/sync.js"},
		"configMap": {"configMapRef": map[string]any{"namespace": "a", "name": "b", "key": "sync.js"}},
	}
	for from, live := range sources {
		for to, candidate := range sources {
			script := maps.Clone(live)
			script["timeout"] = "1s"
			text, err := json.Marshal(map[string]any{
				"kind": "CompositeController", "metadata": map[string]any{"name": "a"},
				"spec": map[string]any{"script": script, "shadow": map[string]any{"script": candidate}},
			})
			if err != nil {
				t.Fatal(err)
			}
			client := clientOf(t, string(text))
			p, err := Find(t.Context(), client, "a")
			if err == nil {
				err = p.Run(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			stored, err := client.Resource(v1alpha1.CompositeControllers).Get(t.Context(), "a", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want := maps.Clone(candidate)
			want["timeout"] = "1s"
			if diff := cmp.Diff(map[string]any{"script": want}, stored.Object["spec"]); diff != "" {
				t.Errorf("from %s to %s (-want +got):\n%s", from, to, diff)
			}
		}
	}
}

func TestFind(t *testing.T) {
	client := clientOf(t, shadowed, plain, both+"CompositeController}", both+"DecoratorController}")
	for name, want := range map[string]string{
		"a": "", "compositecontroller/a": "", "CompositeControllers.metacontroller.k8s.io/a": "", "cc/both": "", "dec/both": "",
		"plain":   "CompositeController plain has no spec.shadow.script: there is no candidate to promote",
		"missing": "there is no CompositeController and no DecoratorController missing",
		"dec/a":   "there is no DecoratorController a",
		"both":    "write compositecontroller/both or decoratorcontroller/both",
		"pods/a":  `"pods/a" is no controller`,
		"cc/":     `"cc/" is no controller`,
	} {
		_, err := Find(t.Context(), client, name)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}

func TestRefusedUpdate(t *testing.T) {
	for want, refusal := range map[string]error{
		"was changed since it was read": errors.NewConflict(schema.GroupResource{}, "a", nil),
		"you need the permission to update compositecontrollers.metacontroller.k8s.io": errors.NewForbidden(schema.GroupResource{}, "a", nil),
		"nothing was written: update CompositeController a: ":                          errors.NewBadRequest("x"),
	} {
		client := clientOf(t, shadowed)
		client.PrependReactor("update", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, refusal })
		p, err := Find(t.Context(), client, "a")
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestConditionAndManager(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": "True"},
		map[string]any{"type": "ShadowAgrees", "status": "True", "reason": "SameAnswers", "message": "m", "observedGeneration": int64(3)},
	}}}}
	o.SetGeneration(3)
	if c := conditionOf(o); c != (Condition{"True", "SameAnswers", "m"}) {
		t.Errorf("%+v", c)
	}
	o.SetGeneration(4)
	if c := conditionOf(o); c.Status != string(metav1.ConditionUnknown) || !strings.Contains(c.Message, "has not seen the last edit") {
		t.Errorf("after an edit: %+v", c)
	}
	for want, set := range map[string]func(*unstructured.Unstructured){
		"":        func(*unstructured.Unstructured) {},
		"Argo CD": func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"argocd.argoproj.io/instance": "a"}) },
		"Flux": func(o *unstructured.Unstructured) {
			o.SetLabels(map[string]string{"kustomize.toolkit.fluxcd.io/name": "a"})
		},
		"Helm": func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{"meta.helm.sh/release-name": "a"})
		},
		"kubectl apply": func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"})
		},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		set(o)
		if got := managerOf(o); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
