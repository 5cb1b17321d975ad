package jsonnet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	gojsonnet "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
	"github.com/google/go-jsonnet/astgen"

	"metascript/engine"
)

// evaluatedBy compiles a script with one expression, and returns its value.
func evaluatedBy(t testing.TB, text string) (any, error) {
	t.Helper()
	s := engine.Script{Entry: "x.jsonnet", Files: fstest.MapFS{"x.jsonnet": {Data: []byte("{ sync(parent):: { v:\n" + text + "\n} }")}}}
	limits := engine.Limits{Steps: 200_000, Memory: 1 << 20}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	p, err := New().Compile(ctx, s, limits)
	if err != nil {
		return nil, err
	}
	answer, err := p.Call(ctx, "sync", map[string]any{"parent": map[string]any{"n": int64(1<<53 + 1)}}, engine.Env{Limits: limits})
	return answer["v"], err
}

// wholeStd lists the fields of std in go-jsonnet, including those that were removed.
func wholeStd(t *testing.T) []string {
	t.Helper()
	if err := prepareInterpreter(); err != nil {
		t.Fatal(err)
	}
	names := slices.Collect(maps.Keys(funcBuiltins))
	for _, f := range astgen.StdAst.Fields {
		names = append(names, f.Name.(*ast.LiteralString).Value)
	}
	names = slices.AppendSeq(names, maps.Keys(layout.removed))
	slices.Sort(names)
	return slices.Compact(names)
}

// Each function of std and each operator has a rule. A new version of go-jsonnet may add others; scripts do not have them until
// there is a rule for them in rules.go.
func TestEverythingHasARule(t *testing.T) {
	whole := wholeStd(t)
	for _, name := range whole {
		if r, ok := stdRules[name]; !ok || r.bound == "" {
			t.Errorf("std.%s has no rule: add one to rules.go; until then no script has it", name)
		}
	}
	for name := range stdRules {
		if !slices.Contains(whole, name) {
			t.Errorf("there is a rule for std.%s, which does not exist", name)
		}
	}
	for op, b := range bopBuiltins {
		if r := binaryRules[ast.BinaryOp(op)]; b != nil && r.bound == "" {
			t.Errorf("the operator %s has no rule", ast.BinaryOp(op))
		}
	}
	for _, op := range ast.BopMap {
		if r := binaryRules[op]; r.bound == "" {
			t.Errorf("the operator %s has no rule", op)
		}
	}
	for _, op := range ast.UopMap {
		if r := unaryRules[op]; r.bound == "" {
			t.Errorf("the operator %s has no rule", op)
		}
	}
	for name, r := range stdRules {
		if _, native := layout.builtins[name]; r.bound == inJsonnet && native {
			t.Errorf("std.%s is written in Go", name)
		} else if r.check != nil && (r.bound == plain || r.bound == inJsonnet || !native) {
			t.Errorf("std.%s has a check that its bound does not describe", name)
		}
	}
}

