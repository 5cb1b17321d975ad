package hostile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"metascript/engine"
)

// mebibyte is slightly less than the limit of source, so that this limit is not exceeded.
const mebibyte = 1<<20 - 1000

// many returns s repeated, n bytes in total.
func many(s string, n int) string { return strings.Repeat(s, n/len(s)) }

// sources are texts that are too large for files. A parser, a resolver or a compiler recurses for each level of them, or for each
// element of a chain without brackets, or needs a time that is the square of their length.
var sources = map[string]map[string]string{
	engine.Starlark: {
		"brackets": many("[", mebibyte), "parentheses": "x=" + many("(", 500_000) + "1" + many(")", 500_000), "objects": many("{1:", mebibyte),
		"sum": "x=1" + many("+1", mebibyte), "text": "x=''" + many("+'a'", mebibyte), "power": "x=1" + many("*x", mebibyte), "or": "x=1" + many(" or 1", mebibyte),
		"calls": "f=len\nx=f" + many("()", mebibyte), "fields": "x=json" + many(".a", mebibyte), "indexes": "x=json" + many("[0]", mebibyte),
		"minus": "x=" + many("-", mebibyte) + "1", "not": "x=" + many("not ", mebibyte) + "1", "lambdas": "x=" + many("lambda:", mebibyte) + "1",
		"conditions": "x=" + many("1 if 0 else ", mebibyte) + "1", "elif": "if 0:\n pass\n" + many("elif 0:\n pass\n", mebibyte), "statements": many("a=1;", mebibyte),
		"functions": many("def f(): pass\n", mebibyte), "commas": "x=1" + many(",1", mebibyte), "assignments": many("x=", mebibyte) + "1", "digits": "x=" + many("9", mebibyte),
		"hex": "x=0x" + many("f", mebibyte), "name": many("a", mebibyte) + "=1", "string": "x='" + many("a", mebibyte) + "'", "escapes": "x='" + many("\\n", mebibyte) + "'",
		"nul": many("\x00", mebibyte), "utf8": many("\xff", mebibyte), "comments": many("#\n", mebibyte), "comprehension": "x=[1 " + many("for a in x ", mebibyte) + "]",
		"parameters": "def f(" + parameters() + "): pass", "loads": many("load('a.star','b')\n", mebibyte), "tabs": "if 1:\n" + indents(),
	},
	engine.TypeScript: {
		"braces": many("{", mebibyte), "parenthesized type": "type T = " + many("(", mebibyte), "tuple type": "type T = " + many("[", mebibyte),
		"type arguments": "x = " + many("a<", 10_000) + "1", "many type arguments": "x = " + many("a<", mebibyte) + "1",
		"namespaces": many("namespace n {", mebibyte), "conditional type": "type T = " + many("a extends b ? c : ", mebibyte) + "d",
		"union": "type T = a" + many("|a", mebibyte), "keyof": "type T = " + many("keyof ", mebibyte) + "a", "casts": "x = " + many("<a>", mebibyte) + "1",
		"as": "x = 1" + many(" as a", mebibyte), "not null": "x" + many("!", mebibyte), "constant": "const enum E { a = '" + many("x", 2000) + "' }\nx = [" + many("E.a,", 80_000) + "]",
		"enum": "enum E {" + many("a,", mebibyte) + "}", "overloads": many("function f();", mebibyte), "decorators": many("@a ", mebibyte) + "class A {}",
	},
	engine.JavaScript: {
		"parentheses": many("(", mebibyte), "brackets": many("[", mebibyte), "braces": many("{", mebibyte), "not": many("!", mebibyte) + "1",
		"minus": many("- ", mebibyte) + "1", "plus": "x=1" + many("+1", mebibyte), "text": "x=''" + many("+'a'", mebibyte), "arrows": many("a=>", mebibyte) + "1",
		"assign": many("a=", mebibyte) + "1", "conditional": many("a?", mebibyte) + "1", "conditional else": many("1?1:", mebibyte) + "1",
		"templates": many("`${", mebibyte), "new": many("new ", mebibyte) + "A", "typeof": many("typeof ", mebibyte) + "1", "power": many("1**", mebibyte) + "1",
		"members": "x" + many(".a", mebibyte), "calls": "x" + many("()", 90_000), "index": "x" + many("[0]", 90_000), "optional": "x" + many("?.a", mebibyte),
		"else if": many("if(1);else ", mebibyte) + ";", "ifs": many("if(1)", 90_000) + ";", "for": many("for(;;)", 90_000) + ";", "labels": labels(),
		"while": many("while(1)", 90_000) + ";", "do": many("do ", mebibyte) + ";", "comma": "1" + many(",1", mebibyte), "await": "async()=>{" + many("await ", mebibyte) + "1}",
		"yield": "function*g(){" + many("yield ", mebibyte) + "1}", "class": many("class A extends ", mebibyte) + "B{}", "regexp": "/" + many("(", 90_000) + "/",
		"regexp nested": "/" + many("(", 40_000) + "a" + many(")", 40_000) + "/", "or": "1" + many("||1", mebibyte), "coalesce": "1" + many("??1", mebibyte),
		"objects": "x=" + many("{a:", mebibyte), "functions": many("function f(){", mebibyte), "comments": many("(/*)*/", mebibyte), "in strings": many("(')'+", mebibyte),
		"with": many("with(a)", 90_000) + ";", "throw": many("try{}catch(e){", mebibyte), "patterns": "let " + many("[", 45_000) + "a" + many("]", 45_000) + "=1",
		"delete": many("delete ", mebibyte) + "x.y", "tagged": "x" + many("``", 45_000), "spread": "x=[" + many("...[", 90_000), "dots": "f(" + many("...", mebibyte) + ")",
		"switch": many("switch(1){case 1:", mebibyte), "default": "(" + many("a=(b", 90_000), "names": "x=" + many("a", mebibyte), "string": "x='" + many("a", mebibyte) + "'",
		"number": "x=1" + many("0", mebibyte), "hex": "x=0x" + many("f", mebibyte), "nul": many("\x00", mebibyte), "utf8": many("\xff", mebibyte), "escapes": "x='" + many("\\u0041", mebibyte) + "'",
		"get": "x={" + many("get a(){},", 90_000) + "}", "vars": "var a" + many(",a", mebibyte), "lets": many("{let a}", 90_000), "semicolons": many(";", mebibyte),
		"private": "class A{#a;m(){" + many("#a in ", mebibyte) + "this}}", "void": many("void ", mebibyte) + "0", "sequence of functions": many("function f(){}", 90_000),
		"many vars": numbered("var a%d=1;", 70_000), "many lets": numbered("let a%d=1;", 70_000), "many functions": numbered("function a%d(){}", 50_000),
		"destructuring": "var {" + numbered("a%d=1,", 70_000) + "}={}",
	},
	engine.Jsonnet: {
		"brackets":        strings.Repeat("[", 200_000),
		"brackets hidden": strings.Repeat(strings.Repeat("[", 400)+"/*"+strings.Repeat("]", 400)+"*/\n", 49) + "1",
		"calls hidden": "local f(x)=1;" + strings.Repeat(strings.Repeat("f(", 400)+"/*"+strings.Repeat(")", 400)+"*/\n", 49) + "1" +
			strings.Repeat(")", 49*400),
		"parens":   strings.Repeat("(", 120_000) + "1" + strings.Repeat(")", 120_000),
		"objects":  strings.Repeat("{a:", 80_000) + "1" + strings.Repeat("}", 80_000),
		"sum":      "1" + strings.Repeat("+1", 120_000),
		"percent":  "1" + strings.Repeat("%1", 120_000),
		"slices":   "[1]" + strings.Repeat("[::]", 19_900),
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
	},
}

