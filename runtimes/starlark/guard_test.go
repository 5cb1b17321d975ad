package starlark

import (
	"reflect"
	"testing"
	"time"

	"metascript/engine"
)

// tightLimits are limits that the guards must enforce.
var tightLimits = engine.Limits{Memory: 1 << 20, Steps: 1_000_000, Timeout: 10 * time.Second}

func TestGuards(t *testing.T) {
	tests := []struct {
		name, body string
		want       engine.Kind
	}{
		{"repeat text", `"x" * (1 << 30)`, engine.KindMemory},
		{"repeat list", `[None] * (1 << 30)`, engine.KindMemory},
		{"repeat by an element", `[x.append(x) for x in [[1]] for y in [x * 100000 for _ in range(1)]]`, engine.KindMemory},
		{"add texts", `big + big`, engine.KindMemory},
		{"add to an element", `add_to_element({"a": big}, "a")`, engine.KindMemory},
		{"add to a variable", `add_to_variable(big)`, engine.KindMemory},
		{"shift", `1 << (1 << 40)`, engine.KindMemory},
		{"format", `"{0}{0}".format(big)`, engine.KindMemory},
		{"percent", `"%s%s" % (big, big)`, engine.KindMemory},
		{"join", `big.join(["a", "b", "c"])`, engine.KindMemory},
		{"replace", `big.replace("x", "xy")`, engine.KindMemory},
		{"replace by getattr", `getattr(big, "replace")("x", "xy")`, engine.KindMemory},
		{"split", `list(("a " * 200000).split())`, engine.KindMemory},
		{"list of a range", `list(range(1 << 40))`, engine.KindMemory},
		{"set of a range", `set(range(1 << 40))`, engine.KindMemory},
		{"zip", `zip(*([range(1000)] * 10000))`, engine.KindMemory},
		{"arguments", `max(*range(1 << 40))`, engine.KindMemory},
		{"largest of a range", `max(range(1 << 40))`, engine.KindSteps},
		{"all of a range", `all(range(1, 1 << 40))`, engine.KindSteps},
		{"JSON of a range", `json.encode([range(1 << 40)])`, engine.KindMemory},
		{"JSON of parts of a text", `json.encode([big.elems()] * 100)`, engine.KindMemory},
		{"text of parts of a text", `str([big.elems()] * 100)`, engine.KindMemory},
		{"text of parts of bytes", `"%s" % ([bytes(big).elems()] * 100)`, engine.KindMemory},
		{"text of a shared list", `str(dag())`, engine.KindMemory},
		{"wide JSON", `json.decode("[" * 100000)`, engine.KindMemory},
		{"deep JSON", `json.decode("[" * 1000)`, engine.KindRuntime},
		{"long number", `int("9" * 20000)`, engine.KindMemory},
		{"many long numbers", `str([int("9" * 9999)] * 100)`, engine.KindSteps},
		{"key of many parts", `{}.get((1,) * 50000 + (2,))`, engine.KindMemory},
		{"key that does not exist", `{}[big]`, engine.KindMemory},
		{"key in a call", `{}.get(*[(big,)])`, engine.KindMemory},
		{"numbers that collide", `[{i << 32: 1 for i in range(10000)}]`, engine.KindSteps},
		{"tuples that collide", `set([(i << 32,) for i in range(10000)])`, engine.KindSteps},
		{"functions that collide", `set([(lambda: i) for i in range(10000)])`, engine.KindSteps},
		{"copies of a list", `[x[:] for x in [[0] * 60000] for _ in range(1000)]`, engine.KindSteps},
		{"every other character", `[big[::2] for _ in range(1000)]`, engine.KindSteps},
		{"add a literal", `[big + "a" for _ in range(1000)]`, engine.KindSteps},
		{"equal texts", `[big] * 50000 == [big[:-1] + "x"] * 50000`, engine.KindSteps},
		{"time zone", `time.parse_time("2006", format="2006", location="Europe/Rome")`, engine.KindRuntime},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := eval(t, `
def add_to_element(x, i):
    x[i] += x[i]

def add_to_variable(x):
    x += x

def dag():
    x = ["text"]
    for _ in range(60):
        x = [x, x]
    return x

def sync(parent):
    big = "x" * 600000
    x = `+tt.body+"\n    return {}", map[string]any{"parent": map[string]any{}}, tightLimits)
			wantError(t, err, tt.want)
		})
	}
}

// Normal operations cost few steps, even if a script does them often.
func TestGuardsAcceptNormalUse(t *testing.T) {
	got, err := eval(t, `
def sync(parent):
    stamps, pairs, list, text, long = {}, {}, [], "", "x" * 100000
    for i in range(30000):
        stamps[1700000000 + i] = stamps.get(1700000000 + i - 1, 0)
        key = ("namespace-%d" % (i % 50), "registry.example.com/team/image:%d" % (i % 20))
        pairs[key] = pairs.get(key, 0) + i
        pairs[("small", i % 3)] = i
        pairs["sum"] = pairs.get("sum", 0)
        pairs["sum"] += i
        list += [i]
        if i % 100 == 0:
            text += str(i)
        head = long[i:]
    own = {"a": [1]}
    same = own["a"]
    own["a"] += range(2)
    own["a"] += parent["list"]
    return {
        "stamps": len(stamps), "pairs": len(pairs), "sum": pairs["sum"], "list": len(list), "text": len(text), "same": same,
        "json": json.encode([range(2), "ab".elems()]), "str": str([range(2), "ab".elems()]),
    }`, map[string]any{"parent": map[string]any{"list": []any{"x"}}}, engine.Limits{Steps: 5_000_000})
	if err != nil {
		t.Fatal(engine.DetailOf(err))
	}
	want := map[string]any{
		"stamps": int64(30000), "pairs": int64(104), "sum": int64(449985000), "list": int64(30000), "text": int64(1388),
		"same": []any{int64(1), int64(0), int64(1), "x"}, "json": `[[0,1],["a","b"]]`, "str": `[range(2), "ab".elems()]`,
	}
	for name, w := range want {
		if g := got[name]; !reflect.DeepEqual(g, w) {
			t.Errorf("%s is %v, want %v", name, g, w)
		}
	}
}
