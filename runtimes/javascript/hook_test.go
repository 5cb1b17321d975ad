package javascript

import (
	"fmt"
	"reflect"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/dop251/goja"
	"github.com/google/go-cmp/cmp"

	"metascript/engine"
)

// TestEveryNativeFunctionIsGuarded visits everything that a script can reach and checks each function. It takes the same paths as
// sweep, but reads goja's structs by reflection. So it finds functions that sweep misses.
func TestEveryNativeFunctionIsGuarded(t *testing.T) {
	instrument()
	p := &program{entry: "sync.js", files: files("sync.js", `
		let thrown; try { null.x } catch (e) { thrown = e }
		module.exports = [
			globalThis, /x/, function* () {}, (function* () {})(), async () => {}, (async () => {})(), thrown, class {},
			[].values(), new Map().values(), new Set().values(), ''[Symbol.iterator](), 'x'.matchAll(/x/g), [1].map.bind(1),
			Symbol('x'), 1, true, '', function () { return arguments }(), (() => {}).bind(), new Date(),
		]`).Files}
	r := p.newRun(engine.Limits{}, nil)
	err := r.within(t.Context(), func() error {
		e, err := r.load("sync.js")
		if err != nil {
			return err
		}
		w := reachable{r: r, t: t, seen: map[*goja.Object]bool{}}
		w.value(e.value, "exports")
		if w.functions < 300 {
			t.Errorf("found only %d functions", w.functions)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err.Detail())
	}
}

type reachable struct {
	r         *run
	t         *testing.T
	seen      map[*goja.Object]bool
	functions int
}

func (w *reachable) value(v goja.Value, path string) {
	o, ok := v.(*goja.Object)
	if !ok {
		if v != nil && !goja.IsUndefined(v) && !goja.IsNull(v) {
			o = v.ToObject(w.r.vm)
		} else {
			return
		}
	}
	if w.seen[o] || strings.Count(path, ".") > 12 {
		return
	}
	w.seen[o] = true
	at, l, ok := insideOf(o)
	if ok && l.callable {
		w.function(at, l, path)
	}
	descriptor := func(key goja.Value, name string) {
		get, _ := goja.AssertFunction(w.r.vm.Get("Object").(*goja.Object).Get("getOwnPropertyDescriptor"))
		d, err := get(nil, o, key)
		if err != nil || goja.IsUndefined(d) {
			return
		}
		for _, part := range []string{"value", "get", "set"} {
			w.value(d.(*goja.Object).Get(part), path+"."+name)
		}
	}
	for _, name := range o.GetOwnPropertyNames() {
		descriptor(w.r.vm.ToValue(name), name)
	}
	for _, s := range []*goja.Symbol{
		goja.SymHasInstance, goja.SymIsConcatSpreadable, goja.SymIterator, goja.SymMatch, goja.SymMatchAll, goja.SymReplace,
		goja.SymSearch, goja.SymSpecies, goja.SymSplit, goja.SymToPrimitive, goja.SymToStringTag, goja.SymUnscopables,
	} {
		descriptor(s, s.String())
	}
	if proto := o.Prototype(); proto != nil {
		w.value(proto, path+".(prototype)")
	}
}

// function checks that the Go function in a function object is one of this package.
func (w *reachable) function(at unsafe.Pointer, l inside, path string) {
	w.functions++
	for _, f := range []any{*(*native)(unsafe.Add(at, l.native)), *(*construct)(unsafe.Add(at, l.construct))} {
		v := reflect.ValueOf(f)
		if v.IsNil() {
			continue
		}
		name := goruntime.FuncForPC(v.Pointer()).Name()
		if !strings.Contains(name, "javascript.(*run)") && !strings.Contains(name, "javascript.") && !ours(name) {
			w.t.Errorf("%s is not guarded: %s", path, name)
		}
	}
}

// ours reports whether a Go function is one that goja wraps around those of this package, or one that only throws.
func ours(name string) bool {
	return strings.HasSuffix(name, "ToValue.func1") || strings.Contains(name, "builtin_thrower")
}

// TestManyConcurrentCalls has many goroutines change their views of one request.
func TestManyConcurrentCalls(t *testing.T) {
	p, err := New().Compile(t.Context(), files("sync.js", `
function sync(request) {
  const {parent, children} = request
  const pods = Object.values(children['Pod.v1'])
  for (const pod of pods) {
    pod.metadata.labels.app = 'changed'
    pod.spec.containers[0].env.push({name: 'X'})
    pod.spec.containers[0].env.sort((a, b) => a.name < b.name ? 1 : -1)
    delete pod.status
    pod.metadata.added = {deep: [1, 2, pod.metadata.name]}
  }
  parent.spec.replicas++
  delete children['Pod.v1']['pod-0']
  return {status: {n: parent.spec.replicas, keys: Object.keys(children['Pod.v1'])}, children: pods, text: JSON.stringify(pods.slice(0, 2))}
}`), engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	arg, untouched := request(t, 10), request(t, 10)
	answers := make([]map[string]any, 16)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			for range 5 {
				if answer, err := p.Call(t.Context(), "sync", arg, engine.Env{}); err != nil {
					t.Error(err)
				} else {
					answers[i] = answer
				}
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff(untouched, arg); diff != "" {
		t.Errorf("the request was changed:\n%s", diff)
	}
	for i := range answers {
		if diff := cmp.Diff(answers[0], answers[i]); diff != "" {
			t.Fatalf("answer %d differs:\n%s", i, diff)
		}
	}
	if n := fmt.Sprint(answers[0]["status"].(map[string]any)["n"]); n != "11" {
		t.Errorf("n is %s", n)
	}
}
