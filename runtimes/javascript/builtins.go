package javascript

import (
	"fmt"
	"strings"

	"github.com/dop251/goja"
)

// This file has a row for every built-in property of goja: how much memory and time it may use, and what bounds it. What is not in
// the table does not exist for a script (see confine and sweep in hook.go). So a function that a later version of goja adds does not
// exist for scripts until somebody has added a row for it. TestTableIsComplete compares the table with all properties of goja.
//
// Paths are those of joinPath: the constructor of A.prototype is A, symbols are written @@Symbol.iterator, and an object without a
// path has its name in the ECMAScript standard, without percent signs. "name" and "length" of
// functions are not listed: each function has them.
//
// A native function that makes or reads large values is bounded by a guard (guard.go). The others are harmless for one of the
// reasons below. "One text" means: one copy of an existing text, of at most a quarter of limits.memory. That takes milliseconds,
// and the next instruction checks whether the call was stopped.

// A safety says whether scripts have a built-in property, and whether it needs a guard.
type safety string

const (
	harmless safety = "harmless" // it takes a limited time and makes no large values
	bounded  safety = "bounded"  // a guard limits it
	removed  safety = "removed"  // scripts do not have it
)

// A builtin is a row of the table.
type builtin struct {
	safety safety
	why    string // what limits it, or the reason why it is harmless or removed
	guard  guard  // if it is bounded
}

// table merges the parts of the table.
func table(parts ...map[string]builtin) map[string]builtin {
	all := map[string]builtin{}
	for _, part := range parts {
		for path, b := range part {
			if _, twice := all[path]; twice {
				panic(fmt.Sprintf("%s is listed twice", path))
			}
			all[path] = b
		}
	}
	return all
}

// rows returns the same row for several properties of an object; of is the object's path, "" for global variables.
func rows(b builtin, of, names string) map[string]builtin {
	part := map[string]builtin{}
	for name := range strings.FieldsSeq(names) {
		part[joinPath(of, name)] = b
	}
	return part
}

func safe(why, of, names string) map[string]builtin {
	return rows(builtin{safety: harmless, why: why}, of, names)
}

func gone(why, of, names string) map[string]builtin {
	return rows(builtin{safety: removed, why: why}, of, names)
}

func limited(why, of, names string, g guard) map[string]builtin {
	return rows(builtin{safety: bounded, why: why, guard: g}, of, names)
}

// Reasons that many rows have in common.
const (
	aClass       = "a class; its objects are not larger than its arguments"
	aHolder      = "an object whose properties are listed here"
	aConstant    = "a constant"
	aNumber      = "makes one number of one number; a text as the number is one text"
	looksAtOne   = "looks at one value or one property"
	oneText      = "at most one text"
	oneCharacter = "makes at most one character"
	fixedText    = "makes a text of bounded length"
	callsNext    = "calls next for each element, which is guarded or the script's"
	callsOne     = "calls one function, which is guarded or the script's"
	oneEntry     = "looks up, adds or removes one entry, hashing one text at most"
	oneJob       = "adds at most one job to the queue"
	throws       = "only throws"

	notForText   = "code from text would escape all that source.go checks"
	notForProxy  = "with a proxy, every property access in goja's code could call the script"
	notForBigInt = "the size of an integer is not limited: one ** could run for years"
	notForBytes  = "one number asks for the memory, dozens of functions loop over it, and a script has no use for it"
)

// Bounds that many rows have in common.
const (
	byText     = "the length of the result is computed first"
	byReading  = "the length of the text, times what it costs to read a character"
	bySearch   = "the product of both lengths"
	byPattern  = "the instructions of the pattern times the length of the text; or the steps of a program, counted"
	byLength   = "the length of the array; an array-like object is copied into an array first"
	byNumbers  = "the length of all texts that are converted to numbers"
	byIterator = "guards the iterator that it makes"
	byNames    = "the names of all properties, counted and measured first"
	byChain    = "the length of the chain of prototypes"
	byEntries  = "the texts in both sets, which are hashed again"
)

const iterators = "entries keys values @@Symbol.iterator"

