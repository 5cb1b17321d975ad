package jsonnet

import "github.com/google/go-jsonnet/ast"

// What the interpreter does in Go, without evaluating a node, its hook does not see. So each such operation is looked at
// before it begins. The tables below have a rule for each operator and for each field of std. What has no rule does not
// exist for a script: a function that a later go-jsonnet adds does not exist until it has a rule, and a test lists it.
//
// Comprehensions, slices, "in", %, assertions, e { } and object locals are not in the tables: the parser makes them of
// nodes and of calls of std. super, self, $ and imports are nodes that read one value each.

// A rule says how an operation is kept from making much of little, and from taking long.
type rule struct {
	bound bound
	check check // nil where nothing needs to be looked at
}

// A bound is why an operation is bounded. Most are one of the constants; the others name what is limited.
type bound string

const (
	// plain operations give a number, a boolean or a part of their arguments. They take as long as those are, which is
	// charged before.
	plain bound = "cannot amplify"

	// inJsonnet marks what is written in Jsonnet: its nodes are counted like those of a script, and what it calls is here.
	inJsonnet bound = "each node counts"

	// removed marks what a script does not have.
	removed bound = "removed"
)

// binaryRules are those of the operators that have two operands. Other operators are nodes or calls of std.
var binaryRules = map[ast.BinaryOp]rule{
	ast.BopMult: {bound: plain}, ast.BopDiv: {bound: plain}, ast.BopMinus: {bound: plain},
	ast.BopShiftL: {bound: plain}, ast.BopShiftR: {bound: plain},
	ast.BopBitwiseAnd: {bound: plain}, ast.BopBitwiseXor: {bound: plain}, ast.BopBitwiseOr: {bound: plain},
	ast.BopAnd: {bound: inJsonnet}, ast.BopOr: {bound: inJsonnet},

	ast.BopPlus:            {"the size of the sum, how deep its parts nest, the layers of an object", only(checkPlus)},
	ast.BopManifestEqual:   {"each comparison is counted", only(checkEqual)},
	ast.BopManifestUnequal: {"each comparison is counted", only(checkEqual)},
	ast.BopLess:            {"each comparison is counted", only(checkOrder)},
	ast.BopLessEq:          {"each comparison is counted", only(checkOrder)},
	ast.BopGreater:         {"each comparison is counted", only(checkOrder)},
	ast.BopGreaterEq:       {"each comparison is counted", only(checkOrder)},

	ast.BopPercent: {bound: inJsonnet}, ast.BopIn: {bound: inJsonnet}, // calls of std.mod and std.objectHasEx
}

// unaryRules are those of the operators that have one operand.
var unaryRules = map[ast.UnaryOp]rule{
	ast.UopNot: {bound: plain}, ast.UopBitwiseNot: {bound: plain}, ast.UopPlus: {bound: plain}, ast.UopMinus: {bound: plain},
}

