package jsonnet_test

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
	"metascript/runtimes/jsonnet"
)

// hostile are expressions that would take for ever, all the memory or the process. An answer is right where the
// kinds have "".
var hostile = []struct{ name, expr, kinds string }{
	// One native operation that makes something large.
	{"range", `std.length(std.range(1, 100000000))`, "Memory"},
	{"makeArray", `std.length(std.makeArray(2000000000, function(i) i))`, "Memory"},
	{"repeat", `std.length(std.repeat('abc', 1000000000))`, "Memory"},
	{"repeat-array", `std.length(std.repeat(std.range(1, 1000), 100000))`, "Memory"},
	{"join", `local s = std.repeat('x', 1000000); std.length(std.join(s, std.range(1, 1) + std.makeArray(1000, function(i) s)))`, "Memory Runtime"},
	{"join-arrays", `local a = std.range(1, 100000); std.length(std.join(a, [a for i in std.range(1, 1000)]))`, "Memory"},
	{"replace", `local s = std.repeat('x', 100000); std.length(std.strReplace(s, 'x', s))`, "Memory"},
	{"format-width", `std.length('%1000000000d' % 5)`, "Memory Stack"},
	{"format-precision", `std.length('%.1000000000f' % 5)`, "Memory Runtime Steps Timeout "},
	{"format-star", `std.length('%*d' % [1000000000, 5])`, "Memory Stack"},
	{"split", `std.length(std.split(wide('a', 22), 'a'))`, "Memory"},
	{"split-r", `std.length(std.splitLimitR(wide('a', 22), 'a', 4000000))`, "Memory"},
	{"chars", `std.length(std.stringChars(wide('a', 23)))`, "Memory"},
	{"encode", `std.length(std.encodeUTF8(wide('a', 23)))`, "Memory"},
	{"base64", `std.length(std.base64DecodeBytes(wide('aaaa', 20)))`, "Memory"},
	{"foldl-string", `std.foldl(function(a, c) a, wide('a', 23), 0)`, "Memory"},
	{"parse-json", `std.length(std.parseJson('[' + wide('0,', 21) + '0]'))`, "Memory"},
	{"parse-json-deep", `std.parseJson(wide('[', 20))`, "Runtime Memory"},
	{"parse-yaml", `std.length(std.parseYaml(wide('- 1\n', 20)))`, "Memory"},
	{"parse-yaml-deep", `std.parseYaml(std.repeat('- ', 100000) + 'x')`, "Memory Runtime"},
	{"parse-yaml-flow", `std.parseYaml(std.repeat('[', 100000))`, "Memory Runtime"},
	{"parse-yaml-alias", `std.parseYaml('a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n')`, "Runtime "},
	{"manifest-indent", `std.length(std.manifestJsonEx([[[[[[[[1]]]]]]]], std.repeat(' ', 4000000)))`, "Memory"},
	{"manifest-newline", `std.length(std.manifestJsonEx(std.range(1, 1000), '', std.repeat(' ', 1000000)))`, "Memory"},
	{"yaml-key", `std.length(std.manifestYamlDoc({ [wide('k', 21)]: 1 }))`, "Memory"},
	{"toml", `std.length(std.manifestToml({ a: [std.repeat('k', 500) for i in std.range(1, 20000)] }))`, "Memory Timeout"},
	{"strip", `std.length(std.lstripChars(wide('k', 21), 'k'))`, ""},
	{"strip-array", `std.length(std.stripChars(wide('k', 21), ['k']))`, ""},
	{"md5", `[std.md5(wide('k', 23)) for i in std.range(1, 1000)]`, "Timeout Steps"},
	{"empty", `std.length([1 for i in std.range(1, 100000) if !std.isEmpty(big)])`, "Timeout Steps"},
	{"flat-map", `local a = std.range(1, 300000); std.length([x for i in a for x in a])`, "Memory Timeout Steps"},
	{"flat-map-shared", `local a = std.range(1, 300000); std.length(std.flatMap(function(i) a, a))`, "Memory Timeout"},
	{"comprehension", `std.length({ ['k' + i]: 1 for i in std.range(1, 600000) })`, "Memory Timeout"},

	// Doubling.
	{"double-string", `std.length(std.foldl(function(a, i) a + a, std.range(1, 40), 'x'))`, "Memory"},
	{"double-array", `std.length(std.foldl(function(a, i) a + a, std.range(1, 40), [1]))`, "Memory"},
	{"double-object", `std.foldl(function(a, i) a + a, std.range(1, 40), { a: 1 }).b`, "Memory"},
	{"double-object-field", `std.length(std.foldl(function(a, i) { a+: a.a } + a, std.range(1, 40), { a: 'x' }).a)`, "Memory "},
	{"grow-string", `std.length(std.foldl(function(a, i) a + 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', std.range(1, 600000), ''))`, "Memory Steps Timeout"},
	{"grow-left", `local f(i, a) = if i == 0 then a else f(i - 1, if i % 2 == 0 then 'x' + a else a + 'x') tailstrict; std.md5(f(2000, std.repeat('x', 30)))`, ""},
	{"pending-string", `std.md5(std.foldl(function(a, i) a + 'x', std.range(1, 400000), std.repeat('x', 30)))`, " Memory Timeout"},
	{"remove-key", `std.foldl(function(o, i) std.objectRemoveKey(o, 'a'), std.range(1, 100000), { a: 1, b: 2 }).b`, "Memory Steps Timeout Stack"},

	// Values that are compared or printed without evaluating a node.
	{"equal-cycle", `{ a: self } == { a: self }`, "Stack Steps"},
	{"equal-array-cycle", `local a = [a], b = [b]; a == b`, "Stack Steps"},
	{"not-equal-cycle", `local a = [a], b = [b]; a != b`, "Stack Steps"},
	{"std-equals-cycle", `local a = [a], b = [b]; std.equals(a, b)`, "Stack Steps"},
	{"less-cycle", `local a = [a], b = [b]; a < b`, "Stack Steps"},
	{"sort-cycle", `local a = [a], b = [b]; std.length(std.sort([a, b]))`, "Stack Steps"},
	{"max-cycle", `local a = [a], b = [b]; std.length(std.maxArray([a, b]))`, "Stack Steps"},
	{"member-cycle", `local a = [a], b = [b]; std.member([a], b)`, "Stack Steps"},
	{"string-cycle", `local a = [a]; std.length('' + a)`, "Stack Steps"},
	{"error-cycle", `local a = [a]; error a`, "Stack Steps"},
	{"equal-dag", `dag(40) == dag(40)`, "Steps Timeout"},
	{"order-dag", `dag(40) < dag(40)`, "Steps Timeout"},
	{"sort-dag", `std.length(std.sort([dag(40), dag(40)]))`, "Steps Timeout"},
	{"set-dag", `std.length(std.set([dag(40), dag(40)]))`, "Steps Timeout"},
	{"min-dag", `std.length(std.minArray([dag(40), dag(40)]))`, "Steps Timeout"},
	{"member-dag", `std.contains([dag(40)], dag(40))`, "Steps Timeout"},
	{"remove-dag", `std.length(std.remove([dag(40)], dag(40)))`, "Steps Timeout"},
	{"string-dag", `std.length(std.toString(dag(40)))`, "Memory Steps Timeout"},
	{"plus-dag", `std.length('' + dag(40))`, "Memory Steps Timeout"},
	{"escape-dag", `std.length(std.escapeStringJson(dag(40)))`, "Memory Steps Timeout"},
	{"format-dag", `std.length('%s' % [dag(40)])`, "Memory Steps Timeout"},
	{"manifest-dag", `std.length(std.manifestJson(dag(40)))`, "Memory Steps Timeout"},
	{"minified-dag", `std.length(std.manifestJsonMinified(dag(40)))`, "Memory Steps Timeout"},
	{"yaml-dag", `std.length(std.manifestYamlDoc(dag(40)))`, "Memory Steps Timeout"},
	{"toml-dag", `std.length(std.manifestToml({ a: dag(40) }))`, "Memory Steps Timeout"},
	{"error-dag", `error dag(40)`, "Memory Steps Timeout"},
	{"assert-dag", `assert false : dag(40); 1`, "Memory Steps Timeout"},
	{"prune-dag", `std.length(std.prune(dag(40)))`, "Steps Timeout Memory"},
	{"merge-dag", `local f(n) = if n == 0 then {} else local x = f(n - 1); { a: x, b: x }; std.length(std.mergePatch(f(40), f(40)))`, "Steps Timeout Memory "},
	{"deep-join-dag", `std.length(std.deepJoin(dag(40)))`, "Steps Timeout Memory"},
	{"answer-dag", `dag(40)`, "Output"},
	{"answer-cycle", `{ a: self }`, "Output"},
	{"answer-text", `wide('x', 23)`, "Output"},
	{"native", `std.native('metascript.answer')(dag(40))`, "Runtime"},
	{"ext-var", `std.extVar('HOME')`, "Runtime"},

	// Stack and time.
	{"tailstrict", `local f(x) = f(x + 1) tailstrict; f(0)`, "Stack"},
	{"recursion", `local f(x) = 1 + f(x + 1); f(0)`, "Stack"},
	{"self", `{ a: self.a }.a`, "Stack"},
	{"local-self", `local a = a + 1; a`, "Stack"},
	{"assert-self", `{ assert self.a, a: { assert false : 'x' } }.b`, "Raised Runtime"},
	{"objects", `local f(x) = { a: f(x + 1) }; std.length(std.toString(f(0)))`, "Stack Memory"},
	{"loop", `std.foldl(function(a, i) std.foldl(function(b, j) b + j, std.range(1, 100000), a), std.range(1, 100000), 0)`, "Steps Timeout"},
	{"super", `std.foldl(function(o, i) o { a: super.a + 1 }, std.range(1, 3000), { a: 0 }).a`, "Stack "},
	{"error-text", `error wide('x', 23)`, "Raised"},
	{"field-text", `{}[wide('x', 23)]`, "Runtime"},
	{"trace", `std.foldl(function(a, i) std.trace(big, a), std.range(1, 100000), 0)`, "Steps Timeout "},
	{"trace-text", `std.trace(wide('x', 23), 1)`, ""},
}

