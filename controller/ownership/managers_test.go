package ownership

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object/objecttest"
)

// managed has fields of every way in which the API server names them.
const managed = `
metadata:
  labels: {app: x}
  finalizers: [a/b, c/d]
  managedFields:
  - {manager: kubectl, operation: Update, fieldsV1: {"f:metadata": {"f:labels": {"f:app": {}}}}}
  - {manager: apply, operation: Apply, fieldsV1: {"f:spec": {"f:containers": {'k:{"name":"b"}': {".": {}, "f:name": {}, "f:image": {}, "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {"f:containerPort": {}}}}}}}}
  - {manager: other, operation: Update, fieldsV1: {"f:spec": {"f:containers": {'k:{"name":"a"}': {"f:image": {}}}}}}
  - {manager: set, operation: Update, fieldsV1: {"f:metadata": {"f:finalizers": {'v:"c/d"': {}}}}}
  - {manager: atomic, operation: Update, fieldsV1: {"f:spec": {"f:selector": {}}}}
  - {manager: places, operation: Update, fieldsV1: {"f:spec": {"f:args": {"i:1": {}}}}}
  - {manager: kubectl, operation: Update, subresource: scale, fieldsV1: {"f:metadata": {"f:labels": {"f:app": {}}}}}
  - {manager: broken, operation: Update, fieldsV1: [1]}
  - {manager: none, operation: Update}
spec:
  selector: {app: x}
  args: [p, q]
  containers:
  - {name: a, image: i}
  - {name: b, image: j, ports: [{containerPort: 80, protocol: TCP}]}
`

func TestManagersOfField(t *testing.T) {
	o := objecttest.ParseObject(t, managed)
	for _, c := range []struct {
		path []any
		want string
	}{
		{[]any{"metadata", "labels", "app"}, "[kubectl (Update)]"},
		{[]any{"metadata", "labels"}, "[kubectl (Update)]"},
		{[]any{"metadata", "labels", "other"}, "[]"},
		{[]any{"spec", "containers", 0, "image"}, "[other (Update)]"},
		{[]any{"spec", "containers", 1, "image"}, "[apply (Apply)]"},
		{[]any{"spec", "containers", 1, "ports", 0, "containerPort"}, "[apply (Apply)]"},
		{[]any{"spec", "containers", 2, "image"}, "[]"},
		{[]any{"spec", "containers"}, "[apply (Apply) other (Update)]"},
		{[]any{"metadata", "finalizers", 0}, "[]"},
		{[]any{"metadata", "finalizers", 1}, "[set (Update)]"},
		{[]any{"spec", "selector", "app"}, "[atomic (Update)]"},
		{[]any{"spec", "args", 0}, "[]"},
		{[]any{"spec", "args", 1}, "[places (Update)]"},
		{[]any{"status"}, "[]"},
		{nil, "[apply (Apply) atomic (Update) kubectl (Update) other (Update) places (Update) set (Update)]"},
	} {
		if diff := cmp.Diff(c.want, fmt.Sprint(Managers(o, c.path))); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.path, diff)
		}
	}
}
