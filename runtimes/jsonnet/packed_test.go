package jsonnet_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"metascript/engine"
	"metascript/engine/enginetest"
	"metascript/engine/packed"
)

// packObjects returns v, a part of a request, with packed objects in place of maps that have metadata.
func packObjects(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	if m["metadata"] != nil {
		return enginetest.Pack(m)
	}
	out := map[string]any{}
	for key, value := range m {
		out[key] = packObjects(value)
	}
	return out
}

// packedRequest returns a request with packed objects.
func packedRequest(arg map[string]any) map[string]any {
	return packObjects(arg).(map[string]any)
}

// sameOutcome checks that the answers and the errors of two calls are equal.
func sameOutcome(t *testing.T, text string, got map[string]any, err error, want map[string]any, wantErr error) {
	t.Helper()
	var e, wantE *engine.Error
	if !errors.As(err, &e) || !errors.As(wantErr, &wantE) {
		if (err == nil) != (wantErr == nil) || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %v, %v\nwant %v, %v", text, got, err, want, wantErr)
		}
		return
	}
	if e.Detail() != wantE.Detail() {
		t.Errorf("%s:\ngot  %s\nwant %s", text, e.Detail(), wantE.Detail())
	}
}

// A script reads packed objects like maps: all of it, a part, an integer beyond 2^53, and what does not exist.
func TestPackedObjects(t *testing.T) {
	for _, text := range []string{
		`parent`, `children`, `parent.spec.big`, `parent.spec.big + 1`, `parent.spec.big == 1`, `parent.spec.imagee`, `parent.spec.list[1].a`, `parent.spec.list[7]`,
		`[x for x in parent.spec.list]`, `parent.spec { image: 'b', extra: super.ratio }`, `std.mergePatch(parent, { spec: null })`, `parent == parent`,
		`std.objectFields(parent.spec)`, `'ratio' in parent.spec`, `std.length(parent.spec) + std.length(parent.spec.list)`, `std.manifestJson(parent.spec.list)`,
		`std.get(parent.spec, 'none', 5)`, `parent.metadata.labels`, `parent.metadata.labels.x`, `std.objectRemoveKey(parent.spec, 'big')`, `parent.spec.text + parent.spec.long`,
		`std.type(parent.spec.big)`, `parent.spec.image.x`, `error parent.spec.list`, `parent.spec.huge`, `parent.spec.empty`, `parent.metadata + parent.spec.empty`,
	} {
		p := compile(t, `{ sync(parent, children):: { v: `+text+` } }`)
		arg := request()
		spec := arg["parent"].(map[string]any)["spec"].(map[string]any)
		spec["list"] = []any{1.5, map[string]any{"a": []any{}}, nil, true, "x", int64(-1 << 60)}
		spec["text"], spec["long"], spec["huge"], spec["empty"] = "\u0000é€😀", string(make([]byte, 300)), 1e300, map[string]any{}
		for name, env := range map[string]engine.Env{"": {}, "identified": {Identify: func(m engine.Map) (string, string) {
			kind, _ := m.Get("spec")
			if _, ok := kind.(engine.Map); !ok {
				return "", ""
			}
			return "packed-objects", text
		}}} {
			want, wantErr := p.Call(context.Background(), "sync", arg, engine.Env{})
			got, err := p.Call(context.Background(), "sync", packedRequest(arg), env)
			sameOutcome(t, name+" "+text, got, err, want, wantErr)
			all := map[string]any{"parent": enginetest.Pack(arg["parent"].(map[string]any)), "children": engine.GoMap(arg["children"].(map[string]any))}
			got, err = p.Call(context.Background(), "sync", all, env)
			sameOutcome(t, name+" all of "+text, got, err, want, wantErr)
		}
	}
}

// Long texts and integers beyond 2^53 are not kept as values, so that under a key whose value is read apart they are read with the map.
func TestLongValuesOfKeysThatAreReadApart(t *testing.T) {
	long := strings.Repeat("a", 80)
	for _, expression := range []string{`parent.spec.generation`, `parent.spec`, `std.mergePatch(parent.spec, { a: 2 })`, `std.get(parent.spec, 'generation')`, `parent.spec { b:: super.a }`} {
		p := compile(t, `{ sync(parent, children):: { v: `+expression+` } }`)
		for n, c := range []struct{ before, after any }{
			{long, long + "a"}, {long, "short"}, {"short", long}, {"short", "other"}, {int64(1) << 60, int64(1)<<60 + 1}, {int64(1), int64(1) << 60}, {int64(1) << 60, long},
		} {
			object := func(v any) packed.Map {
				return enginetest.Pack(map[string]any{"metadata": map[string]any{"name": "x"}, "spec": map[string]any{"generation": v, "a": int64(1)}})
			}
			before, after := object(c.before), object(c.after)
			identified := engine.Env{Identify: func(m engine.Map) (string, string) {
				if _, ok := m.Get("spec"); !ok {
					return "", ""
				}
				return "apart", fmt.Sprint(expression, n)
			}}
			for _, env := range []engine.Env{{}, identified, identified} { // the second time the tree is shared
				read := (&packed.Recorder{}).Record(before)
				if _, err := p.Call(context.Background(), "sync", map[string]any{"parent": read.Map(), "children": map[string]any{}}, env); err != nil {
					t.Fatal(err)
				}
				if _, hold := read.Reads().Hold(before, after); hold {
					t.Errorf("%s: a change from %v to %v is not found", expression, c.before, c.after)
				}
			}
		}
	}
}
