package javascript

import (
	"context"
	"strings"
	"testing"
	"time"

	"metascript/engine"
)

// TestKindsOfErrors checks that errors that a script throws are distinguished from errors that goja throws. Each body is on line 2.
func TestKindsOfErrors(t *testing.T) {
	for _, c := range []struct {
		body string
		kind engine.Kind
		msg  string
		col  int
	}{
		{`throw new Error("no image")`, engine.KindRaised, "no image", 7},
		{`throw Error("no image")`, engine.KindRaised, "no image", 12},
		{`throw new TypeError("no image")`, engine.KindRaised, "TypeError: no image", 7},
		{`throw   new   RangeError("no image")`, engine.KindRaised, "RangeError: no image", 9},
		{`throw TypeError("no image")`, engine.KindRaised, "TypeError: no image", 16},
		{`throw "no image"`, engine.KindRaised, "no image", 1},
		{`throw 5`, engine.KindRaised, "5", 1},
		{`throw undefined`, engine.KindRaised, "undefined", 1},
		{`throw {reason: "no image", at: [1]}`, engine.KindRaised, `{"reason": "no image", "at": [1]}`, 1},
		{`throw new Error()`, engine.KindRaised, "Error", 7},
		{`throw new AggregateError([], "many")`, engine.KindRaised, "AggregateError: many", 7},
		{`class Mine extends TypeError {}; throw new Mine("x")`, engine.KindRaised, "TypeError: x", 40},
		{`class Mine extends Error { get name() { return "Mine" } }; throw new Mine("x")`, engine.KindRaised, "Mine: x", 66},
		{`const e = new Error("x"); e.name = "Custom"; throw e`, engine.KindRaised, "Custom: x", 11},
		{`try { null.x } catch (e) { throw new Error("because: " + e.message) }`, engine.KindRaised, "because: Cannot read", 34},
		{`return {get a() { throw "in the answer" }}`, engine.KindRaised, "in the answer", 19},
		{`try { null.x } catch (e) { throw e }`, engine.KindRuntime, "TypeError: Cannot read property 'x'", 12},
		{`nothing.x`, engine.KindRuntime, "ReferenceError: nothing is not defined", 1},
		{`/* ü */ none()`, engine.KindRuntime, "ReferenceError", 9},
		{`[].reduce(x => x)`, engine.KindRuntime, "TypeError", 10},
		{`"x".repeat(-1)`, engine.KindRuntime, "RangeError", 11},
		{`JSON.parse("{")`, engine.KindRuntime, "SyntaxError", 11},
		{`const c = 1; c = 2`, engine.KindRuntime, "TypeError", 14},
		{`decodeURIComponent("%")`, engine.KindRuntime, "URIError", 19},
		{`new (void 0)()`, engine.KindRuntime, "TypeError", 1},
		{`eval("1 +")`, engine.KindRuntime, "eval is not defined", 1},
		{`new Function("1")`, engine.KindRuntime, "code from text is not supported", 1},
		{`r.none()`, engine.KindRuntime, "TypeError: r.none is not a function", 3},
		{`r.n()`, engine.KindRuntime, "TypeError: r.n is not a function", 3},
		{`r.o?.["x"].y()`, engine.KindRuntime, `Cannot read property 'y'`, 6},
		{`r.o()`, engine.KindRuntime, "TypeError: r.o is not a function", 3},
		{`"x"()`, engine.KindRuntime, "TypeError: ", 4},
		{`(void 0)()`, engine.KindRuntime, "TypeError: Value is not an object: undefined", 9},
		{`Object.keys(null)`, engine.KindRuntime, "TypeError: Cannot convert", 12},
		{`const f = ({a: {b}}) => 1; f({})`, engine.KindRuntime, "not object coercible", 11},
		{`class A extends Error { constructor() { super("a") } }; class B extends A { constructor() { super() } }; throw new B()`, engine.KindRaised, "a", 112},
		{`return Promise.any([Promise.reject(1)])`, engine.KindRuntime, "AggregateError", 0},
		{`return Promise.reject("no image")`, engine.KindRaised, "no image", 0},
		{`return Promise.reject(new Error("x"))`, engine.KindRaised, "x", 23},
		{`const late = async () => { await 1; throw new Error("late") }; late(); return {}`, engine.KindRaised, "late", 43},
		{`Promise.reject(1); return {}`, engine.KindRaised, "1", 0},
		{`return (async () => { await 1; null.x })()`, engine.KindRuntime, "TypeError", 37},
		{`return (async () => { try { await Promise.reject(new Error("a")) } finally {} })()`, engine.KindRaised, "a", 50},
	} {
		_, err := call(t, "function sync(r) {\n"+c.body+"\n}", object(t, `{"n": 1, "o": {}}`), engine.Limits{})
		e := wantError(t, c.body, err, c.kind)
		if e == nil {
			continue
		}
		if !strings.Contains(e.Msg, c.msg) {
			t.Errorf("%s: got %q, want %q in it", c.body, e.Msg, c.msg)
		}
		if c.col > 0 && (e.Pos != engine.Pos{File: "sync.js", Line: 2, Col: c.col}) {
			t.Errorf("%s: got position %s, want 2:%d", c.body, e.Pos, c.col)
		}
		if e.Pos.File != "sync.js" {
			t.Errorf("%s: no file: %v", c.body, e)
		}
	}
}

