package starlark

import (
	"fmt"
	"testing"

	"metascript/engine"
	"metascript/engine/enginetest"
)

// statusScript reads a few fields of every pod, as most controllers do.
const statusScript = `
def ready(pod):
    for c in pod["status"]["conditions"]:
        if c["type"] == "Ready":
            return c["status"] == "True"
    return False

def sync(parent, children):
    pods = children["Pod.v1"]
    images = {}
    count = 0
    for name, pod in pods.items():
        image = pod["spec"]["containers"][0]["image"]
        images[image] = images.get(image, 0) + 1
        if pod["metadata"]["labels"].get("app") == parent["metadata"]["name"] and ready(pod):
            count += 1
    return {"status": {"replicas": len(pods), "ready": count, "images": images}, "children": []}
`

// fullScript returns a desired pod for each observed pod, made from the parent's template.
const fullScript = `
def sync(parent, children):
    out = []
    for name in children["Pod.v1"]:
        out.append({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": parent["metadata"]["labels"] | {"pod": name}},
            "spec": parent["spec"]["template"]["spec"],
        })
    return {"status": {"replicas": len(out)}, "children": out}
`

// BenchmarkCall calls each script with plain maps, and with the same objects packed.
func BenchmarkCall(b *testing.B) {
	scripts := []struct{ name, text string }{
		{"noop", "def sync(parent, children):\n    return {}"}, {"status", statusScript}, {"full", fullScript},
	}
	for _, s := range scripts {
		for _, n := range []int{1, 100, 1000} {
			plain, packed := podsRequest(n), packObjects(podsRequest(n))
			inEngine := engine.New(engine.Options{Runtimes: map[string]engine.Runtime{engine.Starlark: New()}})
			for _, c := range []struct {
				name string
				r    engine.Runtime
				arg  map[string]any
			}{{"bare", New(), plain}, {"engine", inEngine, plain}, {"packed", New(), packed}} {
				b.Run(fmt.Sprintf("%s/pods=%d/%s", s.name, n, c.name), func(b *testing.B) {
					p, err := c.r.Compile(b.Context(), script(s.text), engine.Limits{})
					if err != nil {
						b.Fatal(err)
					}
					b.ReportAllocs()
					for b.Loop() {
						if _, err := p.Call(b.Context(), "sync", c.arg, engine.Env{}); err != nil {
							b.Fatal(engine.DetailOf(err))
						}
					}
				})
			}
		}
	}
}

// packObjects replaces the objects in a request by packed ones.
func packObjects(arg map[string]any) map[string]any {
	arg["parent"] = enginetest.Pack(arg["parent"].(map[string]any))
	pods := arg["children"].(map[string]any)["Pod.v1"].(map[string]any)
	for name, pod := range pods {
		pods[name] = enginetest.Pack(pod.(map[string]any))
	}
	return arg
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New().Compile(b.Context(), script(statusScript), engine.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompileCached compiles a script that is in the cache of the Engine.
func BenchmarkCompileCached(b *testing.B) {
	e := engine.New(engine.Options{Runtimes: map[string]engine.Runtime{engine.Starlark: New()}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Compile(b.Context(), script(statusScript), engine.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

// podsRequest returns a request with n pods of about 3 KB.
func podsRequest(n int) map[string]any {
	pods := map[string]any{}
	for i := range n {
		name := fmt.Sprintf("web-%d", i)
		pods[name] = podObject(name)
	}
	return map[string]any{
		"parent": map[string]any{
			"metadata": map[string]any{"name": "web", "labels": map[string]any{"app": "web", "tier": "front"}},
			"spec":     map[string]any{"replicas": int64(n), "template": map[string]any{"spec": podObject("web")["spec"]}},
		},
		"children": map[string]any{"Pod.v1": pods},
	}
}

func podObject(name string) map[string]any {
	var env, conditions []any
	for i := range 20 {
		env = append(env, map[string]any{"name": fmt.Sprintf("VARIABLE_%d", i), "value": "some value of a variable"})
	}
	for _, kind := range []string{"Initialized", "PodScheduled", "ContainersReady", "Ready"} {
		conditions = append(conditions, map[string]any{"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"})
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": name, "namespace": "default", "labels": map[string]any{"app": "web"}},
		"spec": map[string]any{"containers": []any{map[string]any{
			"name": "web", "image": "registry.example.com/web:1.27", "env": env, "ports": []any{map[string]any{"containerPort": int64(80)}},
		}}},
		"status": map[string]any{"phase": "Running", "conditions": conditions},
	}
}
