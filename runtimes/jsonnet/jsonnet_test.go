package jsonnet_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"metascript/engine"
	"metascript/runtimes/jsonnet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// entry is the name of the entry file in these tests.
const entry = "sync.jsonnet"

// files returns the entry file and others, as pairs of name and text.
func files(text string, others ...string) fstest.MapFS {
	m := fstest.MapFS{entry: {Data: []byte(text)}}
	for i := 0; i < len(others); i += 2 {
		m[others[i]] = &fstest.MapFile{Data: []byte(others[i+1])}
	}
	return m
}

func compileFS(fsys fs.FS) (engine.Program, error) {
	s := engine.Script{Language: engine.Jsonnet, Entry: entry, Files: fsys}
	return jsonnet.New().Compile(context.Background(), s, engine.Limits{})
}

func compile(t testing.TB, text string, others ...string) engine.Program {
	t.Helper()
	p, err := compileFS(files(text, others...))
	if err != nil {
		t.Fatal(engine.DetailOf(err))
	}
	return p
}

// call compiles text and calls sync.
func call(t *testing.T, text string, arg map[string]any, env engine.Env) (map[string]any, error) {
	t.Helper()
	return compile(t, text).Call(context.Background(), "sync", arg, env)
}

// fault checks that err is an error of the script with that kind, and that its text and hint contain wants.
func fault(t *testing.T, err error, kind engine.Kind, wants ...string) *engine.Error {
	t.Helper()
	var e *engine.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *engine.Error", err)
	}
	if e.Kind != kind {
		t.Errorf("kind: got %s, want %s: %s", e.Kind, kind, e.Detail())
	}
	for _, want := range wants {
		if !strings.Contains(e.Error(), want) {
			t.Errorf("got %q, want %q in it", e.Error(), want)
		}
	}
	return e
}

// request returns the argument of most calls.
func request() map[string]any {
	return map[string]any{
		"parent": map[string]any{
			"metadata": map[string]any{"name": "web", "labels": nil},
			"spec":     map[string]any{"image": "nginx", "replicas": int64(3), "ratio": 0.5, "big": int64(1<<53 + 1)},
		},
		"children":   map[string]any{"Pod.v1": map[string]any{"a": map[string]any{}, "b": map[string]any{}}},
		"finalizing": false,
	}
}

func TestShapes(t *testing.T) {
	for _, c := range []struct {
		text      string
		functions string
		ported    bool
	}{
		{`function(request) {}`, "sync", true},
		{`local f(parent) = {}; f`, "sync", true},
		{`import 'function.libsonnet'`, "sync", true},
		{`{ sync(parent): {}, finalize(parent):: {}, customize: function(parent) {} }`, "customize finalize sync", false},
		{`{ sync():: {}, helper:: 5, 'not one'():: {}, [if false then 'gone']():: {} }`, "sync", false},
		{`local lib = import 'lib.libsonnet'; lib + { finalize(parent):: {} }`, "finalize sync", false},
		{`local make(x) = function(parent) { x: x }; { sync: make(1) }`, "sync", false},
		{`{ [name]: function(parent) {} for name in ['a', 'b'] }`, "a b", false},
		{`{ sync: std.id }`, "sync", false},
		{`{ image:: error 'override me', sync():: {} }`, "image sync", false},
		{`{}`, "", false},
	} {
		p, err := compileFS(files(c.text, "lib.libsonnet", `{ sync(parent):: {} }`, "function.libsonnet", `function(x) {}`))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := strings.Join(p.Functions(), " "); got != c.functions {
			t.Errorf("%s: functions %q, want %q", c.text, got, c.functions)
		}
		if got := p.(engine.Ported).Ported(); got != c.ported {
			t.Errorf("%s: ported %v", c.text, got)
		}
	}
}

