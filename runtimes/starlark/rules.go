package starlark

import (
	"slices"

	startime "go.starlark.net/lib/time"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// The tables below have a rule for all that a script can reach: the language's names, the methods and fields of its types,
// the members of modules, and operators. What has no rule does not exist for a script: what a later go.starlark.net adds is
// absent until it was judged, and a test lists it.
//
// The library (library.go) is ours: each of its functions counts steps and asks before it makes something large.

// A bound is why something makes no more than what was counted, and takes no longer. Most are one of the constants; the
// others say what is limited.
type bound string

const (
	// plain is what gives a number, a boolean, or something that is as large as its argument, and takes as long.
	plain bound = "cannot amplify"
	// removed marks what scripts do not have.
	removed bound = "removed"
	// readOnly marks what would change a part of the request.
	readOnly bound = "always an error"

	sizeOfList  bound = "the size of the list"
	sizeOfText  bound = "the size of the text"
	sizeOfKeys  bound = "the number of keys, and those that collide"
	keyCollides bound = "the key is walked, and counted where keys collide"
	eachCompare bound = "each comparison is counted"
	eachElement bound = "each element is counted"
)

// A nameRule is that of a name of the language. What replaces the language's own is nil where that is harmless.
type nameRule struct {
	bound    bound
	replaced method
}

// nameRules are those of the names that every file has without load.
var nameRules = map[string]nameRule{
	"None": {plain, nil}, "True": {plain, nil}, "False": {plain, nil},
	"abs": {plain, nil}, "bool": {plain, nil}, "chr": {plain, nil}, "float": {plain, nil}, "hash": {plain, nil},
	"len": {plain, nil}, "ord": {plain, nil}, "range": {plain, nil},

	"all":       {eachElement, decide(false)},
	"any":       {eachElement, decide(true)},
	"bytes":     {sizeOfText, bytesOf},
	"dict":      {sizeOfKeys, dictOf},
	"dir":       {"the names of a type, or the keys of a part of the request", dirOf},
	"enumerate": {sizeOfList, sized(tupleSize+2*elementSize, starlark.Universe["enumerate"])},
	"fail":      {"what an error shows", fail},
	"getattr":   {"gives methods with their guards", getattr},
	"hasattr":   {plain, hasattr},
	"int":       {"the digits", intOf},
	"list":      {sizeOfList, sized(elementSize, starlark.Universe["list"])},
	"max":       {eachCompare, extreme(syntax.GT)},
	"min":       {eachCompare, extreme(syntax.LT)},
	"print":     {"the log", print},
	"repr":      {sizeOfText, textOf},
	"reversed":  {sizeOfList, sized(elementSize, starlark.Universe["reversed"])},
	"set":       {sizeOfKeys, setOf},
	"sorted":    {eachCompare, sorted},
	"str":       {sizeOfText, textOf},
	"tuple":     {sizeOfList, sized(elementSize, starlark.Universe["tuple"])},
	"type":      {plain, typeOf},
	"zip":       {sizeOfList, zip},
}

// A memberRule is that of a method or field. A guard is called in place of the method; it is nil where that is harmless.
type memberRule struct {
	bound bound
	guard func(*methodCall) (starlark.Value, error)
}

// memberRules are those of the methods and fields of the types that have any, by the names of the types.
var memberRules = map[string]map[string]memberRule{
	"string": members(map[string]memberRule{
		"join": {sizeOfText, joinTexts}, "replace": {sizeOfText, replaceText}, "format": {sizeOfText, formatText},
		"split": {sizeOfList, splitText}, "rsplit": {sizeOfList, splitText}, "splitlines": {sizeOfList, splitLines},
		// They look for each character of one text in the other, or go through the text character by character.
		"strip": {eachCompare, stripText}, "lstrip": {eachCompare, stripText}, "rstrip": {eachCompare, stripText},
		"upper": {sizeOfText, caseText}, "lower": {sizeOfText, caseText}, "title": {sizeOfText, caseText}, "capitalize": {sizeOfText, caseText},
		"islower": {sizeOfText, caseText}, "isupper": {sizeOfText, caseText}, // of a copy in lower or upper case
		"startswith": {eachCompare, prefixText}, "endswith": {eachCompare, prefixText},
	},
		"codepoint_ords", "codepoints", "elem_ords", "elems", // the first four take no memory; making a list of one is counted
		"count", "find", "index", "isalnum", "isalpha", "isdigit", "isspace", "istitle", "partition",
		"removeprefix", "removesuffix", "rfind", "rindex", "rpartition"),
	"bytes": members(nil, "elems"),
	"list": members(map[string]memberRule{
		"extend": {sizeOfList, extendList}, "index": {eachCompare, indexOf}, "remove": {eachCompare, removeElement},
	}, "append", "clear", "insert", "pop"),
	"dict": members(map[string]memberRule{
		"get": {keyCollides, keyedMethod}, "pop": {keyCollides, keyedMethod}, "setdefault": {keyCollides, keyedMethod},
		"update": {sizeOfKeys, updateKeys},
	}, "clear", "items", "keys", "popitem", "values"),
	"set": members(map[string]memberRule{
		"add": {keyCollides, keyedMethod}, "discard": {keyCollides, keyedMethod}, "remove": {keyCollides, keyedMethod},
		"update": {sizeOfKeys, updateKeys}, "union": {sizeOfKeys, updateKeys}, "intersection": {sizeOfKeys, withOther},
		"difference": {sizeOfKeys, withOther}, "symmetric_difference": {sizeOfKeys, withOther},
		"issubset": {sizeOfKeys, withOther}, "issuperset": {sizeOfKeys, withOther},
	}, "clear", "pop"),
	// Parts of the request.
	dictType: {
		"get": {keyCollides, keyedMethod}, "setdefault": {keyCollides, keyedMethod},
		"items": {bound: plain}, "keys": {bound: plain}, "values": {bound: plain},
		"clear": {bound: readOnly}, "pop": {bound: readOnly}, "popitem": {bound: readOnly}, "update": {bound: readOnly},
	},
	listType: {
		"index":  {bound: eachCompare},
		"append": {bound: readOnly}, "clear": {bound: readOnly}, "extend": {bound: readOnly}, "insert": {bound: readOnly},
		"pop": {bound: readOnly}, "remove": {bound: readOnly},
	},
	"time.time": members(map[string]memberRule{
		"format": {"the length of the layout", shortTexts}, "in_location": {"UTC only: other zones are files of the host's", inLocation},
	}, "day", "hour", "minute", "month", "nanosecond", "second", "unix", "unix_nano", "year"),
	"time.duration": members(nil, "hours", "microseconds", "milliseconds", "minutes", "nanoseconds", "seconds"),
}

// members adds harmless ones to a table.
func members(table map[string]memberRule, harmless ...string) map[string]memberRule {
	if table == nil {
		table = map[string]memberRule{}
	}
	for _, name := range harmless {
		table[name] = memberRule{bound: plain}
	}
	return table
}

// moduleRules are those of the members of modules.
var moduleRules = map[string]map[string]bound{
	"json": {"encode": sizeOfText, "decode": "the size of the values, nesting and digits", "encode_indent": removed, "indent": removed},
	"math": bounds(plain,
		"acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos", "cosh", "degrees", "e", "exp", "fabs",
		"floor", "gamma", "hypot", "log", "mod", "pi", "pow", "radians", "remainder", "round", "sin", "sinh", "sqrt", "tan", "tanh"),
	"time": {
		"from_timestamp": plain, "hour": plain, "microsecond": plain, "millisecond": plain, "minute": plain, "nanosecond": plain, "second": plain,
		"is_valid_timezone": removed, "now": removed,
		"parse_duration": "the length of the text", "parse_time": "the length of the texts; UTC only", "time": "UTC only",
	},
}

func bounds(b bound, names ...string) map[string]bound {
	table := map[string]bound{}
	for _, name := range names {
		table[name] = b
	}
	return table
}

// binaryRules are those of the operators that have two operands. rewrite.go has which of them are calls of a guard.
var binaryRules = map[syntax.Token]bound{
	syntax.EQL: eachCompare, syntax.NEQ: eachCompare, syntax.LT: eachCompare, syntax.LE: eachCompare, syntax.GT: eachCompare, syntax.GE: eachCompare,
	syntax.IN: eachCompare, syntax.NOT_IN: eachCompare,
	syntax.PLUS: "the size of the sum", syntax.STAR: "the size of the product; the digits", syntax.PERCENT: sizeOfText, syntax.LTLT: "the digits",
	syntax.MINUS: sizeOfKeys, syntax.AMP: sizeOfKeys, syntax.PIPE: sizeOfKeys, syntax.CIRCUMFLEX: sizeOfKeys,
	syntax.SLASH: plain, syntax.SLASHSLASH: plain, syntax.GTGT: plain, syntax.AND: plain, syntax.OR: plain,
	syntax.EQ: plain, // of a named argument or of a parameter's default
}

// unaryRules are those of the operators that have one operand.
var unaryRules = map[syntax.Token]bound{
	syntax.PLUS: plain, syntax.MINUS: plain, syntax.TILDE: plain, syntax.NOT: plain,
	syntax.STAR: sizeOfList, syntax.STARSTAR: sizeOfKeys, // f(*x), f(**x), and parameters
}

// assignRules are those of assignments.
var assignRules = map[syntax.Token]bound{
	syntax.EQ: plain, syntax.PLUS_EQ: "the size of the sum", syntax.STAR_EQ: "the size of the product; the digits", syntax.PERCENT_EQ: sizeOfText,
	syntax.LTLT_EQ: "the digits", syntax.MINUS_EQ: sizeOfKeys, syntax.AMP_EQ: sizeOfKeys, syntax.PIPE_EQ: sizeOfKeys, syntax.CIRCUMFLEX_EQ: sizeOfKeys,
	syntax.SLASH_EQ: plain, syntax.SLASHSLASH_EQ: plain, syntax.GTGT_EQ: plain,
}

// guarded are the names of methods that, for some type, have a guard other than keyed ones, and keyed those whose first
// argument is hashed.
var guarded, keyed = func() (guarded, keyed map[string]bool) {
	guarded, keyed = map[string]bool{}, map[string]bool{"get": true, "pop": true, "setdefault": true, "add": true, "discard": true}
	for _, table := range memberRules {
		for name, r := range table {
			guarded[name] = guarded[name] || r.guard != nil && !keyed[name]
		}
	}
	return guarded, keyed
}()

// guardOf returns the guard of a method, or nil if it needs none.
func guardOf(x starlark.Value, name string) func(*methodCall) (starlark.Value, error) {
	return memberRules[x.Type()][name].guard
}

// absent are the names of the language that it had and has no longer, since they have no rule.
var absent = removeUnjudged()

// removeUnjudged takes out of the language the names that have no rule, and lists them.
func removeUnjudged() (names []string) {
	for name := range starlark.Universe {
		if r, ok := nameRules[name]; !ok || r.bound == removed {
			delete(starlark.Universe, name)
			names = append(names, name)
		}
	}
	return names
}

// typed has a value of each type that has methods or fields and is not ours.
var typed = []starlark.HasAttrs{
	starlark.String(""), starlark.Bytes(""), starlark.NewList(nil), starlark.NewDict(0), starlark.NewSet(0), startime.Time{}, startime.Duration(0),
}

// unjudged are the names of methods and fields without a rule, of any type: none, unless a later go.starlark.net adds some.
// rewrite.go has these looked up by attribute, which does not find them.
var unjudged = findUnjudged()

func findUnjudged() map[string]bool {
	names := map[string]bool{}
	for _, x := range typed {
		for _, name := range x.AttrNames() {
			if !judged(x, name) {
				names[name] = true
			}
		}
	}
	return names
}

// judged reports whether a method or field of a type is there for scripts. Those of other types are ours.
func judged(x starlark.Value, name string) bool {
	if !slices.ContainsFunc(typed, func(y starlark.HasAttrs) bool { return y.Type() == x.Type() }) {
		return true
	}
	r, ok := memberRules[x.Type()][name]
	return ok && r.bound != removed
}

// attrNames lists the methods and fields of x.
func attrNames(x starlark.HasAttrs) []string {
	return slices.DeleteFunc(x.AttrNames(), func(name string) bool { return unjudged[name] && !judged(x, name) })
}
