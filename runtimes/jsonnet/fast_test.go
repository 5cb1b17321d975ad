package jsonnet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	gojsonnet "github.com/google/go-jsonnet"

	"metascript/engine"
)

// outcomeOf calls a script with fast evaluators, or without.
func outcomeOf(t testing.TB, text string, fast bool) (answer map[string]any, log []engine.Message, err error) {
	t.Helper()
	defer func(n int) { maxGivenUp = n }(maxGivenUp)
	if !fast {
		maxGivenUp = 0
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	limits := engine.Limits{Steps: 2_000_000, Stack: 120}
	s := engine.Script{Entry: "x.jsonnet", Files: fstest.MapFS{"x.jsonnet": {Data: []byte(text)}}}
	p, err := New().Compile(ctx, s, limits)
	if err != nil {
		return nil, nil, err
	}
	answer, err = p.Call(ctx, "sync", fastRequest(), engine.Env{Limits: limits, Log: func(m engine.Message) { log = append(log, m) }})
	return answer, log, err
}

func fastRequest() map[string]any {
	pod := func(name, phase string) map[string]any {
		return map[string]any{"name": name, "phase": phase, "n": int64(len(phase)), "list": []any{int64(1), "b", nil, map[string]any{"a": true}}}
	}
	return map[string]any{
		"parent":   map[string]any{"name": "web", "n": int64(3), "x": 0.5, "list": []any{int64(3), int64(1), int64(2), int64(3)}},
		"exact":    map[string]any{"big": int64(1<<60 + 1)},
		"children": map[string]any{"a": pod("a", "Running"), "b": pod("b", "Pending"), "c": pod("c", "Running")},
	}
}

// plainJSON returns the answer of the library alone.
func plainJSON(t testing.TB, script string) (string, error) {
	t.Helper()
	request, err := json.Marshal(fastRequest())
	if err != nil {
		t.Fatal(err)
	}
	vm := gojsonnet.MakeVM()
	vm.MaxStack = 120
	vm.SetTraceOut(io.Discard)
	text := fmt.Sprintf("local request = %s; (%s).sync(request.parent, request.children, request.exact)", request, script)
	vm.Importer(&gojsonnet.MemoryImporter{Data: map[string]gojsonnet.Contents{"x.jsonnet": gojsonnet.MakeContents(text)}})
	return vm.EvaluateFile("x.jsonnet")
}

// wantPlain checks that the library alone returns the same answer, if there is one: it knows neither the limits nor exact integers.
func wantPlain(t *testing.T, text string, answer map[string]any, err error) {
	t.Helper()
	var e *engine.Error
	if errors.As(err, &e) && e.Kind != engine.KindRuntime && e.Kind != engine.KindRaised {
		return // a limit, which would be exceeded again
	}
	plain, plainErr := plainJSON(t, text)
	switch {
	case err != nil && plainErr == nil:
		t.Errorf("%s\ngot %s, want %s", text, e.Detail(), plain)
	case err != nil:
		return
	case plainErr != nil:
		t.Errorf("%s\ngot %v, want %v", text, answer, plainErr)
		return
	default:
		var want any
		got, err := json.Marshal(answer)
		if err != nil || json.Unmarshal([]byte(plain), &want) != nil {
			t.Fatal(err, plain)
		}
		if again, _ := json.Marshal(want); string(again) != string(got) {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, again)
		}
	}
}

// wantSame checks that a script has the same outcome with and without fast evaluators.
func wantSame(t *testing.T, text string) {
	t.Helper()
	want, wantLog, wantErr := outcomeOf(t, text, false)
	got, log, err := outcomeOf(t, text, true)
	if !reflect.DeepEqual(log, wantLog) {
		t.Errorf("%s\ngot the log  %v\nwant %v", text, log, wantLog)
	}
	var e, wantE *engine.Error
	switch {
	case errors.As(wantErr, &wantE) && errors.As(err, &e):
		if limit := wantE.Kind == engine.KindSteps || e.Kind == engine.KindSteps; !limit && e.Detail() != wantE.Detail() {
			t.Errorf("%s\ngot  %s\nwant %s", text, e.Detail(), wantE.Detail())
		}
	case err != nil || wantErr != nil || !reflect.DeepEqual(got, want):
		t.Errorf("%s\ngot  %v %v\nwant %v %v", text, got, err, want, wantErr)
	}
	if !strings.Contains(text, "exact.") {
		wantPlain(t, text, got, err)
	}
}

