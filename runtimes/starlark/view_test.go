package starlark

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"metascript/engine"
)

// request returns a request with a value of every kind.
func request() map[string]any {
	return map[string]any{"x": map[string]any{
		"name": "a", "n": int64(1), "big": int64(1<<62 + 1), "f": 1.5, "whole": 2.0, "yes": true, "null": nil, "text": "é\n\"",
		"list": []any{int64(3), int64(1), int64(2)}, "empty": []any{}, "none": map[string]any{}, "strings": []any{"b", "a"},
		"pods": []any{map[string]any{"name": "p", "ports": []any{int64(80)}}, map[string]any{"name": "q", "ports": []any{}}},
		"deep": map[string]any{"a": map[string]any{"b": []any{map[string]any{"c": int64(1)}}}},
	}}
}

// Expressions that read the request return the same for a copy that consists of Starlark dicts and lists. Only dot access and the
// texts of errors differ.
func TestViewsBehaveLikeCopies(t *testing.T) {
	for expr := range strings.Lines(strings.TrimSpace(readers)) {
		expr = strings.TrimSpace(expr)
		t.Run(expr, func(t *testing.T) {
			view, viewErr := eval(t, "def sync(x):\n    return {'r': repr("+expr+")}", request(), engine.Limits{})
			own, ownErr := eval(t, "def sync(x):\n    x = json.decode(json.encode(x))\n    return {'r': repr("+expr+")}", request(), engine.Limits{})
			if (viewErr == nil) != (ownErr == nil) || !reflect.DeepEqual(view, own) {
				t.Errorf("view: %v, %v\nown:  %v, %v", view, viewErr, own, ownErr)
			}
		})
	}
}

const readers = `
x
str(x)
"%s %r" % (x["list"], x["deep"])
"{} {}".format(x["list"], x["deep"])
"%(name)s is %(n)d" % x
json.encode(x)
json.encode([x["pods"], {"k": x["none"]}])
type(x), type(x["list"]), type(x["name"]), type(x["n"]), type(x["f"]), type(x["null"])
len(x), len(x["list"]), len(x["empty"]), len(x["none"])
bool(x), bool(x["list"]), bool(x["empty"]), bool(x["none"])
"yes" if x["none"] else "no"
x["n"] + 1, x["big"] + 1, x["f"] * 2, x["whole"], x["yes"], x["null"]
x["nope"]
x[1]
x.get("name"), x.get("nope"), x.get("nope", 7), x.get("null", 7), x.get(1, 2)
x.get([])
x.keys(), x["deep"].values(), x["deep"].items()
x.keys(1)
x.setdefault("name", 2)
[k for k in x]
[(k, v) for k, v in x["deep"].items()]
list(x), sorted(x), tuple(x["list"]), set(x["strings"]), dict(x["deep"]), dict(x["deep"], a = 1), list(x["list"])
list(enumerate(x["list"])), zip(x["list"], x["strings"]), list(reversed(x["list"]))
"name" in x, "nope" in x, 1 in x, "nope" not in x
1 in x["list"], 9 in x["list"], {"name": "p", "ports": [80]} in x["pods"], x["pods"][0] in x["pods"], [80] in [p["ports"] for p in x["pods"]]
[k in x for k in ["name", "nope"]], [i in x["list"] for i in (1, 9)]
[] in x
x["list"][0], x["list"][-1]
x["list"][3]
x["list"][-4]
x["list"]["a"]
x["list"][1:], x["list"][:-1], x["list"][::2], x["list"][::-1], x["list"][2:0:-1], x["list"][5:], x["list"][:0]
x["list"] + [4], [4] + x["list"], x["list"] + x["empty"], x["list"] * 2, 2 * x["list"], x["list"] * 0
x["list"] + (4,)
x["list"] + 1
x["list"] - [1]
x | {"name": "b"}, {"name": "b"} | x["deep"], x["none"] | x["deep"]
x | [1]
x + {}
x == x, x["list"] == [3, 1, 2], [3, 1, 2] == x["list"], x["none"] == {}, {} == x["none"], x["empty"] == [], x["empty"] != []
x["deep"] == {"a": {"b": [{"c": 1}]}}, {"a": {"b": [{"c": 1.0}]}} == x["deep"], {"a": {"b": [{"c": 2}]}} != x["deep"]
x["list"] == (3, 1, 2), x["deep"] == None, None != x["list"], x["deep"] == [], x["list"] == {}
(x["list"], 1) == ([3, 1, 2], 1), [x["deep"]] == [{"a": {"b": [{"c": 1}]}}], {"k": x["list"]} == {"k": [3, 1, 2]}
x["list"] < [3, 2], [3, 2] > x["list"], x["list"] <= x["list"], x["list"] >= [3, 1, 2, 0], (1, x["list"]) < (1, [9])
x["deep"] < x["deep"]
x["deep"] < {}
x["list"] < 1
max(x["list"]), min(x["list"]), max(x["strings"]), min(x["pods"], key = lambda p: p["name"]), max(x["list"], [9]), max(3, 1, 2)
max(x["empty"])
sorted(x["list"]), sorted(x["list"], reverse = True), sorted(x["pods"], key = lambda p: p["ports"]), sorted([x["list"], [1]])
sorted(x["pods"])
any(x["list"]), all(x["list"]), any(x["empty"])
",".join(x["strings"])
x["list"].index(1), x["list"].index(1, 1), x["list"].index(2, -1), x["pods"].index({"name": "q", "ports": []})
x["list"].index(9)
x["list"].index(3, 1, 2)
hash(x)
{x["list"]: 1}
{(1, x["deep"]): 1}
set([x["list"]])
hasattr(x, "items"), hasattr(x["list"], "append"), hasattr(x["list"], "nope"), hasattr(x, "update")
dir(x["list"])
getattr(x["list"], "nope", 5)
getattr(x["list"], "nope")
x["list"]()
x["name"].upper(), x["text"]
(lambda *a: a)(*x["list"]), (lambda **k: k)(**x["deep"])
[a for a, b in [x["strings"]]]
-x["list"]
1 + x["deep"]
`

