package javascript

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/engine"
	"metascript/engine/enginetest"
	"metascript/engine/packed"
	"metascript/engine/tree"
)

// viewBodies has bodies of functions of an object o and an array a. They must return the same for views of a request as for values that
// the script made itself.
var viewBodies = []string{
	// reading
	`return o.a`, `return o["b"].c`, `return o.none`, `return o?.none?.deeper`, `return a[1]`, `return a[-1]`, `return a[99]`,
	`return a.length`, `return a.at(-1)`, `return typeof o + typeof a + typeof o.a + typeof o.s`,
	`const {a: x, ...rest} = o; return [x, rest]`, `const [x, , y = 5, ...rest] = a; return [x, y, rest]`,
	`return Object.keys(o)`, `return Object.values(o)`, `return Object.entries(o)`, `return Object.entries(a)`,
	`return JSON.stringify(o)`, `return JSON.stringify({x: o, y: [a]}, null, 1)`, `return JSON.stringify(a, (k, v) => v === 1 ? 2 : v)`,
	`return JSON.parse(JSON.stringify(o))`, `return Object.getOwnPropertyNames(o)`, `return Object.getOwnPropertyNames(a)`,
	`return Object.getOwnPropertyDescriptor(o, "a")`, `return Object.hasOwn(o, "a") + "" + Object.hasOwn(o, "toString")`,
	`return o.hasOwnProperty("a") && o.propertyIsEnumerable("a")`, `return ["a" in o, "x" in o, 0 in a, 99 in a, "length" in a, "toString" in o]`,
	`let s = ""; for (const k in o) s += k; return s`, `let s = ""; for (const i in a) s += i; return s`,
	`let n = 0; for (const x of a) n += typeof x == "number" ? x : 0; return n`, `for (const x of o) return x`,
	`return {...o}`, `return {...o, a: 7}`, `return [...a]`, `return [0, ...a, ...a].length`, `return Math.max(...a.filter(x => x > 0))`,
	`return Object.assign({}, o)`, `return Object.fromEntries(Object.entries(o))`, `return Array.from(a)`, `return Array.from(a, x => [x])`,
	`return Array.isArray(a) && !Array.isArray(o)`, `return a instanceof Array && o instanceof Object`, `return a.constructor === Array && o.constructor === Object`,
	`return String(o) + Object.prototype.toString.call(a)`, `return String(o.list) + a.join("-")`, "return `${o.list}`",
	`return o.b === o.b && a[3] === a[3] && o !== a`, `return o == o && !(o == a)`, `return o.valueOf() === o`,
	`return o ? 1 : 2`, `return o.u.length + o.u.toUpperCase()`, `return Object.is(a, a)`,
	`return Object.isFrozen(o) || Object.isSealed(o) || !Object.isExtensible(o)`, `return Object.getPrototypeOf(o) === Object.prototype`,
	`const m = new Map([[o, 1], [a, 2]]); return [m.get(o), m.get(a), m.get(o.b)]`, `return new Set(a).size`, `return new Map(Object.entries(o)).get("b")`,
	// methods of arrays that do not change them
	`return a.map((x, i) => [x, i])`, `return a.filter(x => x)`, `return a.find(x => x > 1)`, `return a.findLast(x => x > 1)`, `return a.findIndex(x => x > 1)`,
	`return a.reduce((n, x) => n + String(x), "")`, `return a.reduceRight((n, x) => n + String(x), "")`, `return a.slice(1, -1)`, `return a.slice()`,
	`return a.concat([1], a, 2)`, `return [].concat(a, a)`, `return a.indexOf(2)`, `return a.indexOf(a[3])`, `return a.lastIndexOf(2)`, `return a.includes(2)`, `return a.includes("2")`,
	`return a.some(x => x > 1) && a.every(x => true)`, `return a.flat()`, `return o.nested.flat(2)`, `return a.flatMap(x => [x, x])`, `return [...a.entries()]`,
	`return [...a.keys()]`, `return [...a.values()]`, `return a.toSorted()`, `return a.toReversed()`, `return a.with(0, 9)`, `return a.toSpliced(1, 1)`,
	`let s = ""; a.forEach((x, i, all) => s += i + (all === a)); return s`, `return a.toString()`, `return o.list.join()`, `return Array.prototype.slice.call(a, 1)`,
	`return (function () { return arguments.length })(...a)`, `return ((...args) => args.length).apply(null, a)`, `return Reflect.ownKeys(o)`, `return Reflect.ownKeys(a)`,
	// changing
	`o.a = 5; return o`, `o.new = {x: 1}; o.new.x++; return o`, `o.b.c = 5; return [o, o.b]`, `o.b = 1; return o`, `o.a++; o.a += 2; return o.a`,
	`delete o.a; return [o, "a" in o, Object.keys(o), o.a]`, `delete o.none; return o`, `delete o.a; o.a = 3; return Object.keys(o)`,
	`o.z = 1; o.y = 2; return Object.keys(o)`, `o.a = undefined; return ["a" in o, Object.keys(o), o]`, `o.a = null; return o`, `o.none ??= []; o.none.push(1); return o`,
	`for (const k in o) delete o[k]; return o`, `for (const k of Object.keys(o)) o[k + "2"] = o[k]; return o`,
	`for (const k in o) { delete o[k]; o[k + "'"] = 1 } return o`,
	`Object.assign(o, {a: 1, q: 2}); return o`, `Object.assign(o.b, o, {b: 0}); return o.b.a`, `o.self = o.b; o.self.c = 9; return o.b`,
	`Object.defineProperty(o, "d", {value: 1, writable: true, enumerable: true, configurable: true}); return o`,
	`const {b} = o; b.c = 7; return o`, `const copy = {...o}; copy.a = 9; copy.b.c = 8; return o`, `o.toString = 5; return o.toString`,
	`a[0] = 9; return a`, `a[a.length] = 9; return a`, `a[3].x = 5; return [a, a[3]]`, `a[6] = 1; return a.length`, `a.push(7); return a`, `return [a.push(7, 8), a]`,
	`return [a.pop(), a]`, `return [a.shift(), a]`, `return [a.unshift(7, 8), a]`, `return [a.splice(1, 2), a]`, `return [a.splice(1, 0, "x", "y"), a]`, `return [a.splice(1), a]`,
	`a.reverse(); return a`, `a.sort(); return a`, `a.sort((x, y) => String(y).localeCompare(String(x))); return a`, `a.fill(0); return a`, `a.fill(7, 1, 2); return a`, `a.copyWithin(0, 1); return a`,
	`a.length = 1; return a`, `a.length = 0; return a`, `a.length = 1; a.length = 3; return [a.length, a[2]]`, `a.length = 1; a.push(5); return a`,
	`while (a.length) a.pop(); return a`, `a.push(a[3]); a[3].x = 5; return a`, `a.push(o); o.a = 5; return a`, `[a[0], a[1]] = [a[1], a[0]]; return a`,
	`a.forEach((x, i) => a[i] = [x]); return a`, `for (const x of a) if (a.length < 9) a.push(0); return a`, `a.splice(0, a.length, ...[3, 2, 1]); return a`,
	`o.list.push(4); return o`, `o.list.length = 0; return o`, `o.nested[0].push(4); return o`,
	`const t = a[3]; a.length = 0; t.x = 6; return [a, t]`,
	`"use strict"; o.a = 1; a[0] = 2; delete o.b; return [o, a]`,
}