func TestTrace(t *testing.T) {
	_, err := callFiles(t, files("sync.js", `const lib = require("./lib/names.js")
function sync({parent}) {
  return {names: [1].map(n => lib.name(parent, n))}
}`, "lib/names.js", `exports.name = (o, n) => {
  return spec(o).name + n
}
function spec(o) { return o.spec.inner }`), object(t, `{"parent": {}}`), engine.Limits{})
	e := wantError(t, "trace", err, engine.KindRuntime)
	if e == nil {
		return
	}
	var got []string
	for _, f := range e.Trace {
		got = append(got, f.Func+" "+f.Pos.String())
	}
	want := "spec lib/names.js:4:34, <anonymous> lib/names.js:2:14, <anonymous> sync.js:3:39, sync sync.js:3:25"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
	if e.Hint == "" {
		t.Error("no hint")
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct {
		src       string
		line, col int
		hint      string
	}{
		{"function sync( {\n", 1, 16, ""},
		{"/* ü */ const = 1", 1, 15, ""},
		{"const a = 1\r\nconst a = 2", 2, 7, ""},
		{"export function sync() {}", 1, 1, "module.exports"},
		{"const a = 1\nexport default a", 2, 1, "module.exports"},
		{"import x from './x.js'", 1, 1, "require"},
		{"return {}", 1, 1, ""},
		{"function f() { break }", 1, 16, ""},
		{"})(), (function () {", 1, 1, ""},
		{"const exports = {}", 1, 7, ""},
		{"\ufeffconst = 1", 1, 7, ""},
		{"#!/usr/bin/env node\nconst = 1", 2, 7, ""},
		{"'\u2028'; const = 1", 1, 12, ""},
		{"let x = /(/", 1, 9, ""},
	} {
		_, err := New().Compile(t.Context(), files("sync.js", c.src), engine.Limits{})
		e := wantError(t, c.src, err, engine.KindSyntax)
		if e == nil {
			continue
		}
		if (e.Pos != engine.Pos{File: "sync.js", Line: c.line, Col: c.col}) {
			t.Errorf("%q: got position %s, want %d:%d (%v)", c.src, e.Pos, c.line, c.col, e)
		}
		if !strings.Contains(e.Hint, c.hint) || strings.Contains(e.Msg, "sync.js") {
			t.Errorf("%q: %v", c.src, e)
		}
	}
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		script string
		kind   engine.Kind
	}{
		{`function sync() { for (;;); }`, engine.KindTimeout},
		{`function sync() { try { for (;;); } catch (e) { for (;;); } finally { for (;;); } }`, engine.KindTimeout},
		{`async function sync() { for (;;) await null }`, engine.KindTimeout},
		{`function sync() { return {get a() { for (;;); }} }`, engine.KindTimeout},
		{`function sync() { throw {get a() { for (;;); }} }`, engine.KindTimeout},
		{`function sync() { throw Object.defineProperty(new Error("x"), "message", {get() { for (;;); }}) }`, engine.KindTimeout},
		{`function sync() { [2, 1].sort(() => { for (;;); }) }`, engine.KindTimeout},
		{`for (;;);`, engine.KindTimeout},
		{`function sync() { return sync() }`, engine.KindStack},
		{`function sync() { try { return sync() } catch (e) { return {} } }`, engine.KindStack},
		{`function sync() { return [1].map(sync) }`, engine.KindStack},
		{`function sync() { return {get a() { return this.a }}.a }`, engine.KindStack},
		{`function sync() { return 'ab'.repeat(2 ** 62) }`, engine.KindMemory},
		{`function sync() { try { 'ab'.repeat(2 ** 62) } catch (e) { return {} } finally { return {} } }`, engine.KindMemory},
	} {
		_, err := call(t, c.script, object(t, `{}`), engine.Limits{Timeout: 50 * time.Millisecond})
		e := wantError(t, c.script, err, c.kind)
		if e != nil && e.Pos.Line == 0 {
			t.Errorf("%s: no position: %v", c.script, e)
		}
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, err := New().Compile(ctx, files("sync.js", `function sync() { console.log("here"); for (;;); }`), engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Call(ctx, "sync", object(t, `{}`), engine.Env{Log: func(engine.Message) { cancel() }})
	wantError(t, "while running", err, engine.KindCanceled)
	_, err = p.Call(ctx, "sync", object(t, `{}`), engine.Env{})
	wantError(t, "before", err, engine.KindCanceled)
	_, err = New().Compile(ctx, files("sync.js", `function sync() {}`), engine.Limits{})
	wantError(t, "compile", err, engine.KindCanceled)
}

func TestHugeMessages(t *testing.T) {
	for _, body := range []string{
		`throw new Error("ü".repeat(3e6))`, `throw "x".repeat(3e6)`, `throw new Array(1e5).fill("x".repeat(1e5))`, `throw new Array(4294967295)`,
		`throw Object.assign(new Error("x"), {name: "n".repeat(3e6)})`, `let o = {}; for (let i = 0; i < 1e4; i++) o = {o}; throw o`,
		`const o = {}; o.o = o; throw o`, `none["x".repeat(3e6)]()`, `null["x".repeat(3e6)]`, `throw {["k".repeat(3e6)]: 1}`, `require("x".repeat(3e6))`,
	} {
		_, err := call(t, `function sync() { `+body+` }`, object(t, `{}`), engine.Limits{})
		e, ok := err.(*engine.Error)
		if !ok || len(e.Msg) > maxText+100 || len(e.Msg) == 0 {
			t.Errorf("%s: %.200v", body, err)
		}
	}
}
