package ownership_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/ownership"
)

const pod = `
apiVersion: v1
kind: Pod
metadata:
  name: a
  namespace: default
  labels: {app: x, theirs: "1"}
  finalizers: [ours, theirs]
  ownerReferences:
  - {apiVersion: v1, kind: ConfigMap, name: parent, uid: u1}
  - {apiVersion: v1, kind: ConfigMap, name: other, uid: u2}
  managedFields:
  - manager: metacontroller
    operation: Apply
    apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata:
        f:labels: {f:app: {}}
        f:finalizers: {'v:"ours"': {}}
        f:ownerReferences: {'k:{"uid":"u1"}': {}}
      f:spec:
        f:containers:
          'k:{"name":"c"}':
            .: {}
            f:name: {}
            f:ports:
              'k:{"containerPort":80,"protocol":"TCP"}': {.: {}, f:containerPort: {}}
        f:nodeSelector: {}
        f:gone: {}
  - {manager: metacontroller, operation: Update, subresource: status, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:status: {}}}
  - {manager: kubectl, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:metadata: {}}}
spec:
  nodeSelector: {disk: ssd}
  restartPolicy: Always
  containers:
  - {name: sidecar, image: proxy}
  - {name: c, image: theirs, ports: [{containerPort: 80, protocol: TCP}, {containerPort: 81, protocol: TCP}]}
status: {phase: Running}
`

func TestAppliedReturnsOnlyTheAppliedFields(t *testing.T) {
	o := objecttest.ParseObject(t, pod)
	fields := ownership.Of(managedFields(t, o), "metacontroller")
	want := objecttest.Parse(t, `
apiVersion: v1
kind: Pod
metadata:
  name: a
  namespace: default
  labels: {app: x}
  finalizers: [ours]
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: parent, uid: u1}]
spec:
  nodeSelector: {disk: ssd}
  containers: [{name: c, ports: [{containerPort: 80}]}]
`)
	for _, o := range []*object.Object{o, objecttest.Packed(t, o)} {
		got, err := fields.Applied(o)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("applied: error %v (-want +got):\n%s", err, diff)
		}
	}
	if fields.Updated {
		t.Error("an update of the status counts as one of the object")
	}
}

// managedFields returns the JSON text of this field of an object.
func managedFields(t *testing.T, o *object.Object) []byte {
	t.Helper()
	field, _ := o.At("metadata", "managedFields")
	text, err := json.Marshal(field)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestOf(t *testing.T) {
	o := objecttest.ParseObject(t, pod)
	for _, c := range []struct {
		applier          string
		others           []string
		applied, updated bool
	}{
		{"metacontroller", nil, true, false},
		{"metacontroller", []string{"kubectl"}, true, true},
		{"kubectl", nil, false, false}, // it applied nothing
		{"another", nil, false, false},
	} {
		got := ownership.Of(managedFields(t, o), c.applier, c.others...)
		if (got.Set != "") != c.applied || got.Updated != c.updated {
			t.Errorf("%s and %v: got %+v", c.applier, c.others, got)
		}
	}
}

func TestAppliedDoesNotChangeTheObject(t *testing.T) {
	o := objecttest.ParseObject(t, pod)
	before := o.DeepCopy()
	applied, err := ownership.Fields{Set: `{"f:metadata":{},"f:spec":{}}`, APIVersion: "v1"}.Applied(o)
	if err != nil {
		t.Fatal(err)
	}
	applied["metadata"].(map[string]any)["name"] = "changed"
	if diff := cmp.Diff(before, o); diff != "" {
		t.Errorf("the object was changed (-before +after):\n%s", diff)
	}
}

func TestErrorsOfApplied(t *testing.T) {
	o := objecttest.ParseObject(t, pod)
	for _, fields := range []ownership.Fields{
		{Set: `{"f:spec":{}}`, APIVersion: "v2"}, {Set: `{"x":{}}`, APIVersion: "v1"}, {Set: `[]`, APIVersion: "v1"}, {APIVersion: "v1"},
	} {
		if got, err := fields.Applied(o); err == nil {
			t.Errorf("%+v: got %v, want an error", fields, got)
		}
	}
	o.Map()["metadata"].(map[string]any)["managedFields"] = []any{"nonsense", map[string]any{"operation": "Apply"}}
	if got := ownership.Of(managedFields(t, o), "metacontroller"); got != (ownership.Fields{}) {
		t.Errorf("managedFields that cannot be read: got %+v, want nothing", got)
	}
}
