package javascript

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"metascript/engine"
)

// hostile scripts: each must end in an error of that kind (or of several, with a bar between) or, with "", in an
// answer. Those that begin with a parenthesis are the body of sync.
var hostile = []struct{ name, kinds, script string }{
	// Loops in native functions.
	{"index of", "Memory", `Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)`},
	{"reverse", "Runtime", `Array.prototype.reverse.call({length: 2 ** 53 - 1})`},
	{"sparse sort", "Memory", `const a = []; a[4294967290] = 1; a.sort()`},
	{"sparse join", "Memory", `const a = []; a.length = 4294967295; a.join()`},
	{"sparse text", "Memory", `const a = []; a.length = 4294967295; return {a: a + ''}`},
	{"array fill", "Memory", `new Array(4294967295).fill(1)`},
	{"array call", "Memory", `Array(4294967295)`},
	{"array from", "Memory", `Array.from({length: 2 ** 40})`},
	{"getter length", "Memory|Timeout|", `let n = 0; return {a: Array.from({get length() { return n++ ? 2 ** 40 : 1 }}).length}`},
	{"apply", "Memory", `Math.max.apply(null, {length: 2 ** 32})`},
	{"reflect apply", "Memory", `Reflect.apply(Math.max, null, {length: 2 ** 32})`},
	{"raw", "Memory", `String.raw({raw: {length: 2 ** 50}})`},
	{"native next", "Timeout", `const it = {next: Object, [Symbol.iterator]() { return this }}; new Set(it)`},
	{"native next spread", "Timeout|Memory", `const it = {next: Object, [Symbol.iterator]() { return this }}; [...it]`},
	{"native next destructuring", "Timeout|Memory", `const it = {next: Object, [Symbol.iterator]() { return this }}; const [...a] = it`},
	{"error next", "Timeout|Memory", `let E; try { null.x } catch (e) { E = e.constructor } const it = {next: E, [Symbol.iterator]() { return this }}; new Set(it)`},
	{"promise next", "Timeout|Memory", `const P = (async () => {})().constructor; const it = {next: P.resolve.bind(P), [Symbol.iterator]() { return this }}; new Set(it)`},
	{"bound next", "Timeout|Memory", `const it = {next: Object.bind(), [Symbol.iterator]() { return this }}; new Set(it)`},
	{"species next", "Timeout", `const next = Object.getOwnPropertyDescriptor(Map, Symbol.species).get; const it = {next, [Symbol.iterator]() { return this }}; new Set(it)`},
	{"size next", "Runtime", `const next = Object.getOwnPropertyDescriptor(Map.prototype, 'size').get; const it = {next, [Symbol.iterator]() { return this }}; new Set(it)`},
	{"regexp next", "Timeout|Memory", `const it = {next: /x/.constructor, [Symbol.iterator]() { return this }}; new Set(it)`},
	{"require next", "Module", `const it = {next: require.bind(null, './x'), [Symbol.iterator]() { return this }}; new Set(it)`},
	{"map next", "Timeout|Memory", `const m = new Map(); const it = {next: m.set.bind(m, 1, 1), [Symbol.iterator]() { return this }}; new Set(it)`},
	{"promise all", "Timeout|Memory", `const it = {next: Object, [Symbol.iterator]() { return this }}; Promise.all(it); return {}`},
	{"from entries", "Timeout|Runtime", `const it = {next: Object, [Symbol.iterator]() { return this }}; Object.fromEntries(it)`},
	{"values of array-like", "Memory", `[...[].values.call({length: 2 ** 53 - 1})]`},
	{"values of growing", "Timeout|Memory", `const a = []; const it = a.values(); a.length = 4294967295; for (const x of [...it]);`},
	{"spread sparse", "Timeout|Memory", `const a = []; a.length = 4294967295; [...a]`},
	{"call sparse", "Timeout|Memory", `const a = []; a.length = 4294967295; Math.max(...a)`},
	{"concat spreadable", "Memory", `[].concat({length: 2 ** 50, [Symbol.isConcatSpreadable]: true})`},
	{"splice", "Memory", `const a = []; a.length = 4294967295; a.splice(1, 2)`},
	{"toSorted", "Memory|Runtime", `Array.prototype.toSorted.call({length: 2 ** 50})`},
	{"typed", "Runtime", `new Uint8Array(2 ** 32)`},
	{"bigint", "Syntax", `7n ** 50000000n`},
	{"bigint global", "Runtime", `globalThis['Big' + 'Int'](7)`},
	{"empty repeat", "", `return {a: ''.repeat(2 ** 50)}`},
	{"split", "Memory|Timeout", `'x'.repeat(2e7).split('')`},
	{"huge indexOf", "Timeout", `const s = 'ä'.repeat(1e7); s.indexOf('ä'.repeat(5e6) + 'b')`},
	{"default sort", "Timeout|Memory", `const a = []; for (let i = 0; i < 2e6; i++) a.push('x'.repeat(20) + (i * 7919 % 1000003)); a.sort(); return {}`},
	{"sort long", "Timeout|Memory|", `const p = 'x'.repeat(1e6); const a = []; for (let i = 0; i < 60; i++) a.push(p + i % 7); for (let i = 0; i < 1e9; i++) a.sort(); return {}`},
	{"hex", "Timeout|Memory|", `return {a: String(+('0x' + 'f'.repeat(6e7)))}`},
	{"parseInt", "Memory||Timeout", `return {a: String(parseInt('9'.repeat(6e7)))}`},
	{"number", "|Timeout", `return {a: String(Number('9'.repeat(6e7)))}`},
	{"normalize", "Memory|Timeout", `'\u0301'.repeat(1e7).normalize('NFD')`},
	{"locale", "Memory|Timeout", `const s = 'x'.repeat(3e7); s.localeCompare(s + 'y')`},
	{"date", "Memory", `new Date('1'.repeat(1e7))`},
	// Regular expressions.
	{"back-reference", "Timeout", `/^(a+)+\1b$/.test('a'.repeat(64))`},
	{"look-ahead", "Result|Timeout", `/^(?=(a+)+b)x/.exec('a'.repeat(64))`},
	{"look-ahead global", "Timeout", `'a'.repeat(5000).replace(/(?=(a+)+b)x|a/g, 'y')`},
	{"quadratic", "Timeout|", `'a'.repeat(1e6).replace(/a.*b|a/g, 'y'); return {}`},
	{"quadratic split", "Timeout|", `'a'.repeat(1e6).split(/a.*b|a/); return {}`},
	{"states", "Source", `/(((a?){30}){30}){30}/.test('a'.repeat(1e6))`},
	{"states at run time", "Memory", `new RegExp('(((a?){30}){30}){30}').test('a'.repeat(1e6))`},
	{"states in match", "Memory", `'a'.repeat(1e6).match('(((a?){30}){30}){30}')`},
	{"large text", "Timeout", `/((a?){20}){20}b/.test('a'.repeat(1e6))`},
	{"deep pattern", "Memory|Runtime|Syntax", `new RegExp('('.repeat(1e6))`},
	{"caught pattern", "Timeout", `for (;;) try { /^(a+)+\1b$/.test('a'.repeat(64)) } catch (e) {}`},
	{"overridden names", "Timeout", `globalThis.RegExp = 1; ''.match('x'); const r = 'x'.match(/x/).constructor; 'a'.repeat(64).match('^(a+)+\\1b$')`},
	{"compile", "Runtime", `/x/.compile('y')`},
	{"replace amplifies", "Memory|Timeout", "'a'.repeat(1e5).replace(/a/g, '$`')"},
	{"replace amplifies text", "Memory|Timeout", "'a'.repeat(1e5).replaceAll('a', \"$'\")"},
	{"replace large", "Memory|Timeout", `'a'.repeat(1e6).replaceAll('a', 'b'.repeat(1e6))`},
	{"replace capture", "Memory|Timeout", `'a'.repeat(1e5).replace(/(?=(a*))a/g, '$1')`},
	{"split species", "Timeout|Runtime|", `const r = /a/; r.constructor = {[Symbol.species]: function () { return {exec: () => ({index: 0, length: 2 ** 50})} }}; 'a'.repeat(1e6).split(r); return {}`},
	{"exec result", "Timeout|Memory|Runtime|", `const r = /a/g; r.exec = () => ({length: 2 ** 50, index: 0, 0: 'a'}); 'aaa'.replace(r, 'x')`},
	// Memory.
	{"repeat", "Memory", `'ab'.repeat(2 ** 62)`},
	{"computed repeat", "Memory", `const r = 're' + 'peat'; 'a'[r](1e9)`},
	{"destructured repeat", "Memory", `const {repeat} = ''; repeat.call('a', 1e9)`},
	{"reflected repeat", "Memory", `Reflect.get(String.prototype, 'repeat').apply('a', [1e9])`},
	{"described repeat", "Memory", `Object.getOwnPropertyDescriptor(String.prototype, 'repeat').value.call('a', 1e9)`},
	{"all descriptors", "Memory", `Object.getOwnPropertyDescriptors(String.prototype).repeat.value.call('a', 1e9)`},
	{"bound repeat", "Memory", `''.repeat.bind('a', 1e9)()`},
	{"call of call", "Memory", `Function.prototype.call.call(''.repeat, 'a', 1e9)`},
	{"caught repeat", "Memory", `for (;;) try { 'a'.repeat(1e9) } catch (e) {} finally { continue }`},
	{"lying this", "Memory", `let n = 0; ''.repeat.call({toString: () => n++ ? 'x'.repeat(1e6) : 'x'}, 6e7); ''.repeat.call({toString: () => n++ ? 'x'.repeat(1e6) : 'x'}, 6e7)`},
	{"lying count", "", `let n = 0; return {a: 'ab'.repeat({valueOf: () => n++ ? 2 ** 62 : 1})}`},
	{"pad", "Memory", `'a'.padStart(1e9, 'b')`},
	{"doubling", "Timeout|Memory|Canceled", `let s = 'x'.repeat(1e6); for (let i = 0; i < 20; i++) s += s; return {n: s.length}`},
	{"template", "Timeout|Memory|Canceled", "const a = 'x'.repeat(3e7); const s = `" + strings.Repeat("${a}", 200) + "`; return {n: s.length}"},
	{"join", "Memory|Timeout", `new Array(1e6).fill('x'.repeat(1e6)).join('')`},
	{"join separator", "Memory|Timeout", `new Array(1e6).join('x'.repeat(1e6))`},
	{"array text", "Memory|Timeout", "`${new Array(1e6).fill('x'.repeat(1e6))}`"},
	{"flat", "Memory|Timeout", `let a = [1]; for (let i = 0; i < 60; i++) a = [a, a]; a.flat(Infinity)`},
	{"flat cycle", "Stack|Memory", `const a = []; a.push(a); a.flat(Infinity)`},
	{"flat map", "Memory", `const b = []; b.length = 4294967295; [1].flatMap(() => b)`},
	{"concat doubling", "Memory|Timeout", `let a = [1]; for (;;) a = a.concat(a)`},
	{"text concat", "Memory|Timeout", `const s = 'x'.repeat(3e7); ''.concat(s, s, s, s)`},
	{"keys of text", "Memory|Timeout", `Object.keys('x'.repeat(2e7))`},
	{"spread of text", "Memory|Timeout", `return {a: {...'x'.repeat(2e7)}}`},
	{"encode", "Memory|Timeout", `encodeURIComponent('ä'.repeat(3e7))`},
	{"json text", "Memory|Timeout", `JSON.parse('[' + '{},'.repeat(1e6) + '1]')`},
	// Go's stack.
	{"json deep", "Stack", `JSON.parse('['.repeat(2e7))`},
	{"json objects deep", "Stack", `JSON.parse('{"a":'.repeat(1e6))`},
	{"reviver", "Stack|Timeout|Memory|Runtime", `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; JSON.parse('[1,2]', function (k, v) { if (k === '0') this[1] = a; return v })`},
	{"stringify deep", "Stack", `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; JSON.stringify(a)`},
	{"stringify dag", "Memory|Timeout", `let a = 'x'; for (let i = 0; i < 60; i++) a = [a, a]; JSON.stringify(a)`},
	{"stringify cycle", "Runtime", `const a = []; a.push(a); JSON.stringify(a)`},
	{"toJSON", "Stack|Timeout", `const o = {toJSON() { return {o} }}; JSON.stringify(o)`},
	{"text deep", "Stack|Timeout", `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; String(a)`},
	{"text plus deep", "Stack|Timeout", `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return {a: a + ''}`},
	{"answer deep", "Output", `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return {a}`},
	{"log deep", "", `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; console.log(a); return {}`},
	{"throw deep", "Raised", `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; throw a`},
	{"bound chain", "Stack|Memory|Timeout", `let f = () => 1; for (let i = 0; i < 3e5; i++) f = f.bind(); f()`},
	{"prototypes", "Stack", `let o = {}; for (let i = 0; i < 1e7; i++) o = Object.create(o); return {a: o.x}`},
	{"literal prototypes", "Stack", `let o = {}; for (let i = 0; i < 1e7; i++) o = {__proto__: o}; return {a: o.x}`},
	{"set prototypes", "Stack", `let o = {}; for (let i = 0; i < 1e7; i++) { const p = {}; p.__proto__ = o; o = p }`},
	{"classes", "Stack", `let A = class {}; for (let i = 0; i < 1e7; i++) A = class extends A {}; new A()`},
	{"recursion", "Stack", `const f = () => f(); f()`},
	{"getter recursion", "Stack", `const o = {get a() { return this.a }}; o.a`},
	{"valueOf recursion", "Stack", `const o = {valueOf() { return +o }}; +o`},
	{"sort recursion", "Stack", `const f = () => [1, 2].sort(f); f()`},
	{"generator recursion", "Stack|Timeout|Memory", `function* g() { yield* g() } [...g()]`},
	{"replace recursion", "Stack", `const f = () => 'a'.replace('a', f); f()`},
	// Loops that goja sees, and what could hide them.
	{"loop", "Timeout", `for (;;);`},
	{"labelled", "Timeout", `a: for (;;) { for (;;) continue a }`},
	{"finally", "Timeout", `for (;;) { try { for (;;); } finally { continue } }`},
	{"generator", "Timeout|Memory", `function* g() { for (;;) yield 1 } new Set(g())`},
	{"promises", "Timeout|Memory", `const f = () => Promise.resolve().then(f); f(); return {}`},
	{"async", "Timeout", `return (async () => { for (;;) await null })()`},
	{"thenable", "Timeout|Memory", `const t = {then(f) { f(t) }}; return Promise.resolve(t)`},
	{"getter in answer", "Timeout", `return {get a() { for (;;); }}`},
	{"toString of error", "Timeout|Raised", `throw Object.assign(new Error(), {message: {toString() { for (;;); }}})`},
	{"message getter", "Timeout", `const e = new Error(); Object.defineProperty(e, 'message', {get() { for (;;); }}); throw e`},
	{"growth", "Timeout|Memory", `const a = []; for (;;) a.push({})`},
	{"map growth", "Timeout|Memory", `const m = new Map(); for (let i = 0; ; i++) m.set(i, i)`},
	{"with", "Timeout", `with ({x: 1}) for (;;) x`},
	{"species", "Timeout|Memory|Runtime|Result", `class A extends Array { static get [Symbol.species]() { return function () { return {length: 2 ** 50} } } } new A(1, 2).concat([1])`},
	{"array like answer", "Output", `const a = []; a[4294967290] = 1; return {children: a}`},
	// The host, and other scripts.
	{"function", "Runtime", `new Function('for (;;);')()`},
	{"function constructor", "Runtime", `(() => {}).constructor('for (;;);')()`},
	{"generator constructor", "Runtime", `(function* () {}).constructor('for (;;);')`},
	{"async constructor", "Runtime", `(async () => {}).constructor('for (;;);')`},
	{"eval", "Runtime", `(0, eval)('('.repeat(1e7))`},
	{"process", "Runtime", `process.exit()`},
	{"errors", "Raised", `throw new Error('x'.repeat(3e7))`},
	{"aggregate", "Raised|Runtime|Timeout|Memory", `throw new AggregateError(new Array(1e6).fill(new Error('x'.repeat(1e6))), 'many')`},
	{"logs", "", `const s = 'x'.repeat(3e7); for (let i = 0; i < 1e3; i++) console.log(s, [s, s], {s}); return {}`},
	{"name of function", "Stack|Memory|Timeout", `const n = 'x'.repeat(1e7); const o = {[n]() { return o[n]() }}; o[n]()`},
	{"stack text", "Stack|Memory|Timeout|", `const n = 'x'.repeat(1e7); let d = 0; const o = {[n]() { return d++ < 300 ? o[n]() : new Error().stack }}; return {n: o[n]().length}`},
}