var builtins = table(
	globals, ofObject, ofFunction, ofArray, ofString, ofRegExp, ofNumber, ofDate, ofMath, ofErrors, ofCollections, ofSymbol,
	ofPromise, ofJSON, ofReflect, ofIterators, ofSyntax, ofProvided,
)

var globals = table(
	safe(aHolder, "", "globalThis Math JSON Reflect"),
	safe(aConstant, "", "NaN Infinity undefined @@Symbol.toStringTag"),
	limited(byNumbers, "", "isNaN isFinite", guard{call: ofOneNumber}),
	limited(byReading, "", "parseInt parseFloat", guard{call: onText(64)}),
	limited(byReading, "", "encodeURI encodeURIComponent", guard{call: onText(9)}),
	limited(byReading, "", "decodeURI decodeURIComponent", guard{call: onText(4)}),
	limited(byReading, "", "escape", guard{call: onText(6)}),
	limited(byReading, "", "unescape", guard{call: onText(2)}),
	gone(notForText, "", "eval"),
	gone(notForProxy, "", "Proxy"),
	gone(notForBigInt, "", "BigInt"),
	gone(notForBytes, "", "ArrayBuffer DataView Uint8Array Uint8ClampedArray Int8Array Uint16Array Int16Array Uint32Array "+
		"Int32Array Float32Array Float64Array BigInt64Array BigUint64Array"),
	gone("it makes Go errors", "", "GoError"),
)

var ofObject = table(
	safe(aClass, "", "Object"),
	safe(aHolder, "Object", "prototype"),
	safe(looksAtOne, "Object", "getOwnPropertyDescriptor getPrototypeOf hasOwn is isExtensible preventExtensions"),
	safe("a list of symbols, each of which is there already", "Object", "getOwnPropertySymbols"),
	safe(callsNext, "Object", "fromEntries"),
	limited("it changes no name of a native function", "Object", "defineProperty", guard{call: defined}),
	// A text is an object with a property for each character.
	limited(byNames, "Object", "assign freeze getOwnPropertyNames isFrozen isSealed keys seal", guard{call: enumerated}),
	limited(byNames, "Object", "values", guard{call: values}),
	limited(byNames, "Object", "entries", guard{call: listedInFull(entrySize)}),
	limited(byNames, "Object", "getOwnPropertyDescriptors", guard{call: listedInFull(descriptionSize)}),
	limited(byNames, "Object", "defineProperties", guard{call: allDefined}),
	// A missing property is looked up along the chain of prototypes, with one Go call for each prototype.
	limited(byNames+"; "+byChain, "Object", "create", guard{call: created}),
	limited(byChain, "Object", "setPrototypeOf", guard{call: inherited}),
	limited(byChain, "Object.prototype", "__proto__", guard{call: inheritedByName}),
	safe(looksAtOne, "Object.prototype", "hasOwnProperty propertyIsEnumerable valueOf"),
	safe("a chain of prototypes is bounded", "Object.prototype", "isPrototypeOf"),
	safe("at most one text, Symbol.toStringTag", "Object.prototype", "toString"),
	safe(callsOne, "Object.prototype", "toLocaleString"),
)

var ofFunction = table(
	// Function exists for instanceof; the others have no global name: (function* () {}).constructor.
	limited("it throws", "", "Function GeneratorFunction AsyncFunction",
		guard{call: forbidden("code from text"), args: forbiddenArgs}),
	safe(aHolder, "", "Function.prototype GeneratorFunction.prototype AsyncFunction.prototype GeneratorFunction.prototype.prototype"),
	safe(callsOne, "Function.prototype", "call"),
	safe("text that stands in the source, or a name", "Function.prototype", "toString"),
	safe("a chain of prototypes is bounded", "Function.prototype", "@@Symbol.hasInstance"),
	safe(throws, "Function.prototype", "caller arguments"),
	// Each argument takes a place on goja's stack.
	limited("the length of the list of arguments", "Function.prototype", "apply", guard{call: applied(1)}),
	limited("it guards what it makes, which has a short name", "Function.prototype", "bind", guard{call: binding}),
	safe("runs the script's generator", "GeneratorFunction.prototype.prototype", "next return throw"),
	safe(aConstant, "GeneratorFunction.prototype", "@@Symbol.toStringTag"),
	safe(aConstant, "GeneratorFunction.prototype.prototype", "@@Symbol.toStringTag"),
	safe(aConstant, "AsyncFunction.prototype", "@@Symbol.toStringTag"),
)

