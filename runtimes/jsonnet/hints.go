package jsonnet

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
	"metascript/scripts/lib"
)

// Hints for errors that the interpreter reports while a script runs.

// otherFunctions are functions and methods of other languages, and what to write in Jsonnet.
var otherFunctions = map[string]string{
	"len": "write std.length(x)", "size": "write std.length(x)", "length": "write std.length(x)", "append": "write array + [x]", "push": "write array + [x]",
	"concat": "write a + b", "stringify": "write std.manifestJson(x)", "dumps": "write std.manifestJson(x)", "encode": "write std.manifestJson(x)",
	"parse": "write std.parseJson(text)", "loads": "write std.parseJson(text)", "decode": "write std.parseJson(text)",
	"toLowerCase": "write std.asciiLower(x)", "lower": "write std.asciiLower(x)", "toUpperCase": "write std.asciiUpper(x)",
	"upper": "write std.asciiUpper(x)", "strip": "write std.trim(x)", "trim": "write std.trim(x)", "keys": "write std.objectFields(x)",
	"values": "write std.objectValues(x)", "items": "write std.objectKeysValues(x)", "entries": "write std.objectKeysValues(x)",
	"has": "write std.objectHas(x, 'field'), or 'field' in x", "includes": "write std.member(x, y)", "contains": "write std.member(x, y)",
	"startswith": "write std.startsWith(x, y)", "startsWith": "write std.startsWith(x, y)", "endswith": "write std.endsWith(x, y)",
	"endsWith": "write std.endsWith(x, y)", "replace": "write std.strReplace(x, from, to)", "split": "write std.split(x, ',')",
	"join": "write std.join(', ', x)", "format": "write '%s-pod' % x", "map": "write [f(x) for x in list]", "filter": "write [x for x in list if condition]",
	"reduce": "write std.foldl(function(sum, x) sum + x, list, 0)", "toString": "write std.toString(x)", "str": "write std.toString(x)",
	"int": "write std.parseInt(x)", "print": "write std.trace(text, value)", "substring": "write x[from:to]", "slice": "write x[from:to]",
	"sorted": "write std.sort(x)", "merge": "write a + b, or std.mergePatch(a, b)", "now": "the time is in the request: write a parameter now",
	"date": "the time is in the request: write a parameter now", "time": "the time is in the request: write a parameter now",
	"env": "a script sees no environment: use values of the request, such as parent.spec", "getenv": "a script sees no environment: use values of the request, such as parent.spec",
	"uuid": useRandom, "random": useRandom, "rand": useRandom, "json": "write std.manifestJson(x)", "toJson": "write std.manifestJson(x)",
	"manifestYaml": "write std.manifestYamlDoc(x)", "toYaml": "write std.manifestYamlDoc(x)", "yaml": "write std.manifestYamlDoc(x)",
	"fromJson": "write std.parseJson(text)", "fromYaml": "write std.parseYaml(text)", "padLeft": "write '%5s' % x", "rjust": "write '%5s' % x",
	"padRight": "write '%-5s' % x", "ljust": "write '%-5s' % x", "zfill": "write '%03d' % n",
	"regexMatch":   "there are no regular expressions: write std.startsWith(x, y), std.split(x, y) or std.strReplace(x, y, z)",
	"regexReplace": "there are no regular expressions: write std.strReplace(x, y, z)", "b64encode": "write std.base64(text)", "b64decode": "write std.base64Decode(text)",
}

// useRandom is the hint for what is random.
const useRandom = "write local m = import 'metascript.libsonnet', and m.random.token(name, secret, key); what no other object has is parent.metadata.uid"

// optional is the hint for fields that may be missing.
const optional = "for what may be missing use std.get(object, 'field', default)"

// rewordings are messages of the interpreter in the words of the author, with hints.
var rewordings = []struct {
	message     *regexp.Regexp
	words, hint string
}{
	{regexp.MustCompile(`^Index (-?\d+) out of bounds, not within \[0, (\d+)\)$`), "index $1 is out of bounds: the length is $2", "the first index is 0; for the last write x[std.length(x) - 1]"},
	{regexp.MustCompile(`^Not enough values to format: (\d+), .*`), "the format has more % than there are values, which are $1", "write an array with all values: '%s-%s' % [x, y]"},
	{regexp.MustCompile(`^Too many values to format: (\d+), .*`), "the format has fewer % than there are values, which are $1", "write a %s for each value"},
	{regexp.MustCompile(`^(function expected) (\d+) positional argument\(s\), but got (\d+)$`), "the call has $3 arguments, and the function $2 parameters", ""},
	{regexp.MustCompile(`^Undefined external variable: (.*)$`), "Undefined external variable: $1", "a script has no external variables: read values of the request, such as parent.metadata.namespace"},
	{regexp.MustCompile(`^Value non indexable: (\w+)$`), "a $1 has no fields and no elements", ""},
}

