package starlark

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/lib/json"
	"go.starlark.net/lib/math"
	startime "go.starlark.net/lib/time"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"metascript/engine"
)

// Everything that a script can use has a rule. A new version of go.starlark.net may add names; scripts do not have them until
// there is a rule for them in rules.go.
func TestEverythingHasARule(t *testing.T) {
	check := func(what string, has []string, ruled []string) {
		t.Helper()
		for _, name := range has {
			if !slices.Contains(ruled, name) {
				t.Errorf("%s%s has no rule: add one to rules.go; until then no script has it", what, name)
			}
		}
		for _, name := range ruled {
			if !slices.Contains(has, name) {
				t.Errorf("there is a rule for %s%s, which does not exist", what, name)
			}
		}
	}
	check("", append(starlark.Universe.Keys(), removedNames...), slices.Collect(maps.Keys(nameRules)))
	for _, x := range append(builtinTypes, plainDict{}, plainSlice{}) {
		check(x.Type()+".", x.AttrNames(), slices.Collect(maps.Keys(memberRules[x.Type()])))
	}
	for _, m := range []*starlarkstruct.Module{json.Module, math.Module, startime.Module} {
		check(m.Name+".", m.Members.Keys(), slices.Collect(maps.Keys(moduleRules[m.Name])))
	}
	for token := syntax.PLUS; token <= syntax.OR; token++ {
		if e, ok := parsed[*syntax.BinaryExpr]("(x " + token.String() + " y)"); ok && binaryRules[e.Op] == "" {
			t.Errorf("x %s y has no rule", token)
		}
		if e, ok := parsed[*syntax.UnaryExpr]("(" + token.String() + " x)"); ok && unaryRules[e.Op] == "" {
			t.Errorf("%s x has no rule", token)
		}
		if s, ok := parsed[*syntax.AssignStmt]("x " + token.String() + " y"); ok && assignRules[s.Op] == "" {
			t.Errorf("x %s y as a statement has no rule", token)
		}
	}
}

// parsed returns the only statement of a text, or the expression in that statement, if it has the type T.
func parsed[T syntax.Node](text string) (node T, ok bool) {
	file, err := dialect.Parse("x.star", text, 0)
	if err != nil || len(file.Stmts) != 1 {
		return node, false
	}
	var n syntax.Node = file.Stmts[0]
	if s, ok := n.(*syntax.ExprStmt); ok {
		n = unparen(s.X)
	}
	node, ok = n.(T)
	return node, ok
}

// All types with methods or fields that a script can use have rules.
func TestTypes(t *testing.T) {
	values := []starlark.Value{
		starlark.None, starlark.True, starlark.MakeInt(1), starlark.Float(1), starlark.Tuple{}, starlark.NewBuiltin("x", nil),
		evaluate(t, `range(3)`), evaluate(t, `lambda: 1`), evaluate(t, `"".elems()`), evaluate(t, `"".codepoint_ords()`), evaluate(t, `b"".elems()`),
	}
	for _, x := range builtinTypes {
		values = append(values, x)
	}
	for _, v := range values {
		if x, ok := v.(starlark.HasAttrs); ok && len(x.AttrNames()) > 0 && memberRules[v.Type()] == nil {
			t.Errorf("values of type %s have %v, and no rules", v.Type(), x.AttrNames())
		}
	}
}