func generated() map[string]string {
	many := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	const mb = 1<<20 - 1000
	return map[string]string{
		"parentheses": many("(", mb), "brackets": many("[", mb), "braces": many("{", mb), "not": many("!", mb) + "1",
		"minus": many("- ", mb) + "1", "plus": "x=1" + many("+1", mb), "text": "x=''" + many("+'a'", mb), "arrows": many("a=>", mb) + "1",
		"assign": many("a=", mb) + "1", "conditional": many("a?", mb) + "1", "conditional else": many("1?1:", mb) + "1",
		"templates": many("`${", mb), "new": many("new ", mb) + "A", "typeof": many("typeof ", mb) + "1", "power": many("1**", mb) + "1",
		"members": "x" + many(".a", mb), "calls": "x" + many("()", 90_000), "index": "x" + many("[0]", 90_000), "optional": "x" + many("?.a", mb),
		"else if": many("if(1);else ", mb) + ";", "ifs": many("if(1)", 90_000) + ";", "for": many("for(;;)", 90_000) + ";", "labels": labels(),
		"while": many("while(1)", 90_000) + ";", "do": many("do ", mb) + ";", "comma": "1" + many(",1", mb), "await": "async()=>{" + many("await ", mb) + "1}",
		"yield": "function*g(){" + many("yield ", mb) + "1}", "class": many("class A extends ", mb) + "B{}", "regexp": "/" + many("(", 90_000) + "/",
		"regexp nested": "/" + many("(", 40_000) + "a" + many(")", 40_000) + "/", "or": "1" + many("||1", mb), "coalesce": "1" + many("??1", mb),
		"objects": "x=" + many("{a:", mb), "functions": many("function f(){", mb), "comments": many("(/*)*/", mb), "in strings": many("(')'+", mb),
		"with": many("with(a)", 90_000) + ";", "throw": many("try{}catch(e){", mb), "patterns": "let " + many("[", 45_000) + "a" + many("]", 45_000) + "=1",
		"delete": many("delete ", mb) + "x.y", "tagged": "x" + many("``", 45_000), "spread": "x=[" + many("...[", 90_000), "dots": "f(" + many("...", mb) + ")",
		"switch": many("switch(1){case 1:", mb), "default": "(" + many("a=(b", 90_000), "names": "x=" + many("a", mb), "string": "x='" + many("a", mb) + "'",
		"number": "x=1" + many("0", mb), "hex": "x=0x" + many("f", mb), "nul": many("\x00", mb), "utf8": many("\xff", mb), "escapes": "x='" + many("\\u0041", mb) + "'",
		"get": "x={" + many("get a(){},", 90_000) + "}", "vars": "var a" + many(",a", mb), "lets": many("{let a}", 90_000), "semicolons": many(";", mb),
		"private": "class A{#a;m(){" + many("#a in ", mb) + "this}}", "void": many("void ", mb) + "0", "sequence of functions": many("function f(){}", 90_000),
	}
}

