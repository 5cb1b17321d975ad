package bench

import (
	"bytes"
	"strings"

	"metascript/engine"
	"metascript/engine/enginetest"
	"metascript/engine/packed"
	"metascript/engine/tree"
	"metascript/test/bench/pods"
)

// request returns a request for sync of a CompositeController, with a parent of about 1.9 KB and n Pods of about 3.2 KB. The parent and
// the Pods are packed, as in the caches of a controller.
func request(n int) map[string]any {
	arg := plainRequest(n)
	arg["parent"] = enginetest.Pack(arg["parent"].(map[string]any))
	all := podsOf(arg)
	for name, pod := range all {
		all[name] = enginetest.Pack(pod.(map[string]any))
	}
	return arg
}

// plainRequest is request with maps.
func plainRequest(n int) map[string]any {
	all := make(map[string]any, n)
	for i := range n {
		name := pods.Name(i)
		all[name] = pods.New(name, i)
	}
	return map[string]any{
		"controller": map[string]any{
			"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "CompositeController",
			"metadata": map[string]any{"name": "web", "uid": pods.UID("controller", 0), "resourceVersion": "100"},
		},
		"parent":     parent(n),
		"children":   map[string]any{"Pod.v1": all},
		"related":    map[string]any{},
		"finalizing": false,
		"now":        "2026-01-02T03:04:05Z",
	}
}

func parent(replicas int) map[string]any {
	return map[string]any{
		"apiVersion": "example.com/v1", "kind": "Web",
		"metadata": map[string]any{
			"name": "web", "namespace": "default", "uid": pods.UID("parent", 0), "resourceVersion": "1000", "generation": int64(7),
			"creationTimestamp": "2026-01-02T03:04:05Z", "labels": pods.Labels(),
			"annotations": map[string]any{"example.com/description": strings.Repeat("what it is for. ", 20)},
		},
		"spec": map[string]any{
			"replicas": int64(replicas), "image": pods.Image,
			"template": map[string]any{
				"metadata": map[string]any{"labels": pods.Labels()},
				"spec":     map[string]any{"containers": []any{pods.Container(7)}},
			},
		},
		"status": map[string]any{"observedGeneration": int64(7), "replicas": int64(replicas), "ready": int64(replicas)},
	}
}

// identify is engine.Env.Identify for objects from the caches of a controller.
func identify(object engine.Map) (id, version string) {
	if p, ok := object.(packed.Map); ok { // without an allocation
		if _, managed := p.At("metadata", "managedFields"); managed || p.Text("kind") == "" {
			return "", ""
		}
		return p.Text("metadata", "uid"), p.Text("metadata", "resourceVersion")
	}
	if kind := textAt(object, "kind"); kind == "" {
		return "", ""
	}
	value, _ := object.Get("metadata")
	metadata, ok := tree.MapOf(value)
	if !ok {
		return "", ""
	}
	if managed, _ := metadata.Get("managedFields"); managed != nil {
		return "", ""
	}
	return textAt(metadata, "uid"), textAt(metadata, "resourceVersion")
}

// textAt returns the text of a field; "" if it is no text.
func textAt(m engine.Map, key string) string {
	value, _ := m.Get(key)
	text, _ := value.(string)
	return text
}

// podsOf returns the Pods in a request, by name.
func podsOf(arg map[string]any) map[string]any {
	return arg["children"].(map[string]any)["Pod.v1"].(map[string]any)
}

// change puts a new version of pod i into the request. It changes the version in a copy of the object, which takes some microseconds.
func change(arg map[string]any, i, version int) {
	all, name := podsOf(arg), pods.Name(i)
	block := bytes.Clone(all[name].(packed.Map).Bytes())
	at := bytes.Index(block, []byte(pods.ResourceVersion(i, 0))[:versionStart])
	copy(block[at:], pods.ResourceVersion(i, version))
	changed, err := packed.Load(block)
	if err != nil {
		panic(err)
	}
	all[name] = changed
}

// versionStart is the length of the part of a resourceVersion that is the same for all versions of a Pod.
const versionStart = 7