// A statement that would change the request is an error with a hint.
func TestViewsAreReadOnly(t *testing.T) {
	statements := []string{
		`x["name"] = 1`, `x.name = 1`, `x["list"][0] = 1`, `x["list"][-1] += 1`, `x["none"]["a"] = 1`, `x["deep"] |= {}`, `x.deep.a |= {}`,
		`x.clear()`, `x.pop("name")`, `x.popitem()`, `x.update({})`, `x.setdefault("new")`, `x["list"].append(1)`, `x["list"].clear()`,
		`x["list"].extend([])`, `x["list"].insert(0, 1)`, `x["list"].pop()`, `x["list"].remove(1)`, `x["deep"]["a"]["b"][0]["c"] = 2`,
		`x["list"] += [1]`,
	}
	for _, s := range statements {
		t.Run(s, func(t *testing.T) {
			arg := request()
			_, err := eval(t, "def sync(x):\n    "+s+"\n    return {}", arg, engine.Limits{})
			e := wantError(t, err, engine.KindRuntime)
			if !strings.Contains(e.Msg, "read-only") || !strings.Contains(e.Hint, "json.decode(json.encode(x))") || e.Pos.Line != 2 {
				t.Errorf("got %s", e.Detail())
			}
			if !reflect.DeepEqual(arg, request()) {
				t.Error("the argument was changed")
			}
		})
	}
}