func TestInvalidShapes(t *testing.T) {
	_, err := compileFS(files(`['sync']`))
	fault(t, err, engine.KindMissing, "an array, want an object of functions")
	_, err = compileFS(files(`{ sync: $.fynalize, finalize():: {} }`))
	fault(t, err, engine.KindRuntime, "sync.jsonnet:1:11", "fynalize")
	_, err = compileFS(files(`{ assert 1 > 2 : 'never', sync():: {}, finalize():: {} }`))
	fault(t, err, engine.KindRaised, "sync.jsonnet:1:3", "never")
}

func TestMissingFunction(t *testing.T) {
	p := compile(t, `{ sinc():: {}, image:: error 'override me' }`)
	_, err := p.Call(context.Background(), "sync", nil, engine.Env{})
	fault(t, err, engine.KindMissing, `no function "sync"`, "did you mean sinc?")
	for range 2 {
		_, err = p.Call(context.Background(), "image", nil, engine.Env{})
		e := fault(t, err, engine.KindRaised, "sync.jsonnet:1:24: override me")
		e.Func = "an engine completes the errors it gets"
	}
}

func TestPortedAcceptsEveryName(t *testing.T) {
	p := compile(t, `function(request) { name: request.parent.metadata.name }`)
	for _, name := range []string{"sync", "finalize"} {
		got, err := p.Call(context.Background(), name, request(), engine.Env{})
		if err != nil || got["name"] != "web" {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

func TestParams(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{ sync():: { v: 'none' } }`, "none"},
		{`{ sync(parent):: { v: parent.spec.image } }`, "nginx"},
		{`{ sync(finalizing, parent):: { v: parent.spec.image + finalizing } }`, "nginxfalse"},
		{`{ sync(all):: { v: all.parent.spec.image } }`, "nginx"},
		{`{ sync(request):: { v: request.parent.spec.image } }`, "nginx"},
		{`{ sync(parent, extra='none'):: { v: extra } }`, "none"},
		{`{ sync(parent=null):: { v: parent.spec.image } }`, "nginx"},
		{`{ sync(parent, name=parent.metadata.name):: { v: name } }`, "web"},
	} {
		got, err := call(t, c.text, request(), engine.Env{})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if got["v"] != c.want {
			t.Errorf("%s: got %v", c.text, got)
		}
	}
	got, err := call(t, `{ sync: std.id }`, map[string]any{"builtin": true}, engine.Env{})
	if err != nil || got["builtin"] != true {
		t.Errorf("std.id: got %v, %v", got, err)
	}
	_, err = call(t, `{ sync(parent, childen, other):: {} }`, request(), engine.Env{})
	fault(t, err, engine.KindParams, "sync.jsonnet:1:16", "no childen, other", "children, finalizing, parent", "did you mean children?")
	_, err = call(t, `{ sync: std.mergePatch }`, request(), engine.Env{})
	if e := fault(t, err, engine.KindParams, "target, patch"); e.Pos != (engine.Pos{}) {
		t.Errorf("the position is in std: %s", e.Pos)
	}
}

func TestImports(t *testing.T) {
	p := compile(t, `
		local a = import 'lib/a.libsonnet';
		{ sync():: a { own: std.thisFile, text: importstr './text.txt', bytes: importbin 'text.txt' } }`,
		"lib/a.libsonnet", `(import 'b.libsonnet') + (import 'root.libsonnet') + { a: std.thisFile, n: std.length([1]) }`,
		"lib/b.libsonnet", `local std = 5; { b: (import './c.libsonnet').c + std }`,
		"lib/c.libsonnet", `{ c: 1, x: importstr 'b.libsonnet' }`,
		"root.libsonnet", "\ufeff{ root: std.thisFile }",
		"text.txt", "hé",
	)
	got, err := p.Call(context.Background(), "sync", nil, engine.Env{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"own": "sync.jsonnet", "text": "hé", "bytes": []any{int64('h'), int64(0xc3), int64(0xa9)},
		"a": "lib/a.libsonnet", "n": int64(1), "b": int64(6), "root": "root.libsonnet",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A program reads no files after it was compiled.
func TestFilesAreReadOnce(t *testing.T) {
	fsys := files(`{ sync():: (import 'lib.libsonnet') + { text: importstr 'text.txt' } }`, "lib.libsonnet", `{ a: 1 }`, "text.txt", "x")
	p, err := compileFS(fsys)
	if err != nil {
		t.Fatal(err)
	}
	clear(fsys)
	if got, err := p.Call(context.Background(), "sync", nil, engine.Env{}); err != nil || got["text"] != "x" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestImportFaults(t *testing.T) {
	for _, c := range []struct {
		text  string
		kind  engine.Kind
		wants []string
	}{
		{"{\n  sync():: import 'nope.libsonnet' }", engine.KindModule, []string{"sync.jsonnet:2:12", "nope.libsonnet", "files that can be imported: bad.libsonnet, dir/bare.libsonnet, dir/y.libsonnet, x.libsonnet, y.libsonnet"}},
		{`{ sync():: import '/etc/passwd' }`, engine.KindModule, []string{"sync.jsonnet:1:12", "no such file"}},
		{`{ sync():: importstr '../text' }`, engine.KindModule, []string{"no such file"}},
		{`{ sync():: importbin 'dir/../x.libsonnet' }`, engine.KindModule, []string{"no such file"}},
		{`{ sync():: import 'dir' }`, engine.KindModule, []string{"no such file"}},
		{`{ sync():: import '' }`, engine.KindModule, []string{"no such file"}},
		{`{ sync():: import './dir/bare.libsonnet' }`, engine.KindModule, []string{"dir/bare.libsonnet:1:1", "./x.libsonnet"}},
		{`local x = import 'x.libsonnet'; { sync():: x }`, engine.KindModule, []string{"dir/y.libsonnet:1:9", "x.libsonnet -> y.libsonnet -> dir/y.libsonnet -> x.libsonnet"}},
		{`{ sync():: (import 'sync.jsonnet').sync() }`, engine.KindModule, []string{"sync.jsonnet -> sync.jsonnet"}},
		{`import 'bad.libsonnet'`, engine.KindSyntax, []string{"bad.libsonnet:1:1"}},
	} {
		_, err := compileFS(files(c.text,
			"y.libsonnet", `{ a: import 'dir/y.libsonnet' }`, "dir/y.libsonnet", `[1, 2, (import 'x.libsonnet')]`,
			"x.libsonnet", `import 'y.libsonnet'`, "dir/bare.libsonnet", `import './x.libsonnet'`, "bad.libsonnet", "{\n"))
		fault(t, err, c.kind, c.wants...)
	}
	_, err := compileFS(fstest.MapFS{})
	fault(t, err, engine.KindSource, "sync.jsonnet", "cannot be read")
}

func TestValues(t *testing.T) {
	arg := request()
	arg["list"] = []any{nil, true, false, int64(-1), 1.0, 1.5, 1e300, math.Copysign(0, -1), "é\x00\"", []any{}, map[string]any{}}
	arg["a b"] = map[string]any{"": int64(1), "x y": []any{[]any{"z"}}}
	arg["alone"] = []any{[]any{map[string]any{"x": "y"}}}
	got, err := call(t, `function(request) request`, arg, engine.Env{})
	if err != nil {
		t.Fatal(err)
	}
	want := request()
	want["list"] = []any{nil, true, false, int64(-1), int64(1), 1.5, 1e300, int64(0), "é\x00\"", []any{}, map[string]any{}}
	want["a b"], want["alone"] = arg["a b"], arg["alone"]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNotAnObject(t *testing.T) {
	for text, want := range map[string]string{
		`{ sync():: null }`:           "sync returned null, want an object (does every path return one?",
		`{ sync():: if false then 1}`: "sync returned null",
		`{ sync():: [1] }`:            "sync returned an array",
		`{ sync():: 'x' }`:            "sync returned a string",
		`{ sync():: 5 }`:              "sync returned a number",
		`{ sync():: true }`:           "sync returned a boolean",
	} {
		_, err := call(t, text, nil, engine.Env{})
		fault(t, err, engine.KindResult, "sync.jsonnet:1:3", want)
	}
}

func TestNotJSON(t *testing.T) {
	_, err := call(t, `{ sync(parent):: { a: [{ 'b c': function(x) 1 }] } }`, request(), engine.Env{})
	fault(t, err, engine.KindResult, "sync.jsonnet:1:3", `the answer at a[0]["b c"] is a function`)
	_, err = call(t, `{ sync(parent):: function() {} }`, request(), engine.Env{})
	fault(t, err, engine.KindResult, "the answer is a function")
	_, err = call(t, `{ sync():: { n: [1, 1e17] } }`, nil, engine.Env{})
	fault(t, err, engine.KindResult, "the answer at n[1] is the number 1e+17, which is beyond 2^53")
}

// Integers that float64 cannot represent can be returned, but not used as numbers.
func TestWideIntegers(t *testing.T) {
	const big = int64(1<<53 + 1)
	got, err := call(t, `{ sync(parent):: { spec: parent.spec, list: [parent.spec.big], copy: parent { spec+: { image: 'x' } } } }`, request(), engine.Env{})
	if err != nil {
		t.Fatal(engine.DetailOf(err))
	}
	spec := got["copy"].(map[string]any)["spec"].(map[string]any)
	if list := got["list"].([]any); list[0] != big || spec["big"] != big || spec["image"] != "x" {
		t.Errorf("got %v", got)
	}
	for _, expr := range []string{
		`big + 1`, `1 + big`, `-big`, `big * 2`, `big > 1`, `1 < big`, `'' + big`, `std.toString(big)`, `big == other`, `[1][big]`,
		`'%d' % big`, `'%s' % big`, `std.floor(big)`, `std.max(1, big)`, `std.manifestJson(parent)`, `big.x`, `std.range(0, big)`,
		`if big then 1`, `big == 5`, `5 != big`, `std.count([big], 5)`, `std.sort([big, 1])`, `{ [big]: 1 }`, `parent.spec { big+: 1 }`, `std.abs(big)`, `std.md5(big)`,
	} {
		arg := request()
		arg["parent"].(map[string]any)["spec"].(map[string]any)["other"] = -big
		_, err := call(t, `{ sync(parent):: local big = parent.spec.big, other = parent.spec.other; { v: `+expr+` } }`, arg, engine.Env{})
		e := fault(t, err, engine.KindRuntime, "sync.jsonnet:1:", "is beyond 2^53 and cannot be read as a number", "pass it on")
		if !strings.Contains(e.Msg, "9007199254740993 (parent.spec.big)") && !strings.Contains(expr, "other") {
			t.Errorf("%s: %s", expr, e.Msg)
		}
	}
	for _, expr := range []string{`big == null`, `big == 'x'`, `[big] == [5]`, `std.member(['x'], big)`} {
		got, err := call(t, `{ sync(parent):: local big = parent.spec.big; { v: `+expr+` } }`, request(), engine.Env{})
		if err != nil || got["v"] != false {
			t.Errorf("%s: got %v, %v", expr, got, err)
		}
	}
	_, err = call(t, `{ sync(parent):: { a: parent.spec, f(x): 1 } }`, request(), engine.Env{})
	fault(t, err, engine.KindResult, "the answer at f is a function")
	_, err = call(t, `{ sync(parent):: { a: parent.spec, b: error 'on purpose' } }`, request(), engine.Env{})
	fault(t, err, engine.KindRaised, "on purpose")
}

// The error for a wide integer has its path in the request.
func TestWideIntegerPath(t *testing.T) {
	arg := map[string]any{"a b": []any{map[string]any{"c": []any{int64(1), int64(-1 << 60)}}}}
	_, err := call(t, `function(r) { v: r['a b'][0].c[1] - 1 }`, arg, engine.Env{})
	fault(t, err, engine.KindRuntime, `-1152921504606846976 (request["a b"][0].c[1])`)
}

// A call prints each message only once.
func TestLog(t *testing.T) {
	var got []engine.Message
	env := engine.Env{Log: func(m engine.Message) { got = append(got, m) }, Limits: engine.Limits{Log: 20}}
	_, err := call(t, `
	{ sync(parent):: {
	    a: std.trace('one: 1 2', 1), big: parent.spec.big,
	    c: std.trace('é' + std.join('', std.makeArray(100, function(i) 'x')), 1),
	} }`, request(), env)
	if err != nil {
		t.Fatal(err)
	}
	want := []engine.Message{
		{Level: engine.Info, Pos: engine.Pos{File: entry, Line: 3}, Text: "one: 1 2"},
		{Level: engine.Info, Pos: engine.Pos{File: entry, Line: 4}, Text: "é" + strings.Repeat("x", 15) + "…"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := call(t, `{ sync():: { a: std.trace('dropped', 1) } }`, nil, engine.Env{}); err != nil {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		text  string
		kind  engine.Kind
		wants []string
	}{
		{`{ sync(parent):: parent.spec.imgae }`, engine.KindRuntime, []string{"sync.jsonnet:1:30", "Field does not exist: imgae", "did you mean image?"}},
		{`{ sync(parent):: parent.zzz.y }`, engine.KindRuntime, []string{"zzz", "std.get"}},
		{`{ sync(parent):: parent.metadata.labels.app }`, engine.KindRuntime, []string{`null has no field "app"`, "std.get"}},
		{`{ sync(parent):: std.lenght(parent) }`, engine.KindRuntime, []string{"did you mean length?"}},
		{`{ sync(parent):: { é: 1 } }`, engine.KindSyntax, []string{"sync.jsonnet:1:20"}},
		{`{ sync(parent):: { a: 'éé' + parnt } }`, engine.KindSyntax, []string{"sync.jsonnet:1:30: Unknown variable: parnt", "did you mean parent?"}},
		{`{ sync(parent):: { a: 'éé' + (1 - 'x') } }`, engine.KindRuntime, []string{"sync.jsonnet:1:31: got a string, want a number"}},
		{`{ sync():: error 'on ' + 'purpose' }`, engine.KindRaised, []string{"sync.jsonnet:1:12: on purpose"}},
		{`{ sync():: assert 1 > 2 : 'no'; {} }`, engine.KindRaised, []string{"sync.jsonnet:1:12: no"}},
		{`{ sync():: { assert self.a > 2, a: 1 } }`, engine.KindRaised, []string{"Object assertion failed"}},
		{`{ sync():: error 'x' + {}.y }`, engine.KindRuntime, []string{"Field does not exist: y"}},
		{`{ sync():: std.format('%d', 'x') }`, engine.KindRuntime, []string{"sync.jsonnet:1:12", "Format required number"}},
		{`{ sync():: std.extVar('HOME') }`, engine.KindRuntime, []string{"sync.jsonnet:1:12", "Undefined external variable: HOME"}},
		{`{ sync():: std.native('exec')('ls') }`, engine.KindRuntime, []string{"sync.jsonnet:1:12", "got null, want a function"}},
		{`{ sync():: 1 / 0 }`, engine.KindRuntime, []string{"Division by zero"}},
	} {
		p, err := compileFS(files(c.text))
		if err == nil {
			_, err = p.Call(context.Background(), "sync", request(), engine.Env{})
		}
		fault(t, err, c.kind, c.wants...)
	}
}

func TestErrorMessageIsLimited(t *testing.T) {
	_, err := call(t, `{ sync():: error std.join('', std.makeArray(10000, function(i) 'xyz')) }`, nil, engine.Env{})
	if e := fault(t, err, engine.KindRaised); len(e.Msg) > 4096 {
		t.Errorf("the message has %d bytes", len(e.Msg))
	}
}

func TestTrace(t *testing.T) {
	p := compile(t, "local lib = import 'lib.libsonnet';\n{\n  sync(parent)::\n    { status: lib.outer(parent.spec) },\n}",
		"lib.libsonnet", "{\n  local inner(x) =\n    x.nothing,\n  outer(x):: inner(x) { a: 1 },\n}")
	_, err := p.Call(context.Background(), "sync", request(), engine.Env{})
	e := fault(t, err, engine.KindRuntime, "lib.libsonnet:3:7")
	want := []engine.Frame{
		{Func: "inner", Pos: engine.Pos{File: "lib.libsonnet", Line: 3, Col: 7}},
		{Func: "outer", Pos: engine.Pos{File: "lib.libsonnet", Line: 4, Col: 14}},
		{Func: "sync", Pos: engine.Pos{File: entry, Line: 4, Col: 15}},
	}
	if diff := cmp.Diff(want, e.Trace); diff != "" {
		t.Error(diff)
	}
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		text   string
		limits engine.Limits
		kind   engine.Kind
		wants  []string
	}{
		{`{ sync():: { a: [x for x in std.range(1, 1000)] } }`, engine.Limits{Steps: 1000}, engine.KindSteps, []string{"more than 1000 steps", "limits.steps"}},
		{"{ sync()::\n  local f(x) = 1 + f(x); f(0) }", engine.Limits{}, engine.KindStack, []string{"sync.jsonnet:2:20", "more than 500 nested calls"}},
		{`{ sync():: local f(x) = f(x + 1) tailstrict; f(0) }`, engine.Limits{}, engine.KindStack, []string{"sync.jsonnet:1:", "tailstrict"}},
		{`{ sync():: local f(x) = f(x + 1) tailstrict; f(0) }`, engine.Limits{Stack: 1 << 30}, engine.KindStack, nil},
		{`{ sync():: local f(x) = 1 + f(x); f(0) }`, engine.Limits{Stack: 1 << 30}, engine.KindStack, []string{"sync.jsonnet:1:2"}},
		{`{ sync():: local f(x) = { a: f(x) }; f(0) }`, engine.Limits{}, engine.KindOutput, []string{"sync.jsonnet:1:", "deeper than 64 levels"}},
		{`{ sync():: { a: { b: { c: {} } } } }`, engine.Limits{Depth: 2}, engine.KindOutput, []string{"deeper than 2 levels at a.b.c"}},
		{`{ sync():: { a: std.range(1, 10) } }`, engine.Limits{Nodes: 10}, engine.KindOutput, []string{"more than 10 values"}},
		{`{ sync():: { a: std.toString(std.range(1, 100)) } }`, engine.Limits{Output: 100}, engine.KindOutput, []string{"larger than 100 bytes"}},
	} {
		_, err := call(t, c.text, nil, engine.Env{Limits: c.limits})
		fault(t, err, c.kind, c.wants...)
	}
}

// A small script needs few steps: to build std is not counted.
func TestStepsCountTheScriptOnly(t *testing.T) {
	if _, err := call(t, `{ sync():: { a: 1 } }`, nil, engine.Env{Limits: engine.Limits{Steps: 50, Stack: 5}}); err != nil {
		t.Error(engine.DetailOf(err))
	}
}

// Every loop of a script ends soon after the context is done. Without that, each of these would run for hours, or exceed the step
// limit, which is another kind of error.
func TestCancel(t *testing.T) {
	const forever = `local r = std.range(1, 1000); `
	for _, expr := range []string{
		`[a + b + c + d for a in r for b in r for c in r for d in r]`,
		`{ [std.toString(a + b + c + d)]: 1 for a in r for b in r for c in r for d in r }`,
		`std.foldl(function(x, a) std.foldl(function(y, b) std.foldl(function(z, c) z + c, r, y), r, x), r, 0)`,
		`std.sort(r, keyF=function(x) std.sort(r, keyF=function(y) std.sort(r, keyF=function(z) -z)[y - 1])[x - 1])`,
		`std.length(std.filter(function(x) std.length(std.filter(function(y) std.length(std.filter(function(z) z > x, r)) > y, r)) > x, r))`,
		`local fib(n) = if n < 2 then n else fib(n - 1) + fib(n - 2); fib(60)`,
		`[[[[x + y + z for x in r] for y in r] for z in r] for w in r]`,
	} {
		ctx, cancel := context.WithCancel(context.Background())
		p := compile(t, `{ sync():: { a: `+forever+`std.trace('begun', 1), b: local r = std.range(1, 1000); `+expr+` } }`)
		env := engine.Env{Log: func(engine.Message) { cancel() }}
		_, err := p.Call(ctx, "sync", nil, env)
		if e := fault(t, err, engine.KindCanceled, "canceled"); e.Pos.Line != 1 {
			t.Errorf("%s: position %s", expr, e.Pos)
		}
		cancel()
	}
}

func TestDone(t *testing.T) {
	p := compile(t, `{ sync():: {} }`)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := p.Call(ctx, "sync", nil, engine.Env{})
	fault(t, err, engine.KindCanceled)
	s := engine.Script{Language: engine.Jsonnet, Entry: entry, Files: files(`{ sync():: {} }`)}
	_, err = jsonnet.New().Compile(ctx, s, engine.Limits{})
	fault(t, err, engine.KindCanceled)
}

// Source that is too expensive for the parser or its lexer is refused.
func TestSource(t *testing.T) {
	for text, ok := range map[string]bool{
		strings.Repeat("- ", 30_000) + "1":                                    false,
		strings.Repeat("-", 10_000) + "1":                                     false,
		strings.Repeat(" ", 1<<20) + "1":                                      false,
		strings.Repeat("//"+strings.Repeat("=", 78)+"\n// text\n", 500) + "1": true,
		"|||\n  " + strings.Repeat("-", 500) + "\n|||":                        true,
		strings.Repeat("- ", 100) + "1":                                       true,
	} {
		_, err := compileFS(files("{ sync()::\n{ a: " + text + strings.Repeat(" ", 10) + "\n} }"))
		if !ok {
			fault(t, err, engine.KindSource, "sync.jsonnet")
		} else if err != nil {
			t.Errorf("%.20q...: %v", text, err)
		}
	}
}

// Discovery runs the script, and has the same limits as a call.
func TestCompileIsLimited(t *testing.T) {
	s := engine.Script{Language: engine.Jsonnet, Entry: entry, Files: files(`{ sync: std.foldl(function(a, b) a + b, std.range(1, 100000), 0) }`)}
	_, err := jsonnet.New().Compile(context.Background(), s, engine.Limits{Steps: 10_000})
	fault(t, err, engine.KindSteps, "sync.jsonnet:1:")
}

// Concurrent calls can share a program and an argument.
func TestConcurrentCalls(t *testing.T) {
	p := compile(t, `
		local lib = import 'lib.libsonnet';
		{ sync(parent, children):: { n: lib.count(children['Pod.v1']), spec: parent.spec, cfg: lib.cfg, s: '%05.2f' % parent.spec.ratio } }`,
		"lib.libsonnet", `{ count(o):: std.length(std.objectFields(o)), cfg: { a: [1, 2, 3] } }`)
	arg := request()
	var answers [8]map[string]any
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			for range 20 {
				answers[i], _ = p.Call(context.Background(), "sync", arg, engine.Env{})
			}
		})
	}
	wg.Wait()
	for i := range answers {
		if answers[i]["n"] != int64(2) || !reflect.DeepEqual(answers[i], answers[0]) {
			t.Errorf("answer %d: %v", i, answers[i])
		}
	}
	if !reflect.DeepEqual(arg, request()) {
		t.Errorf("the argument was changed: %v", arg)
	}
}

// A caller may change a result: later calls are not affected.
func TestResultsAreNotShared(t *testing.T) {
	p := compile(t, `{ local all = { a: [1] }, sync(parent):: { all: all, spec: parent.spec } }`)
	arg := request()
	for range 2 {
		got, err := p.Call(context.Background(), "sync", arg, engine.Env{})
		if err != nil {
			t.Fatal(err)
		}
		if keys := slices.Sorted(maps.Keys(got)); fmt.Sprint(keys) != "[all spec]" {
			t.Errorf("got %v", got)
		}
		clear(got["spec"].(map[string]any))
		clear(got)
	}
}