// fastCases are values that loops compute.
var fastCases = []string{
	`[x.phase for x in pods if x.phase == 'Running']`, `[x.none for x in pods]`, `[x.list[3].a for x in pods]`, `[x.list[9] for x in pods]`, `[x[1] for x in pods]`,
	`std.count([x.phase for x in pods], 'Running')`, `std.set([x.phase for x in pods])`, `[error x.name for x in pods]`, `std.length([error x.name for x in pods])`,
	`[if x.n > 6 then x.name else error x.name for x in pods]`, `[local y = x.n; local z = y + 1; [y, z, w] for x in pods for w in [x.name]]`,
	`[{ a: x.name, b: self.a + '!', c: $.d, local e = 1, f: e } for x in pods]`, `[{ a: x.n, b+: { c: 1 } } + { a+: 1, d: super.a } for x in pods]`,
	`[{ assert self.a > 7 : 'small', a: x.n } for x in pods]`, `[x { name+: '-1' } for x in pods]`, `{ [x.name]: x.n for x in pods }`,
	`std.foldl(function(a, b) a + b.n, pods, 0)`, `std.foldl(function(a, b) a + [b.name], pods, [])`, `std.foldl(function(a, b) a + b, pods, {})`, `std.foldl(function(a, b) a.x, pods, {})`,
	`std.foldl(function(a) a, pods, 0)`, `std.filter(function(x) x.n, pods)`, `std.filter(function(x) x.n == 7, pods)`, `std.filter(function(x, y=1) y == 1, pods)`, `std.filter(1, pods)`,
	`std.sort(pods, function(x) x.phase + x.name)`, `std.sort(pods, keyF=function(x) x)`, `std.minArray(parent.list)`, `std.maxArray(pods, function(x) x.n)`,
	`local f(n) = if n == 0 then 0 else 1 + f(n - 1); [f(n) for n in [1, 10, 30]]`, `local f(n) = if n == 0 then 0 else 1 + f(n - 1); [f(n) for n in [1, 100, 200]]`,
	`local f(n) = if n == 0 then 0 else f(n - 1) tailstrict; [f(n) for n in [1, 100, 300]]`, `local a = [a[1], 5]; [x + 1 for x in a]`, `local a = [b for b in a]; a`,
	`['%s-%d' % [x.name, x.n] for x in pods]`, `['%5.2f' % x.n for x in pods]`, `[x.name + x.n + null for x in pods]`, `[x.n % 3 for x in pods]`, `[x.n / 0 for x in pods]`,
	`[std.join(',', [y for y in x.list if std.type(y) == 'string']) for x in pods]`, `[std.join(',', x.list) for x in pods]`, `[std.member(x.list, 'b') for x in pods]`,
	`[exact.big == x.n for x in pods]`, `[exact.big for x in pods]`, `[exact.big + 1 for x in pods]`, `[{ a: exact.big } for x in pods]`, `[std.type(exact.big) for x in pods]`,
	`[std.get(x, 'none', x.n) for x in pods]`, `[std.objectHas(x, 'name') && 'none' in x for x in pods]`, `[std.trace(x.name, x.n) for x in pods]`,
	`[(function(a, b=a, c=b) [a, b, c])(x.n, c=5) for x in pods]`, `[(function(a) a)() for x in pods]`, `[(function(a) a)(1, 2) for x in pods]`, `[(function(a) a)(1, a=2) for x in pods]`,
	`[x.phase < 'Q' for x in pods]`, `[x < 1 for x in pods]`, `[x.list < [1, 'c'] for x in pods]`, `[!x.name for x in pods]`, `[-x.n for x in pods]`, `[x.n && true for x in pods]`,
	`[true && x.n for x in pods]`, `[std.map(function(y) y, x.list) for x in pods]`, `[std.length(x) + std.length(x.name) for x in pods]`, `[std.substr(x.name, 0, 1e300) for x in pods]`,
	`[std.md5(x.name) for x in pods]`, `[std.native('a') for x in pods]`, `[std.extVar('a') for x in pods]`, `[std.modulo('%z', x.n) for x in pods]`, `[std.none for x in pods]`,
	`[local std = x; std.name for x in pods]`, `local std = { length(x): 5 }; [std.length(x) for x in pods]`, `[self.v for x in pods]`, `[super.v for x in pods]`, `[$.w for x in pods]`,
	`[import 'x.jsonnet' for x in pods]`, `[std.thisFile for x in pods]`, `std.uniq([x.n for x in pods])`, `std.setUnion([x.n for x in pods], [1])`, `[[y, x] for x in pods for y in x.none]`,
	`[y for x in 5 for y in x]`, `[x for x in pods if x.n]`, `std.flatMap(function(x) x.name, pods)`, `std.flatMap(function(x) [x.name, 1], pods)`, `std.flatMap(function(c) c + 'é', 'aé')`,
	`{ a: 1, b: [self.a for x in pods], c: [self.none for x in pods] }.b`, `{ a:: 1, b: [self.a + x.n for x in pods] }`, `std.objectValues({ a: 1, b:: 2, c: error 'x' })[0]`,
	`[assert x.n > 6 : 'm'; x for x in pods]`, `[x.n for x in pods][1:]`, `[[1, 2, 3][0.5] for x in pods]`, `[[1, 2, 3][-1] for x in pods]`, `['abc'[1] for x in pods]`,
	`[std.repeat('abc', 1e9 * x.n) for x in pods]`, `[std.range(1, 1e9) for x in pods]`, `[[std.makeArray(1e9, function(i) i) for y in pods] for x in pods]`,
	`std.map(function(x) x.name, pods)`, `std.map(function(x) x.none, pods)`, `std.map(function(x) error x.name, pods)`, `std.map(function(x, y) x, pods)`, `std.map(1, pods)`,
	`[std.map(function(y) [x.n, y], x.list) for x in pods]`, `std.mapWithIndex(function(i, x) [i, x.n], pods)`, `std.mapWithKey(function(k, x) [k, x.n], children)`,
	`std.makeArray(3, function(i) { a: i, b: self.a + pods[i].n })`, `std.makeArray(4, function(i) pods[i].n)`, `std.makeArray(3, std.length)`, `std.makeArray(3, function(i, j=i) [i, j])`,
	`local m = std.makeArray(150, function(i) if i == 0 then 0 else 1 + m[i - 1]); m[149]`, `local m = std.makeArray(30, function(i) if i == 0 then 0 else 1 + m[i - 1]); m[29]`,
	`{ [k]: children[k].none for k in std.objectFields(children) }`, `std.flattenArrays([x.list for x in pods])`, `std.prune({ a: null, b: [x.list for x in pods] })`,
	`std.setDiff(['b', 'c'], [x.name for x in pods])`, `std.setInter(['b', 'c'], [x.name for x in pods])`, `std.all([x.n > 6 for x in pods])`, `std.any([x.n for x in pods])`,
	`std.sum([x.n for x in pods])`, `std.find(7, [x.n for x in pods])`, `std.mergePatch(pods[0], { list: null, name: 'z' })`, `std.split('a,b', ',')`, `[std.split(x.phase, 'n') for x in pods]`,
	`[1e308 * 10 * x.n for x in pods]`, `[1 << x.n for x in pods]`, `[1.5 << x.n for x in pods]`, `[null.a for x in pods]`, `[{ a: null }.a for x in pods]`,
}

