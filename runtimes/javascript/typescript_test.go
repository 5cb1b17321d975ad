package javascript

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"metascript/engine"
)

// typescript compiles the files, the first of which is the entry.
func typescript(t *testing.T, files ...string) (engine.Program, error) {
	t.Helper()
	all := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		all[files[i]] = &fstest.MapFile{Data: []byte(files[i+1]), Mode: 0o444}
	}
	e := engine.New(engine.Options{Runtimes: map[string]engine.Runtime{engine.TypeScript: NewTypeScript()}})
	return e.Compile(t.Context(), engine.Script{Language: engine.TypeScript, Entry: files[0], Files: all}, engine.Limits{})
}

func TestTypeScript(t *testing.T) {
	for name, c := range map[string]struct {
		files     []string
		functions string
		want      string
	}{
		"types": {[]string{"sync.ts", `
interface Request<T extends object = {}> { parent: T; children?: Record<string, unknown> }
type Name = string & { readonly brand?: unique symbol }
declare const nothing: number
function name<T>(x: T): T { return x }
function sync({parent}: Request<{metadata: {name: string}}>): {status: object} {
  const n = name<Name>(parent.metadata.name as Name)!
  return {status: {n, m: <string>n}} satisfies object
}`}, "name sync", `{"status": {"n": "web", "m": "web"}}`},
		"patterns": {[]string{"sync.ts", `
export function sync() {
  const first = /(?<first>\p{Lu})\p{L}+/u
  return {first: "das \u00dcbel".match(first)!.groups!.first, source: /\p{L}/iu.source, flags: /\p{L}/iu.flags, all: "K\u212a".replace(/k/giu, "x")}
}`}, "sync", `{"all": "xx", "first": "\u00dc", "flags": "iu", "source": "\\p{L}"}`},
		"exported functions": {[]string{"sync.ts", `
export type T = number
export function sync({parent}: any) { return {status: {n: parent.metadata.name}} }
export const finalize = async () => ({finalized: true})
function other() {}`}, "finalize sync", `{"status": {"n": "web"}}`},
		"default export of a function": {[]string{"sync.ts", `
export default async function (context: any) { return {status: 200, body: {n: context.request.body.parent.metadata.name}} }`}, "sync", `{"status": 200, "body": {"n": "web"}}`},
		"default export of an object": {[]string{"sync.ts", `export default { sync: () => ({a: 1}), finalize() { return {} } }`}, "finalize sync", `{"a": 1}`},
		"CommonJS":                    {[]string{"sync.ts", `exports.sync = (r: unknown): object => ({a: 1})`}, "sync", `{"a": 1}`},
		"modules": {[]string{
			"sync.ts", `
import { a, type T } from "./lib/a"
import * as b from "./lib/b.js"
import c from './c.js'
import type { Nothing } from "./nothing"
import data from "./data.json"
import { hash } from "metascript"
const old = require("./old")
export function sync(): T { return {a, b: b.b, c, data, old: old.x, hash: hash({})} }`,
			"lib/a.ts", `export type T = object; export const a: number = 1`,
			"lib/b.ts", `import {a} from "./a"; export const b = a + 1`,
			"c.js", `module.exports = 3`,
			"old.ts", `exports.x = 4 as number`,
			"data.json", `{"x": 5}`,
		}, "sync", `{"a": 1, "b": 2, "c": 3, "data": {"x": 5}, "old": 4, "hash": "qrtz4fsbtj"}`},
		"syntax that is converted": {[]string{"sync.ts", `
enum Phase { Pending, Running = "Running" }
namespace N { export const x = 1 }
class P { constructor(private readonly n: number) {} get() { return this.n } }
async function* numbers() { yield 1; yield 2 }
export async function sync() {
  const seen = []
  for await (const n of numbers()) seen.push(n)
  return {phase: Phase.Running, pending: Phase.Pending, x: N.x, p: new P(7).get(), seen}
}`}, "sync", `{"phase": "Running", "pending": 0, "x": 1, "p": 7, "seen": [1, 2]}`},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := typescript(t, c.files...)
			if err != nil {
				t.Fatal(engine.DetailOf(err))
			}
			if got := strings.Join(p.Functions(), " "); got != c.functions {
				t.Errorf("functions %s, want %s", got, c.functions)
			}
			got, err := p.Call(t.Context(), "sync", object(t, `{"parent": {"metadata": {"name": "web"}}}`), engine.Env{})
			if err != nil {
				t.Fatal(engine.DetailOf(err))
			}
			if diff := cmp.Diff(object(t, c.want), got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTypeScriptPositions checks the positions of errors: ⟨ is before the expected place.
func TestTypeScriptPositions(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		kind engine.Kind
		want string // in the message and the hint
	}{
		"syntax":             {"type A = {\n  a: string\n}\nfunction sync() { return {⟨; } }", engine.KindSyntax, "a ; cannot be between brackets"},
		"type":               {"function sync(x: ⟨= 1) {}", engine.KindSyntax, "Unexpected \"=\""},
		"characters":         {"const a: string = '👋ä'; function sync() { return '👋ä' ⟨b }", engine.KindSyntax, "Expected"},
		"unknown name":       {"interface A { a: string }\n\nfunction sync(r: A): object {\n  return ⟨nothing }", engine.KindRuntime, "nothing is not defined"},
		"undefined":          {"interface A { b?: {c: string} }\n\nfunction sync(r: A): object {\n  const x: number = 1;\n  return {a: r.b!.⟨c};\n}", engine.KindRuntime, "Cannot read property 'c' of undefined"},
		"after characters":   {"function sync(r: any): object { const x = '👋ä' as string; return {a: ⟨nothing} }", engine.KindRuntime, "nothing"},
		"thrown":             {"class NotReady extends Error {}\ntype T = 1\nexport function sync(): never {\n\n  throw ⟨new NotReady('no') }", engine.KindRaised, "no"},
		"not a function":     {"export const sync = (r: any) => ({a: r.⟨f<string>()})", engine.KindRuntime, "is not a function"},
		"value of an answer": {"interface A { a: unknown }\nexport function sync(): A {\n  return {\n    a: ⟨() => 1,\n  };\n}", engine.KindResult, "a is a function"},
		"no function":        {"type A = 1\n\nexport function ⟨sync(a: A, b: A) { return {} }", engine.KindParams, "takes 2 parameters"},
		"no such file":       {"type A = 1\nimport { a } from ⟨\"./lib\"\nexport const sync = () => ({a})", engine.KindModule, "no file \"./lib\""},
		"bracket bomb":       {strings.Repeat("(", 400) + strings.Repeat("x?", 60000) + "⟨", engine.KindSource, "words and operators in a row"},
	} {
		t.Run(name, func(t *testing.T) {
			before, after, _ := strings.Cut(c.text, "⟨")
			p, err := typescript(t, "sync.ts", before+after)
			if err == nil {
				_, err = p.Call(t.Context(), "sync", map[string]any{}, engine.Env{})
			}
			e := wantError(t, name, err, c.kind)
			if e == nil {
				return
			}
			if !strings.Contains(e.Msg+e.Hint, c.want) {
				t.Errorf("got %q, want %q in it", e.Detail(), c.want)
			}
			line, col := strings.Count(before, "\n")+1, len([]rune(before[strings.LastIndex(before, "\n")+1:]))+1
			if want := (engine.Pos{File: "sync.ts", Line: line, Col: col}); e.Pos != want && c.kind != engine.KindSource {
				t.Errorf("got %s, want %s:\n%s", e.Pos, want, e.Detail())
			}
		})
	}
}

func TestTypeScriptLanguages(t *testing.T) {
	p, err := typescript(t, "key-without-ending", "const a: number = 1; exports.sync = () => ({a})")
	if err != nil {
		t.Fatal(engine.DetailOf(err))
	}
	if got, err := p.Call(t.Context(), "sync", nil, engine.Env{}); err != nil || got["a"] != int64(1) {
		t.Errorf("an entry of another name: got %v, %v", got, err)
	}
	files := fstest.MapFS{"sync.js": {Data: []byte(`exports.sync = () => require("./lib")`)}, "lib.ts": {Data: []byte(`export const a: number = 1`)}}
	for _, name := range []string{"./lib", "./lib.ts"} {
		files["sync.js"].Data = []byte(`exports.sync = () => require("` + name + `")`)
		p, err := New().Compile(t.Context(), engine.Script{Language: engine.JavaScript, Entry: "sync.js", Files: files}, engine.Limits{})
		if err != nil {
			t.Fatal(engine.DetailOf(err))
		}
		_, err = p.Call(t.Context(), "sync", nil, engine.Env{})
		if e := wantError(t, name, err, engine.KindModule); e != nil && !strings.Contains(e.Hint, "set language: TypeScript") {
			t.Errorf("%s: got %s", name, e.Detail())
		}
	}
}
