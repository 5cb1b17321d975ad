package starlark

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"metascript/engine"
	"metascript/engine/enginetest"
	"metascript/engine/packed"
	"metascript/engine/tree"
)

// An otherMap and an otherArray are implementations that this package does not know.
type (
	otherMap   struct{ engine.Map }
	otherArray struct{ engine.Array }
)

// variants returns the same request with all kinds of maps and arrays in place of x.
func variants(arg map[string]any) map[string]map[string]any {
	all := map[string]map[string]any{"plain": arg}
	x, ok := arg["x"].(map[string]any)
	if !ok {
		return all
	}
	object := enginetest.Pack(x)
	mixed := map[string]any{}
	for key, value := range object.All() {
		if m, ok := value.(packed.Map); ok && m.Len()%2 == 0 {
			value = m.Native()
		}
		mixed[key] = value
	}
	all["packed"] = map[string]any{"x": object}
	all["mixed"] = map[string]any{"x": mixed}
	all["other"] = map[string]any{"x": other(x)}
	all["sorted"] = map[string]any{"x": (&tree.Sorted{}).With(mixed, nil)}
	all["named"] = map[string]any{"x": engine.GoMap(mixed)}
	return all
}

// other returns v with maps and arrays of unknown types.
func other(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := engine.GoMap{}
		for key, value := range v {
			m[key] = other(value)
		}
		return otherMap{m}
	case []any:
		l := engine.GoSlice{}
		for _, value := range v {
			l = append(l, other(value))
		}
		return otherArray{l}
	}
	return v
}

// Expressions return the same for all kinds of maps and arrays, or fail with the same error.
func TestVariantsBehaveAlike(t *testing.T) {
	more := strings.Split(strings.TrimSpace(onlyViews), "\n")
	for _, expr := range append(more, strings.Split(strings.TrimSpace(readers), "\n")...) {
		t.Run(expr, func(t *testing.T) {
			p := compile(t, "def sync(x):\n    return {'r': repr("+expr+")}")
			want, wantErr := p.Call(t.Context(), "sync", request(), engine.Env{})
			for name, arg := range variants(request()) {
				got, err := p.Call(t.Context(), "sync", arg, engine.Env{})
				if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(err, wantErr) {
					t.Errorf("%s: %v, %v\nwant %v, %v", name, got, err, want, wantErr)
				}
			}
		})
	}
}

const onlyViews = `
x.name, x.deep.a.b[0].c, x.nope
x["nam"]
x.deep.aa
x["list"].nope
dir(x), dir(x.pods[0])
x.items() == x.items(), x.values() == dict(x).values(), x == dict(x), dict(x) == x
fail(x)
x.items
[x.list < [3, 1, 3], x.list > [3], x.pods[0].ports < [81], [81] > x.pods[0].ports]
x.clear()
x.list.append(1)
`

// Maps and arrays of different kinds are equal if their content is.
func TestVariantsAreEqual(t *testing.T) {
	p := compile(t, `
def sync(a, b):
    return {"r": [a == b, b == a, a["list"] == b["list"], not a != b, a in [b], a["deep"] == b["deep"], a["list"] <= b["list"],
        [a] == [b], {"k": a} == {"k": b}, a["list"] + b["list"] == b["list"] * 2, [a].index(b) == 0, a | b == b | a]}`)
	changed := compile(t, `
def sync(a, b):
    return {"r": [a == b, b == a, a in [b], [a["deep"]] == [b["deep"]], a["list"] == b["list"], a["pods"] == b["pods"]]}`)
	different := request()["x"].(map[string]any)
	different["deep"].(map[string]any)["a"] = map[string]any{"b": []any{map[string]any{"c": int64(2)}}}
	different["list"], different["pods"] = []any{int64(3), int64(1), "2"}, []any{}
	for name, a := range variants(request()) {
		for _, other := range []map[string]any{request(), {"x": different}} {
			for otherName, b := range variants(other) {
				program, want := p, true
				if reflect.ValueOf(other["x"]).Pointer() == reflect.ValueOf(different).Pointer() {
					program, want = changed, false
				}
				got, err := program.Call(t.Context(), "sync", map[string]any{"a": a["x"], "b": b["x"]}, engine.Env{})
				if err != nil {
					t.Fatal(engine.DetailOf(err))
				}
				for i, same := range got["r"].([]any) {
					if same != want {
						t.Errorf("%s and %s: result %d is %v", name, otherName, i, same)
					}
				}
			}
		}
	}
}

// Parts of the request in an answer are maps and slices, and count like other values. An object that is in the answer many times is
// converted once.
func TestVariantsInResults(t *testing.T) {
	p := compile(t, "def sync(x):\n    return {'whole': x, 'list': x['list'], 'in': [x['pods'], {'a': x['deep']}], 'again': [x, x['list']]}")
	want, err := p.Call(t.Context(), "sync", request(), engine.Env{})
	if err != nil {
		t.Fatal(err)
	}
	nodes := fewest(t, p, request())
	for name, arg := range variants(request()) {
		got, err := p.Call(t.Context(), "sync", arg, engine.Env{})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if !reflect.DeepEqual(tree.Native(arg), any(request())) {
			t.Errorf("%s: the argument was changed", name)
		}
		if n := fewest(t, p, arg); n != nodes {
			t.Errorf("%s: the answer has %d values, want %d", name, n, nodes)
		}
		whole, err := compile(t, "def sync(request):\n    return request").Call(t.Context(), "sync", arg, engine.Env{})
		if err != nil || !reflect.DeepEqual(whole, request()) {
			t.Errorf("%s: the whole request: %v, %v", name, whole, err)
		}
	}
}

// fewest returns the limit of values that a call needs.
func fewest(t *testing.T, p engine.Program, arg map[string]any) int {
	t.Helper()
	for n := 1; n < 1000; n++ {
		if _, err := p.Call(t.Context(), "sync", arg, engine.Env{Limits: engine.Limits{Nodes: n}}); err == nil {
			return n
		}
	}
	t.Fatal("no limit is enough")
	return 0
}

// To read a packed object allocates only the texts, however deep they are.
func TestViewsOfPackedObjectsAreNotAllocated(t *testing.T) {
	object := enginetest.Pack(map[string]any{"a": map[string]any{"b": []any{map[string]any{"c": true}}}})
	v := toValue(object)
	keys := []string{"a", "b", "c"}
	if n := testing.AllocsPerRun(100, func() {
		a := toValue(mustGet(v.(packedDict).m, keys[0]))
		b := toValue(mustGet(a.(packedDict).m, keys[1]))
		c := b.(packedSlice).Index(0)
		if toValue(mustGet(c.(packedDict).m, keys[2])) == nil {
			t.Error("no value")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func mustGet(m packed.Map, key string) any {
	v, ok := m.Get(key)
	if !ok {
		panic(fmt.Sprintf("no %s", key))
	}
	return v
}
