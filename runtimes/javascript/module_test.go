package javascript

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/engine"
)

func TestFunctions(t *testing.T) {
	for src, want := range map[string]string{
		`function sync() {} async function finalize() {} function* gen() {}`:                             "finalize gen sync",
		`const sync = () => ({}); let finalize = async r => ({}), n = 1; var customize = function () {}`: "customize finalize sync",
		`const {sync, n: [finalize = () => 1], ...rest} = {sync() {}, n: []}`:                            "finalize sync",
		`class Sync {} const C = class {}; const f = 1; const o = {sync() {}}`:                           "",
		`let sync; sync = () => ({}); if (true) { var late = () => 1; function inner() {} }`:             "sync",
		`exports.sync = () => ({}); exports["no-name"] = () => 1; exports.n = 1; function helper() {}`:   "sync",
		`module.exports = {sync() {}, finalize: async () => 1}`:                                          "finalize sync",
		`module.exports = 5; function sync() {}`:                                                         "sync",
		`exports.version = 1; function sync() {}`:                                                        "sync",
		`function sync() {} function sync() {} var sync, sync`:                                           "sync",
		`this.sync = function () {}`:                                                                     "sync",
		`module.exports = () => ({})`:                                                                    "sync ported",
		`function sync() {} module.exports = sync`:                                                       "sync ported",
		`"use strict"; function sync() {}`:                                                               "sync",
		`#!/usr/bin/env node` + "\nfunction sync() {}":                                                   "sync",
		`// nothing`: "",
		``:           "",
	} {
		p, err := New().Compile(t.Context(), files("sync.js", src), engine.Limits{})
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		got := strings.Join(p.Functions(), " ")
		if p.(engine.Ported).Ported() {
			got += " ported"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", src, got, want)
		}
	}
}

func TestThis(t *testing.T) {
	got := mustCall(t, `module.exports = {sync() { return {n: this.helper()} }, helper() { return 5 }}`, `{}`)
	if diff := cmp.Diff(object(t, `{"n": 5}`), got); diff != "" {
		t.Error(diff)
	}
}

func TestPositionalParameters(t *testing.T) {
	_, err := call(t, "\nfunction sync(parent, children) { return {} }", object(t, `{"parent": {}, "children": {}}`), engine.Limits{})
	e := wantError(t, "sync(parent, children)", err, engine.KindParams)
	if e != nil && (e.Pos.Line != 2 || !strings.Contains(e.Msg, "children, parent") || !strings.Contains(e.Hint, "{")) {
		t.Error(e.Detail())
	}
}