// evaluate returns the value of an expression in a script.
func evaluate(t *testing.T, text string) starlark.Value {
	t.Helper()
	v, err := starlark.EvalOptions(&dialect, new(starlark.Thread), "x.star", text, predeclared)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A name that a later version of go.starlark.net adds to the language does not exist until it has a rule.
func TestNamesWithoutARuleAreRemoved(t *testing.T) {
	starlark.Universe["new"] = starlark.NewBuiltin("new", nil)
	removeWithoutRule()
	_, err := New().Compile(t.Context(), script("def sync():\n    return {\"v\": new()}"), engine.Limits{})
	var fault *engine.Error
	if !errors.As(err, &fault) || fault.Msg != "undefined: new" {
		t.Errorf("got %v", err)
	}
	for _, m := range predeclared {
		if m, ok := m.(*namedModule); ok {
			for name := range m.Members {
				if r := moduleRules[m.Name][name]; r == "" || r == removed {
					t.Errorf("%s.%s exists without a rule", m.Name, name)
				}
			}
		}
	}
}

// Methods and fields without a rule do not exist, however a script looks them up. Fields of the request with the same name do.
func TestMethodsWithoutARuleAreRemoved(t *testing.T) {
	rules := memberRules["string"]
	defer func(before map[string]bool) { memberRules["string"], withoutRule = rules, before }(withoutRule)
	memberRules["string"] = maps.Clone(rules)
	delete(memberRules["string"], "upper")
	withoutRule = findWithoutRule()
	for _, text := range []string{`"a".upper()`, `"a".upper`, `getattr("a", "upper")`, `[x.upper for x in ["a"]]`, `"a".upper(*[], **{})`} {
		_, err := eval(t, "def sync():\n    return {\"v\": "+text+"}", nil, engine.Limits{})
		if e := wantError(t, err, engine.KindRuntime); !strings.HasPrefix(e.Msg, `a string has no field or method "upper"`) {
			t.Errorf("%s: got %q", text, e.Msg)
		}
	}
	got, err := eval(t, `def sync(parent):
    return {"has": hasattr("a", "upper"), "dir": "upper" in dir("a"), "get": getattr("a", "upper", 5), "field": parent.upper}`,
		map[string]any{"parent": map[string]any{"upper": "x"}}, engine.Limits{})
	if err != nil || got["has"] != false || got["dir"] != false || got["get"] != int64(5) || got["field"] != "x" {
		t.Errorf("got %v, %v", got, err)
	}
}

// A panic of the interpreter is an error of the script, at the position of the panic. The detail of the error has no Go stack.
func TestCrash(t *testing.T) {
	boom := func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
		panic("boom")
	}
	predeclared["boom"], predeclared["bare"] = starlark.NewBuiltin("boom", catchingPanics(boom)), starlark.NewBuiltin("bare", boom)
	defer func() { delete(predeclared, "boom"); delete(predeclared, "bare") }()
	for text, at := range map[string]engine.Pos{
		"def sync():\n    return {\"v\": boom()}": {File: "sync.star", Line: 2, Col: 22},
		"def sync():\n    return {\"v\": bare()}": {File: "sync.star", Line: 1, Col: 1},
		"v = boom()\ndef sync(): return {}":       {File: "sync.star", Line: 1, Col: 9},
		"v = bare()\ndef sync(): return {}":       {File: "sync.star"},
	} {
		p, err := New().Compile(t.Context(), script(text), engine.Limits{})
		if err == nil {
			_, err = p.Call(t.Context(), "sync", nil, engine.Env{})
		}
		e := wantError(t, err, engine.KindRuntime)
		if e.Pos != at || e.Msg != "the interpreter cannot evaluate this: boom" || e.Hint == "" || e.Stack == "" || strings.Contains(e.Detail(), "goroutine") {
			t.Errorf("%q: got %v, %s", text, e.Pos, e.Detail())
		}
	}
}

