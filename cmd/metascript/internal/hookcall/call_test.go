package hookcall

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/schemas"
	"metascript/engine"
)

const files = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: c}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: widgets}
  childResources: [{apiVersion: v1, resource: configmaps}]
  script:
    language: Starlark
    inline: |
      def sync(parent, children, now):
          print("size", parent["spec"]["size"])
          return {"children": [], "status": {"size": parent["spec"]["size"], "seen": sorted(children["ConfigMap.v1"]), "now": now}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, default: {}, properties: {size: {type: integer, default: 3}}}}}}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}
`

// newCall returns a call with the files, and a sandbox.
func newCall(t *testing.T) (*Call, *sandbox.Sandbox) {
	t.Helper()
	docs, err := manifest.Parse("a.yaml", []byte(files))
	if err != nil {
		t.Fatal(err)
	}
	crds, err := manifest.CRDs(docs)
	if err != nil {
		t.Fatal(err)
	}
	known, err := schemas.Kubernetes().With(crds...)
	if err != nil {
		t.Fatal(err)
	}
	return &Call{Controller: docs[0], Parent: docs[2], Children: docs[3:], Schemas: known}, sandbox.InProcess(v1alpha1.IsolationInProcess, engine.Limits{Log: 64 << 10})
}

func TestRequestHasTheObjectsInTheFiles(t *testing.T) {
	call, in := newCall(t)
	call.Now = "2026-01-02T15:04:05+01:00"
	var log strings.Builder
	answer, err := call.Do(t.Context(), in, &log)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"size": int64(3), "seen": []any{"one"}, "now": "2026-01-02T14:04:05Z"}
	if diff := cmp.Diff(want, answer.Document()["status"]); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if got := log.String(); got != "sync.star:2:10: info: in sync: size 3\n" {
		t.Errorf("the log is %q", got)
	}
}

func TestErrorsOfCalls(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Call)
		want   string
	}{
		{"a time that is none", func(c *Call) { c.Now = "noon" }, `now is "noon": want a time such as 2026-01-02T15:04:05Z`},
		{"a hook that is none", func(c *Call) { c.Finalizing = true }, "CompositeController c has no finalize hook"},
		{"related objects for nobody", func(c *Call) { c.Related = c.Children }, "CompositeController c has no customize hook"},
	} {
		call, in := newCall(t)
		c.change(call)
		if _, err := call.Do(t.Context(), in, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
}