func labels() string {
	var b strings.Builder
	for i := range 90_000 {
		fmt.Fprintf(&b, "l%d:", i)
	}
	return b.String() + ";"
}

const hostileTimeout = 500 * time.Millisecond

// TestHostile runs each hostile script in a process of its own, so that a fatal error is a failed case.
func TestHostile(t *testing.T) {
	if name := os.Getenv("HOSTILE_CASE"); name != "" {
		runHostile(t, name)
		return
	}
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) { inChild(t, c.name) })
	}
}

func TestHostileSource(t *testing.T) {
	for name := range generated() {
		t.Run(name, func(t *testing.T) { inChild(t, "source "+name) })
	}
}

func inChild(t *testing.T, name string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	limit := "ulimit -v 4000000; "
	if raced { // the race detector reserves more than that
		limit = ""
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", limit+"exec \"$0\" \"$@\"", os.Args[0], "-test.run=^TestHostile$", "-test.v")
	cmd.Env = append(os.Environ(), "HOSTILE_CASE="+name)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%.3000s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "hostile_test.go") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

func runHostile(t *testing.T, name string) {
	script, kinds := "", "Source|Syntax|Runtime|Timeout|Missing|Memory|Stack|Params|"
	if text, ok := strings.CutPrefix(name, "source "); ok {
		script = generated()[text]
	}
	for _, c := range hostile {
		if c.name == name {
			script, kinds = "function sync(request) { "+c.script+" }", c.kinds
		}
	}
	e := engine.New(engine.Options{Runtimes: map[string]engine.Runtime{engine.JavaScript: New()}})
	began := time.Now()
	err := func() error {
		l := engine.Limits{Timeout: hostileTimeout}
		if strings.HasPrefix(name, "source ") {
			l = engine.Limits{}
		}
		p, err := e.Compile(t.Context(), files("sync.js", script), l)
		if err != nil {
			return err
		}
		_, err = p.Call(t.Context(), "sync", map[string]any{}, engine.Env{Limits: l, Log: func(engine.Message) {}})
		return err
	}()
	took := time.Since(began)
	kind := ""
	if fault := (*engine.Error)(nil); errors.As(err, &fault) {
		kind = string(fault.Kind)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s in %s: %.200v", kind, took.Round(time.Millisecond), err)
	if !strings.Contains("|"+kinds+"|", "|"+kind+"|") {
		t.Errorf("%s: want %s", kind, kinds)
	}
	if e.Runaways() > 0 {
		t.Error("it did not stop")
	}
	if took > 10*hostileTimeout {
		t.Errorf("took %s", took)
	}
}
