package jsonnet_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"metascript/engine"
	"metascript/engine/tree"
	"metascript/runtimes/jsonnet"
)

// pod returns a Pod of about 3 KB, as the API server returns it.
func pod(i int) map[string]any {
	env := []any{}
	for j := range 12 {
		env = append(env, map[string]any{"name": fmt.Sprintf("VARIABLE_%d", j), "value": strings.Repeat("v", 40)})
	}
	conditions := []any{}
	for _, t := range []string{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		conditions = append(conditions, map[string]any{
			"type": t, "status": "True", "lastProbeTime": nil, "lastTransitionTime": "2026-01-02T03:04:05Z",
		})
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"name": fmt.Sprintf("pod-%d", i), "namespace": "default", "uid": fmt.Sprintf("uid-%d", i), "resourceVersion": "12345",
			"generation": int64(1), "creationTimestamp": "2026-01-02T03:04:05Z",
			"labels":      map[string]any{"app": "nginx", "tier": "web", "controller-uid": "abc"},
			"annotations": map[string]any{"metacontroller.k8s.io/last-applied-configuration": strings.Repeat("x", 600)},
		},
		"spec": map[string]any{
			"restartPolicy": "Always", "nodeName": "node-1", "terminationGracePeriodSeconds": int64(30),
			"containers": []any{map[string]any{
				"name": "nginx", "image": "nginx:1.27", "env": env,
				"ports":     []any{map[string]any{"containerPort": int64(80), "protocol": "TCP"}},
				"resources": map[string]any{"limits": map[string]any{"cpu": "1", "memory": "1Gi"}},
			}},
			"tolerations": []any{map[string]any{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": int64(300)}},
		},
		"status": map[string]any{
			"phase": "Running", "podIP": "10.0.0.1", "hostIP": "192.168.0.1", "startTime": "2026-01-02T03:04:05Z", "conditions": conditions,
			"containerStatuses": []any{map[string]any{"name": "nginx", "ready": true, "restartCount": int64(2), "image": "nginx:1.27"}},
		},
	}
}

// composite returns a request of a CompositeController with n Pods.
func composite(n int) map[string]any {
	pods := map[string]any{}
	for i := range n {
		pods[fmt.Sprintf("pod-%d", i)] = pod(i)
	}
	return map[string]any{
		"parent": map[string]any{
			"apiVersion": "example.com/v1", "kind": "Web", "metadata": map[string]any{"name": "web", "namespace": "default"},
			"spec": map[string]any{"replicas": int64(n), "image": "nginx:1.27"},
		},
		"children": map[string]any{"Pod.v1": pods}, "related": map[string]any{}, "finalizing": false,
	}
}

const (
	noop = `{ sync(parent):: {} }`

	// status reads five fields of each Pod.
	status = `{
	  sync(parent, children)::
	    local pods = std.objectValues(children['Pod.v1']);
	    local ready(pod) = std.length([c for c in pod.status.conditions if c.type == 'Ready' && c.status == 'True']) > 0;
	    { status: {
	      ready: std.length([p for p in pods if p.status.phase == 'Running' && ready(p)]),
	      nodes: std.set([p.spec.nodeName for p in pods]),
	      names: [p.metadata.name for p in pods],
	    } },
	}`

	// full returns a Pod for each observed Pod.
	full = `{
	  sync(parent, children)::
	    { children: [{
	      apiVersion: 'v1', kind: 'Pod',
	      metadata: { name: 'pod-%d' % i, labels: { app: parent.metadata.name } },
	      spec: { restartPolicy: 'Always', containers: [{
	        name: 'nginx', image: parent.spec.image, ports: [{ containerPort: 80, protocol: 'TCP' }],
	      }] },
	    } for i in std.range(1, parent.spec.replicas)] },
	}`
)

// identify returns the identity of an object, as the controller does.
func identify(object engine.Map) (id, version string) {
	v, _ := object.Get("metadata")
	if meta, ok := tree.MapOf(v); ok {
		uid, _ := meta.Get("uid")
		resourceVersion, _ := meta.Get("resourceVersion")
		id, _ = uid.(string)
		version, _ = resourceVersion.(string)
	}
	return id, version
}

func BenchmarkCall(b *testing.B) {
	for _, bench := range []struct {
		name, text string
		pods       int
	}{
		{"noop", noop, 1}, {"noop", noop, 100}, {"status", status, 1}, {"status", status, 100}, {"status", status, 1000},
		{"full", full, 100}, {"full", full, 1000},
	} {
		for _, form := range []string{"plain", "packed"} {
			b.Run(fmt.Sprintf("%s/%d/%s", bench.name, bench.pods, form), func(b *testing.B) {
				p := compile(b, bench.text)
				arg := composite(bench.pods)
				if form == "packed" {
					arg = packedRequest(arg)
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.Call(context.Background(), "sync", arg, engine.Env{Identify: identify}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	s := engine.Script{Language: engine.Jsonnet, Entry: "sync.jsonnet", Files: files(status)}
	for b.Loop() {
		if _, err := jsonnet.New().Compile(context.Background(), s, engine.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