// advise sets the place, the message and the hint of an error of the interpreter.
func (g *guard) advise(e *engine.Error) {
	for _, r := range rewordings {
		if r.message.MatchString(e.Msg) && e.Msg != msgOfNull {
			e.Msg, e.Hint = r.message.ReplaceAllString(e.Msg, r.words), r.hint
			break
		}
	}
	switch n := g.failed.(type) {
	case *ast.Index:
		g.adviseIndex(e, n)
	case *ast.Apply:
		if strings.HasSuffix(e.Msg, "expected function") {
			e.Hint = "only functions can be called: is an operator or a comma missing before the bracket?"
		}
		if call, ok := n.Target.(*ast.Apply); ok && isStd(call.Target, "native") {
			e.Hint = "a script has no native functions: use std, or metascript.libsonnet"
		}
	case *ast.Conditional:
		e.Hint = cmp.Or(e.Hint, "a condition is true or false: write x != null, x > 0 or std.length(x) > 0")
	case *ast.Binary:
		g.adviseOperator(e, n)
	}
	if got, want, ok := types(e.Msg); ok {
		if got == "object" && want == "array" {
			e.Hint = cmp.Or(e.Hint, "write std.objectValues(x) or std.objectFields(x) for an object")
		}
		e.Msg = "got " + article(got) + ", want " + article(want)
	}
}

// types returns the types in the interpreter's message about a value of the wrong type.
func types(msg string) (got, want string, ok bool) {
	rest, ok := strings.CutPrefix(msg, "Unexpected type ")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ", expected ")
}

// isStd reports whether n is the function of std with that name.
func isStd(n ast.Node, name string) bool {
	index, ok := n.(*ast.Index)
	if !ok {
		return false
	}
	target, isVar := index.Target.(*ast.Var)
	text, isText := index.Index.(*ast.LiteralString)
	return isVar && isText && target.Id == "std" && text.Value == name
}

// adviseIndex is advise for an error of x.name or x[name].
func (g *guard) adviseIndex(e *engine.Error, n *ast.Index) {
	field, ok := n.Index.(*ast.LiteralString)
	if !ok && e.Msg == "Unexpected type string, expected number" {
		e.Msg, e.Hint = "the value before [ ] is a string or an array, and has no fields", "write a number in [ ], or an object before it"
	}
	if !ok || !inScript(n.Loc()) {
		return
	}
	g.moveToField(e, n, field)
	target, _ := n.Target.(*ast.Var)
	switch name, missing := strings.CutPrefix(e.Msg, msgNoField); {
	case e.Msg == msgOfNull:
		e.Msg, e.Hint = "null has no field "+naming.Quote(field.Value), optional
	case e.Msg == "Unexpected type string, expected number":
		e.Msg = "a string or an array has no field " + naming.Quote(field.Value)
		e.Hint = cmp.Or(otherFunctions[field.Value], "functions for them are in std, as in std.length(x)")
	case !missing:
	case target != nil && target.Id == "std":
		e.Msg = "std has no " + engine.Clip(name, naming.Max)
		e.Hint = cmp.Or(otherFunctions[name], naming.DidYouMean(name, stdNames()))
	case target != nil && target.Id == "$":
		e.Hint = cmp.Or(naming.DidYouMean(name, g.words(n)), "$ is the outermost { } of the file, and not the request: use the parameters")
	default:
		e.Hint = cmp.Or(g.similarField(name, n), optional)
	}
}

// moveToField moves the position from the beginning of an expression to the field at its end.
func (g *guard) moveToField(e *engine.Error, n *ast.Index, field *ast.LiteralString) {
	loc := *n.Loc()
	if inScript(field.Loc()) {
		loc = *field.Loc()
	} else {
		loc.Begin = loc.End
		loc.Begin.Column -= len(field.Value)
	}
	before := e.Pos
	e.Pos = position(&loc)
	if len(e.Trace) > 0 && e.Trace[0].Pos == before {
		e.Trace[0].Pos = e.Pos
	}
}

// similarField returns a hint for a field that an object does not have.
func (g *guard) similarField(name string, n *ast.Index) string {
	if g.library {
		if group, ok := n.Target.(*ast.Index); ok {
			if text, ok := group.Index.(*ast.LiteralString); ok {
				if members := membersOf(text.Value); len(members) > 0 {
					return naming.Suggest(name, members, "it has ")
				}
			}
		}
		if hint := naming.DidYouMean(name, lib.Names()); hint != "" {
			return hint
		}
	}
	return cmp.Or(naming.DidYouMean(name, slices.Sorted(maps.Keys(g.request.keys))), naming.DidYouMean(name, g.words(n)))
}

// membersOf returns the names of the functions in a group of the library.
func membersOf(group string) (names []string) {
	for _, f := range lib.Functions() {
		if in, name := f.Group(); in == group {
			names = append(names, name)
		}
	}
	return names
}

// words returns words in the file of a node, for hints.
func (g *guard) words(n ast.Node) []string {
	return words.FindAllString(strings.Join(n.Loc().File.Lines, ""), maxWords)
}

// adviseOperator is advise for an error of an operator.
func (g *guard) adviseOperator(e *engine.Error, n *ast.Binary) {
	got, want, ok := types(e.Msg)
	if !ok {
		return
	}
	switch n.Op {
	case ast.BopAnd, ast.BopOr:
		e.Hint = "both sides are true or false: write x != null, x > 0 or std.length(x) > 0"
	default:
		e.Hint = "one side of " + n.Op.String() + " is " + article(got) + ", and the other " + article(want)
	}
}