// Arrays may be sparse, or objects with a length: the length says how long a loop takes, but not their size.
var ofArray = table(
	limited(byLength, "", "Array", guard{call: newArray, args: arrayArgs}),
	safe(aHolder, "Array", "prototype"),
	safe(looksAtOne, "Array", "isArray @@Symbol.species"),
	safe("as many elements as arguments", "Array", "of"),
	limited(byLength, "Array", "from", guard{call: arrayFrom}),
	safe(looksAtOne, "Array.prototype", "length @@Symbol.unscopables"),
	safe(aConstant, "Array.prototype.@@Symbol.unscopables", "copyWithin entries fill find findIndex findLast findLastIndex flat "+
		"flatMap groupBy groupByToMap includes keys toReversed toSorted toSpliced values"),
	safe("calls join, which is guarded or the script's", "Array.prototype", "toString"),
	limited(byLength, "Array.prototype", "at every filter find findIndex findLast findLastIndex forEach map reduce reduceRight "+
		"slice some toReversed toSpliced with", guard{call: listed}),
	limited(byLength, "Array.prototype", "copyWithin fill pop push reverse shift splice unshift", guard{call: changed}),
	limited("the sum of the lengths", "Array.prototype", "concat", guard{call: concatenatedLists}),
	limited("the length of the result, counted", "Array.prototype", "flat", guard{call: flattened}),
	limited(byLength+"; what the function gives is counted", "Array.prototype", "flatMap", guard{call: flatMapped}),
	limited(byLength+", times that of a text that is looked for", "Array.prototype", "indexOf lastIndexOf", guard{call: found}),
	limited(byLength+", times that of a text that is looked for", "Array.prototype", "includes", guard{call: included}),
	limited("the length of the result, counted", "Array.prototype", "join", guard{call: joined}),
	limited("the length of the result, counted", "Array.prototype", "toLocaleString", guard{call: localJoined}),
	limited(byLength+"; the default order can be stopped", "Array.prototype", "sort", guard{call: sorted(changed)}),
	limited(byLength+"; the default order can be stopped", "Array.prototype", "toSorted", guard{call: sorted(listed)}),
	limited(byIterator, "Array.prototype", iterators, guard{call: iterated("ArrayIterator.prototype")}),
)

var ofString = table(
	safe(oneText, "", "String"),
	safe(aHolder, "String", "prototype"),
	limited(byNumbers, "String", "fromCharCode fromCodePoint", guard{call: ofNumbers}),
	limited("the length of the result, counted", "String", "raw", guard{call: raw}),
	safe(looksAtOne, "String.prototype", "length valueOf toString"),
	safe(oneCharacter, "String.prototype", "at charAt charCodeAt codePointAt"),
	safe(oneText, "String.prototype", "slice substring substr startsWith endsWith"),
	limited(byText, "String.prototype", "repeat", guard{call: repeated}),
	limited(byText, "String.prototype", "padStart padEnd", guard{call: padded}),
	limited(byText, "String.prototype", "concat", guard{call: concatenated}),
	limited(byText+", or counted where a function makes it", "String.prototype", "replace", guard{call: replaced}),
	limited(byText+", or counted where a function makes it", "String.prototype", "replaceAll", guard{call: replacedAll}),
	limited("how many parts there will be", "String.prototype", "split", guard{call: split}),
	limited(byReading, "String.prototype", "toLowerCase toUpperCase trim trimStart trimEnd trimLeft trimRight", guard{call: converted(4)}),
	limited(byReading, "String.prototype", "toLocaleLowerCase toLocaleUpperCase", guard{call: localText}),
	limited(byReading, "String.prototype", "normalize", guard{call: converted(32)}),
	limited(byReading, "String.prototype", "localeCompare", guard{call: compared}),
	limited(bySearch, "String.prototype", "includes indexOf lastIndexOf", guard{call: searched}),
	limited("the size of the pattern", "String.prototype", "match", guard{call: patternOf(goja.SymMatch)}),
	limited("the size of the pattern", "String.prototype", "matchAll", guard{call: patternOf(goja.SymMatchAll)}),
	limited("the size of the pattern", "String.prototype", "search", guard{call: patternOf(goja.SymSearch)}),
	limited(byIterator, "String.prototype", "@@Symbol.iterator", guard{call: iterated("StringIterator.prototype")}),
)