const hostileCase = "METASCRIPT_HOSTILE_CASE"

const hostileTimeout = time.Second

// TestHostileChild runs one case; alone it does nothing.
func TestHostileChild(t *testing.T) {
	name, ok := os.LookupEnv(hostileCase)
	if !ok {
		return
	}
	for _, c := range hostile {
		if c.name == name {
			runHostile(t, c.expr, c.kinds)
		}
	}
}

func runHostile(t *testing.T, expr, kinds string) {
	const local = `local wide(s, n) = std.foldl(function(a, i) a + a, std.range(1, n), s), dag(n) = if n == 0 then [] else (local x = dag(n - 1); [x, x]), big = wide('x', 23);` + "\n"
	s := engine.Script{Language: engine.Jsonnet, Entry: entry, Files: files("{ sync():: " + local + "{ v: " + expr + " } }")}
	ctx, cancel := context.WithTimeout(context.Background(), hostileTimeout)
	defer cancel()
	began := time.Now()
	p, err := jsonnet.New().Compile(ctx, s, engine.Limits{})
	if err == nil {
		_, err = p.Call(ctx, "sync", map[string]any{}, engine.Env{Log: func(engine.Message) {}})
	}
	took := time.Since(began)
	got := ""
	if e := (*engine.Error)(nil); errors.As(err, &e) {
		got = string(e.Kind)
	} else if err != nil {
		t.Errorf("not a script's error: %v", err)
	}
	fmt.Printf("kind %q after %s\n", got, took)
	right := false
	for _, kind := range strings.Split(kinds, " ") {
		right = right || kind == got
	}
	if !right {
		t.Errorf("got %v, want %q", err, kinds)
	}
	if took > 10*hostileTimeout {
		t.Errorf("took %s", took)
	}
}

