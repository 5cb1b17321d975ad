package javascript

import "github.com/dop251/goja"

// This file says what of JavaScript's own functions is guarded, and why. hook.go puts the guards where they belong.
//
// A virtual machine sees that it was interrupted between two of its instructions. A function of goja's own is one
// instruction, however long it takes and however much it makes, so none may do much more than what the script has
// paid for already. Three rules hold for every native function, those that are not listed here included:
//
//   - It is not begun once the call is stopped: so a loop within goja that calls functions, such as the spreading of
//     an iterator whose next is itself native, ends like a loop of the script's.
//   - Native functions are not nested more than maxNative deep, since they take up Go's stack: String([[[…]]]).
//   - What a guard refuses ends the call for good. No catch and no finally runs after it.
//
// Beyond that: text and lists that a function makes are computed before they are made (bounds.go), arguments that are
// merely like an array are copied into one first, as far as their length is bounded, since a getter may give another
// length the second time. Functions that recurse without calling one another are replaced (json.go, array.go). Regular
// expressions are bounded by their size times that of the text (regexp.go). What syntax does by itself is bounded
// before it runs (source.go).

// removed are the names that do not exist, as the path of their object and the name.
var removed = [][2]string{
	// Code from text: it would escape all that source.go checks.
	{"", "eval"},
	// A proxy makes every property access of goja's own code a call of the script's.
	{"", "Proxy"},
	// Integers without bound: one ** is enough to be busy for years.
	{"", "BigInt"},
	// Memory that one number asks for, with loops over it in dozens of functions, and nothing for it to be used for.
	{"", "ArrayBuffer"}, {"", "DataView"}, {"", "Uint8Array"}, {"", "Uint8ClampedArray"}, {"", "Int8Array"},
	{"", "Uint16Array"}, {"", "Int16Array"}, {"", "Uint32Array"}, {"", "Int32Array"}, {"", "Float32Array"},
	{"", "Float64Array"}, {"", "BigInt64Array"}, {"", "BigUint64Array"},
	// Makes errors of Go's.
	{"", "GoError"},
}

// A guard stands around a native function. It may refuse (see run.refuse), or call the function with other arguments.
type guard struct {
	call func(*run, goja.FunctionCall, native) goja.Value
	args func(*run, []goja.Value) []goja.Value // of a constructor called with new
}