const viewed = `{"o": {"b": {"c": 1, "d": null}, "a": 1, "s": "text", "u": "grüße 👋", "list": [1, 2, 3], "nested": [[1, [2]], [3]], "t": true, "f": 1.5},
	"a": [3, 2, "one", {"x": 1}, null]}`

// forms are the forms in which a request may have its values.
var forms = map[string]func(request map[string]any) map[string]any{
	"maps": func(request map[string]any) map[string]any { return request },
	"packed": func(request map[string]any) map[string]any {
		return maps.Collect(enginetest.Pack(request).All())
	},
	"sorted": func(request map[string]any) map[string]any {
		for key, field := range request {
			if whole, ok := field.(map[string]any); ok {
				request[key] = (&tree.Sorted{}).With(whole, nil)
			}
		}
		return request
	},
	"packed within maps": func(request map[string]any) map[string]any {
		fields := map[string]any{}
		for key, field := range enginetest.Pack(request).All() {
			switch whole := field.(type) {
			case packed.Map:
				field = maps.Collect(whole.All())
			case packed.Array:
				field = slices.Collect(whole.All())
			}
			fields[key] = field
		}
		return fields
	},
}

// inForms runs a test with a request in each form.
func inForms(t *testing.T, request string, test func(t *testing.T, request func() map[string]any)) {
	for name, form := range forms {
		t.Run(name, func(t *testing.T) { test(t, func() map[string]any { return form(object(t, request)) }) })
	}
}