// The pattern of a regular expression is checked when it is made, the text when it is matched.
var ofRegExp = table(
	limited("the size of the pattern", "", "RegExp", guard{call: newPattern, args: patternArgs, made: (*run).restoreSource}),
	safe(aHolder, "RegExp", "prototype"),
	safe(looksAtOne, "RegExp", "@@Symbol.species"),
	gone("it would change a pattern that was judged", "RegExp.prototype", "compile"),
	limited("a pattern is bounded", "RegExp.prototype", "source", guard{call: writtenSource}),
	safe("looks at one property, or at six", "RegExp.prototype", "dotAll flags global multiline sticky unicode"),
	limited("looks at one property", "RegExp.prototype", "ignoreCase", guard{call: ignoresCase}),
	limited(byText, "RegExp.prototype", "toString", guard{call: patternText}),
	limited(byPattern, "RegExp.prototype", "exec", guard{call: executed}),
	limited(byPattern, "RegExp.prototype", "test", guard{call: tested}),
	limited(byPattern, "RegExp.prototype", "@@Symbol.match @@Symbol.search @@Symbol.replace @@Symbol.split",
		guard{call: matched}),
	limited(byPattern+"; "+byIterator, "RegExp.prototype", "@@Symbol.matchAll", guard{call: allMatched}),
)

var ofNumber = table(
	limited(byNumbers, "", "Number", guard{call: ofNumbers, args: numberArgs}),
	safe(aClass, "", "Boolean"),
	safe(aHolder, "", "Number.prototype Boolean.prototype"),
	safe(aConstant, "Number", "EPSILON MAX_SAFE_INTEGER MAX_VALUE MIN_SAFE_INTEGER MIN_VALUE NEGATIVE_INFINITY NaN POSITIVE_INFINITY"),
	safe(looksAtOne, "Number", "isFinite isInteger isNaN isSafeInteger"),
	limited(byReading, "Number", "parseInt parseFloat", guard{call: onText(64)}),
	limited(byNumbers, "Number.prototype", "toExponential toFixed", guard{call: ofNumbers}), // at most 1,100 characters
	limited(byNumbers, "Number.prototype", "toPrecision", guard{call: toPrecision}),
	limited(byNumbers, "Number.prototype", "toString", guard{call: inRadix}),
	limited(fixedText, "Number.prototype", "toLocaleString", guard{call: localNumber}),
	safe(fixedText, "Number.prototype", "valueOf"),
	safe(looksAtOne, "Boolean.prototype", "toString valueOf"),
)

var ofDate = table(
	limited(byReading+"; "+byNumbers, "", "Date", guard{args: dateArgs}),
	safe(aHolder, "Date", "prototype"),
	safe("the clock, which stands still", "Date", "now"),
	limited(byReading, "Date", "parse", guard{call: parsedDate}),
	limited(byNumbers, "Date", "UTC", guard{call: ofNumbers}),
	limited(byNumbers, "Date.prototype", "setDate setFullYear setHours setMinutes setMonth setSeconds setTime "+
		"setUTCDate setUTCFullYear setUTCHours setUTCMinutes setUTCMonth setUTCSeconds", guard{call: ofNumbers}),
	limited(byNumbers, "Date.prototype", "setMilliseconds setUTCMilliseconds", guard{call: setMilliseconds}),
	safe("makes one number of a date", "Date.prototype", "getDate getDay getFullYear getHours getMilliseconds getMinutes getMonth "+
		"getSeconds getTime getTimezoneOffset getUTCDate getUTCDay getUTCFullYear getUTCHours getUTCMilliseconds getUTCMinutes "+
		"getUTCMonth getUTCSeconds valueOf"),
	safe(fixedText, "Date.prototype", "toDateString toString toTimeString toUTCString"),
	limited(fixedText, "Date.prototype", "toISOString", guard{call: toISOString}),
	limited(fixedText, "Date.prototype", "toLocaleDateString", guard{call: localDate("1/2/Y")}),
	limited(fixedText, "Date.prototype", "toLocaleString", guard{call: localDate("1/2/Y, 3:04:05 PM")}),
	limited(fixedText, "Date.prototype", "toLocaleTimeString", guard{call: localDate("3:04:05 PM")}),
	safe(callsOne, "Date.prototype", "toJSON @@Symbol.toPrimitive"),
)