// For a script, std has only fields with a rule.
func TestStdHasOnlyFieldsWithARule(t *testing.T) {
	got, err := evaluatedBy(t, `std.objectFieldsAll(std)`)
	if err != nil {
		t.Fatal(engine.DetailOf(err))
	}
	want := []any{"thisFile"} // which withStd adds
	for name := range maps.Keys(stdRules) {
		if hasRule(name) {
			want = append(want, name)
		}
	}
	slices.SortFunc(want, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	if !slices.Equal(got.([]any), want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// A function that a later version of go-jsonnet adds, in Go or in Jsonnet, does not exist until it has a rule.
func TestFunctionsWithoutARuleAreRemoved(t *testing.T) {
	if err := prepareInterpreter(); err != nil {
		t.Fatal(err)
	}
	funcBuiltins["newInGo"] = funcBuiltins["length"]
	astgen.StdAst.Fields = append(astgen.StdAst.Fields, ast.DesugaredObjectField{
		Name: stringNode("newInJsonnet"), Body: &ast.LiteralNull{}, Hide: ast.ObjectFieldHidden,
	})
	vm := gojsonnet.MakeVM()
	if got, err := vm.EvaluateAnonymousSnippet("x", `std.newInGo([1]) == 1 && std.newInJsonnet == null`); err != nil || got != "true\n" {
		t.Fatalf("the new functions were not added to std: %v, %v", got, err)
	}
	before := layout.removed
	removeWithoutRule()
	layout.removed = before
	for _, name := range []string{"newInGo", "newInJsonnet"} {
		_, err := evaluatedBy(t, "std."+name)
		var fault *engine.Error
		if !errors.As(err, &fault) || fault.Msg != "std has no "+name {
			t.Errorf("got %v", err)
		}
		if got, err := evaluatedBy(t, fmt.Sprintf("std.objectHasAll(std, '%s')", name)); err != nil || got != false {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

// unusualValues are arguments that functions do not expect.
var unusualValues = strings.Split(`null|true|0|-1|1.5|1e300|-1e300|9007199254740993|std.sum([1e308, 1e308])|std.sum([std.sum([1e308, 1e308]), -std.sum([1e308, 1e308])])
''|'a'|'%'|'%s'|'é€'|std.char(0)|std.char(55296)|[]|[null]|[1, 'a', [], {}]|['a', 'b']|[error 'element']|{}|{ a: 1 }|{ a: error 'field' }
{ assert false, a: 1 }|{ assert false: { assert false: self }, a: 1 }|{ a: 1 } + { b: super.a }|std.objectRemoveKey({ a: 1, b: 2 }, 'a')|{ local x = 1, a: x }
{ a: self }|{ a:: 1 }|function() 1|function(x) x|function(x, y) x|function(x, y, z) error 'called'|std.length|std.foldl|parent|parent.n|std|std.trace`, "|")

// No function of std makes the interpreter panic, with any arguments.
func TestUnusualArguments(t *testing.T) {
	values := strings.Split(strings.ReplaceAll(strings.Join(unusualValues, "|"), "\n", "|"), "|")
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range wholeStd(t) {
		for range unusualTrials {
			args := make([]string, 1+random.IntN(4))
			for i := range args {
				args[i] = values[random.IntN(len(values))]
			}
			strict := []string{"", " tailstrict"}[random.IntN(2)]
			text := fmt.Sprintf("std['%s'](%s)%s", name, strings.Join(args, ", "), strict)
			_, err := evaluatedBy(t, text)
			var fault *engine.Error
			if err != nil && (!errors.As(err, &fault) || fault.Kind == engine.KindPanic || fault.Hint == hintCrash) {
				t.Errorf("%s: %s", text, engine.DetailOf(err))
			}
		}
	}
}

// unusualTrials is how often each function is called.
const unusualTrials = 20

// If the message of an error cannot be made, the error is the one of making it, at its position, and its hint says so.
func TestErrorsInMessages(t *testing.T) {
	for text, want := range map[string]struct {
		kind      engine.Kind
		msg       string
		line, col int
		hint      string
	}{
		`error {assert false: {assert false: $, x: error self}, y: 1}`: {engine.KindRaised, "{ }", 2, 23, ""},
		`error { a: error 'x' }`:                        {engine.KindRaised, "x", 2, 12, "x.jsonnet:2:7"},
		`error [1, { assert false, x: 1 }]`:             {engine.KindRaised, "Object assertion failed.", 2, 13, "x.jsonnet:2:7"},
		`error { a: {}.b }`:                             {engine.KindRuntime, "Field does not exist: b", 2, 15, ""},
		`error error error { a: error 'x' }`:            {engine.KindRaised, "x", 2, 24, "x.jsonnet:2:19"},
		`std.substr('abc', 1e300, 1)`:                   {engine.KindRuntime, "substr second parameter should be at most 2^53, got 1e+300", 2, 1, ""},
		`local f(a, b=a) = b; f(1) tailstrict`:          {engine.KindRuntime, "the variable a is not defined yet", 2, 14, "tailstrict"},
		`{ assert false: { assert false: self } } + ''`: {engine.KindRaised, "{ }", 2, 19, "2:17"},
	} {
		_, err := evaluatedBy(t, text)
		var e *engine.Error
		if !errors.As(err, &e) || e.Kind != want.kind || e.Msg != want.msg || e.Pos.Line != want.line || e.Pos.Col != want.col || !strings.Contains(e.Hint, want.hint) {
			t.Errorf("%s: got %s", text, engine.DetailOf(err))
		}
	}
}