// TestViewsLikePlainValues runs each body on the request and on plain values.
func TestViewsLikePlainValues(t *testing.T) { inForms(t, viewed, testViewsLikePlainValues) }

func testViewsLikePlainValues(t *testing.T, request func() map[string]any) {
	for _, body := range viewBodies {
		script := `
			const body = (o, a) => { ` + body + ` }
			const outcome = (o, a) => { try { return {is: body(o, a), o, a} } catch (e) { return String(e) } }
			const plain = ` + viewed + `
			const sorted = v => v && typeof v == "object" && !Array.isArray(v)
				? Object.fromEntries(Object.keys(v).sort().map(k => [k, sorted(v[k])])) : Array.isArray(v) ? v.map(sorted) : v
			function sync({o, a}) {
				const {o: po, a: pa} = sorted(plain)
				const text = v => JSON.stringify(v, (k, x) => x === undefined ? "undefined" : x) ?? "undefined"
				return {view: text(outcome(o, a)), plain: text(outcome(po, pa))}
			}`
		got := mustCallWith(t, script, request())
		if diff := cmp.Diff(got["plain"], got["view"]); diff != "" {
			t.Errorf("%s\n(-plain +view):\n%s", body, diff)
		}
	}
}

// TestViewsReturned runs each body on the request and returns the request, which must be equal to its JSON.
func TestViewsReturned(t *testing.T) { inForms(t, viewed, testViewsReturned) }

func testViewsReturned(t *testing.T, make func() map[string]any) {
	for _, body := range viewBodies {
		script := `
			const body = (o, a) => { ` + body + ` }
			function sync({o, a}) {
				const tidy = v => { try { return JSON.parse(JSON.stringify(v)) } catch (e) { return String(e) } }
				let is
				try { is = body(o, a) } catch (e) { is = String(e) }
				const text = JSON.stringify({is: tidy(is), o, a})
				return {text, is: tidy(is), o, a}
			}`
		request := make()
		got, err := call(t, script, request, engine.Limits{})
		if err != nil {
			if !strings.Contains(err.Error(), "undefined, which JSON") && !strings.Contains(err.Error(), "undefined") {
				t.Errorf("%s: %v", body, err)
			}
			continue
		}
		want := object(t, got["text"].(string))
		delete(got, "text")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n(-JSON +returned):\n%s", body, diff)
		}
		if diff := cmp.Diff(object(t, viewed), tree.Native(request)); diff != "" {
			t.Errorf("%s: the request was changed:\n%s", body, diff)
		}
	}
}