var ofMath = table(
	safe(aConstant, "Math", "E LN10 LN2 LOG10E LOG2E PI SQRT1_2 SQRT2 @@Symbol.toStringTag"),
	limited("it ends the call", "Math", "random", guard{call: noRandom}),
	safe(aNumber, "Math", "abs acos acosh asin asinh atan atan2 atanh cbrt ceil clz32 cos cosh exp expm1 floor fround imul "+
		"log1p log2 pow round sign sin sinh sqrt tan tanh trunc"),
	limited(aNumber, "Math", "log", guard{call: ofReal(naturalLog)}),
	limited(aNumber, "Math", "log10", guard{call: ofReal(log10)}),
	limited(byNumbers, "Math", "hypot max min", guard{call: ofNumbers}),
)

// goja makes errors too, in the same way. The text of their stack is limited when it is read.
var ofErrors = table(
	limited("the text of its stack is counted", "", "Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError "+
		"URIError", guard{made: (*run).limitStack}),
	safe(aHolder, "", "Error.prototype AggregateError.prototype EvalError.prototype RangeError.prototype ReferenceError.prototype "+
		"SyntaxError.prototype TypeError.prototype URIError.prototype"),
	safe(looksAtOne, "Error", "isError"),
	safe(aConstant, "", "Error.prototype.name Error.prototype.message AggregateError.prototype.name AggregateError.prototype.message "+
		"EvalError.prototype.name EvalError.prototype.message RangeError.prototype.name RangeError.prototype.message "+
		"ReferenceError.prototype.name ReferenceError.prototype.message SyntaxError.prototype.name SyntaxError.prototype.message "+
		"TypeError.prototype.name TypeError.prototype.message URIError.prototype.name URIError.prototype.message"),
	limited(byText, "Error.prototype", "toString", guard{call: errorText}),
)

var ofCollections = table(
	safe(callsNext, "", "Map WeakMap WeakSet"),
	limited("an array is gone through by its iterator", "", "Set", guard{args: setArgs}),
	safe(aHolder, "", "Map.prototype Set.prototype WeakMap.prototype WeakSet.prototype"),
	safe(looksAtOne, "Map", "@@Symbol.species"),
	safe(looksAtOne, "Set", "@@Symbol.species"),
	safe(oneEntry, "Map.prototype", "clear delete get has set size"),
	safe(oneEntry, "Set.prototype", "add clear delete has size"),
	safe(oneEntry, "WeakMap.prototype", "delete get has set"),
	safe(oneEntry, "WeakSet.prototype", "add delete has"),
	safe("calls a function for each entry, which is guarded or the script's", "", "Map.prototype.forEach Set.prototype.forEach"),
	limited(byIterator, "Map.prototype", iterators, guard{call: iterated("MapIterator.prototype")}),
	limited(byIterator, "Set.prototype", iterators, guard{call: iterated("SetIterator.prototype")}),
	limited(byEntries, "Set.prototype", "difference intersection isDisjointFrom isSubsetOf isSupersetOf symmetricDifference union",
		guard{call: ofSets}),
	safe(aConstant, "", "Map.prototype.@@Symbol.toStringTag Set.prototype.@@Symbol.toStringTag "+
		"WeakMap.prototype.@@Symbol.toStringTag WeakSet.prototype.@@Symbol.toStringTag"),
)

var ofSymbol = table(
	safe(oneText, "", "Symbol"),
	safe(aHolder, "Symbol", "prototype"),
	safe(aConstant, "Symbol", "hasInstance isConcatSpreadable iterator match matchAll replace search species split toPrimitive "+
		"toStringTag unscopables"),
	safe("hashes one text", "Symbol", "for"),
	safe("goes through the symbols that Symbol.for made, each of which takes memory", "Symbol", "keyFor"),
	safe(oneText, "Symbol.prototype", "description toString"),
	safe(looksAtOne, "Symbol.prototype", "valueOf @@Symbol.toPrimitive @@Symbol.toStringTag"),
)

