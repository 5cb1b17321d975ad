package javascript

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/engine"
)

func TestResults(t *testing.T) {
	for body, want := range map[string]string{
		`return {a: 1.0, b: -0, c: 1e3, d: 1.5, e: 3}`:                                                  `{"a": 1, "b": 0, "c": 1000, "d": 1.5, "e": 3}`,
		`return {d: new Date(0), e: new Date(Date.UTC(2024, 1, 29, 1, 2, 3, 4))}`:                       `{"d": "1970-01-01T00:00:00.000Z", "e": "2024-02-29T01:02:03.004Z"}`,
		`return {a: undefined, b: null, c: {d: undefined}}`:                                             `{"b": null, "c": {}}`,
		`return {s: new String("x"), n: new Number(1), b: new Boolean(false)}`:                          `{"s": "x", "n": 1, "b": false}`,
		`class P { constructor() { this.x = 1 } get y() { return 2 } method() {} } return {p: new P()}`: `{"p": {"x": 1}}`,
		`return Object.create({inherited: 1}, {own: {value: 2, enumerable: true}, hidden: {value: 3}})`: `{"own": 2}`,
		`return {get computed() { return [1] }, [Symbol("s")]: 1}`:                                      `{"computed": [1]}`,
		`const shared = {x: 1}; return {a: shared, b: [shared, shared]}`:                                `{"a": {"x": 1}, "b": [{"x": 1}, {"x": 1}]}`,
		`return Object.assign(Object.create(null), {a: 1})`:                                             `{"a": 1}`,
		`return {[""]: 1, ["a b"]: "grüße 👋"}`:                                                          `{"": 1, "a b": "grüße 👋"}`,
		`return {then: 1}`: `{"then": 1}`,
		`const p = Promise.reject(1); p.catch(() => 0); Promise.reject(2).then(() => 1, () => 2); return {}`:                `{}`,
		`return (async () => { const p = Promise.reject(new Error("x")); try { await p } catch { return {caught: 1} } })()`: `{"caught": 1}`,
	} {
		got := mustCall(t, `function sync(r) { `+body+` }`, `{}`)
		if diff := cmp.Diff(object(t, want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
}

func TestInvalidResults(t *testing.T) {
	for _, c := range []struct {
		body string
		kind engine.Kind
		msg  string
	}{
		{``, engine.KindResult, "sync returned undefined"},
		{`return null`, engine.KindResult, "sync returned null"},
		{`return [1]`, engine.KindResult, "an array"},
		{`return "x"`, engine.KindResult, "a string"},
		{`return () => 1`, engine.KindResult, "a function"},
		{`return new Map()`, engine.KindResult, "a Map"},
		{`return 5`, engine.KindResult, "a number"},
		{`return {a: {b: [1, () => 1]}}`, engine.KindResult, "a.b[1] is a function"},
		{`return {a: class {}}`, engine.KindResult, "a is a function"},
		{`return {a: Symbol("x")}`, engine.KindResult, "a is a symbol"},
		{`return {a: [undefined]}`, engine.KindResult, "a[0] is undefined"},
		{`return {a: [1, , 2]}`, engine.KindResult, "a[1] is undefined"},
		{`return {a: new Map([[1, 2]])}`, engine.KindResult, "a is a Map"},
		{`return {a: new Set([1])}`, engine.KindResult, "a is a Set"},
		{`return {a: /x/}`, engine.KindResult, "a is a RegExp"},
		{`return {a: new Error("x")}`, engine.KindResult, "a is an Error"},
		{`return {a: Promise.resolve(1)}`, engine.KindResult, "a is a promise"},
		{`return {a: (function* () {})()}`, engine.KindResult, "a is an iterator"},
		{`return {a: new Set().values()}`, engine.KindResult, "a is an iterator"},
		{`return {a: new Date("no date")}`, engine.KindResult, "invalid Date"},
		{`return {a: globalThis}`, engine.KindResult, "a.console is a "},
		{`return {a: (function () { return arguments })(1)}`, engine.KindResult, "an Arguments"},
		{`return {a: NaN}`, engine.KindResult, "NaN"},
		{`return {a: 2 ** 53}`, engine.KindResult, "2^53"},
		{`return {a: 2n ** 63n}`, engine.KindSyntax, "BigInt"},
		{`return {a: new Uint8Array(4)}`, engine.KindRuntime, "Uint8Array is not defined"},
		{`const a = []; a[4294967290] = 1; return {a}`, engine.KindOutput, "4294967291 elements at a"},
		{`return {a: new Array(1e6)}`, engine.KindOutput, "1000000 elements"},
		{`return {a: new Array(100001).fill(1)}`, engine.KindOutput, "100001 elements"},
		{`return {a: "x".repeat(5e6)}`, engine.KindOutput, "bytes"},
		{`return {a: new String("x".repeat(5e6))}`, engine.KindOutput, "bytes"},
		{`const o = {}; o.o = o; return o`, engine.KindOutput, "nested"},
		{`const a = []; a.push(a); return {a}`, engine.KindOutput, "nested"},
		{`r.pods.length = 1; r.self = r; return r`, engine.KindOutput, "nested"},
		{`let a = [1, 1]; for (let i = 0; i < 40; i++) a = [a, a]; return {a}`, engine.KindOutput, "values"},
		{`const o = {}; for (let i = 0; i < 2e5; i++) o[i] = 1; return o`, engine.KindOutput, "values"},
		{`const a = new Array(200).fill(r.pods); return {a}`, engine.KindOutput, "values"},
		{`return {get a() { throw new Error("in a getter") }}`, engine.KindRaised, "in a getter"},
		{`return {get a() { return null.x }}`, engine.KindRuntime, "TypeError"},
	} {
		request := object(t, `{"pods": [`+strings.Repeat(`{"a": 1},`, 999)+`{}]}`)
		_, err := call(t, `function sync(r) { `+c.body+` }`, request, engine.Limits{})
		if e := wantError(t, c.body, err, c.kind); e != nil && !strings.Contains(e.Msg, c.msg) {
			t.Errorf("%s: got %q, want %q in it", c.body, e.Msg, c.msg)
		}
	}
}

func TestResultLimits(t *testing.T) {
	inForms(t, `{"text": "0123456789", "a": {"b": {"c": 1}}, "more": {"text": "0123456789"}}`, testResultLimits)
}

func testResultLimits(t *testing.T, request func() map[string]any) {
	for body, l := range map[string]engine.Limits{
		`return {a: {b: {c: 1}}}`:  {Depth: 2},
		`return r`:                 {Depth: 2},
		`return {a: [1, 2, 3]}`:    {Nodes: 4},
		`return {r}`:               {Nodes: 4},
		`return {a: "0123456789"}`: {Output: 10},
		`return {t: r.text}`:       {Output: 10},
		`return {t: r.more}`:       {Output: 10},
		`return r.more`:            {Output: 10},
		`return r.a`:               {Nodes: 2},
		`r.a.d = 1; return r`:      {Nodes: 4},
	} {
		_, err := call(t, `function sync(r) { `+body+` }`, request(), l)
		wantError(t, body, err, engine.KindOutput)
	}
}
