package jsonnet_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"metascript/engine"
	"metascript/engine/cputime"
	"metascript/engine/enginetest"
	"metascript/engine/tree"
	"metascript/runtimes/jsonnet"
)

// FuzzCompile compiles any text within the time limit, and calls what compiles.
func FuzzCompile(f *testing.F) {
	for _, text := range []string{
		status, full, noop, `function(r) r`, `{ sync():: local f(x) = f(x + 1) tailstrict; f(0) }`, "|||\n  a\n|||",
		`{ sync():: error { assert false: { assert false: $, x: error self }, y: 1 } }`, `{ sync():: error [{ a: error 'x' }, { assert self.x: super.y }] }`,
		`{ sync():: std['$objectFlatMerge']([{ local x = 1, a: x } + { b: super.a }]) }`, `{ sync(parent):: local f(a, b=a, c=self) = b; f(parent) tailstrict }`,
		`{ sync(parent):: { [k]+: super[k] + $[k] for k in std.objectFields(parent) } + { assert self.metadata == super.metadata : self } }`,
		`{ sync(parent):: std.substr(std.toString(parent), 1e300, -1) + std.sum([1e308, 1e308]) % [parent] }`, `{ sync():: std.foldl(std.trace, ['a', 'b'], 'c')[1e300] }`,
		`{ [x]: y for x in [1] }`, `{ sync():: '%s %5.2f' % ['a', 1] }`, `local a = [a]; { sync():: a == a }`, `[[[[[[`, `{a+::1}`, `importstr 'x'`,
		`{ sync(request):: local children = request.children, c = c; [children.a, 'b' in children, std.get(children, 'c'), function(children) children.d, c.e] }`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		clock := cputime.Thread()
		_, _ = clock() // it counts from here
		defer func() {
			if used, ok := clock(); ok && used > 10*time.Second {
				t.Errorf("took %s of processor time", used)
			}
		}()
		limits := engine.Limits{Steps: 200_000, Memory: 8 << 20}
		s := engine.Script{Language: engine.Jsonnet, Entry: entry, Files: files(text)}
		p, err := jsonnet.New().Compile(ctx, s, limits)
		if err != nil {
			wantScriptError(t, err, text)
			return
		}
		for _, fn := range p.Functions() {
			want, err := p.Call(ctx, fn, request(), engine.Env{Limits: limits})
			if err != nil {
				wantScriptError(t, err, text)
			}
			got, packedErr := p.Call(ctx, fn, packedRequest(request()), engine.Env{Limits: limits})
			if ctx.Err() == nil {
				sameOutcome(t, text, got, packedErr, want, err)
			}
		}
	})
}

// wantScriptError checks that err is an error of the script, and not made from a panic of the interpreter. One panic is known: a
// default that is evaluated too early, because of tailstrict, reads self.
func wantScriptError(t *testing.T, err error, text string) {
	t.Helper()
	var e *engine.Error
	switch {
	case !errors.As(err, &e):
		t.Errorf("not an error of the script: %v", err)
	case e.Kind == engine.KindPanic, strings.HasPrefix(e.Msg, "the interpreter cannot") && !strings.Contains(text, "tailstrict"):
		t.Errorf("a panic: %s\n%s", e.Detail(), e.Stack)
	}
}

// FuzzView passes any object to a script that returns it: the result is equal, whether the tree of the object is cached or not.
func FuzzView(f *testing.F) {
	f.Add("key", "text", int64(5), 0.5, true)
	f.Add("", "\x00é", int64(-1<<60), 1e300, false)
	f.Fuzz(func(t *testing.T, key, text string, n int64, x float64, b bool) {
		if x != x || x-x != 0 || !utf8.ValidString(key) || !utf8.ValidString(text) || x == float64(int64(x)) || key == "l" || key == "n" {
			return
		}
		object := map[string]any{key: text, "n": n, "l": []any{x, b, nil, map[string]any{key: text}}}
		p := compile(t, `{ sync(parent):: { v: parent } }`)
		for _, version := range []string{"", text + "1", text + "1"} {
			env := engine.Env{Identify: func(m engine.Map) (string, string) {
				l, _ := m.Get("l")
				if _, whole := tree.ArrayOf(l); !whole {
					return "", ""
				}
				return version, fmt.Sprint(key, n, x, b)
			}}
			for _, parent := range []any{object, enginetest.Pack(object)} {
				got, err := p.Call(context.Background(), "sync", map[string]any{"parent": parent}, env)
				if err != nil {
					t.Fatal(engine.DetailOf(err))
				}
				if !reflect.DeepEqual(got["v"], any(object)) {
					t.Errorf("%T: got %#v, want %#v", parent, got["v"], object)
				}
			}
		}
	})
}