// dear are texts that take too long or too much memory to resolve or to compile, for their size: they are refused before.
var dear = map[string]map[string]string{
	engine.Starlark: {
		"free names":       "def f():\n " + numbered("a%d=1;", 60_000) + "\n return " + many("lambda: ", 3600) + "[" + numbered("a%d,", 60_000) + "]\n",
		"undefined names":  "def f():\n return [" + numbered("u%d,", 60_000) + "]\n" + numbered("a%d=1;", 60_000) + "\n",
		"named parameters": "def f(" + numbered("a%d=1,", 72_000) + "): pass\nf(**{'a%d' % i: 1 for i in range(72000)})\n",
		"few parameters":   "def f(" + numbered("a%d=1,", 9_000) + "**k): pass\nf(**{'b%d' % i: 1 for i in range(200000)})\n",
	},
	engine.JavaScript: {
		"arrow defaults":       "f=" + many("(a=", 120) + "1" + many(")=>1", 160),
		"arrow objects":        "f=" + many("({a=", 160) + "1" + many("})=>1", 200),
		"arrow arrays":         "f=" + many("([a=", 160) + "1" + many("])=>1", 200),
		"async arrows":         "f=" + many("async (a=", 360) + "1" + many(")=>1", 160),
		"arrows of words":      "f=" + many("(a=", 21) + "[" + many("1,", mebibyte) + "]" + many(")=>1", 28),
		"nested functions":     many("function f(){", 13*900) + many("a;", 800_000) + many("}", 900),
		"nested blocks":        "function f(){" + many("{let b;", 7*900) + many("a;", 800_000) + many("}", 901),
		"nested with":          many("with(a){", 8*900) + many("a;", 500_000) + many("}", 900),
		"variables in blocks":  "function f(){" + many("{let b;", 7*900) + numbered("var a%d;", 70_000) + many("}", 901),
		"classes without case": "x=[" + many("/"+many(`[c-\uffff]`, 9_000)+"/i,", 900_000) + "]",
		"kinds without case":   "x=[" + many("/(?=a)"+many(`\S.`, 9_000)+"/i,", 300_000) + "]",
		"blanks of all kinds":  many("do\f", 300_000) + many("do\v", 300_000) + many("do\u00a0", 400_000) + ";",
		"returns from loops":   "function f(a){" + many("for(x of a)", 11*700) + "{" + many("return;", 1_000_000) + "}}",
		"returns from try":     "function f(a){" + many("try{", 4*480) + many("return;", 1_000_000) + many("}finally{}", 10*480) + "}",
		"breaks":               "function f(a){b:" + many("while(a)", 8*1400) + "{" + many("break b;", 1_000_000) + "}}",
		"text added up":        "x=" + many("'"+strings.Repeat("a", 300)+"'+", 880_000) + "1",
		"regular expressions":  "x=[" + many("/(a{1,100}){1,9}/,", 400_000) + "]",
		"one-pass patterns":    "x=[" + many(`/^(?:\p{L}x){490}$/u,`, 100_000) + "]",
		"look-ahead patterns":  "x=[" + many(`/(?=(a{1,1000})b)\1/,`, 300_000) + "]",
	},
	engine.Jsonnet: {
		"free names in a sum": "local " + numbered("a%d=1,", 8_000) + "z=1; {x:: " + numbered("a%d+", 8_000) + "1}",
		"free names, nested":  "local " + numbered("a%d=1,", 8_000) + "z=1; {x:: " + many("[", 400) + numbered("a%d,", 8_000) + many("]", 400) + "}",
		"locals, one by one":  numbered("local a%d=1;", 4_500) + "{x:: [" + numbered("a%d,", 2_000) + "]}",
		"scopes of objects":   "local " + numbered("a%d=1,", 12_000) + "z=1; {x:: [" + many("{},", 50_000) + "]}",
		"scopes of locals":    "local " + numbered("a%d=1,", 12_000) + "z=1; {x:: [" + many("local b=1;b,", 100_000) + "]}",
		"scopes of functions": "local " + numbered("a%d=1,", 12_000) + "z=1; {x:: [" + many("function(x)x,", 100_000) + "]}",
		"scopes of a lambda":  "{x:: function(" + numbered("a%d,", 20_000) + "z) [" + many("{},", 57_000) + "]}",
		"scopes of a default": "{x:: function(" + numbered("a%d,", 20_000) + "z=[" + many("{},", 57_000) + "]) 1}",
		"scopes before names": "{x:: [" + many("{},", 50_000) + "]," + numbered("local a%d=1,", 8_000) + "}",
		"comprehensions":      "local " + numbered("a%d=1,", 12_000) + "z=1; {x:: [" + many("[x for x in []],", 100_000) + "]}",
		"conditions":          "local " + numbered("a%d=1,", 6_000) + "z=1; {x:: " + numbered("if a%d then 1 else ", 6_000) + "1}",
		"copies of locals":    many("{local a=", 9*400) + "[" + many("1,", 100_000) + "]" + many("}", 400),
		"applications":        "local " + numbered("a%d=1,", 8_000) + "z=1; {x:: z" + numbered("(a%d)", 8_000) + "}",
	},
}

