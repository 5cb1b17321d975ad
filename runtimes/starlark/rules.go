package starlark

import (
	"slices"

	startime "go.starlark.net/lib/time"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// The tables below have a rule for everything that a script can use: the names of the language, the methods and fields of its
// types, the members of modules, and the operators. What has no rule does not exist for a script. So a name that a later version
// of go.starlark.net adds does not exist until somebody adds a rule; a test lists such names.
//
// The library (library.go) needs no rules: its functions count steps, and reserve memory before they make a large value.

// A bound says what limits the memory and the time of something. Most bounds are one of the constants.
type bound string

const (
	// plain marks what returns a number, a boolean, or a value at most as large as its argument, in time proportional to that
	// size.
	plain bound = "cannot amplify"
	// removed marks what scripts do not have.
	removed bound = "removed"
	// readOnly marks methods that would change a part of the request. They return an error.
	readOnly bound = "always an error"

	sizeOfList  bound = "the size of the list"
	sizeOfText  bound = "the size of the text"
	sizeOfKeys  bound = "the number of keys, and those that collide"
	keyCollides bound = "the key is walked, and counted where keys collide"
	eachCompare bound = "each comparison is counted"
	eachElement bound = "each element is counted"
)

// A nameRule is the rule for a predeclared name. replaced is called in place of the language's function; nil if that is harmless.
type nameRule struct {
	bound    bound
	replaced method
}

// nameRules are the rules for the names that every file has without load.
var nameRules = map[string]nameRule{
	"None": {plain, nil}, "True": {plain, nil}, "False": {plain, nil},
	"abs": {plain, nil}, "bool": {plain, nil}, "chr": {plain, nil}, "float": {plain, nil}, "hash": {plain, nil},
	"len": {plain, nil}, "ord": {plain, nil}, "range": {plain, nil},

	"all":       {eachElement, anyOrAll(false)},
	"any":       {eachElement, anyOrAll(true)},
	"bytes":     {sizeOfText, bytesOf},
	"dict":      {sizeOfKeys, dictOf},
	"dir":       {"the names of a type, or the keys of a part of the request", dirOf},
	"enumerate": {sizeOfList, sized(tupleSize+2*elementSize, starlark.Universe["enumerate"])},
	"fail":      {"what an error shows", fail},
	"getattr":   {"gives methods with their guards", getattr},
	"hasattr":   {plain, hasattr},
	"int":       {"the digits", intOf},
	"list":      {sizeOfList, sized(elementSize, starlark.Universe["list"])},
	"max":       {eachCompare, minOrMax(syntax.GT)},
	"min":       {eachCompare, minOrMax(syntax.LT)},
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

// A memberRule is the rule for a method or field. guard is called in place of the method; nil if the method is harmless.
type memberRule struct {
	bound bound
	guard func(*methodCall) (starlark.Value, error)
}

// memberRules are the rules for methods and fields, by the name of the type. Types that have no methods are not listed.
var memberRules = map[string]map[string]memberRule{
	"string": members(map[string]memberRule{
		"join": {sizeOfText, joinTexts}, "replace": {sizeOfText, replaceText}, "format": {sizeOfText, formatText},
		"split": {sizeOfList, splitText}, "rsplit": {sizeOfList, splitText}, "splitlines": {sizeOfList, splitLines},
		// These methods search each character of one string in the other, or read the string character by character.
		"strip": {eachCompare, stripText}, "lstrip": {eachCompare, stripText}, "rstrip": {eachCompare, stripText},
		"upper": {sizeOfText, caseText}, "lower": {sizeOfText, caseText}, "title": {sizeOfText, caseText}, "capitalize": {sizeOfText, caseText},
		"islower": {sizeOfText, ofCase}, "isupper": {sizeOfText, ofCase}, "istitle": {sizeOfText, ofCase},
		"startswith": {eachCompare, prefixText}, "endswith": {eachCompare, prefixText},
	},
		"codepoint_ords", "codepoints", "elem_ords", "elems", // the first four use no memory; the size of a list made from them is counted
		"count", "find", "index", "isalnum", "isalpha", "isdigit", "isspace", "partition",
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
		"update": {sizeOfKeys, updateKeys}, "union": {sizeOfKeys, updateKeys}, "intersection": {sizeOfKeys, requireArgument},
		"difference": {sizeOfKeys, requireArgument}, "symmetric_difference": {sizeOfKeys, requireArgument},
		"issubset": {sizeOfKeys, requireArgument}, "issuperset": {sizeOfKeys, requireArgument},
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
		"format": {"the length of the layout", limitTexts}, "in_location": {"UTC only: other zones are files of the host's", inLocation},
	}, "day", "hour", "minute", "month", "nanosecond", "second", "unix", "unix_nano", "year"),
	"time.duration": members(nil, "hours", "microseconds", "milliseconds", "minutes", "nanoseconds", "seconds"),
}

// members adds rules for harmless members to a table, and returns it.
func members(table map[string]memberRule, harmless ...string) map[string]memberRule {
	if table == nil {
		table = map[string]memberRule{}
	}
	for _, name := range harmless {
		table[name] = memberRule{bound: plain}
	}
	return table
}

// moduleRules are the rules for the members of modules, by the name of the module.
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

// binaryRules are the rules for operators with two operands. rewrite.go decides which of them become calls of a guard.
var binaryRules = map[syntax.Token]bound{
	syntax.EQL: eachCompare, syntax.NEQ: eachCompare, syntax.LT: eachCompare, syntax.LE: eachCompare, syntax.GT: eachCompare, syntax.GE: eachCompare,
	syntax.IN: eachCompare, syntax.NOT_IN: eachCompare,
	syntax.PLUS: "the size of the sum", syntax.STAR: "the size of the product; the digits", syntax.PERCENT: sizeOfText, syntax.LTLT: "the digits",
	syntax.MINUS: sizeOfKeys, syntax.AMP: sizeOfKeys, syntax.PIPE: sizeOfKeys, syntax.CIRCUMFLEX: sizeOfKeys,
	syntax.SLASH: plain, syntax.SLASHSLASH: plain, syntax.GTGT: plain, syntax.AND: plain, syntax.OR: plain,
	syntax.EQ: plain, // of a keyword argument, or of a parameter with a default
}

// unaryRules are the rules for operators with one operand.
var unaryRules = map[syntax.Token]bound{
	syntax.PLUS: plain, syntax.MINUS: plain, syntax.TILDE: plain, syntax.NOT: plain,
	syntax.STAR: sizeOfList, syntax.STARSTAR: sizeOfKeys, // f(*x), f(**x), and parameters
}

// assignRules are the rules for assignments.
var assignRules = map[syntax.Token]bound{
	syntax.EQ: plain, syntax.PLUS_EQ: "the size of the sum", syntax.STAR_EQ: "the size of the product; the digits", syntax.PERCENT_EQ: sizeOfText,
	syntax.LTLT_EQ: "the digits", syntax.MINUS_EQ: sizeOfKeys, syntax.AMP_EQ: sizeOfKeys, syntax.PIPE_EQ: sizeOfKeys, syntax.CIRCUMFLEX_EQ: sizeOfKeys,
	syntax.SLASH_EQ: plain, syntax.SLASHSLASH_EQ: plain, syntax.GTGT_EQ: plain,
}

// keyedMethods has the names of methods whose first argument is hashed, and guardedMethods the names of all other methods that
// have a guard for at least one type.
var guardedMethods, keyedMethods = func() (guardedMethods, keyedMethods map[string]bool) {
	guardedMethods, keyedMethods = map[string]bool{}, map[string]bool{"get": true, "pop": true, "setdefault": true, "add": true, "discard": true}
	for _, table := range memberRules {
		for name, r := range table {
			guardedMethods[name] = guardedMethods[name] || r.guard != nil && !keyedMethods[name]
		}
	}
	return guardedMethods, keyedMethods
}()

// guardOf returns the guard of a method, or nil if it has none.
func guardOf(x starlark.Value, name string) func(*methodCall) (starlark.Value, error) {
	return memberRules[x.Type()][name].guard
}

// removedNames are the predeclared names that were removed since they have no rule.
var removedNames = removeWithoutRule()

// removeWithoutRule removes the predeclared names that have no rule from the language, and returns them.
func removeWithoutRule() (names []string) {
	for name := range starlark.Universe {
		if r, ok := nameRules[name]; !ok || r.bound == removed {
			delete(starlark.Universe, name)
			names = append(names, name)
		}
	}
	return names
}

// builtinTypes has a value of each type that has methods or fields, without the types of this package.
var builtinTypes = []starlark.HasAttrs{
	starlark.String(""), starlark.Bytes(""), starlark.NewList(nil), starlark.NewDict(0), starlark.NewSet(0), startime.Time{}, startime.Duration(0),
}

// withoutRule has the names of the methods and fields, of any type, that have no rule. It is empty unless a later version of
// go.starlark.net adds some. rewrite.go rewrites uses of these names so that attribute looks them up, and attribute returns an
// error.
var withoutRule = findWithoutRule()

func findWithoutRule() map[string]bool {
	names := map[string]bool{}
	for _, x := range builtinTypes {
		for _, name := range x.AttrNames() {
			if !hasRule(x, name) {
				names[name] = true
			}
		}
	}
	return names
}

// hasRule reports whether scripts have a method or field of x. The members of the types of this package always exist.
func hasRule(x starlark.Value, name string) bool {
	if !slices.ContainsFunc(builtinTypes, func(y starlark.HasAttrs) bool { return y.Type() == x.Type() }) {
		return true
	}
	r, ok := memberRules[x.Type()][name]
	return ok && r.bound != removed
}

// attrNames returns the names of the methods and fields of x that scripts have.
func attrNames(x starlark.HasAttrs) []string {
	return slices.DeleteFunc(x.AttrNames(), func(name string) bool { return withoutRule[name] && !hasRule(x, name) })
}
