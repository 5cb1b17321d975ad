package revisions

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/rollout"
	"metascript/controller/schemas"
)

const things = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [added]
            x-kubernetes-validations:
            - {rule: "self.template.tier != 'gold' || self.replicas >= 3", message: gold needs 3 replicas}
            properties:
              replicas: {type: integer, maximum: 9}
              added: {type: string}
              template: {type: object, properties: {tier: {type: string, enum: [gold, silver]}}}
`

func TestRevisionsThatTheSchemaDoesNotPermit(t *testing.T) {
	var crd apiextensionsv1.CustomResourceDefinition
	text, err := yaml.YAMLToJSON([]byte(things))
	if err == nil {
		err = json.Unmarshal(text, &crd)
	}
	if err != nil {
		t.Fatal(err)
	}
	set, err := schemas.Kubernetes().With(&crd)
	if err != nil {
		t.Fatal(err)
	}
	parent := objecttest.ParseObject(t, `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a, namespace: ns}, spec: {replicas: 1, added: x, template: {tier: silver}}}`)
	deleted := object.Copy(parent)
	deleted.Map()["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-02T03:04:05Z"
	for name, c := range map[string]struct {
		parent      *object.Object
		path, patch string
		want        string // the spec, or nothing: it is not permitted
	}{
		"as it was":                         {parent, "spec", `{spec: {replicas: 3, added: b, template: {tier: gold}}}`, `{replicas: 3, added: b, template: {tier: gold}}`},
		"a value that is not permitted":     {parent, "spec", `{spec: {replicas: 3, added: b, template: {tier: admin}}}`, ""},
		"a value above the maximum":         {parent, "spec", `{spec: {replicas: 300, added: b, template: {tier: gold}}}`, ""},
		"another type":                      {parent, "spec.template", `{spec: {template: [1]}}`, ""},
		"a rule":                            {parent, "spec", `{spec: {replicas: 2, added: b, template: {tier: gold}}}`, ""},
		"a rule with a field that is newer": {parent, "spec.template", `{spec: {template: {tier: gold}}}`, `{replicas: 1, added: x, template: {tier: gold}}`},
		"a field that was removed":          {parent, "spec", `{spec: {replicas: 3, added: b, old: z, template: {tier: gold}}}`, `{replicas: 3, added: b, template: {tier: gold}}`},
		"a field that was added":            {parent, "spec", `{spec: {replicas: 3, template: {tier: gold}}}`, `{replicas: 3, template: {tier: gold}}`},
		"in deletion":                       {deleted, "spec", `{spec: {replicas: 3, added: b, template: {tier: admin}}}`, `{replicas: 1, added: x, template: {tier: silver}}`},
	} {
		r := &Revisions{Paths: []string{c.path}, Schema: func(context.Context) (*schemas.Kind, error) { return set.Kind(parent.GroupVersionKind()) }}
		got, err := r.At(t.Context(), c.parent, rollout.Revision{Name: "old", Patch: objecttest.ParseObject(t, c.patch).Map()})
		var invalid *InvalidError
		if errors.As(err, &invalid) != (c.want == "") || err != nil && invalid == nil {
			t.Errorf("%s: error %v", name, err)
		}
		if err != nil {
			continue
		}
		spec, _ := got.Field("spec")
		if want := objecttest.ParseObject(t, c.want); !want.Equal(object.New(spec.(map[string]any))) {
			t.Errorf("%s: the spec is %v, want %s", name, spec, c.want)
		}
	}
}
