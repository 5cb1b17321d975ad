package javascript

import (
	"fmt"
	"strings"
	"sync"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// explain makes an error of a compiler one that helps people who think of Python or of another language.
func (m *module) explain(e *engine.Error) {
	if text, language := m.written(); !host.WrongLanguage(e, text, language) {
		if !longTemplate(e, text) {
			mistakes().Explain(e, text)
		}
	}
}

// longTemplate explains an error directly after a template of several lines. Most likely the template was meant to end earlier, and
// its end is the beginning of the next one.
func longTemplate(e *engine.Error, text string) bool {
	lines := host.NewLines(text)
	before := text[:lines.Offset(e.Pos.Line, e.Pos.Col)]
	template, ended := strings.CutSuffix(before, "`")
	start := strings.LastIndexByte(template, '`')
	if !ended || start < 0 || !strings.Contains(template[start:], "\n") || !strings.HasPrefix(e.Msg, "Unexpected") && !strings.HasPrefix(e.Msg, "Expected") {
		return false
	}
	e.Msg = fmt.Sprintf("this template ends only in line %d", e.Pos.Line)
	e.Hint = "end it with a backquote, and each ${ with }"
	e.Pos = host.At(e.Pos.File, text, start)
	return true
}

// written returns the text that the script's author wrote, and its language.
func (m *module) written() (text, language string) {
	if m.from != nil {
		return m.from.original, engine.TypeScript
	}
	return m.src, engine.JavaScript
}

// otherNames are names of other languages, and what to write in JavaScript.
var otherNames = map[string]string{
	"True": "write true", "False": "write false", "None": "write null", "nil": "write null",
	"pass":  "an empty block is {}: remove it",
	"len":   "write x.length, or Object.keys(x).length for an object",
	"print": "write console.log(x)", "str": "write String(x)", "int": "write Number(x)", "float": "write Number(x)",
	"range": "write for (let i = 0; i < n; i++)", "dict": "write {}", "list": "write [...x]", "sorted": "write [...list].sort()",
	"enumerate": "write list.entries()", "isinstance": "write typeof x, or Array.isArray(x)", "type": "write typeof x",
	"fail": "write throw new Error(message)", "load": `write const {name} = require("./file.js")`,
	"std": "std is of Jsonnet: use the methods of strings, arrays, Object and Math",
}

// otherMethods are methods of Python and of newer versions of JavaScript, and what to write in JavaScript.
var otherMethods = map[string]string{
	"append": "write list.push(x)", "extend": "write list.push(...more)", "format": "write `${x}-pod` in backquotes",
	"join": `write list.join(", ")`, "items": "write Object.entries(x)", "keys": "write Object.keys(x)", "values": "write Object.values(x)",
	"get": "write x.key ?? y, or x[key] ?? y", "startswith": "write startsWith", "endswith": "write endsWith",
	"strip": "write trim", "lower": "write toLowerCase", "upper": "write toUpperCase", "update": "write Object.assign(x, y)",
	"setdefault": "write x[key] ??= y",

	"groupBy":   "Object.groupBy(list, x => key) exists; Map.groupBy does not",
	"fromAsync": "write await Promise.all([...list])",
}

// mistakes are those that the parsers of goja and esbuild report.
var mistakes = sync.OnceValue(func() *host.Mistakes {
	return host.NewMistakes([]string{"//"}, []host.Mistake{
		// Blocks.
		{`token if|found "if"`, `if\b`, "if cannot be inside an expression", "write condition ? a : b"},
		{`token for|found "for"`, `for\b`, "for cannot be inside an expression", "write list.map((x) => …) or list.filter((x) => …)"},
		{``, `\b(?P<at>elif|elsif|elseif)\b.*`, "JavaScript has no $1", "write else if (…)"},
		{``, `\belse\s*(?P<at>\()[^\n{]*\)\s*\{`, "else has no condition", "write else if (…)"},
		{``, `\b(if|while|for|switch)\s+[^({\n]*[^\s({?](?P<at>:)\s*$`, "a block does not begin with :", "write $1 (…) { … }"},
		{``, `(?:\)|\b(?:else|try|finally))\s*(?P<at>:)\s*$`, "a block does not begin with :", "write { … }"},
		{``, `\bfor\s+(?P<at>await)\b.*`, "for await is not supported", "write for (const x of list), and await x in the loop"},
		{`token :|found ":"`, `\b(?P<at>return)[ \t]*\n\s*\{.*`, "return ends at the end of its line", "write { in the same line"},
		{``, `\b(if|while|for|switch)\s+(?P<at>[^\s(]+)`, "( is missing after $1", "write $1 (…) { … }"},
		{``, `\b(then)\s*\{`, "JavaScript has no then", "remove it: write if (condition) { … }"},
		{``, `\b(foreach|for\s+each)\s*\(.*`, "JavaScript has no $1", "write for (const x of list) { … }"},
		{``, `\b(const|let|var)\s+(\w+)\s*(?P<at>[{\["'\d])`, "= is missing before this", "write $1 $2 = …"},
		{`left-hand side in for`, `.`, "", "write for (const [key, value] of Object.entries(x))"},

		// Statements and expressions of other languages.
		{``, `\b(?P<at>def|func|fn)\s+(\w+)`, "JavaScript has no $1", "write function $2({parent, children}) { … }"},
		{``, `^\s*(?P<at>local|val|my)\s+(\w+)`, "JavaScript has no $1", "write const $2 = …"},
		{``, `^\s*(?P<at>global|nonlocal)\b(?:\s+\w+)?`, "JavaScript has no $1", "remove it: a function can assign to names outside of it"},
		{``, `\b(raise)\s+\S+`, "JavaScript has no raise", "write throw new Error(message)"},
		{``, `\b(?:try\b.*)?\b(?P<at>except)\b`, "JavaScript has no except", "write catch (e) { … }"},
		{``, `\b(lambda)\s+\w+`, "JavaScript has no lambda", "write (x) => …"},
		{``, `\bfrom\s+\w+\s+import\b`, "JavaScript has no from", `write const {name} = require("./file.js")`},
		{``, `^\s*(?P<at>del)\s+\w+`, "JavaScript has no del", "write delete x.key"},
		{``, `\b(await)\s+\S*`, "await is only possible in an async function", "write async before function"},
		{``, `"""|'''`, "JavaScript has no strings in \"\"\"", "write a template in backquotes, or /* … */ for a comment"},
		{``, `\b[fF]["']`, "JavaScript has no f-strings", "write `x-$${y}` in backquotes"},
		{``, `[“”‘’]`, "this is not a quote of code", `write " or '`},
		{``, `#.?`, "a comment does not begin with #", "write //"},
		{``, `:=`, "JavaScript has no :=", "write const x = …, or = for a variable that exists"},
		{``, `\b(interface|type|enum)\s+\w+`, "$1 is TypeScript", "set language: TypeScript, or remove it"},
		{``, `\b(as)\s+\w+`, "as is TypeScript", "set language: TypeScript, or remove as and the type"},
		{`token :`, `\bfunction\s.*?[\w}](?P<at>:)\s*\w+`, "types are TypeScript", "set language: TypeScript, or remove the : and the type"},
		{`token :`, `\b(?:const|let|var)\s+\w+(?P<at>:)`, "types are TypeScript", "set language: TypeScript, or remove the : and the type"},

		{`token <`, `\bfunction\s*\w*\s*(?P<at><)`, "types are TypeScript", "set language: TypeScript, or remove the < > and the type"},
		{`found "/"|token <`, `[=(,:?]\s*(?P<at><)[A-Za-z][\w.]*[^<>\n]*/?>`, "JSX is not supported", "write objects and strings"},
		{`token !`, `[\w\])](?P<at>!)\s*[.\[;,)]`, "! after a value is TypeScript", "set language: TypeScript, or remove it"},

		// Operators.
		{``, `\b(and)\b`, "JavaScript has no and", "write &&"},
		{``, `\b(or)\b`, "JavaScript has no or", "write ||"},
		{``, `\S+\s+(?P<at>not\s+in)\b`, "JavaScript has no not in", "write !(key in x), or !list.includes(x)"},
		{``, `\b(not)\s+\S+`, "JavaScript has no not", "write !"},
		{``, `\b(is)\s+not\b`, "JavaScript has no is not", "write !=="},
		{``, `\b(is)\b`, "JavaScript has no is", "write ==="},
		{`shorthand property`, `(?P<at>=)\s*`, "a key and its value are not separated by =", "write : between them"},

		// Punctuation.
		{`Unexpected (identifier|string|number)|found`, `[\w"'\])}](?P<at>)[ \t]*\n\s*(?:"_*"|'_*'|\w+)\s*:`, "a comma is missing at the end of this line", "write , after each item"},
		{`Unexpected identifier|Expected "}" but found`, `[\w"'\])}][ \t]+(?P<at>\w+)\s*:`, "a comma is missing before this", "write , after each item"},
		{`Unexpected (string|number)`, `[\w"'\])}][ \t]+(?P<at>["'\d])`, "a comma, a : or an operator is missing before this", "write , after each item"},
		{`Unterminated template|^Unexpected end of (?:input|file) in $`, `.?`, "the file ends in a template", "end it with a backquote, and each ${ with }"},
		{`Unexpected end of|Unexpected "export"|(?:token|found) "?;"? in (?:[(\[]|.!)`, `.?`, host.NotClosed, ""},
		{`(?:token|found|Unexpected) "?(?:\)"? in [\[{]|\]"? in [({]|\}"? in [(\[])`, `.?`, host.NotClosed, ""},
		{`token [\])}] in $|Unexpected "[\])}]" in $`, `[\])}]`, "this bracket closes nothing", "remove it"},
		{`token ;|found ";"`, `;`, "a ; cannot be between brackets", "write a comma, or close the bracket before it"},
		{`ILLEGAL|Unterminated string`, `(?P<at>["'])_*$`, "this string does not end", "end it with the quote that begins it; a template in backquotes may have several lines"},
		{`already been declared`, `.`, "", "choose another name, or assign without const, let and var"},
		{`Missing initializer`, `.`, "", "write = and a value, or let"},
		{`Illegal return`, `.`, "", "return is only possible in a function"},
		{``, `\{\{.*`, "{{ is of a template, and the script is not one", "read values from the request"},
		{`token [})\];]|Unexpected "[})\];]"`, `[:=,(\[+*/<>|&?%-]\s*(?P<at>[}\]);])`, "a value is missing before this", "write a value, or remove what is before it"},
		{`^Unexpected (token|identifier|string|number)|^Expected`, `.?`, "", "is an operator, a quote, a bracket or a comma missing before this?"},
	})
})
