package starlark

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"metascript/engine"
)

func TestParams(t *testing.T) {
	arg := map[string]any{"a": int64(1), "b": int64(2), "request": int64(3)}
	tests := []struct {
		params, body string
		want         any    // the field v of the result
		fault        string // part of the error's text; "" for no error
	}{
		{"", "0", int64(0), ""},
		{"b, a", "[a, b]", []any{int64(1), int64(2)}, ""},
		{"a", "a", int64(1), ""},
		{"request", "request['a']", int64(1), ""},
		{"everything", "everything.b", int64(2), ""},
		{"everything = None", "everything.b", int64(2), ""},
		{"a, request", "request", int64(3), ""},
		{"a, c = 5", "[a, c]", []any{int64(1), int64(5)}, ""},
		{"a = 7", "a", int64(1), ""},
		{"*, b", "b", int64(2), ""},
		{"a, *rest", "[a, rest]", []any{int64(1), []any{}}, ""},
		{"*rest", "rest", []any{}, ""},
		{"a, **rest", "rest", map[string]any{"b": int64(2), "request": int64(3)}, ""},
		{"**rest", "sorted(rest)", []any{"a", "b", "request"}, ""},
		{"a, c, d", "0", nil, "has no c, d; its fields are a, b, request"},
		{"a, reqest", "0", nil, "did you mean request?"},
		{"c, **rest", "0", nil, "has no c"},
		{"*, c", "c.b", int64(2), ""},
	}
	for _, test := range tests {
		t.Run(test.params, func(t *testing.T) {
			got, err := eval(t, fmt.Sprintf("def sync(%s):\n    return {'v': %s}", test.params, test.body), arg, engine.Limits{})
			if test.fault != "" {
				if e := wantError(t, err, engine.KindParams); !strings.Contains(e.Error(), test.fault) || e.Pos.Line != 1 {
					t.Errorf("got %v", e)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got["v"], test.want) {
				t.Errorf("got %v, %v, want %v", got["v"], err, test.want)
			}
		})
	}
}

func TestHints(t *testing.T) {
	for text, want := range map[string]string{
		"import os":                                         "load(",
		"def sync():\n    raise 'x'":                        "fail(",
		"def sync():\n    try:\n        pass":               "test before",
		"def sync():\n    return {'a': f'b'}":               ".format(y)",
		"def sync():\n    while True: pass":                 "range",
		"def sync():\n    return sync()":                    "recursion",
		"def sync():\n    return {'a': 'b' + 1}":            "str(x)",
		"def sync():\n    return {'a': None['b']}":          ".get(",
		"def sync():\n    return {'a': {}.b}":               `x["key"]`,
		"d = {}\ndef sync():\n    d['a'] = 1":               "copy it",
		"l = []\ndef sync():\n    l.append(1)":              "copy it",
		"a = 1\na = 2":                                      "once",
		"def sync():\n    l = [1]\n    for x in l: l.pop()": "list(xs)",
		"def sync():\n    pass":                             "every path",
		"def sync():\n    return {'a': sync}":               "()",
		"def sync():\n    return {'a': set([1])}":           "sorted(x)",
		"def sync():\n    return {'a': range(3)}":           "list(x)",
		"def sync():\n    return {'a': time.parse_time}":    "",
		"def sync():\n    return {'a': time.second}":        "str(x)",
		"def sync():\n    return {'a': {}.get}":             "",
		"def sync(x):\n    return {'a': x.get}":             "call it: get()",
		"def sync(x):\n    return {'a': x.list.index}":      "",
		"def sync():\n    return {'a': {1: 2}}":             "str(key)",
		"def sync():\n    return {'a': 1 << 63}":            "string",
		"def sync():\n    return {'a': float('nan')}":       "",
		"def sync():\n    return {'a': {'b': struct}}":      "",
		"def sync():\n    return {'a': 1 if lamda: 2}":      "",
		"def other():\n    pass":                            `"it defines other"`,
		"x = 1":                                             "def sync",
	} {
		p, err := New().Compile(t.Context(), script(text), engine.Limits{})
		if err == nil {
			_, err = p.Call(t.Context(), "sync", request(), engine.Env{})
		}
		if err == nil {
			t.Errorf("%q: no error", text)
			continue
		}
		if e := err.(*engine.Error); !strings.Contains(e.Hint, strings.Trim(want, `"`)) {
			t.Errorf("%q: got\n%s", text, e.Detail())
		}
	}
}

// A call cannot change what later calls see.
func TestCallsShareNoState(t *testing.T) {
	for _, text := range []string{
		"seen = []\ndef sync(x):\n    seen.append(1)\n    return {}",
		"seen = {}\ndef sync(x):\n    seen['a'] = 1\n    return {}",
		"seen = set()\ndef sync(x):\n    seen.add(1)\n    return {}",
		"def sync(x, seen = []):\n    seen.append(1)\n    return {}",
		"def make():\n    seen = []\n    return lambda x: seen.append(x)\nsync = make()",
		"def sync(x):\n    math.pi = 3\n    return {}",
		"def sync(x):\n    json.encode = 3\n    return {}",
	} {
		p := compile(t, text)
		for range 2 {
			_, err := p.Call(t.Context(), "sync", request(), engine.Env{})
			wantError(t, err, engine.KindRuntime)
		}
	}
}

func TestConcurrentCalls(t *testing.T) {
	p := compile(t, `
base = {"labels": {"app": "a"}}
def sync(x):
    out = [base | {"n": n} for n in x["list"]]
    return {"out": sorted(out, key = lambda o: o["n"]), "x": x}
`)
	arg := request()
	want, err := p.Call(t.Context(), "sync", arg, engine.Env{})
	if err != nil {
		t.Fatal(engine.DetailOf(err))
	}
	var calls sync.WaitGroup
	for range 16 {
		calls.Go(func() {
			got, err := p.Call(t.Context(), "sync", arg, engine.Env{})
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	calls.Wait()
}

// Scripts that use one request at the same time do not change it.
func TestManyConcurrentCalls(t *testing.T) {
	var programs []engine.Program
	for _, body := range []string{
		"x['new'] = 1", "x['list'] += [1]", "x['list'].append(1)", "x['deep'].update(a = 1)", "x |= {'a': 1}\n    x['a'] = 2",
		"y = dict(x)\n    y['list'] = list(y['list']) + [1]\n    y['list'].append(2)", "y = x['list'] + x['list']\n    y[0] = None",
		"y = json.decode(json.encode(x))\n    y['list'].clear()", "y = sorted(x['list'], key = str)\n    y.pop()", "y = x['deep'].items()\n    y[0] = 1",
		"x.list = 1", "x['deep'].setdefault('new', 1)", "y = [v for v in x.values()]\n    y.extend(x['list'])",
	} {
		programs = append(programs, compile(t, "def sync(x):\n    "+body+"\n    return {'x': x}"))
	}
	arg := request()
	var calls sync.WaitGroup
	for _, p := range programs {
		for range 4 {
			calls.Go(func() {
				for range 20 {
					_, _ = p.Call(t.Context(), "sync", arg, engine.Env{}) // other tests check that writing is an error
				}
			})
		}
	}
	calls.Wait()
	if !reflect.DeepEqual(arg, request()) {
		t.Errorf("the request was changed: %v", arg)
	}
}

// A builtin that loops counts steps, and stops when its steps are used up or its context is canceled.
func TestLongRunningBuiltinsStop(t *testing.T) {
	for _, expr := range []string{
		"max(range(1 << 60))", "min([1], key = lambda x: max(range(1 << 60)))", "sorted(range(1000000))", "[1] * 1000000 == [1] * 1000000",
		"len([]) in [1] * 1000000", "[1] * 1000000 < [1] * 1000001",
	} {
		_, err := eval(t, "def sync():\n    return {'a': "+expr+"}", nil, engine.Limits{Steps: 100_000})
		if e := wantError(t, err, engine.KindSteps); e.Pos.Line != 2 {
			t.Errorf("%s: %s", expr, e.Detail())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := compile(t, "def sync():\n    return {'a': max(range(1 << 60))}")
	_, err := p.Call(ctx, "sync", nil, engine.Env{Limits: engine.Limits{Steps: 1 << 60}})
	wantError(t, err, engine.KindCanceled)
}

func TestPrint(t *testing.T) {
	var got []string
	log := func(m engine.Message) { got = append(got, fmt.Sprintf("%s %s %s", m.Level, m.Pos, m.Text)) }
	p := compile(t, "print('dropped')\ndef sync(x):\n    print('a', 1, x['list'], sep = '-')\n    [print(i) for i in range(2)]\n    return {}")
	if _, err := p.Call(t.Context(), "sync", request(), engine.Env{Log: log}); err != nil {
		t.Fatal(err)
	}
	want := []string{"info sync.star:3:10 a-1-[3, 1, 2]", "info sync.star:4:11 0", "info sync.star:4:11 1"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTime(t *testing.T) {
	got, err := eval(t, `
def sync():
    at = time.from_timestamp(0)
    return {"at": str(at), "later": str(at + time.hour), "zone": str(time.time(year = 2024, month = 2, day = 29)), "names": dir(time)}
`, nil, engine.Limits{})
	if err != nil {
		t.Fatal(engine.DetailOf(err))
	}
	if got["at"] != "1970-01-01 00:00:00 +0000 UTC" || got["later"] != "1970-01-01 01:00:00 +0000 UTC" {
		t.Errorf("got %v", got)
	}
	if strings.Contains(fmt.Sprint(got["names"]), "now") {
		t.Errorf("the time module has a clock: %v", got["names"])
	}
}

// The trace of an error in a module has the load statements.
func TestTraceOfLoads(t *testing.T) {
	s := engine.Script{Language: engine.Starlark, Entry: "sync.star", Files: fstest.MapFS{
		"sync.star":  {Data: []byte("load('lib/a.star', 'a')\ndef sync(): pass")},
		"lib/a.star": {Data: []byte("\nload('b.star', 'b')\na = b")},
		"lib/b.star": {Data: []byte("\n\nb = 1 // 0")},
	}}
	_, err := New().Compile(t.Context(), s, engine.Limits{})
	e := wantError(t, err, engine.KindRuntime)
	want := []engine.Frame{
		{Func: "load", Pos: engine.Pos{File: "lib/a.star", Line: 2, Col: 6}},
		{Func: "load", Pos: engine.Pos{File: "sync.star", Line: 1, Col: 6}},
	}
	if e.Pos.String() != "lib/b.star:3:7" || !reflect.DeepEqual(e.Trace, want) {
		t.Errorf("got %s", e.Detail())
	}
}