func TestFreshEachCall(t *testing.T) {
	p, err := New().Compile(t.Context(), files("sync.js", `
		let n = 0
		const lib = require("lib.js"), data = require("data.json")
		function sync({list}) {
			list.push(1)
			Array.prototype.extra = () => 1
			globalThis.g = (globalThis.g ?? 0) + 1
			data.n++
			return {n: ++n, lib: lib.next(), g, data: data.n, list: list.length, extra: Object.keys(Array.prototype).length}
		}`, "lib.js", `let n = 0; exports.next = () => ++n`, "data.json", `{"n": 0}`), engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	request := object(t, `{"list": []}`)
	for range 3 {
		got, err := p.Call(t.Context(), "sync", request, engine.Env{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(object(t, `{"n": 1, "lib": 1, "g": 1, "data": 1, "list": 1, "extra": 1}`), got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRequire(t *testing.T) {
	s := files("app/sync.js", `
		const near = require("./near"), alsoNear = require("near.js"), root = require("root"), deep = require("./sub/deep.js")
		const data = require("./data.json"), list = require("list")
		function sync() {
			return {near: near.name, same: near === alsoNear, root: root.name, deep: deep(), data, list}
		}`,
		"app/near.js", `exports.name = "near"; exports.partial = module.exports === exports`,
		"root.js", `exports.name = "root"`,
		"app/sub/deep.js", `const {name} = require("./deeper"); module.exports = () => name`,
		"app/sub/deeper.js", `exports.name = "deeper"; const unseen = require("root.js")`,
		"app/data.json", `{"big": 9007199254740993, "f": 1.0, "n": [1, null]}`,
		"list.json", `[1]`,
		"broken.js", `not even JavaScript`)
	got, err := callFiles(t, s, object(t, `{}`), engine.Limits{})
	if err != nil {
		t.Fatal(engine.DetailOf(err))
	}
	want := `{"near": "near", "same": true, "root": "root", "deep": "deeper", "data": {"big": 9007199254740993, "f": 1.0, "n": [1, null]}, "list": [1]}`
	if diff := cmp.Diff(object(t, want), got); diff != "" {
		t.Error(diff)
	}
}

func TestRequireFails(t *testing.T) {
	for _, c := range []struct {
		require string
		kind    engine.Kind
		pos     string
		msg     string
	}{
		{`require("./none.js")`, engine.KindModule, "sync.js:2:10", "bad.js, bad.json, cycle.js, cycle2.js"},
		{`require("fs")`, engine.KindModule, "sync.js:2:10", "fs"},
		{`require("../lib.js")`, engine.KindModule, "sync.js:2:10", ".."},
		{`require("/lib.js")`, engine.KindModule, "sync.js:2:10", "/lib.js"},
		{`require("a/../lib.js")`, engine.KindModule, "sync.js:2:10", ".."},
		{`require("")`, engine.KindModule, "sync.js:2:10", ""},
		{`require(".")`, engine.KindModule, "sync.js:2:10", ""},
		{`require("./sub")`, engine.KindModule, "sync.js:2:10", "sub"},
		{`require("./cycle.js")`, engine.KindModule, "cycle2.js:1:8", "cycle.js -> cycle2.js -> cycle.js"},
		{`require("./sync.js")`, engine.KindModule, "sync.js:2:10", "sync.js -> sync.js"},
		{`require("./bad.js")`, engine.KindSyntax, "bad.js:2:7", "Unexpected"},
		{`require("./bad.json")`, engine.KindSyntax, "bad.json:1:7", "JSON"},
		{`require("./throws.js")`, engine.KindRaised, "throws.js:1:7", "on purpose"},
		{`require("./fails.js")`, engine.KindRuntime, "fails.js:1:6", "TypeError"},
		{`require(5)`, engine.KindRuntime, "sync.js:2:10", "name of a file"},
	} {
		s := files("sync.js", "try { require('./none') } catch (e) {}\n  "+c.require,
			"cycle.js", `require("./cycle2.js")`, "cycle2.js", `require("./cycle.js")`, "bad.js", "let a\nconst = 1", "bad.json", `{"a": x}`,
			"throws.js", `throw new Error("on purpose")`, "fails.js", `null.x`, "sub/x.js", ``)
		_, err := New().Compile(t.Context(), s, engine.Limits{})
		e := wantError(t, c.require, err, c.kind)
		if e != nil && (e.Pos.String() != c.pos || !strings.Contains(e.Msg+e.Hint, c.msg)) {
			t.Errorf("%s: got %v, want %s and %q", c.require, e, c.pos, c.msg)
		}
	}
}

func TestEntryCannotBeRead(t *testing.T) {
	s := files("sync.js", "")
	s.Entry = "other.js"
	_, err := New().Compile(t.Context(), s, engine.Limits{})
	wantError(t, "other.js", err, engine.KindSource)
	_, err = New().Compile(t.Context(), files("sync.js", "const x = 1"), engine.Limits{Source: 5})
	wantError(t, "too large", err, engine.KindSource)
}

func TestSourceMapsAreNotRead(t *testing.T) {
	for _, src := range []string{
		"function sync() { return {} }\n//# sourceMappingURL=/dev/zero",
	} {
		mustCall(t, src, `{}`)
	}
}

func TestConsole(t *testing.T) {
	p, err := New().Compile(t.Context(), files("sync.js", `console.log("at the top")
function sync({o}) {
  console.log("a", 1, true, null, undefined, "b\"c")
  console.debug(o, [1, "x", [2]], {s: "q", f() {}, u: undefined})
  console.info(new Error("bad"), new TypeError("worse"), /x/, new Map(), Symbol("s"), Promise.resolve(), new Date(0))
  console.warn("%s is not filled in", 1);
  [1].forEach(() => console.error())
  const c = {}; c.c = c
  console.log(c)
  console.log("x".repeat(1e5))
  console.log(new Array(1e6))
  return {}
}`), engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	log := func(m engine.Message) {
		got = append(got, string(m.Level)+" "+m.Pos.String()+" "+engine.Clip(m.Text, 200))
	}
	if _, err := p.Call(t.Context(), "sync", object(t, `{"o": {"b": 9007199254740993, "a": {"l": []}}}`), engine.Env{Log: log}); err != nil {
		t.Fatal(engine.DetailOf(err))
	}
	want := []string{
		`info sync.js:1:12 at the top`,
		`info sync.js:3:14 a 1 true null undefined b"c`,
		`debug sync.js:4:16 {"a": {"l": []}, "b": 9007199254740993} [1, "x", [2]] {"s": "q", "f": [a function], "u": undefined}`,
		`info sync.js:5:15 Error: bad TypeError: worse [a RegExp] [a Map] [a symbol] [a promise] 1970-01-01T00:00:00Z`,
		`warn sync.js:6:15 %s is not filled in 1`,
		`error sync.js:7:34 `,
		`info sync.js:9:14 {"c": {"c": {"c": {"c": {"c": {"c": …}}}}}}`,
		`info sync.js:10:14 ` + strings.Repeat("x", 197) + "…",
		`info sync.js:11:14 [` + strings.Repeat("undefined, ", 17) + "…",
	}
	if !slices.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}