// Each case is run in a process of its own, so that one that ends the process is a failed case.
func TestHostile(t *testing.T) {
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestHostileChild$", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), hostileCase+"="+c.name, "GOTRACEBACK=none")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, engine.Clip(string(out), 2000))
			} else {
				t.Logf("%s", strings.SplitN(string(out), "\n", 2)[0])
			}
		})
	}
}

// hostileSources are texts that are hard on a parser.
var hostileSources = map[string]string{
	"brackets": strings.Repeat("[", 200_000),
	"parens":   strings.Repeat("(", 120_000) + "1" + strings.Repeat(")", 120_000),
	"objects":  strings.Repeat("{a:", 80_000) + "1" + strings.Repeat("}", 80_000),
	"sum":      "1" + strings.Repeat("+1", 120_000),
	"fields":   "{}" + strings.Repeat(".a", 120_000),
	"calls":    "f" + strings.Repeat("()", 120_000),
	"indexes":  "{}" + strings.Repeat("[0]", 80_000),
	"locals":   strings.Repeat("local a=1;", 25_000) + "{}",
	"nested":   strings.Repeat("local a=", 30_000) + "{}",
	"ifs":      strings.Repeat("if a then ", 25_000) + "{}",
	"elses":    strings.Repeat("if a then 1 else ", 15_000) + "{}",
	"not":      strings.Repeat("! ", 19_000) + "true",
	"minus":    strings.Repeat("-", 120_000) + "1",
	"function": strings.Repeat("function(a)", 23_000) + "{}",
	"apply":    "{}" + strings.Repeat("{}", 120_000),
	"error":    strings.Repeat("error ", 40_000) + "1",
	"assert":   strings.Repeat("assert true;", 20_000) + "{}",
	"block":    "|||\n" + strings.Repeat("  a\n", 60_000) + "|||",
	"quote":    strings.Repeat("'", 200_001),
	"comment":  "/*" + strings.Repeat("*", 200_000),
	"comp":     "[1 " + strings.Repeat("for a in [1] ", 19_000) + "]",
	"digits":   strings.Repeat("9", 250_000),
	"fields-n": "{" + strings.Repeat("a:1,", 60_000) + "}",
	"locals-n": "local " + manyLocals(12_000) + "; {}",
}