var ofPromise = table(
	safe(callsOne, "", "Promise"),
	safe(aHolder, "Promise", "prototype"),
	safe(looksAtOne, "Promise", "@@Symbol.species"),
	safe(callsNext, "Promise", "all allSettled race"),
	limited("a script of this package replaces it: goja's makes an error without calling a guard", "Promise", "any", guard{call: promiseAny}),
	safe(oneJob, "Promise", "reject resolve"),
	safe(oneJob, "Promise.prototype", "catch finally then"),
	safe(aConstant, "Promise.prototype", "@@Symbol.toStringTag"),
)

// goja's functions recurse without limit over data, and compare each object with all objects around it.
var ofJSON = table(
	safe(aConstant, "JSON", "@@Symbol.toStringTag"),
	limited("the length of the text, the values in it, and how deep they are", "JSON", "parse", guard{call: parsedJSON}),
	limited("the length of the result, counted, and how deep the values are", "JSON", "stringify", guard{call: stringified}),
	gone("it copies a text into a message, and JSON.stringify here does not know it", "JSON", "rawJSON isRawJSON"),
)

var ofReflect = table(
	safe(aConstant, "Reflect", "@@Symbol.toStringTag"),
	safe(looksAtOne, "Reflect", "get getOwnPropertyDescriptor getPrototypeOf has isExtensible preventExtensions set"),
	limited("the length of the list of arguments", "Reflect", "apply", guard{call: applied(2)}),
	limited("the length of the list of arguments", "Reflect", "construct", guard{call: applied(1)}),
	limited("it changes no name of a native function", "Reflect", "defineProperty", guard{call: defined}),
	limited("it changes no name of a native function", "Reflect", "deleteProperty", guard{call: deleted}),
	limited(byNames, "Reflect", "ownKeys", guard{call: enumerated}),
	limited(byChain, "Reflect", "setPrototypeOf", guard{call: inherited}),
)

var ofIterators = table(
	limited("it makes the next element", "", "ArrayIterator.prototype.next", guard{call: nextElement}),
	safe("makes the next element", "", "MapIterator.prototype.next SetIterator.prototype.next "+
		"StringIterator.prototype.next"),
	limited("it calls exec, which is guarded; "+byPattern, "", "RegExpStringIterator.prototype.next", guard{}),
	safe(aConstant, "", "ArrayIterator.prototype.@@Symbol.toStringTag MapIterator.prototype.@@Symbol.toStringTag "+
		"SetIterator.prototype.@@Symbol.toStringTag StringIterator.prototype.@@Symbol.toStringTag "+
		"RegExpStringIterator.prototype.@@Symbol.toStringTag"),
	safe(looksAtOne, "Iterator.prototype", "@@Symbol.iterator"),
)

// ofProvided are the functions that goja lacks; see provided.go.
var ofProvided = table(
	safe("a script of this package", "", "structuredClone Object.groupBy String.prototype.isWellFormed String.prototype.toWellFormed"),
)

// ofSyntax are the own properties of objects that syntax makes.
var ofSyntax = table(
	safe(looksAtOne, "", "(array).length (text).length (regexp).lastIndex (arguments).length (class).prototype (generator).prototype"),
	safe("the function itself; its names are in the source", "", "(arguments).callee"),
	safe(throws, "", "(strict-arguments).callee"),
	safe(looksAtOne, "", "(strict-arguments).length"),
	safe("the same as Array.prototype.values", "", "(arguments).@@Symbol.iterator (strict-arguments).@@Symbol.iterator"),
	safe("text that stands in the source", "", "(template).raw (template).length"),
	limited("the text is counted when it is asked for: see boundStack", "", "(error).stack", guard{}),
	safe(oneText, "", "(error).message"),
	safe("as many as there are promises", "", "(aggregate-error).errors"),
	limited("the text is counted when it is asked for: see boundStack", "", "(aggregate-error).stack", guard{}),
)