const fastScript = `{
  w:: 5,
  sync(parent, children, exact)::
    local pods = std.objectValues(children);
    { v: %s },
}`

// Fast evaluators return what the interpreter returns, and report the same errors.
func TestFast(t *testing.T) {
	for _, text := range fastCases {
		wantSame(t, fmt.Sprintf(fastScript, text))
	}
}

// A generator writes random expressions, of which many fail.
type generator struct {
	*rand.Rand
	names []string
}

func (g *generator) pick(of ...string) string { return of[g.IntN(len(of))] }

// number and boolean write expressions that rarely fail.
func (g *generator) number() string {
	return g.pick("1", "7", "y.n", "parent.n", "std.length(pods)", "std.length(y.name)", "parent.list[1]", "(y.n + 1)", "(y.n - parent.x)", "std.length([1 for z in pods if z.n == y.n])")
}

func (g *generator) boolean(depth int) string {
	if depth > 0 {
		return fmt.Sprintf(g.pick("(%s && %s)", "(%s || %s)", "(!%s == %s)", "(if %s then false else %s)"), g.boolean(depth-1), g.boolean(depth-1))
	}
	return fmt.Sprintf("(%s %s %s)", g.number(), g.pick("==", "!=", "<", "<=", ">", ">="), g.number())
}