// |= and += assign a new value to a variable that is a view, and change other dicts and lists in place.
func TestAugmentedAssignment(t *testing.T) {
	got, err := eval(t, `
def sync(x):
    view, items = x["none"], x["list"]
    view |= {"a": 1}
    items += [4]
    own, list = {"b": 1}, [0]
    same, too = own, list
    own |= x["deep"]
    list += x["list"]
    return {"view": view, "items": items, "same": same, "too": too, "x": [x["none"], x["list"]]}
`, request(), engine.Limits{})
	if err != nil {
		t.Fatal(engine.DetailOf(err))
	}
	want := map[string]any{
		"view": map[string]any{"a": int64(1)}, "items": []any{int64(3), int64(1), int64(2), int64(4)},
		"same": map[string]any{"b": int64(1), "a": map[string]any{"b": []any{map[string]any{"c": int64(1)}}}},
		"too":  []any{int64(0), int64(3), int64(1), int64(2)},
		"x":    []any{map[string]any{}, []any{int64(3), int64(1), int64(2)}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestDotAccess(t *testing.T) {
	arg := map[string]any{"x": map[string]any{"spec": map[string]any{"image": "a", "items": int64(1)}, "list": []any{}}}
	got, err := eval(t, `
def sync(x):
    return {
        "image": x.spec.image, "items": type(x.spec.items), "has": [hasattr(x, "spec"), hasattr(x, "nope")],
        "get": [getattr(x, "spec").image, getattr(x, "nope", 1)], "dir": [n for n in dir(x.spec) if n < "g"],
    }
`, arg, engine.Limits{})
	want := map[string]any{
		"image": "a", "items": "builtin_function_or_method", "has": []any{true, false}, "get": []any{"a", int64(1)}, "dir": []any{"clear"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v\nwant %v", got, err, want)
	}
	for expr, hint := range map[string]string{
		"x.spce": `did you mean "spec"?`, "x['metadata']": "its keys are list, spec", "x.list.nope": "", "x[1]": "",
		"getattr(x, 'spce')": "", "x.spec.nothing.like.it": "its keys are image, items",
	} {
		_, err := eval(t, "def sync(x):\n    return {'a': "+expr+"}", arg, engine.Limits{})
		if e := wantError(t, err, engine.KindRuntime); e.Hint != hint {
			t.Errorf("%s: got %s", expr, e.Detail())
		}
	}
}

// Comparison works for deeply nested objects, and ends with an error for values that contain themselves or that exceed the steps.
func TestCompareDeep(t *testing.T) {
	var deep any = int64(1)
	for range 50 {
		deep = map[string]any{"a": []any{deep}}
	}
	got, err := eval(t, `
def sync(x):
    own = json.decode(json.encode(x))
    return {"same": [x == own, own == x, own == json.decode(json.encode(x)), x in [own], x != own]}
`, map[string]any{"x": deep}, engine.Limits{})
	if err != nil || !reflect.DeepEqual(got["same"], []any{true, true, true, true, false}) {
		t.Errorf("got %v, %v", got, err)
	}
	_, err = eval(t, "def sync():\n    a, b = [], []\n    a.append(a)\n    b.append(b)\n    return {'same': a == b}", nil, engine.Limits{})
	wantError(t, err, engine.KindRuntime)
	_, err = eval(t, `
def sync():
    a, b = [1], [1]
    for _ in range(60):
        a, b = [a, a], [b, b]
    return {"same": a == b}
`, nil, engine.Limits{Steps: 100_000})
	wantError(t, err, engine.KindSteps)
}

// Parts of the request in a result are returned by reference, and count like other values.
func TestViewsInResults(t *testing.T) {
	pod := map[string]any{"name": "a", "ports": []any{int64(80), int64(1<<62 + 1)}}
	arg := map[string]any{"pod": pod}
	p := compile(t, "def sync(pod):\n    return {'children': [pod], 'ports': pod['ports']}")
	got, err := p.Call(t.Context(), "sync", arg, engine.Env{})
	if err != nil {
		t.Fatal(err)
	}
	first := got["children"].([]any)[0]
	if reflect.ValueOf(first).Pointer() != reflect.ValueOf(pod).Pointer() {
		t.Error("the pod was copied")
	}
	for name, l := range map[string]engine.Limits{
		"nodes": {Nodes: 8}, "output": {Output: 40}, "depth": {Depth: 3},
	} {
		_, err := p.Call(t.Context(), "sync", arg, engine.Env{Limits: l})
		if e := wantError(t, err, engine.KindOutput); e.Pos.Line != 1 {
			t.Errorf("%s: %s", name, e.Detail())
		}
	}
	whole, err := eval(t, "def sync(request):\n    return request", arg, engine.Limits{})
	if err != nil || !reflect.DeepEqual(whole, arg) {
		t.Errorf("the whole request: %v, %v", whole, err)
	}
}

// The size of messages is limited, and also the work to make them.
func TestMessagesAreLimited(t *testing.T) {
	for _, value := range []string{
		`"x" * (1 << 24)`, `["x" * (1 << 20)] * 1000`, `{"k": x}`, `bomb()`, `itself()`, `1 << 500`, `huge()`, `("a",)`, `set(["a"])`, `b"a"`,
	} {
		text := fmt.Sprintf(`
def bomb():
    a = ["x"]
    for _ in range(200):
        a = [a, a]
    return a

def itself():
    a = []
    a.append(a)
    return a

def huge():
    n = 1 << 511
    for _ in range(6):
        n = n * n
    return n

def sync(x):
    fail(%s)
`, value)
		_, err := eval(t, text, request(), engine.Limits{})
		if e := wantError(t, err, engine.KindRaised); e.Msg == "" || len(e.Msg) > maxMessage {
			t.Errorf("%s: %d bytes", value, len(e.Msg))
		}
	}
}
