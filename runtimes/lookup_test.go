package runtimes_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"metascript/engine"
	"metascript/runtimes"
)

// TestLookups checks which lookups are found in the function sync of a script: position, field, key, and a lookup of KEY in its place.
func TestLookups(t *testing.T) {
	for _, c := range []struct {
		name, language, text string
		want                 []string
	}{
		{"each form", engine.Starlark, `def sync(parent, children, related):
    a = children["pods.v1"]
    b = children.get("pods.v1")
    b = children.get("pods.v1", {})
    if "Pod" in children and "Pods" not in children:
        return children.Pod
    return [x for x in related["secrets.v1"] if len(children["b"])]
`, []string{
			`2:18 children pods.v1: children["KEY"]`, `3:22 children pods.v1: children.get("KEY")`, `4:22 children pods.v1: children.get("KEY", …)`,
			`5:8 children Pod: "KEY" in children`, `5:30 children Pods: "KEY" not in children`, `6:25 children Pod: children["KEY"]`,
			`7:32 related secrets.v1: related["KEY"]`, `7:62 children b: children["KEY"]`,
		}},
		{"whole request", engine.Starlark, `def sync(r):
    seen = r.children
    return [seen["a"], r["attachments"]["b"], r.get("children"), (r.related or {}).get("c")]
`, []string{`3:18 children a: seen["KEY"]`, `3:41 attachments b: r["attachments"]["KEY"]`, `3:88 related c: r.related.get("KEY")`}},
		{"name of the whole", engine.Starlark, "def sync(request): return request.children['a']", []string{`1:44 children a: request.children["KEY"]`}},
		{"defaults", engine.Starlark, "def sync(parent, children = {}): return children['a']", []string{`1:50 children a: children["KEY"]`}},
		{"nested functions", engine.Starlark, "def sync(children):\n  def f(): return children['a']\n  return [f(), (lambda x: children['b'])(1)]", []string{
			`2:28 children a: children["KEY"]`, `3:36 children b: children["KEY"]`,
		}},
		{"methods", engine.Starlark, "def sync(children): return [children.items(), children.keys(), children.values(), len(children), children]", nil},
		{"computed", engine.Starlark, "def sync(children, parent): return [children[parent.kind], children['%s.v1' % 1], children['a' + 'b']]", nil},
		{"of a child", engine.Starlark, "def sync(children): return children['a']['b'].c.get('d')", []string{`1:37 children a: children["KEY"]`}},
		{"other parameters", engine.Starlark, "def sync(parent): return parent.children['a']", nil},
		{"two parameters", engine.Starlark, "def sync(parent, request = {}): return request['children']['a']", nil},
		{"keyword arguments", engine.Starlark, "def sync(**children): return children['a']", nil},
		{"set again", engine.Starlark, "def sync(children):\n  children = {'a': 1}\n  return children['a']", nil},
		{"set later", engine.Starlark, "def sync(children):\n  x = children['a']\n  children += 1\n  return x", nil},
		{"variable of a loop", engine.Starlark, "def sync(children):\n  for _, (children) in []: pass\n  return children['a']", nil},
		{"variable of a comprehension", engine.Starlark, "def sync(children): return [children['a'] for children in []]", nil},
		{"parameter of a lambda", engine.Starlark, "def sync(children): return (lambda children: children['a'])({})", nil},
		{"parameter of a function", engine.Starlark, "def sync(children):\n  def f(children = 1): return children['a']\n  return f({})", nil},
		{"alias set twice", engine.Starlark, "def sync(r):\n  c = r.children\n  if r.x: c = {}\n  return c['a']", nil},
		{"unpacked", engine.Starlark, "def sync(r):\n  [c, d] = [r.children, 1]\n  return c['a']", nil},
		{"keyword argument of a call", engine.Starlark, "def sync(children): return dict(children = children['a'])", []string{`1:53 children a: children["KEY"]`}},
		{"in a key", engine.Starlark, "def sync(children): return {}['a' in [children]]", nil},

		{"each form", engine.JavaScript, `function sync({parent, children, related}) {
  const a = children["pods.v1"], b = children.Pod;
  var c = children?.["pods.v1"]?.web ?? children?.Pods;
  if ("Pod" in children || children.hasOwnProperty('a') || Object.hasOwn(children, "b")) return {};
  return Object.values(related['secrets.v1']).map(s => children["c"][s.metadata.name]);
}
`, []string{
			`2:22 children pods.v1: children["KEY"]`, `2:47 children Pod: children["KEY"]`, `3:22 children pods.v1: children?.["KEY"]`,
			`3:51 children Pods: children?.["KEY"]`, `4:7 children Pod: "KEY" in children`, `4:52 children a: children.hasOwnProperty("KEY")`,
			`4:84 children b: Object.hasOwn(children, "KEY")`, `5:32 related secrets.v1: related["KEY"]`, `5:65 children c: children["KEY"]`,
		}},
		{"whole request", engine.JavaScript, `exports.sync = (request) => {
  const {children, related: others} = request, seen = request["children"];
  let x = request.attachments["a"];
  return {a: children["b"], b: others?.c, c: seen.d, e: (request?.related || {})["e"]};
};`, []string{
			`3:31 attachments a: request.attachments["KEY"]`, `4:23 children b: children["KEY"]`, `4:40 related c: others?.["KEY"]`, `4:51 children d: seen["KEY"]`,
			`4:82 related e: request?.related["KEY"]`,
		}},
		{"patterns", engine.JavaScript, `exports.sync = function ({children: {"a": pods = {}, Pod, ...rest}, related: {["b"]: {web}}}) {};`, []string{
			`1:38 children a: "KEY"`, `1:54 children Pod: "KEY": Pod`, `1:80 related b: "KEY"`,
		}},
		{"patterns of variables", engine.JavaScript, `module.exports = {sync({children: kids = {}}) { const {"a": pods} = kids; let [x] = kids; }};`, []string{`1:56 children a: "KEY"`}},
		{"HTTP handler", engine.JavaScript, `module.exports = async function (context) {
  const observed = context.request.body;
  return {status: 200, body: {children: observed.children["a"]}};
};`, []string{`3:59 children a: observed.children["KEY"]`}},
		{"await", engine.JavaScript, "async function sync({children}) { return {a: await f(children.a)} }\nconst f = async (x) => x", []string{`1:63 children a: children["KEY"]`}},
		{"template", engine.JavaScript, "function sync({children}) { return {a: `${children['a']}`} }", []string{`1:52 children a: children["KEY"]`}},
		{"members of objects", engine.JavaScript, "function sync({children}) { return {a: [children.toString(), Object.keys(children), children.constructor, JSON.stringify(children)]} }", nil},
		{"computed", engine.JavaScript, "function sync({children, parent}) { return {a: [children[parent.kind], children[`${1}.v1`], children['a' + 'b'], 'a' in children.x]} }", []string{
			`1:130 children x: children["KEY"]`,
		}},
		{"set", engine.JavaScript, "function sync({children}) { children = {a: 1}; return children.a }", nil},
		{"set in a nested function", engine.JavaScript, "function sync({children}) { const f = () => { children = {a: 1} }; f(); return children.a }", nil},
		{"part is set", engine.JavaScript, "function sync({children}) { children['a'] ??= {}; return children.a }", nil},
		{"part of the request is set", engine.JavaScript, "function sync(r) { r.children.a = {}; return r.children.a }", nil},
		{"part is deleted", engine.JavaScript, "function sync(r) { delete r.children; return r.children?.a }", nil},
		{"assigned to", engine.JavaScript, "function sync({children}) { Object.assign(children, {a: 1}); return children.a }", nil},
		{"set by a pattern", engine.JavaScript, "function sync({children}) { ({children} = {children: {a: 1}}); return children.a }", nil},
		{"set by a loop", engine.JavaScript, "function sync({children}) { for (children of [{a: 1}]) return children.a }", nil},
		{"shadowed by a variable", engine.JavaScript, "function sync({children}) { { const children = {a: 1}; return children.a } }", nil},
		{"shadowed by a loop", engine.JavaScript, "function sync({children}) { for (const children of [{a: 1}]) return children.a }", nil},
		{"shadowed by a parameter", engine.JavaScript, "function sync({children}) { return [{}].map(({children}) => children.a) }", nil},
		{"shadowed by the rest", engine.JavaScript, "function sync({children}) { return ((...children) => children.a)() }", nil},
		{"shadowed by catch", engine.JavaScript, "function sync({children}) { try { f() } catch (children) { return children.a } }\nfunction f() {}", nil},
		{"shadowed by a function", engine.JavaScript, "function sync({children}) { if (1) { function children() {}; return children.a } }", nil},
		{"shadowed by a class", engine.JavaScript, "function sync({children}) { { class children {}; return children.a } }", nil},
		{"parameter of a nested function", engine.JavaScript, "function sync(r) { return [1].map(({children}) => children.a) }", nil},
		{"default of a nested function", engine.JavaScript, "function sync({children}) { return ((x = children) => x.a)({a: 1}) }", nil},
		{"variable without a value", engine.JavaScript, "function sync({children}) { let x; x = children; return x.a }", nil},
		{"rest", engine.JavaScript, "function sync({children, ...rest}) { return rest.related.a }", nil},
		{"list", engine.JavaScript, "function sync([children]) { return children.a }", nil},
		{"second parameter", engine.JavaScript, "function sync(r, {children}) { return children.a }", nil},
		{"two functions", engine.JavaScript, "var sync = ({children}) => children.a;\nsync = ({children}) => children.b;", nil},
		{"other fields", engine.JavaScript, "function sync({parent: {children}, controller}) { return [children.a, controller.children.a] }", nil},

		{"types", engine.TypeScript, `import type {SyncRequest} from "metascript";
export function sync({parent, children}: SyncRequest) {
  const a = children["pods.v1"] as any, b = (children as any).Pod;
  if (children!["a"] && "Pod" in children) return children?.["b"];
  for (const x of [1]) { const {related}: {related: any} = {related: {}}; related.c; }
  return <any>children["d"];
}
export const finalize = ({children}: any) => children.e;
`, []string{
			`3:22 children pods.v1: children["KEY"]`, `3:63 children Pod: children["KEY"]`, `4:17 children a: children["KEY"]`, `4:25 children Pod: "KEY" in children`,
			`4:62 children b: children?.["KEY"]`, `6:24 children d: children["KEY"]`,
		}},
		{"whole request", engine.TypeScript, "export const sync = async (request: any) => {\n  const {children} = request;\n  return children.Pod;\n};", []string{`3:19 children Pod: children["KEY"]`}},

		{"each form", engine.Jsonnet, `{ sync(parent, children, related):: {
  a: children['pods.v1'],
  b: std.get(children, 'pods.v1'),
  c: std.get(children, 'pods.v1', {}),
  d: if 'Pod' in children && !std.objectHas(children, 'Pods') then children.Pod,
  e: [x for x in std.objectValues(related['secrets.v1']) if std.length(children['b']) > 0],
} }`, []string{
			`2:15 children pods.v1: children['KEY']`, `3:24 children pods.v1: std.get(children, 'KEY')`, `4:24 children pods.v1: std.get(children, 'KEY', …)`,
			`5:9 children Pod: 'KEY' in children`, `5:55 children Pods: std.objectHas(children, 'KEY')`, `5:68 children Pod: children['KEY']`,
			`6:43 related secrets.v1: related['KEY']`, `6:81 children b: children['KEY']`,
		}},
		{"whole request", engine.Jsonnet, "{ sync(request):: local c = request.children, d = c; { a: d['b'], c: request['related'].d } }", []string{
			`1:61 children b: d['KEY']`, `1:70 related d: request.related['KEY']`,
		}},
		{"function", engine.Jsonnet, "function(r) { a: r.children.b }", []string{`1:18 children b: r.children['KEY']`}},
		{"in a sum", engine.Jsonnet, "local base = { sync(children):: { a: children.b } }; base + { finalize():: {} }", []string{`1:38 children b: children['KEY']`}},
		{"shadowed by a local", engine.Jsonnet, "{ sync(children):: local children = { a: 1 }; children.a }", nil},
		{"shadowed by a local of an object", engine.Jsonnet, "{ sync(children):: { local children = { a: 1 }, b: children.a } }", nil},
		{"shadowed by a parameter", engine.Jsonnet, "{ sync(children):: (function(children) children.a)({ a: 1 }) }", nil},
		{"shadowed by a comprehension", engine.Jsonnet, "{ sync(children):: { b: [children.a for children in []] } }", nil},
		{"sum", engine.Jsonnet, "{ sync(children):: local c = children + { a: 1 }; { a: c.a, b: (children + { a: 1 }).a } }", nil},
		{"computed", engine.Jsonnet, "{ sync(children, parent):: { a: children[parent.kind], b: children['a' + 'b'] } }", nil},
		{"other std", engine.Jsonnet, "{ sync(children):: local std = { get(x, y): 1 }; { a: std.get(children, 'a') } }", nil},
	} {
		t.Run(c.language+" "+c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, lookups(t, c.language, c.text)); diff != "" {
				t.Errorf("lookups (-want +got):\n%s", diff)
			}
		})
	}
}

