package plan

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	o := parseObject(t, managed)
	for _, c := range []struct {
		path Path
		want string
	}{
		{Path{"metadata", "labels", "app"}, "[kubectl (Update)]"},
		{Path{"metadata", "labels"}, "[kubectl (Update)]"},
		{Path{"metadata", "labels", "other"}, "[]"},
		{Path{"spec", "containers", 0, "image"}, "[other (Update)]"},
		{Path{"spec", "containers", 1, "image"}, "[apply (Apply)]"},
		{Path{"spec", "containers", 1, "ports", 0, "containerPort"}, "[apply (Apply)]"},
		{Path{"spec", "containers", 2, "image"}, "[]"},
		{Path{"spec", "containers"}, "[apply (Apply) other (Update)]"},
		{Path{"metadata", "finalizers", 0}, "[]"},
		{Path{"metadata", "finalizers", 1}, "[set (Update)]"},
		{Path{"spec", "selector", "app"}, "[atomic (Update)]"},
		{Path{"spec", "args", 0}, "[]"},
		{Path{"spec", "args", 1}, "[places (Update)]"},
		{Path{"status"}, "[]"},
		{nil, "[apply (Apply) atomic (Update) kubectl (Update) other (Update) places (Update) set (Update)]"},
	} {
		if diff := cmp.Diff(c.want, fmt.Sprint(Managers(o, c.path))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.path, diff)
		}
	}
}