func (g *generator) expression(depth int) string {
	switch {
	case g.IntN(5) == 0:
		return g.number()
	case g.IntN(6) == 0:
		return g.boolean(g.IntN(3))
	case depth <= 0:
		return g.pick(append(g.names, "1", "'a'", "true", "null", "0.5", "[]", "{}", "self", "$", "parent.n", "parent.list", "pods", "error 'e'")...)
	}
	e := func() string { return g.expression(depth - 1 - g.IntN(2)) }
	with := func(format string) string { // an expression that can use a new variable
		name := fmt.Sprintf("v%d", len(g.names))
		outer := e()
		g.names = append(g.names, name)
		inner, more := e(), e()
		g.names = g.names[:len(g.names)-1]
		return strings.NewReplacer("NAME", name, "OUTER", outer, "INNER", inner, "MORE", more).Replace(format)
	}
	switch g.IntN(12) {
	case 0:
		return with(g.pick("[INNER for NAME in OUTER]", "[INNER for NAME in OUTER if MORE]", "[INNER for NAME in pods if NAME.n == 7]", "[INNER for NAME in parent.list for w in [MORE]]"))
	case 1:
		return with(g.pick("(local NAME = OUTER; INNER)", "(local NAME = [INNER, 1]; MORE)", "(local f(NAME) = INNER; f(OUTER))", "(function(NAME, b=NAME) [INNER, b])(OUTER)", "(local f(NAME=1) = INNER; f(NAME=OUTER))"))
	case 2:
		return with(g.pick("std.filter(function(NAME) INNER, OUTER)", "std.map(function(NAME) INNER, pods)", "std.map(function(NAME) INNER, OUTER)", "std.makeArray(3, function(NAME) INNER)", "std.foldl(function(NAME, b) INNER, OUTER, MORE)", "std.sort(pods, function(NAME) INNER)", "std.filter(function(NAME) INNER == MORE, parent.list)"))
	case 3:
		return fmt.Sprintf(g.pick("{ a: %s, b: %s }", "{ a: %s, b:: self.a, c: %s }", "{ local l = %s, a: l, b+: %s }", "({ a: %s } + { b: super.a, c: %s })", "{ assert %s, a: %s }"), e(), e())
	case 4:
		return fmt.Sprintf("(%s %s %s)", e(), g.pick("+", "-", "==", "!=", "<", ">=", "&&", "||", "%", "*"), e())
	case 5:
		return "(" + e() + ")" + g.pick(".a", ".b", ".name", ".n", "[0]", "[1]", ".list", "['a']", "["+e()+"]")
	case 6:
		return fmt.Sprintf("(if %s then %s else %s)", g.boolean(1), e(), e())
	case 7:
		return fmt.Sprintf("[%s, %s]", e(), e())
	case 8:
		return fmt.Sprintf(g.pick("std.length(%s)", "std.set(%s)", "std.count(%s, 1)", "std.type(%s)", "std.objectFields(%s)", "std.toString(%s)", "std.join('-', %s)", "std.member(%s, 1)", "!%s", "-%s", "std.uniq(%s)", "std.get(%s, 'a', 2)"), e())
	case 9:
		return "(" + g.pick("pods", "parent.list", "children.a") + g.pick("[0]", ".n", "[1].name", ".phase") + ")"
	}
	return e()
}

// Fast evaluators agree with the interpreter about random expressions.
func TestFastRandom(t *testing.T) {
	const trials = 1000
	for seed := range uint64(trials) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 7)), names: []string{"parent"}}
		wantSame(t, fmt.Sprintf(fastScript, "[["+g.expression(1+g.IntN(4))+", y] for y in pods]"))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// FuzzFast compares fast evaluators with the interpreter for any value of a loop.
func FuzzFast(f *testing.F) {
	for _, text := range fastCases {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "import") {
			return
		}
		wantSame(t, fmt.Sprintf(fastScript, text))
	})
}