// A literal needs no guard only if it is short, and if few literals of the file collide.
func TestLiteralsNeedNoGuard(t *testing.T) {
	same := "x = {4294967296: 1, 'name': 2}\ny = {}\n"
	for i := range 30 {
		same += fmt.Sprintf("y[%d] = x['name']\n", int64(i)<<32)
	}
	long := strings.Repeat("a", smallSize)
	for text, want := range map[string]int{
		"x = {1: 'a', 'b': 2}['b']": 0, "x = 5\ny = x == 'a' or x + 1 or 'c' in x": 0, "x = ''\ny = x + 'b'": 1,
		same:                             30 - maxLiterals, // all belong to one hash bucket
		"x = 5\ny = x == '" + long + "'": 1, "x = 5\ny = '" + long + "' in x": 1, "x = ''\ny = x + '" + long + "'": 1,
	} {
		file, err := dialect.Parse("x.star", text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := rewrite(file); err != nil {
			t.Fatal(err)
		}
		got := 0
		syntax.Walk(file, func(n syntax.Node) bool {
			if f, ok := n.(*syntax.CallExpr); ok && operators[f.Fn.(*syntax.Ident).Name] != nil {
				got++
			}
			return true
		})
		if got != want {
			t.Errorf("%.60q: %d guards, want %d", text, got, want)
		}
	}
}

// unusualValues are arguments that functions do not expect.
var unusualValues = strings.Fields(`None True 0 -1 1.5 1e308 1<<70 -(1<<62) float("nan") float("inf") "" "a" "\x00" "{}" "%s" "%(a)s" "é€" b"" b"\xff" [] [None] [1,"a",[]] (1,)
	((),) {} {"a":1} {1:None} set() set([1]) range(0) range(1<<62) range(-(1<<63),(1<<63)-1) "ab".elems() len [].append (lambda:1) (lambda*a,**k:a) json
	time.second time.from_timestamp(1<<62) request request.l -(1<<31) "9"*20 "a"*2000`)

// No function that a script can call makes the interpreter panic, with any arguments.
func TestUnusualArguments(t *testing.T) {
	var callables []string
	for name := range nameRules {
		callables = append(callables, name)
	}
	for module, members := range moduleRules {
		for name := range members {
			callables = append(callables, module+"."+name)
		}
	}
	samples := map[string]string{
		"string": `"a b"`, "bytes": `b"a"`, "list": `[1, "a"]`, "dict": `{"a": 1}`, "set": `set([1])`, "time.time": `time.from_timestamp(5)`,
		"time.duration": `time.hour`, dictType: `request`, listType: `request.l`,
	}
	for typ, members := range memberRules {
		for name := range members {
			callables = append(callables, samples[typ]+"."+name)
		}
	}
	slices.Sort(callables)
	random := rand.New(rand.NewPCG(1, 2))
	value := func() string { return unusualValues[random.IntN(len(unusualValues))] }
	operators := []string{"+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "==", "<", ">=", "in", "not in", "and", "or"}
	for _, callable := range callables {
		for range 15 {
			var args []string
			for range random.IntN(4) {
				args = append(args, value())
			}
			star := []string{"", ", *" + value(), ", **" + value(), ", key=" + value()}[random.IntN(4)]
			call := strings.TrimPrefix(callable+"("+strings.Join(args, ", ")+strings.TrimPrefix(star, strings.Repeat(", ", 1-min(1, len(args))))+")", ", ")
			text := fmt.Sprintf("def sync(request):\n    x = %s %s %s\n    y = %s\n    y %s= %s\n    y = y[%s:%s:%s]\n    return {\"v\": [x, y, %s]}", value(),
				operators[random.IntN(len(operators))], value(), value(), operators[random.IntN(11)], value(), value(), value(), value(), call)
			for _, text := range []string{text, "def sync(request):\n    return {\"v\": " + call + "}"} {
				checkUnusual(t, text)
			}
		}
	}
}

func checkUnusual(t *testing.T, text string) {
	t.Helper()
	p, err := New().Compile(t.Context(), script(text), tightLimits)
	if err == nil {
		_, err = p.Call(t.Context(), "sync", map[string]any{"l": []any{int64(1), "a"}}, engine.Env{Limits: tightLimits})
	}
	var e *engine.Error
	if err != nil && (!errors.As(err, &e) || e.Kind == engine.KindPanic || e.Stack != "") {
		t.Errorf("%s\n%s\n%s", text, engine.DetailOf(err), e.Stack)
	}
}
