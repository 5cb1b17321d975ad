package javascript

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"metascript/engine"
)

// request returns a parent with n Pods of about 3 KB.
func request(tb testing.TB, n int) map[string]any {
	pods := map[string]any{}
	for i := range n {
		env := make([]any, 20)
		for j := range env {
			env[j] = map[string]any{"name": fmt.Sprintf("VARIABLE_%d", j), "value": "some value that is neither short nor long, as they are"}
		}
		name := fmt.Sprintf("pod-%d", i)
		pods[name] = map[string]any{
			"apiVersion": "v1", "kind": "Pod",
			"metadata": map[string]any{"name": name, "namespace": "default", "uid": fmt.Sprint(i), "labels": map[string]any{"app": "a"}},
			"spec":     map[string]any{"nodeName": "node", "containers": []any{map[string]any{"name": "c", "image": "nginx", "env": env}}},
			"status": map[string]any{"phase": "Running", "podIP": "10.0.0.1", "conditions": []any{
				map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "Initialized", "status": "True"},
			}},
		}
	}
	return map[string]any{
		"parent":   map[string]any{"metadata": map[string]any{"name": "p"}, "spec": map[string]any{"replicas": int64(n), "image": "nginx"}},
		"children": map[string]any{"Pod.v1": pods},
	}
}

const noop = `function sync() { return {} }`

const status = `
function sync({parent, children}) {
  const pods = Object.values(children['Pod.v1'])
  const ready = pods.filter(p => p.status.phase === 'Running' && p.status.conditions.find(c => c.type === 'Ready').status === 'True')
  return {status: {
    replicas: pods.length, ready: ready.length,
    nodes: new Set(pods.map(p => p.spec.nodeName)).size, names: pods.map(p => p.metadata.name),
  }, children: []}
}`

const full = `
function sync({parent, children}) {
  const pods = children['Pod.v1']
  return {children: Object.keys(pods).map(name => ({
    apiVersion: 'v1', kind: 'Pod', metadata: {name, labels: {app: 'b'}}, spec: {...pods[name].spec, image: parent.spec.image},
  }))}
}`

func BenchmarkCall(b *testing.B) {
	for _, c := range []struct {
		name, script string
		pods         int
	}{{"noop", noop, 100}, {"status", status, 1}, {"status", status, 10}, {"status", status, 100}, {"status", status, 1000}, {"full", full, 100}} {
		b.Run(fmt.Sprintf("%s-%d", c.name, c.pods), func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			p, err := New().Compile(ctx, files("sync.js", c.script), engine.Limits{})
			if err != nil {
				b.Fatal(err)
			}
			arg := request(b, c.pods)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Call(ctx, "sync", arg, engine.Env{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New().Compile(b.Context(), files("sync.js", status), engine.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCPU measures the processor time of a small call, including that of other goroutines.
func BenchmarkCPU(b *testing.B) {
	p, err := New().Compile(b.Context(), files("sync.js", noop), engine.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	arg := request(b, 1)
	benchmarkCPU(b, func() {
		if _, err := p.Call(b.Context(), "sync", arg, engine.Env{}); err != nil {
			b.Fatal(err)
		}
	})
}

// benchmarkCPU also reports the processor time of the whole process for each call of f.
func benchmarkCPU(b *testing.B, f func()) {
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	b.ReportAllocs()
	before := used()
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op")
}

// BenchmarkDeepCopy measures a copy of the request, to compare BenchmarkCall with.
func BenchmarkDeepCopy(b *testing.B) {
	arg := request(b, 100)
	for b.Loop() {
		deepCopy(arg)
	}
}

func deepCopy(x any) any {
	switch x := x.(type) {
	case map[string]any:
		c := make(map[string]any, len(x))
		for key, v := range x {
			c[key] = deepCopy(v)
		}
		return c
	case []any:
		c := make([]any, len(x))
		for i, v := range x {
			c[i] = deepCopy(v)
		}
		return c
	}
	return x
}
