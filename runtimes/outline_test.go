package runtimes_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"metascript/engine"
	"metascript/runtimes"
)

// TestPlacesOfAnswers checks where errors about answers point to. In each text, ⟨ is before the expected place. The path leads to
// the value; it ends with a key itself if that is in brackets.
func TestPlacesOfAnswers(t *testing.T) {
	extensions := map[string]string{engine.Starlark: ".star", engine.JavaScript: ".js", engine.Jsonnet: ".jsonnet"}
	pod := map[string]any{"children": []any{map[string]any{"kind": "Pod"}, map[string]any{"kind": "Pod"}}}
	for _, c := range []struct {
		name, language, text string
		path                 engine.Path
	}{
		{"unknown key", engine.Starlark, "def sync():\n  if x():\n    return {\"a\": 1}\n  return {⟨\"childs\": []}\n\ndef x(): pass", engine.Path{engine.Key("childs")}},
		{"missing field", engine.Starlark, "def sync():\n  return {\"children\": [{\"metadata\": ⟨{}}]}", engine.Path{"children", 0, "metadata", "name"}},
		{"both arms", engine.Starlark, "def sync():\n  return {\"children\": [⟨{\"kind\": \"Pod\"}] if 1 else []}", engine.Path{"children", 0, "x"}},
		{"sum of lists", engine.Starlark, "def sync():\n  return {\"children\": [{\"kind\": \"A\"}] + [⟨{\"kind\": \"Pod\"}]}", engine.Path{"children", 1}},
		{"union of dicts", engine.Starlark, "def sync():\n  return {\"children\": []} | {\"status\": ⟨1}", engine.Path{"status"}},
		{"dict()", engine.Starlark, "def sync():\n  return dict(children = [], status = ⟨1)", engine.Path{"status"}},
		{"list that grows", engine.Starlark, "def sync():\n  l = []\n  l += [⟨{\"kind\": \"Pod\"}]\n  l.extend([{\"kind\": \"B\"}])\n  return {\"children\": l}", engine.Path{"children", 0}},
		{"comprehension", engine.Starlark, "def sync():\n  return {\"children\": [⟨{\"kind\": x} for x in \"ab\".elems()]}", engine.Path{"children", 1}},
		{"two places", engine.Starlark, "def sync():\n  l = ⟨[]\n  l.append({\"kind\": \"Pod\"})\n  l.append({\"kind\": \"Pod\"})\n  return {\"children\": l}", engine.Path{"children", 0}},
		{"recursive", engine.Starlark, "def f(): return ⟨g()\ndef g(): return f()\ndef sync(): return f()", engine.Path{"status"}},
		{"variable of the file", engine.Starlark, "POD = ⟨{\"kind\": \"Pod\"}\ndef sync(): return {\"children\": [POD]}", engine.Path{"children", 0}},

		{"parameter of another name's value", engine.Starlark, "POD = {\"kind\": \"Pod\"}\ndef f(POD): return ⟨POD\ndef sync(): return {\"children\": [f({})]}", engine.Path{"children", 0, "kind"}},
		{"parameter that is set", engine.Starlark, "def f(a = 1):\n  if x: a = {\"kind\": 1}\n  return a\nx = 1\ndef sync(): return {\"children\": ⟨[f({})]}", engine.Path{"children", 0}},
		{"insert", engine.Starlark, "def sync():\n  l = ⟨[{\"kind\": \"Pod\"}]\n  l.insert(0, {\"kind\": \"Pod\"})\n  return {\"children\": l}", engine.Path{"children", 0, "kind"}},
		{"assigned element", engine.Starlark, "def sync():\n  l = ⟨[{\"kind\": \"Pod\"}]\n  l[0] = {\"kind\": \"Pod\"}\n  return {\"children\": l}", engine.Path{"children", 0, "kind"}},
		{"assigned field of a field", engine.Starlark, "def sync():\n  d = {\"status\": ⟨{\"a\": 1}}\n  d[\"status\"][\"a\"] = 2\n  return d", engine.Path{"status", "a"}},
		{"assigned key of a field", engine.Starlark, "def sync():\n  d = {\"status\": {\"a\": 1}}\n  d[\"status\"][⟨\"b\"] = 2\n  return d", engine.Path{"status", engine.Key("b")}},
		{"appended to a field", engine.Starlark, "def sync():\n  d = {\"children\": []}\n  d[\"children\"].append(⟨{\"kind\": 1})\n  return d", engine.Path{"children", 0}},
		{"update", engine.Starlark, "def sync():\n  d = {\"children\": []}\n  d.update({\"status\": ⟨1})\n  return d", engine.Path{"status"}},
		{"update by name", engine.Starlark, "def sync():\n  d = {\"children\": []}\n  d.update(status = ⟨1)\n  return d", engine.Path{"status"}},
		{"update with something", engine.Starlark, "def sync(parent):\n  d = {\"status\": 1}\n  d.update(parent.spec)\n  return ⟨d", engine.Path{"status"}},
		{"union with something", engine.Starlark, "def sync(parent):\n  return ⟨{\"status\": 1} | parent.spec", engine.Path{"status"}},
		{"after something", engine.Starlark, "def sync(parent):\n  return {\"children\": ⟨parent.spec.list + [{\"kind\": \"Pod\"}]}", engine.Path{"children", 0}},
		{"appended to something", engine.Starlark, "def sync(parent):\n  l = ⟨parent.spec.list\n  l.append({\"kind\": \"Pod\"})\n  return {\"children\": l}", engine.Path{"children", 0}},
		{"variable of a loop", engine.Starlark, "c = {\"kind\": \"Pod\"}\ndef sync(parent):\n  l = []\n  for c in parent.spec.list:\n    l.append(⟨c)\n  return {\"children\": l}", engine.Path{"children", 0, "kind"}},
		{"loop over a list", engine.Starlark, "def sync():\n  l = []\n  for c in [⟨{\"kind\": \"Pod\"}]:\n    l.append(c)\n  return {\"children\": l}", engine.Path{"children", 0}},
		{"variable of a comprehension", engine.Starlark, "c = {\"kind\": \"Pod\"}\ndef sync(parent):\n  return {\"children\": [⟨c for c in parent.spec.list]}", engine.Path{"children", 0, "kind"}},

		{"unknown key", engine.JavaScript, "function sync() {\n if (1) return {};\n return {⟨childs: []};\n}", engine.Path{engine.Key("childs")}},
		{"assigned key", engine.JavaScript, "function sync() {\n const a = {};\n a.⟨childs = [];\n return a;\n}", engine.Path{engine.Key("childs")}},
		{"arrow", engine.JavaScript, "exports.sync = () => ({children: [{metadata: ⟨{}}]})", engine.Path{"children", 0, "metadata", "name"}},
		{"module.exports", engine.JavaScript, "module.exports = {sync: () => ({children: ⟨1})}", engine.Path{"children"}},
		{"module.exports.sync", engine.JavaScript, "module.exports.sync = () => ({children: ⟨1})", engine.Path{"children"}},
		{"ported", engine.JavaScript, "module.exports = async function (c) { return {children: ⟨1} }", engine.Path{"children"}},
		{"map", engine.JavaScript, "const f = (n) => (⟨{kind: n});\nfunction sync() { return {children: ['a', 'b'].map(f).filter((x) => x)} }", engine.Path{"children", 1}},
		{"inline map", engine.JavaScript, "function sync() { return {children: [1].map((n) => { return ⟨{kind: n} })} }", engine.Path{"children", 1}},
		{"flatMap", engine.JavaScript, "function sync() { return {children: [1].flatMap((n) => [⟨{kind: n}])} }", engine.Path{"children", 1}},
		{"spread", engine.JavaScript, "function sync() { const a = [{kind: 'A'}], b = [⟨{kind: 'Pod'}]; return {children: [...a, ...b]} }", engine.Path{"children", 1}},
		{"spread of an object", engine.JavaScript, "function sync() { const base = {status: ⟨1}; return {...base, children: []} }", engine.Path{"status"}},
		{"Object.assign", engine.JavaScript, "function sync() { return Object.assign({}, {status: ⟨1}) }", engine.Path{"status"}},
		{"default", engine.JavaScript, "function sync({x}) { return {children: x ?? [⟨{kind: 'Pod'}]} }", engine.Path{"children", 0}},
		{"awaited", engine.JavaScript, "async function f() { return {status: ⟨1} }\nasync function sync() { return await f() }", engine.Path{"status"}},
		{"nothing known", engine.JavaScript, "function sync(r) { return ⟨r }", engine.Path{"children", 0}},

		{"parameter of another name's value", engine.JavaScript, "const pod = {kind: 'Pod'};\nconst f = (pod) => ⟨pod;\nfunction sync() { return {children: [f({})]} }", engine.Path{"children", 0, "kind"}},
		{"part of a parameter", engine.JavaScript, "const pod = {kind: 'Pod'};\nfunction sync({pod, x: [y]}) { return {children: [⟨pod]} }", engine.Path{"children", 0, "kind"}},
		{"part of a variable", engine.JavaScript, "const pod = {kind: 'Pod'};\nfunction sync(r) { const {pod} = r; return {children: [⟨pod]} }", engine.Path{"children", 0, "kind"}},
		{"unshift", engine.JavaScript, "function sync() { const l = ⟨[{kind: 'Pod'}]; l.unshift({kind: 'Pod'}); return {children: l} }", engine.Path{"children", 0, "kind"}},
		{"splice", engine.JavaScript, "function sync() { const l = ⟨[{kind: 'Pod'}]; l.splice(0, 1, {kind: 'Pod'}); return {children: l} }", engine.Path{"children", 0, "kind"}},
		{"assigned element", engine.JavaScript, "function sync() { const l = ⟨[{kind: 'Pod'}]; l[0] = {kind: 'Pod'}; return {children: l} }", engine.Path{"children", 0, "kind"}},
		{"assigned field of a field", engine.JavaScript, "function sync() { const d = {status: ⟨{a: 1}}; d.status.a = 2; return d }", engine.Path{"status", "a"}},
		{"assigned key of a field", engine.JavaScript, "function sync() { const d = {status: {a: 1}}; d.status.⟨b = 2; return d }", engine.Path{"status", engine.Key("b")}},
		{"pushed to a field", engine.JavaScript, "function sync() { const d = {children: []}; d.children.push(⟨{kind: 1}); return d }", engine.Path{"children", 0}},
		{"assigned to a variable", engine.JavaScript, "function sync() { const d = {children: []}; Object.assign(d, {status: ⟨1}); return d }", engine.Path{"status"}},
		{"assigned something", engine.JavaScript, "function sync(r) { const d = {status: 1}; Object.assign(d, r.x); return ⟨d }", engine.Path{"status"}},
		{"spread of something", engine.JavaScript, "function sync(r) { return ⟨{status: 1, ...r.x} }", engine.Path{"status"}},
		{"after the spread of something", engine.JavaScript, "function sync(r) { return {...r.x, status: ⟨1} }", engine.Path{"status"}},
		{"elements after those of something", engine.JavaScript, "function sync(r) { return {children: ⟨[...r.x, {kind: 'Pod'}]} }", engine.Path{"children", 0}},
		{"pushed to something", engine.JavaScript, "function sync(r) { const l = ⟨r.x; l.push({kind: 'Pod'}); return {children: l} }", engine.Path{"children", 0}},
		{"variable of a loop", engine.JavaScript, "const c = {kind: 'Pod'};\nfunction sync(r) { const l = []; for (const c of r.x) l.push(⟨c); return {children: l} }", engine.Path{"children", 0, "kind"}},
		{"loop over a list", engine.JavaScript, "function sync(r) { const l = []; for (const c of [⟨{kind: 'Pod'}]) l.push(c); return {children: l} }", engine.Path{"children", 0}},
		{"map over a list", engine.JavaScript, "function sync(r) { return {children: [⟨{kind: 'Pod'}].map((c) => c)} }", engine.Path{"children", 0}},
		{"map over something", engine.JavaScript, "const c = {kind: 'Pod'};\nfunction sync(r) { return {children: r.x.map((c) => ⟨c)} }", engine.Path{"children", 0, "kind"}},

		{"unknown key", engine.Jsonnet, "{ sync():: { ⟨childs: [] } }", engine.Path{engine.Key("childs")}},
		{"missing field", engine.Jsonnet, "{ sync():: { children: [{ metadata: ⟨{} }] } }", engine.Path{"children", 0, "metadata", "name"}},
		{"conditional", engine.Jsonnet, "{ sync():: { children: if true then [⟨{ kind: 'Pod' }] else [] } }", engine.Path{"children", 0}},
		{"local", engine.Jsonnet, "local pod = ⟨{ kind: 'Pod' }; { sync():: { children: [pod] } }", engine.Path{"children", 0}},
		{"comprehension", engine.Jsonnet, "local pod(x) = ⟨{ kind: x }; { sync():: { children: [pod(x) for x in ['a', 'b']] } }", engine.Path{"children", 1}},
		{"std.map", engine.Jsonnet, "{ sync():: { children: std.map(function(x) ⟨{ kind: x }, ['a', 'b']) } }", engine.Path{"children", 1}},
		{"function", engine.Jsonnet, "function(request) { status: ⟨1 }", engine.Path{"status"}},
		{"sum with something", engine.Jsonnet, "{ sync(parent):: ⟨{ status: 1 } + parent.spec }", engine.Path{"status"}},
		{"elements after something", engine.Jsonnet, "{ sync(parent):: { children: ⟨parent.spec.list + [{ kind: 'Pod' }] } }", engine.Path{"children", 0}},
		{"parameter of another name's value", engine.Jsonnet, "local pod = { kind: 'Pod' }, f(pod) = ⟨pod; { sync():: { children: [f({})] } }", engine.Path{"children", 0, "kind"}},
		{"sum", engine.Jsonnet, "{ sync():: { status: {} } + { children: ⟨1 } }", engine.Path{"children"}},
	} {
		t.Run(c.language+" "+c.name, func(t *testing.T) {
			before, after, _ := strings.Cut(c.text, "⟨")
			entry := "sync" + extensions[c.language]
			want := engine.Pos{File: entry, Line: strings.Count(before, "\n") + 1, Col: len(before[strings.LastIndex(before, "\n")+1:]) + 1}
			s := engine.Script{Language: c.language, Entry: entry, Files: fstest.MapFS{entry: {Data: []byte(before + after)}}}
			p, err := engine.New(engine.Options{Runtimes: runtimes.All()}).Compile(t.Context(), s, engine.Limits{})
			if err != nil {
				t.Fatal(engine.DetailOf(err))
			}
			if got := p.(engine.ErrorMaker).ResultError("sync", pod, c.path, "is wrong", ""); got.Pos != want {
				t.Errorf("got %s, want %s:\n%s", got.Pos, want, got.Detail())
			}
		})
	}
}

