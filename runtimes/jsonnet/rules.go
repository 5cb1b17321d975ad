package jsonnet

import (
	"github.com/google/go-jsonnet/ast"

	"metascript/scripts/lib"
)

// The interpreter does not call its hook for operations that are written in Go, without nodes. So each such operation is checked
// before it begins. The tables below have a rule for each operator and for each field of std. What has no rule does not exist for a
// script. So a function that a later version of go-jsonnet adds does not exist until somebody adds a rule; a test lists such
// functions.
//
// Comprehensions, slices, "in", %, assertions, e { } and object locals are not in the tables: the parser converts them to other
// nodes and calls of std. super, self, $ and imports are nodes that read one value each.

// A rule says how the memory and the time of an operation are limited.
type rule struct {
	bound bound
	check check // nil if no check is needed
}

// A bound says what limits the memory and the time of an operation. Most bounds are one of the constants.
type bound string

const (
	// plain marks operations that return a number, a boolean or a part of their arguments, in time proportional to the length of
	// the arguments, which is charged before.
	plain bound = "cannot amplify"

	// inJsonnet marks operations that are written in Jsonnet: their nodes are counted like those of a script, and the operations
	// that they call have rules too.
	inJsonnet bound = "each node counts"

	// removed marks what scripts do not have.
	removed bound = "removed"
)

// binaryRules are the rules for operators with two operands. Other operators are nodes or calls of std.
var binaryRules = map[ast.BinaryOp]rule{
	ast.BopMult: {bound: plain}, ast.BopDiv: {bound: plain}, ast.BopMinus: {bound: plain},
	ast.BopShiftL: {bound: plain}, ast.BopShiftR: {bound: plain},
	ast.BopBitwiseAnd: {bound: plain}, ast.BopBitwiseXor: {bound: plain}, ast.BopBitwiseOr: {bound: plain},
	ast.BopAnd: {bound: inJsonnet}, ast.BopOr: {bound: inJsonnet},

	ast.BopPlus:            {"the size of the sum, how deep its parts nest, the layers of an object", plus},
	ast.BopManifestEqual:   {"each comparison is counted", checkOnly(checkEqual)},
	ast.BopManifestUnequal: {"each comparison is counted", checkOnly(checkEqual)},
	ast.BopLess:            {"each comparison is counted", checkOnly(checkOrder)},
	ast.BopLessEq:          {"each comparison is counted", checkOnly(checkOrder)},
	ast.BopGreater:         {"each comparison is counted", checkOnly(checkOrder)},
	ast.BopGreaterEq:       {"each comparison is counted", checkOnly(checkOrder)},

	ast.BopPercent: {bound: inJsonnet}, ast.BopIn: {bound: inJsonnet}, // calls of std.mod and std.objectHasEx
}

// unaryRules are the rules for operators with one operand.
var unaryRules = map[ast.UnaryOp]rule{
	ast.UopNot: {bound: plain}, ast.UopBitwiseNot: {bound: plain}, ast.UopPlus: {bound: plain}, ast.UopMinus: {bound: plain},
	opPart: {bound: "the entries of a map or a list of the request count"},
}