// TestManyViews reads more views in a view than are in a list: to read one again returns the same object, with what was set in it.
func TestManyViews(t *testing.T) {
	const script = `function sync({o, a}) {
		const keys = Object.keys(o), first = [o.k00, o.k01, a[0], a[1]]
		o.k01.n = a[1].n = 'set'
		const objects = keys.map(k => o[k]), items = [...a]
		const same = objects.every((x, i) => x === o[keys[i]] && x.n === (i === 1 ? 'set' : i)) && items.every((x, i) => x === a[i])
		const values = Object.values(o).every((x, i) => x === objects[i]), loop = []
		for (const x of a) loop.push(a.indexOf(x))
		return {same, values, loop, first: first.every((x, i) => x === [o.k00, o.k01, a[0], a[1]][i]), n: keys.length, at: [o.k01.n, a[1].n, a[11].n]}
	}`
	fields, items := []string{}, []string{}
	for i := range 12 {
		fields = append(fields, fmt.Sprintf(`"k%02d": {"n": %d}`, i, i))
		items = append(items, fmt.Sprintf(`{"n": %d}`, i))
	}
	text := `{"o": {` + strings.Join(fields, ", ") + `}, "a": [` + strings.Join(items, ", ") + `]}`
	want := object(t, `{"same": true, "values": true, "loop": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], "first": true, "n": 12, "at": ["set", "set", 11]}`)
	inForms(t, text, func(t *testing.T, request func() map[string]any) {
		if diff := cmp.Diff(want, mustCallWith(t, script, request())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestUnchangedPartsAreReturnedByReference(t *testing.T) {
	request := object(t, `{"parent": {"spec": {"a": [1]}, "status": {"b": {"c": 1}}}}`)
	got, err := call(t, `function sync({parent}) {
		parent.status.b.c
		parent.status.new = 1
		return {parent, children: [parent.spec]}
	}`, request, engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	spec := request["parent"].(map[string]any)["spec"].(map[string]any)
	spec["mark"] = true
	if diff := cmp.Diff(spec, got["children"].([]any)[0]); diff != "" {
		t.Errorf("spec was copied: %s", diff)
	}
	if diff := cmp.Diff(spec, got["parent"].(map[string]any)["spec"]); diff != "" {
		t.Errorf("spec in a changed parent was copied: %s", diff)
	}
	if _, there := request["parent"].(map[string]any)["status"].(map[string]any)["new"]; there {
		t.Error("the request was changed")
	}
}

// TestWideIntegers checks integers beyond 2^53 that are returned alone, and not in a list or map of the request.
func TestWideIntegers(t *testing.T) {
	inForms(t, `{"a": {"n": 9007199254740993, "same": 9007199254740993, "other": 9007199254740995, "safe": 9007199254740991, "list": [9007199254740993], "far": [9223372036854775807]}}`, testWideIntegers)
}

func testWideIntegers(t *testing.T, request func() map[string]any) {
	for body, want := range map[string]string{
		`return {n: a.n}`:                                `{"n": 9007199254740993}`,
		`return {...a, far: 1}`:                          `{"n": 9007199254740993, "same": 9007199254740993, "other": 9007199254740995, "safe": 9007199254740991, "list": [9007199254740993], "far": 1}`,
		`a.list.push(1); return {list: a.list}`:          `{"list": [9007199254740993, 1]}`,
		`return {m: a.list.map(x => x)}`:                 `{"m": [9007199254740993]}`,
		`return {s: String(a.n), t: ` + "`${a.n}`" + `}`: `{"s": "9007199254740993", "t": "9007199254740993"}`,
		`return {eq: [a.n === a.same, a.n == a.list[0], a.n === a.other, a.list.includes(a.n)]}`: `{"eq": [true, true, false, true]}`,
		`return {safe: a.safe - 1}`: `{"safe": 9007199254740990}`,
		`return {set: a.n ? 1 : 0}`: `{"set": 1}`,
	} {
		got := mustCallWith(t, `function sync({a}) { `+body+` }`, request())
		if diff := cmp.Diff(object(t, want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
	for _, expression := range []string{
		`a.n + 1`, `a.n * 1`, `+a.n`, `a.n > 5`, `a.n - a.other`, `"x" + a.n`, `Math.max(a.n)`, `Number(a.n)`, `a.n == 1`,
		`JSON.stringify({n: a.n})`, `parseInt(a.n) && a.n << 1`, `isNaN(a.n)`, `[a.n, a.n].sort((x, y) => x - y)`, `a.n++`,
	} {
		_, err := call(t, "function sync({a}) {\n  return {x: "+expression+"}\n}", request(), engine.Limits{})
		e := wantError(t, expression, err, engine.KindRuntime)
		if e != nil && (e.Pos.Line != 2 || !strings.Contains(e.Msg, "a.n 9007199254740993")) {
			t.Errorf("%s: %v", expression, e)
		}
	}
}

func TestListCannotBeSparse(t *testing.T) {
	for _, body := range []string{`a[1e8] = 1`, `a.length = 1e9`, `a[2 ** 31] = 1`, `a[4294967290] = 1`, `a[-1] = 1`} {
		_, err := call(t, `function sync({a}) { `+body+`; return {} }`, object(t, `{"a": [1]}`), engine.Limits{})
		wantError(t, body, err, engine.KindRuntime)
	}
}

func object(t testing.TB, text string) map[string]any {
	t.Helper()
	v, err := decode("test.json", text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v.(map[string]any)
}

func mustCall(t testing.TB, script, request string) map[string]any {
	t.Helper()
	return mustCallWith(t, script, object(t, request))
}

func mustCallWith(t testing.TB, script string, request map[string]any) map[string]any {
	t.Helper()
	got, err := call(t, script, request, engine.Limits{})
	if err != nil {
		t.Fatalf("%s\n%s", script, engine.DetailOf(err))
	}
	if _, err := json.Marshal(got); err != nil {
		t.Fatal(err)
	}
	return got
}