// TestPlacesInHostileScripts checks that the places are found in short time for scripts that would make the search long.
func TestPlacesInHostileScripts(t *testing.T) {
	star, js, jsonnet := &strings.Builder{}, &strings.Builder{}, &strings.Builder{}
	for i := range 60 { // each function calls the next one twice
		next := "f" + strings.Repeat("x", i+1)
		name := "f" + strings.Repeat("x", i)
		star.WriteString("def " + name + "():\n  return {\"a\": " + next + "(), \"b\": " + next + "()}\n")
		js.WriteString("const " + name + " = () => ({a: " + next + "(), b: " + next + "()})\n")
		jsonnet.WriteString("local " + name + "() = { a: " + next + "(), b: " + next + "() };\n")
	}
	last := "f" + strings.Repeat("x", 60)
	for language, text := range map[string]string{
		engine.Starlark:   star.String() + "def " + last + "(): return {}\ndef sync(): return f()",
		engine.JavaScript: js.String() + "const " + last + " = () => ({})\nfunction sync() { return f() }",
		engine.Jsonnet:    "local " + last + "() = {};\n" + reversed(jsonnet.String()) + "{ sync():: f() }",
	} {
		s := engine.Script{Language: language, Entry: "sync", Files: fstest.MapFS{"sync": {Data: []byte(text)}}}
		p, err := engine.New(engine.Options{Runtimes: runtimes.All()}).Compile(t.Context(), s, engine.Limits{})
		if err != nil {
			t.Fatal(engine.DetailOf(err))
		}
		path := engine.Path{}
		for range 100 {
			path = append(path, "a")
		}
		if got := p.(engine.ErrorMaker).ResultError("sync", nil, path, "is wrong", ""); got.Pos.Line == 0 {
			t.Errorf("%s: no place", language)
		}
	}
}

// reversed returns the lines of a text in the other order.
func reversed(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, j := 0, len(lines)-1; i < j; i, j = i+1, j-1 {
		lines[i], lines[j] = lines[j], lines[i]
	}
	return strings.Join(lines, "")
}