// Calls of several programs share the trees of objects, and do not change them.
func TestSharedObjects(t *testing.T) {
	arg := composite(20)
	programs := []engine.Program{
		compile(t, status), compile(t, full),
		compile(t, `{ sync(children):: { v: std.manifestJson(children), same: children == children } }`),
		compile(t, `{ sync(children):: { v: [c { metadata+: { labels+: { a: 'b' } } } for c in std.objectValues(children['Pod.v1'])] } }`),
	}
	var want []map[string]any
	for _, p := range programs {
		answer, err := p.Call(context.Background(), "sync", arg, engine.Env{})
		if err != nil {
			t.Fatal(engine.DetailOf(err))
		}
		want = append(want, answer)
	}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range 5 {
				n := i % len(programs)
				got, err := programs[n].Call(context.Background(), "sync", arg, engine.Env{Identify: identify})
				if err != nil || !reflect.DeepEqual(got, want[n]) {
					t.Errorf("program %d: got %v, %v", n, got, err)
				}
			}
		})
	}
	wg.Wait()
	packed := packedRequest(arg)
	for i := range 16 { // new versions, so that the calls fill in the same trees at the same time
		wg.Go(func() {
			n := i % len(programs)
			got, err := programs[n].Call(context.Background(), "sync", packed, engine.Env{Identify: func(m engine.Map) (string, string) {
				id, version := identify(m)
				return id, version + "packed"
			}})
			if err != nil || !reflect.DeepEqual(got, want[n]) {
				t.Errorf("program %d with packed objects: got %v, %v", n, got, err)
			}
		})
	}
	wg.Wait()
	if !reflect.DeepEqual(arg, composite(20)) {
		t.Error("the argument was changed")
	}
}

// A new version of an object replaces the old one in the cache.
func TestVersions(t *testing.T) {
	p := compile(t, `{ sync(parent):: { v: parent.spec.n } }`)
	for n := range int64(3) {
		env := engine.Env{Identify: func(engine.Map) (string, string) { return "versions", fmt.Sprint(n) }}
		got, err := p.Call(context.Background(), "sync", map[string]any{"parent": map[string]any{"spec": map[string]any{"n": n}}}, env)
		if err != nil || got["v"] != n {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

// The tree of an object of one tenant is not used for another, not even if the identities of their objects are equal. The last call
// shows that trees are cached: its object has another text, with the same identity.
func TestTenantsDoNotShareTrees(t *testing.T) {
	p := compile(t, `{ sync(parent):: { v: parent.spec.text } }`)
	identify := func(engine.Map) (string, string) { return "tenants", "1" }
	for _, call := range []struct{ tenant, text, want string }{{"a", "of a", "of a"}, {"b", "of b", "of b"}, {"", "of none", "of none"}, {"a", "changed", "of a"}} {
		arg := map[string]any{"parent": map[string]any{"spec": map[string]any{"text": call.text}}}
		got, err := p.Call(context.Background(), "sync", arg, engine.Env{Tenant: call.tenant, Identify: identify})
		if err != nil || got["v"] != call.want {
			t.Errorf("tenant %q: got %v, %v, want %q", call.tenant, got, err, call.want)
		}
	}
}

// The operator % returns the same as std.format.
func TestFormat(t *testing.T) {
	for _, args := range []string{
		`'%s', 'a'`, `'%d', 5`, `'%s-%d%%', ['a', -5]`, `'%d', 0`, `'%d', -0.0`, `'%s', 1.5`, `'%d', 1e18`, `'%s', [[1, 2]]`, `'', []`, `'%5d|%-5s|%05.1f|%x', [1, 'b', 2.5, 255]`,
		`'%(a)s', { a: 1 }`, `'%s', null`, `'%c', 'x'`, `'%s', ''`, `'é%s', 'ü'`,
	} {
		got, err := call(t, `{ sync():: local f(s, x) = s % x; { v: f(`+args+`) == std.format(`+args+`) } }`, nil, engine.Env{})
		if err != nil || got["v"] != true {
			t.Errorf("%s: got %v, %v", args, got, err)
		}
	}
	for _, args := range []string{`'%s', []`, `'%s', [1, 2]`, `'%', 1`, `'%d', 'x'`, `true, 1`, `1, 'x'`, `5, 0`} {
		_, err := call(t, `{ sync():: local f(s, x) = s % x; { v: f(`+args+`) } }`, nil, engine.Env{})
		fault(t, err, engine.KindRuntime)
	}
	if got, err := call(t, `{ sync():: { v: 7 % 4 } }`, nil, engine.Env{}); err != nil || got["v"] != int64(3) {
		t.Errorf("got %v, %v", got, err)
	}
}