// lookups returns the lookups in the function sync of a script.
func lookups(t *testing.T, language, text string) (all []string) {
	t.Helper()
	s := engine.Script{Language: language, Entry: "sync", Files: fstest.MapFS{"sync": {Data: []byte(text)}}}
	p, err := engine.New(engine.Options{Runtimes: runtimes.All()}).Compile(t.Context(), s, engine.Limits{})
	if err != nil {
		t.Fatal(engine.DetailOf(err))
	}
	for _, l := range p.(engine.Reading).Lookups("sync") {
		all = append(all, fmt.Sprintf("%s %s %s: %s", strings.TrimPrefix(l.Pos.String(), "sync:"), l.Field, l.Key, l.With("KEY")))
	}
	return all
}

// TestLookupsInHostileScripts checks that scripts that would make the search long or deep are read in short time, and without lookups
// that are not certain.
func TestLookupsInHostileScripts(t *testing.T) {
	chain, dots := strings.Repeat("1 + ", 3000)+"1", strings.Repeat(".a", 3000)
	aliases := func(declare, end string) string {
		var b strings.Builder
		for i := range 2000 {
			fmt.Fprintf(&b, "%s v%d = v%d%s\n", declare, i+1, i, end)
		}
		return b.String()
	}
	for _, c := range []struct {
		name, language, text string
		want                 int
	}{
		{"many", engine.Starlark, "def sync(children):\n" + strings.Repeat("  children['a']\n", 5000) + "  return {}", engine.MaxLookups},
		{"many", engine.JavaScript, "function sync({children}) {" + strings.Repeat("children.a;", 5000) + "return {} }", engine.MaxLookups},
		{"many", engine.Jsonnet, "{ sync(children):: [" + strings.Repeat("children.a,", 5000) + "] }", engine.MaxLookups},
		{"long key", engine.Starlark, "def sync(children): return children['" + strings.Repeat("a", 10_000) + "']", 0},
		{"long name", engine.JavaScript, "function sync(" + strings.Repeat("a", 1000) + ") { return " + strings.Repeat("a", 1000) + ".children.b }", 0},
		{"deep operators", engine.Starlark, "def sync(children):\n  x = children['a']\n  return " + chain, 0},
		{"deep operators", engine.JavaScript, "function sync({children}) { children.a; return " + chain[:4000] + "1 }", 0},
		{"deep operators", engine.Jsonnet, "{ sync(children):: [children.a, " + strings.Repeat("1 + ", 400) + "1] }", 1},
		{"deep members", engine.Starlark, "def sync(children): return children" + dots[:1000], 0},
		{"deep members", engine.JavaScript, "function sync({children}) { return children" + dots[:4000] + " }", 0},
		{"deep members", engine.Jsonnet, "{ sync(children):: children" + dots[:1000] + " }", 1},
		{"aliases", engine.Starlark, "def sync(v0):\n" + aliases("", "") + " return v2000.children['a']", 0},
		{"aliases", engine.JavaScript, "function sync(v0) {" + aliases("const", ";") + " return v2000.children.a }", 0},
		{"aliases in a circle", engine.Starlark, "def sync(children):\n  a = b\n  b = a\n  return a['x']", 0},
		{"aliases in a circle", engine.JavaScript, "function sync({children}) { var a = b, b = a, {c = d} = d, {d} = c; return [a.x, c.children.y] }", 0},
		{"aliases in a circle", engine.Jsonnet, "{ sync(children):: local a = b, b = a, c = c; [a.x, c.y] }", 0},
		{"deep patterns", engine.JavaScript, "function sync({children: " + strings.Repeat("{a: ", 200) + "b" + strings.Repeat("}", 200) + "}) { return b }", 0},
		{"one function of many names", engine.JavaScript, "const f = ({children}) => {" + strings.Repeat("children.a;", 2000) + "};\nexports.sync = f;" + exports(2000), engine.MaxLookups},
	} {
		t.Run(c.language+" "+c.name, func(t *testing.T) {
			if got := lookups(t, c.language, c.text); len(got) != c.want {
				t.Errorf("%d lookups, want %d: %q", len(got), c.want, got)
			}
		})
	}
}

// exports returns JavaScript that exports the function f by n names.
func exports(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "exports.f%d = f;\n", i)
	}
	return b.String()
}