// guards are by the path of the function.
var guards = map[string]guard{
	// They make text: as long as its length is within what the script may have.
	"String.prototype.repeat":     {call: repeated},
	"String.prototype.padStart":   {call: padded},
	"String.prototype.padEnd":     {call: padded},
	"String.prototype.concat":     {call: concatenated},
	"String.prototype.replace":    {call: replaced},
	"String.prototype.replaceAll": {call: replacedAll},
	"String.prototype.split":      {call: split},
	"String.raw":                  {call: raw},
	"Array.prototype.join":        {call: joined},
	// They read all of a text and make another: so many times its length must be within what the script may have.
	"String.prototype.toUpperCase":       {call: ofText(4)},
	"String.prototype.toLowerCase":       {call: ofText(4)},
	"String.prototype.toLocaleUpperCase": {call: ofText(4)},
	"String.prototype.toLocaleLowerCase": {call: ofText(4)},
	"String.prototype.normalize":         {call: ofText(32)},
	"String.prototype.localeCompare":     {call: compared},
	"encodeURI":                          {call: onText(9)},
	"encodeURIComponent":                 {call: onText(9)},
	"escape":                             {call: onText(6)},
	"unescape":                           {call: onText(2)},
	"decodeURI":                          {call: onText(4)},
	"decodeURIComponent":                 {call: onText(4)},
	"parseInt":                           {call: onText(64)},
	"Number.parseInt":                    {call: onText(64)},
	"parseFloat":                         {call: onText(64)},
	"Number.parseFloat":                  {call: onText(64)},
	"Date":                               {args: dateArgs},
	"Date.parse":                         {call: onText(1000)},
	// They look for one text in another, at worst in the product of their lengths.
	"String.prototype.indexOf":     {call: searched},
	"String.prototype.lastIndexOf": {call: searched},
	"String.prototype.includes":    {call: searched},
	// Regular expressions: the pattern when it is made, the text when it is matched.
	"RegExp":                             {call: newPattern, args: patternArgs},
	"RegExp.prototype.compile":           {call: forbidden("RegExp.prototype.compile")},
	"RegExp.prototype.exec":              {call: matched},
	"RegExp.prototype.test":              {call: matched},
	"RegExp.prototype.@@Symbol.match":    {call: matched},
	"RegExp.prototype.@@Symbol.matchAll": {call: matched},
	"RegExp.prototype.@@Symbol.search":   {call: matched},
	"RegExp.prototype.@@Symbol.replace":  {call: matched},
	"RegExp.prototype.@@Symbol.split":    {call: matched},
	"String.prototype.match":             {call: patternOf(goja.SymMatch)},
	"String.prototype.matchAll":          {call: patternOf(goja.SymMatchAll)},
	"String.prototype.search":            {call: patternOf(goja.SymSearch)},
	"String.prototype.@@Symbol.iterator": {call: iterated},
	"Set":                                {args: setArgs},
	"Map.prototype.@@Symbol.iterator":    {call: iterated},
	"Map.prototype.entries":              {call: iterated},
	"Map.prototype.keys":                 {call: iterated},
	"Map.prototype.values":               {call: iterated},
	"Set.prototype.@@Symbol.iterator":    {call: iterated},
	"Set.prototype.entries":              {call: iterated},
	"Set.prototype.keys":                 {call: iterated},
	"Set.prototype.values":               {call: iterated},
	"Array.prototype.values":             {call: iterated},
	"Array.prototype.keys":               {call: iterated},
	"Array.prototype.entries":            {call: iterated},
	"Array.prototype.@@Symbol.iterator":  {call: iterated},
	// Arrays may be sparse, or no arrays at all: their length says how long a loop takes, and nothing of their size.
	"Array":                          {call: newArray, args: arrayArgs},
	"Array.from":                     {call: arrayFrom},
	"Array.prototype.at":             {call: listed},
	"Array.prototype.concat":         {call: concatenatedLists},
	"Array.prototype.copyWithin":     {call: changed},
	"Array.prototype.every":          {call: listed},
	"Array.prototype.fill":           {call: changed},
	"Array.prototype.filter":         {call: listed},
	"Array.prototype.find":           {call: listed},
	"Array.prototype.findIndex":      {call: listed},
	"Array.prototype.findLast":       {call: listed},
	"Array.prototype.findLastIndex":  {call: listed},
	"Array.prototype.flat":           {call: flattened},
	"Array.prototype.flatMap":        {call: flatMapped},
	"Array.prototype.forEach":        {call: listed},
	"Array.prototype.includes":       {call: found},
	"Array.prototype.indexOf":        {call: found},
	"Array.prototype.lastIndexOf":    {call: found},
	"Array.prototype.map":            {call: listed},
	"Array.prototype.pop":            {call: changed},
	"Array.prototype.push":           {call: changed},
	"Array.prototype.reduce":         {call: listed},
	"Array.prototype.reduceRight":    {call: listed},
	"Array.prototype.reverse":        {call: changed},
	"Array.prototype.shift":          {call: changed},
	"Array.prototype.slice":          {call: listed},
	"Array.prototype.some":           {call: listed},
	"Array.prototype.sort":           {call: sorted(changed)},
	"Array.prototype.splice":         {call: changed},
	"Array.prototype.toLocaleString": {call: joined},
	"Array.prototype.toReversed":     {call: listed},
	"Array.prototype.toSorted":       {call: sorted(listed)},
	"Array.prototype.toSpliced":      {call: listed},
	"Array.prototype.unshift":        {call: changed},
	"Array.prototype.with":           {call: listed},
	// A list of arguments takes a place each on the machine's stack.
	"Function.prototype.apply": {call: applied(1)},
	"Function.prototype.bind":  {call: binding},
	"Reflect.apply":            {call: applied(2)},
	"Reflect.construct":        {call: applied(1)},
	// A text is an object with a property for each character.
	"Object.keys":                      {call: enumerated},
	"Object.values":                    {call: enumerated},
	"Object.entries":                   {call: enumerated},
	"Object.assign":                    {call: enumerated},
	"Object.getOwnPropertyNames":       {call: enumerated},
	"Object.getOwnPropertyDescriptors": {call: enumerated},
	"Object.defineProperties":          {call: described},
	"Object.freeze":                    {call: enumerated},
	"Object.seal":                      {call: enumerated},
	"Object.isFrozen":                  {call: enumerated},
	"Object.isSealed":                  {call: enumerated},
	"Reflect.ownKeys":                  {call: enumerated},
	// A property that is missing is looked for along the chain of prototypes, one Go call for each.
	"Object.create":              {call: created},
	"Object.setPrototypeOf":      {call: inherited(1)},
	"Reflect.setPrototypeOf":     {call: inherited(1)},
	"Object.prototype.__proto__": {call: inherited(0)},
	// goja's recurse without bound over data, and compare each object with all around it.
	"JSON.parse":     {call: parsedJSON},
	"JSON.stringify": {call: stringified},
	// Code from text again. Function is there for instanceof, the others have no name: (function* () {}).constructor.
	"Function":          {call: forbidden("code from text"), args: forbiddenArgs},
	"GeneratorFunction": {call: forbidden("code from text"), args: forbiddenArgs},
	"AsyncFunction":     {call: forbidden("code from text"), args: forbiddenArgs},
}
