package process

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"metascript/engine"
	"metascript/engine/enginetest"
)

// request has n Pods of about 3 KB, each with the identity that a cache gives it.
func request(n int) map[string]any {
	pods := map[string]any{}
	for i := range n {
		name := fmt.Sprintf("pod-%04d", i)
		var containers []any
		for c := range 3 {
			env := []any{}
			for v := range 12 {
				env = append(env, map[string]any{"name": fmt.Sprint("VARIABLE_", v), "value": strings.Repeat("value", 4)})
			}
			containers = append(containers, map[string]any{"name": fmt.Sprint("c", c), "image": "registry.example/image:1", "env": env})
		}
		pods[name] = map[string]any{
			"apiVersion": "v1", "kind": "Pod", "uid": name, "version": "1",
			"metadata": map[string]any{"name": name, "labels": map[string]any{"app": "a", "n": name}},
			"spec":     map[string]any{"nodeName": fmt.Sprint("node-", i%7), "containers": containers},
			"status":   map[string]any{"phase": "Running", "podIP": "10.0.0.1", "restarts": int64(i % 3)},
		}
	}
	return map[string]any{"parent": map[string]any{"uid": "p", "version": "1", "spec": map[string]any{}}, "children": map[string]any{"Pod.v1": pods}}
}

// packedRequest is request with packed Pods.
func packedRequest(n int) map[string]any {
	arg := request(n)
	pods := arg["children"].(map[string]any)["Pod.v1"].(map[string]any)
	for name, pod := range pods {
		pods[name] = enginetest.Pack(pod.(map[string]any))
	}
	return arg
}

// Each reads five fields of every Pod.
var statusScripts = map[string]string{
	engine.Starlark: `
def sync(parent, children):
    ready, restarts, nodes = 0, 0, {}
    for name, pod in children["Pod.v1"].items():
        if pod["status"]["phase"] == "Running" and pod["status"]["podIP"]:
            ready += 1
        restarts += pod["status"]["restarts"]
        nodes[pod["spec"]["nodeName"]] = pod["metadata"]["name"]
    return {"ready": ready, "restarts": restarts, "nodes": nodes}
`,
	engine.JavaScript: `
function sync({parent, children}) {
  let ready = 0, restarts = 0; const nodes = {};
  for (const pod of Object.values(children['Pod.v1'])) {
    if (pod.status.phase === 'Running' && pod.status.podIP) ready++;
    restarts += pod.status.restarts;
    nodes[pod.spec.nodeName] = pod.metadata.name;
  }
  return {ready, restarts, nodes};
}
`,
	engine.Jsonnet: `
{ sync(parent, children)::
    local pods = std.objectValues(children['Pod.v1']);
    { ready: std.length([1 for p in pods if p.status.phase == 'Running' && p.status.podIP != '']),
      restarts: std.foldl(function(n, p) n + p.status.restarts, pods, 0),
      nodes: std.foldl(function(all, p) if std.objectHas(all, p.spec.nodeName) then all else all { [p.spec.nodeName]: p.metadata.name }, pods, {}) } }
`,
}

// A large but ordinary request passes within the default limits, more than once, whether its objects are known or not.
func TestOrdinaryRequest(t *testing.T) {
	for language, text := range statusScripts {
		t.Run(language, func(t *testing.T) { testOrdinaryRequest(t, language, text, request(1000)) })
		t.Run(language+" packed", func(t *testing.T) { testOrdinaryRequest(t, language, text, packedRequest(1000)) })
	}
}

func testOrdinaryRequest(t *testing.T, language, text string, arg map[string]any) {
	t.Helper()
	pool, e := newPool(t, Options{Workers: 1})
	p := compile(t, e, language, text)
	for i, env := range []engine.Env{{Identify: identify}, {Identify: identify}, {}, {}, {Identify: identify}} {
		env.Limits.Timeout = time.Minute
		answer, err := p.Call(t.Context(), "sync", arg, env)
		if err != nil || answer["ready"] != int64(1000) {
			t.Fatalf("call %d: %v, %v", i, answer["ready"], err)
		}
	}
	for w := range pool.all {
		t.Logf("mapped %d MiB, objects cost %d MiB", w.mapped>>20, w.sent.cost>>20)
	}
}

func BenchmarkStatus(b *testing.B) {
	for language, text := range statusScripts {
		for _, n := range []int{1, 100, 1000} {
			for _, c := range []struct {
				name     string
				identify func(engine.Map) (string, string)
				request  func(int) map[string]any
			}{{"known", identify, request}, {"inline", nil, request}, {"packed", identify, packedRequest}, {"packed inline", nil, packedRequest}} {
				b.Run(fmt.Sprint(language, "/", n, "/", c.name), func(b *testing.B) {
					_, e := newPool(b, Options{})
					p, arg := compile(b, e, language, text), c.request(n)
					env := engine.Env{Identify: c.identify, Limits: engine.Limits{Timeout: time.Minute}}
					if _, err := p.Call(b.Context(), "sync", arg, env); err != nil {
						b.Fatal(err)
					}
					for b.Loop() {
						if _, err := p.Call(b.Context(), "sync", arg, env); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// BenchmarkSpawn is a worker from its start to its end.
func BenchmarkSpawn(b *testing.B) {
	for b.Loop() {
		p, err := New(Options{})
		if err != nil {
			b.Fatal(err)
		}
		p.Close()
	}
}

// BenchmarkTurns is a call when each call is of another owner than the one before, and there is one worker: of the same tenant, and
// of another, for which the worker is replaced.
func BenchmarkTurns(b *testing.B) {
	for name, env := range map[string]func(i int) engine.Env{
		"owners":  func(i int) engine.Env { return engine.Env{Owner: fmt.Sprint(i % 2)} },
		"tenants": func(i int) engine.Env { return engine.Env{Tenant: fmt.Sprint(i % 2)} },
	} {
		b.Run(name, func(b *testing.B) {
			_, e := newPool(b, Options{Workers: 1})
			p, arg := compile(b, e, engine.Starlark, statusScripts[engine.Starlark]), request(1)
			for i := 0; b.Loop(); i++ {
				if _, err := p.Call(b.Context(), "sync", arg, env(i)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