func manyLocals(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "v%d = v%d, ", i, (i+1)%n)
	}
	return b.String() + "z = 1"
}

const hostileSource = "METASCRIPT_HOSTILE_SOURCE"

// TestHostileSourceChild compiles one text; alone it does nothing.
func TestHostileSourceChild(t *testing.T) {
	name, ok := os.LookupEnv(hostileSource)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), hostileTimeout)
	defer cancel()
	began := time.Now()
	s := engine.Script{Language: engine.Jsonnet, Entry: entry, Files: files(hostileSources[name])}
	_, err := jsonnet.New().Compile(ctx, s, engine.Limits{})
	fmt.Printf("after %s: %v\n", time.Since(began), engine.Clip(fmt.Sprint(err), 200))
	var e *engine.Error
	if err != nil && !errors.As(err, &e) {
		t.Errorf("not a script's error: %v", err)
	}
	if took := time.Since(began); took > 10*hostileTimeout {
		t.Errorf("took %s", took)
	}
}

func TestHostileSources(t *testing.T) {
	for name := range hostileSources {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestHostileSourceChild$", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), hostileSource+"="+name, "GOTRACEBACK=none")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, engine.Clip(string(out), 2000))
			} else {
				t.Logf("%s", strings.SplitN(string(out), "\n", 2)[0])
			}
		})
	}
}
