package object

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePath(t *testing.T) {
	in := map[string]any{
		"spec":     map[string]any{"containers": []any{map[string]any{"image": "a", "ports": []any{map[string]any{"port": int64(53), "protocol": "UDP"}, map[string]any{"port": int64(53), "protocol": "TCP"}}}}, "a": int64(1)},
		"metadata": map[string]any{"labels": map[string]any{"app": "x", "app.kubernetes.io/name": "y", "app.kubernetes": "z"}},
	}
	for _, c := range []struct {
		path     string
		want     []any
		complete bool
	}{
		{"", nil, true},
		{"spec", []any{"spec"}, true},
		{"spec.containers[0].image", []any{"spec", "containers", 0, "image"}, true},
		{"metadata.labels.app", []any{"metadata", "labels", "app"}, true},
		{"metadata.labels.app.kubernetes.io/name", []any{"metadata", "labels", "app.kubernetes.io/name"}, true},
		{"metadata.labels[app.kubernetes.io/name]", []any{"metadata", "labels", "app.kubernetes.io/name"}, true},
		{`metadata.labels["app.kubernetes.io/name"]`, []any{"metadata", "labels", "app.kubernetes.io/name"}, true},
		{"spec.containers[1].image", []any{"spec", "containers"}, false},
		{`spec.containers[image="a"].ports[port=53,protocol="TCP"].port`, []any{"spec", "containers", 0, "ports", 1, "port"}, true},
		{`spec.containers[image="b"].image`, []any{"spec", "containers"}, false},
		{"spec.containers[]", []any{"spec", "containers"}, false},
		{"spec.containers[0].args", []any{"spec", "containers", 0}, false},
		{"spec.containers[-1]", []any{"spec", "containers"}, false},
		{"spec.containers[name=a]", []any{"spec", "containers"}, false},
		{"spec.containers[0", []any{"spec", "containers"}, false},
		{"spec.containers.image", []any{"spec", "containers"}, false},
		{"spec.a.b", []any{"spec", "a"}, false},
		{"status.phase", nil, false},
	} {
		got, complete := ParsePath(c.path, in)
		if diff := cmp.Diff(c.want, got); diff != "" || complete != c.complete {
			t.Errorf("%s: complete %v (-want +got):\n%s", c.path, complete, diff)
		}
	}
}