// stdRules are the rules for the fields of std, including those in the two lists below.
var stdRules = rules(map[string]rule{
	"equals":          {"each comparison is counted", checkOnly(checkEqual)},
	"primitiveEquals": {"each comparison is counted", checkOnly(checkEqual)},
	"sort":            {"done here, with guarded comparisons", sorted},
	"minArray":        {"done here, with guarded comparisons", func(o *operation) (value, error, bool) { return extreme(o, 1) }},
	"maxArray":        {"done here, with guarded comparisons", func(o *operation) (value, error, bool) { return extreme(o, -1) }},
	"member":          {"each comparison is counted", checkOnly(checkMember)},
	"contains":        {"each comparison is counted", checkOnly(checkMember)},
	"remove":          {"each comparison is counted", checkOnly(checkMember)},

	"toString":         {"done here: the size of the text", toString},
	"escapeStringJson": {"done here: the size of the text", escapeString},
	"manifestJsonEx":   {"the size of the text, with indentation", checkOnly(checkManifestJSON)},
	"manifestYamlDoc":  {"the size of the text, with indentation, and of keys", checkOnly(checkManifestYAML)},
	"manifestTomlEx":   {"done here: the size of the text", manifestTOML},

	"makeArray":         {"the size of the array", checkOnly(func(o *operation) { o.elements(number(o.args[0]), 200) })},
	"range":             {"the size of the array", checkOnly(func(o *operation) { o.elements(number(o.args[1])-number(o.args[0])+1, elementSize) })},
	"encodeUTF8":        {"the size of the array", checkOnly(func(o *operation) { o.elements(float64(len(string(runesOf(o.args[0])))), elementSize) })},
	"base64DecodeBytes": {"the size of the array", checkOnly(func(o *operation) { o.elements(float64(length(o.args[0])), elementSize) })},
	"flatMap":           {"done here: the size of the result as it grows", flatMapped},
	"$flatMapArray":     {"done here: the size of the result as it grows", flatMapped},
	"$objectFlatMerge":  {"the number of fields; nothing but what comprehensions give it", checkFlatMerge},
	"foldl":             {"the array that a string becomes; arrays are done here", folded},
	"filter":            {"done here: no more elements than before", filtered},
	"foldr":             {"the array that a string becomes", checkOnly(checkFold)},

	"join":        {"the sum of the parts", checkOnly(checkJoin)},
	"strReplace":  {"the result, by counting what is found", checkOnly(checkReplace)},
	"splitLimit":  {"the result, by counting what is found", checkOnly(checkSplit)},
	"splitLimitR": {"the result, by counting what is found", checkOnly(checkSplit)},
	"stripChars":  {"done here, without a copy for each character", func(o *operation) (value, error, bool) { return stripped(o, true, true) }},
	"lstripChars": {"done here, without a copy for each character", func(o *operation) (value, error, bool) { return stripped(o, true, false) }},
	"rstripChars": {"done here, without a copy for each character", func(o *operation) (value, error, bool) { return stripped(o, false, true) }},
	"substr":      {"part of its argument; where it begins", checkSubstr},

	"parseJson": {"the size of the tree; done by the library, which has limits of its own", parse(lib.ParseJSON)},
	"parseYaml": {"the size of the tree; done by the library, which has limits of its own", parse(lib.ParseYAML)},
	"modulo":    {"plain formats are made here, others by std.format", modulo},
	"trace":     {"the log, beyond which nothing is formatted", traced},
	"native":    {"only functions of the library, which has limits of its own", callLibrary},
	"removeAt":  {"part of its argument; the index", checkRemoveAt},

	"length":          {"the layers of an object and their fields", checkOnly(checkLayers)},
	"objectFieldsEx":  {"the layers of an object and their fields", checkOnly(checkLayers)},
	"objectHasEx":     {"the layers of an object and their fields", checkOnly(checkLayers)},
	"objectRemoveKey": {"the layers of an object and their fields", checkOnly(checkLayers)},

	"base64":       {"four thirds of its argument's bytes", checkOnly(checkBase64)},
	"base64Decode": {"three quarters of its argument", nil},
	"decodeUTF8":   {"a character for each element", nil},
}, plainNames, jsonnetNames)

// plainNames are the functions and constants of std whose bound is plain.
const plainNames = `acos asin atan atan2 avg ceil char codepoint cos equalsIgnoreCase exp exponent extVar floor hypot
	id isDecimal isEmpty isEven isInteger isNull isOdd log mantissa md5 parseInt pi pow reverse round sha1 sha256 sha3 sha512
	sin sqrt sum tan trim type xnor xor`

// jsonnetNames are the functions of std that are written in Jsonnet.
const jsonnetNames = `__array_greater __array_greater_or_equal __array_less __array_less_or_equal __compare __compare_array
	abs all any asciiLower asciiUpper assertEqual clamp count deepJoin deg2rad endsWith escapeStringBash
	escapeStringDollars escapeStringPython escapeStringXML filterMap find findSubstr flattenArrays flattenDeepArray format get
	isArray isBoolean isFunction isNumber isObject isString lines log10 log2 manifestIni manifestJson manifestJsonMinified
	manifestPython manifestPythonVars manifestToml manifestXmlJsonml manifestYamlStream map mapWithIndex mapWithKey max
	mergePatch min mod objectFields objectFieldsAll objectHas objectHasAll objectKeysValues objectKeysValuesAll objectValues
	objectValuesAll parseHex parseOctal prune rad2deg repeat resolvePath set setDiff setInter setMember setUnion sign slice
	split startsWith stringChars uniq`