// numbered is format over and over, each time with the next number.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// parameters are 90,000 of different names.
func parameters() string {
	var b strings.Builder
	for i := range 90_000 {
		fmt.Fprintf(&b, "a%d,", i)
	}
	return b.String()
}

// indents are 1,000 blocks, each in the one before.
func indents() string {
	var b strings.Builder
	for i := range 1_000 {
		b.WriteString(strings.Repeat(" ", i+1) + "if 1:\n")
	}
	return b.String() + strings.Repeat(" ", 1_001) + "pass\n"
}

// labels are 90,000 of different names.
func labels() string {
	var b strings.Builder
	for i := range 90_000 {
		fmt.Fprintf(&b, "l%d:", i)
	}
	return b.String() + ";"
}

// manyLocals are variables each of which is the next one.
func manyLocals(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "v%d = v%d, ", i, (i+1)%n)
	}
	return b.String() + "z = 1"
}

func generated() []*trial {
	var all []*trial
	for _, language := range languages {
		texts := sources[language.name]
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			all = append(all, &trial{
				name: "source-" + strings.ReplaceAll(name, " ", "-"), language: language.name, class: "source",
				attacks: "a text that is hard to parse: " + name, want: []string{"error", "answer"}, text: []byte(texts[name]),
			})
		}
		texts = dear[language.name]
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			all = append(all, &trial{
				name: "dear-" + strings.ReplaceAll(name, " ", "-"), language: language.name, class: "source",
				attacks: "a text that is dear to compile: " + name, want: []string{"Source", "Syntax"}, text: []byte(texts[name]),
			})
		}
	}
	return all
}