// stdRules are those of the fields of std. What is in one of the lists below is written in Jsonnet, or plain.
var stdRules = rules(map[string]rule{
	"equals":          {"each comparison is counted", only(checkEqual)},
	"primitiveEquals": {"each comparison is counted", only(checkEqual)},
	"sort":            {"done here, with guarded comparisons", sorted},
	"minArray":        {"done here, with guarded comparisons", func(o *operation) (value, error, bool) { return extreme(o, 1) }},
	"maxArray":        {"done here, with guarded comparisons", func(o *operation) (value, error, bool) { return extreme(o, -1) }},
	"member":          {"each comparison is counted", only(checkMember)},
	"contains":        {"each comparison is counted", only(checkMember)},
	"remove":          {"each comparison is counted", only(checkMember)},

	"toString":         {"the size of the text", only(func(o *operation) { o.text(o.args[0], "", "") })},
	"escapeStringJson": {"the size of the text", only(func(o *operation) { o.text(o.args[0], "", "") })},
	"manifestJsonEx":   {"the size of the text, with indentation", only(checkManifestJSON)},
	"manifestYamlDoc":  {"the size of the text, with indentation, and of keys", only(checkManifestYAML)},
	"manifestTomlEx":   {"the size of the text, with what is copied on the way", only(checkManifestTOML)},

	"makeArray":         {"the size of the array", only(func(o *operation) { o.elements(number(o.args[0]), 200) })},
	"range":             {"the size of the array", only(func(o *operation) { o.elements(number(o.args[1])-number(o.args[0])+1, elementSize) })},
	"encodeUTF8":        {"the size of the array", only(func(o *operation) { o.elements(float64(len(string(runesOf(o.args[0])))), elementSize) })},
	"base64DecodeBytes": {"the size of the array", only(func(o *operation) { o.elements(float64(length(o.args[0])), elementSize) })},
	"flatMap":           {"done here: the size of the result as it grows", flatMapped},
	"$flatMapArray":     {"done here: the size of the result as it grows", flatMapped},
	"$objectFlatMerge":  {"the number of fields; nothing but what comprehensions give it", checkFlatMerge},
	"foldl":             {"the array that a string becomes", only(checkFold)},
	"foldr":             {"the array that a string becomes", only(checkFold)},

	"join":        {"the sum of the parts", only(checkJoin)},
	"strReplace":  {"the result, by counting what is found", only(checkReplace)},
	"splitLimit":  {"the result, by counting what is found", only(checkSplit)},
	"splitLimitR": {"the result, by counting what is found", only(checkSplit)},
	"stripChars":  {"done here, without a copy for each character", func(o *operation) (value, error, bool) { return stripped(o, true, true) }},
	"lstripChars": {"done here, without a copy for each character", func(o *operation) (value, error, bool) { return stripped(o, true, false) }},
	"rstripChars": {"done here, without a copy for each character", func(o *operation) (value, error, bool) { return stripped(o, false, true) }},
	"substr":      {"part of its argument; where it begins", checkSubstr},

	"parseJson": {"the size of the tree, by counting what separates values", only(checkParse)},
	"parseYaml": {"the size of the tree, nesting, aliases and documents", only(checkParseYAML)},
	"modulo":    {"plain formats are made here, others by std.format", modulo},
	"trace":     {"the log, beyond which nothing is formatted", traced},
	"native":    {"only functions of the library, which has limits of its own", called},
	"removeAt":  {"part of its argument; the index", checkRemoveAt},

	"length":          {"the layers of an object and their fields", only(checkLayers)},
	"objectFieldsEx":  {"the layers of an object and their fields", only(checkLayers)},
	"objectHasEx":     {"the layers of an object and their fields", only(checkLayers)},
	"objectRemoveKey": {"the layers of an object and their fields", only(checkLayers)},

	"base64":       {"four thirds of its argument's bytes", only(checkBase64)},
	"base64Decode": {"three quarters of its argument", nil},
	"decodeUTF8":   {"a character for each element", nil},
}, plainNames, jsonnetNames)

// plainNames are functions and constants that cannot amplify.
const plainNames = `acos asin atan atan2 avg ceil char codepoint cos equalsIgnoreCase exp exponent extVar filter floor hypot
	id isDecimal isEmpty isEven isInteger isNull isOdd log mantissa md5 parseInt pi pow reverse round sha1 sha256 sha3 sha512
	sin sqrt sum tan trim type xnor xor`

// jsonnetNames are functions that are written in Jsonnet.
const jsonnetNames = `__array_greater __array_greater_or_equal __array_less __array_less_or_equal __compare __compare_array
	abs all any asciiLower asciiUpper assertEqual clamp count deepJoin deg2rad endsWith escapeStringBash
	escapeStringDollars escapeStringPython escapeStringXML filterMap find findSubstr flattenArrays flattenDeepArray format get
	isArray isBoolean isFunction isNumber isObject isString lines log10 log2 manifestIni manifestJson manifestJsonMinified
	manifestPython manifestPythonVars manifestToml manifestXmlJsonml manifestYamlStream map mapWithIndex mapWithKey max
	mergePatch min mod objectFields objectFieldsAll objectHas objectHasAll objectKeysValues objectKeysValuesAll objectValues
	objectValuesAll parseHex parseOctal prune rad2deg repeat resolvePath set setDiff setInter setMember setUnion sign slice
	split startsWith stringChars uniq`
