package jsonnet

import (
	"cmp"
	"regexp"
	"strings"
	"sync"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// explain makes an error of the parser one that helps people who think of another language.
func explain(e *engine.Error, text string) {
	if host.WrongLanguage(e, text, engine.Jsonnet) {
		return
	}
	if name, ok := strings.CutPrefix(e.Msg, "Unknown variable: "); ok {
		e.Hint = cmp.Or(otherNames[name], naming.DidYouMean(name, visible(e.Pos, text)), host.NoSuchName)
		return
	}
	mistakes().Explain(e, text)
}

// visible returns what may be names at a position of a file.
func visible(at engine.Pos, text string) []string {
	lines := host.NewLines(text)
	return append(mistakes().Visible(text, lines.Offset(at.Line, at.Col)), "std", "self", "super")
}

// words matches what may be a name in source text; maxWords of them are looked at for a hint.
var words = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

const maxWords = 1000

// otherNames are names of other languages, and what to write in Jsonnet.
var otherNames = map[string]string{
	"True": "write true", "False": "write false", "None": "write null", "nil": "write null", "undefined": "write null",
	"return": "remove it: the body of a function is the value that it returns",
	"len":    "write std.length(x)", "str": "write std.toString(x)", "range": "write std.range(0, n - 1)",
	"print": "write std.trace(text, value)", "fail": "write error message", "json": "write std.manifestJson(x) or std.parseJson(text)",
	"JSON": "write std.manifestJson(x) or std.parseJson(text)", "require": "write import 'file.libsonnet'",
	"load": "write import 'file.libsonnet'",
}

// mistakes are those that the parser reports.
var mistakes = sync.OnceValue(func() *host.Mistakes {
	return host.NewMistakes([]string{"//", "#"}, []host.Mistake{
		// Statements of other languages.
		{``, `\b(return)\b`, "Jsonnet has no return", "remove it: the body of a function is the value that it returns"},
		{``, `\b(const|let|var)\s+(\w+)`, "Jsonnet has no $1", "write local $2 = …;"},
		{``, `\b(?P<at>def|func|fn)\s+(\w+)`, "Jsonnet has no $1", "write local $2(x) = …;, or $2(x):: … as a field"},
		{`operator`, `\bfunction\s*\([^()]*\)\s*(?P<at>[=:])`, "the body of function follows its parameters", "write function(x) …, without $1"},
		{`operator =`, `\blocal\s+\w+\s*\([^()]*\)\s*(?P<at>[:{])`, "a local function needs = before its body", "write local f(x) = …;"},
		{`operator =`, `\blocal\s+(\w+)\s*(?P<at>==|:=?)`, "local needs = before its value", "write local $1 = …;"},
		{`operator =`, `\blocal\s+(\w+)\s+(?P<at>\S)`, "= is missing before this", "write local $1 = …;"},
		{``, `"""`, "Jsonnet has no \"\"\"", "write // before each line of a comment, and ||| for a text of several lines"},
		{`Expected \(`, `\b(?P<at>function)\s+(\w+)`, "a function has no name after the word function", "write local $2(x) = …;, or $2(x):: … as a field"},
		{``, `\bif\s*\(.*?\)\s*(?P<at>\{).*`, "then is missing after the condition", "write if condition then value else value"},
		{`token then`, `\bif\b[^{\n]*?\s(?P<at>\{).*`, "then is missing after the condition", "write if condition then value else value"},
		{`token then`, `.`, "then is missing before this", "write if condition then value else value"},
		{``, `\b(elif|elsif|elseif)\b`, "Jsonnet has no $1", "write else if condition then value"},
		{``, `\S\s+(?P<at>if)\b`, "if cannot follow a value", "write if condition then a else b"},
		{``, `\b(lambda)\s+\w+`, "Jsonnet has no lambda", "write function(x) …"},
		{``, `\b(throw|raise)\s+\S*`, "Jsonnet has no $1", "write error 'message'"},
		{`"for"`, `for\b`, "for is only possible after a value in [ ] or { }", "write [value for x in list]"},
		{``, `\[.*?\s(?P<at>of)\s.*`, "a comprehension has no of", "write [value for x in list]"},
		{``, `\b(new)\s+\w+`, "Jsonnet has no new", "write an object"},

		// Operators.
		{``, `\b(and)\b`, "Jsonnet has no and", "write &&"},
		{``, `\b(or)\b`, "Jsonnet has no or", "write ||"},
		{``, `\b(not)\s+\w`, "Jsonnet has no not", "write !"},
		{``, `\b(is)\b`, "Jsonnet has no is", "write =="},
		{``, `===`, "Jsonnet has no ===", "write =="},
		{``, `!==`, "Jsonnet has no !==", "write !="},
		{``, `(?:\([\w, ]*\)\s*)?(?P<at>=>)`, "Jsonnet has no =>", "write function(x) …"},
		{``, `(?:\+\+|--)\s*`, "Jsonnet has no ++ and --", "a variable cannot change: write local y = x + 1;"},
		{``, `[-+*/]=`, "Jsonnet assigns nothing", "a variable cannot change: write local y = x + 1;"},
		{``, `\{\s*(?P<at>\.\.\.)`, "Jsonnet has no ...", "write a + { … }"},
		{``, `\.\.\.`, "Jsonnet has no ...", "join arrays with +"},
		{`'\?'`, `\?\?`, "Jsonnet has no ??", "write std.get(object, 'field', default)"},
		{`'\?'`, `\?\.`, "Jsonnet has no ?.", "write std.get(object, 'field', {})"},
		{`'\?'`, `\?`, "Jsonnet has no ?", "write if condition then a else b"},
		{`operator: =`, `(?P<at>=)`, "= is not a comparison", "write =="},

		// Text, keys and punctuation.
		{``, "`", "Jsonnet has no templates in `", "write '%s-pod' % name"},
		{``, `\b[fF]["']`, "Jsonnet has no f-strings", "write '%s-pod' % name"},
		{``, `[“”‘’]|u201|u2019`, "this is not a quote of code", `write " or '`},
		{`got: =`, `=`, "a key and its value are not separated by =", "write : between them, or local before the name of a variable"},
		{`got: -|got "[./]"|OPERATOR`, `[{,\n]\s*(?P<at>[\w./-]+)\s*:`, "a key with other characters than letters, digits and _ needs quotes", "write '$1':"},
		{`field definition`, `(?P<at>\()(\w*)\)?`, "a computed key is not in parentheses", "write [$2]:"},
		{`Expected , or ;`, `^local\b.*[^\s;](?P<at>)[ \t]*\n.*\s*`, "a ; is missing at the end of this line", "write ; after each local"},
		{`Expected , or ;`, `.?`, "a ; is missing before this", "write ; after each local"},
		{`token IDENTIFIER but got "\}"`, `.`, "a ; is missing before this, after the last variable of local", "write ; after each local"},
		{`token IDENTIFIER`, `^\s*local\b.*(?P<at>,)[ \t]*\n\s*[{\[}].?`, "after the last variable of local is a ;, and not a comma", "write ;"},
		{`a comma before next field`, `^\s*local\b.*?(?P<at>;)`, "{ begins an object, and not a block: its fields and locals are separated by commas", "write a function with a variable as function(x) local y = x; y"},
		{`a comma before next field.* in .!$`, `;`, host.NotClosed, ""},
		{`a comma before next field`, `;`, "fields are separated by commas, and not by ;", "write ,"},
		{`a comma before next|end of file|END_OF_FILE`, `(?:[}\])]|.)?(?P<at>)\s*\z`, host.NotClosed, ""},
		{`a comma before next`, `[^\s,{\[(](?P<at>)[ \t]*\n\s*[\w"'\[]`, "a comma is missing at the end of this line", "write , after each item"},
		{`a comma before next .*`, `[}\])]`, host.NotClosed, ""},
		{`a comma before next`, `.?`, "a comma is missing before this", "write , after each item"},
		{`Did not expect: "[}\])]"`, `.`, "", "it closes nothing: remove it"},
		{`Did not expect`, `.`, "", "a file is one value: is an operator or a ; missing before it?"},
		{`Unterminated String`, `.`, "this string does not end", "end it, or a string before it, with the quote that begins it"},
		{`not terminated with \|\|\|`, `.`, "", "write ||| in a line of its own, indented less than the text"},
		{`Computed imports`, `.`, "", "write the file's name in quotes"},
		{`Duplicate field`, `.`, "", "remove one of them"},
		{`Duplicate local`, `.`, "", "choose another name"},
		{`self outside|No top-level object`, `.`, "", "self and $ are for the fields of an object: use a local, or the parameters"},
		{`Positional argument after`, `.`, "", "write its name too: f(x=1, y=2)"},
		{`escape sequence`, `.`, "", "write \\\\ for a backslash"},
		{`while parsing terminal`, `.?`, "a value is missing before this", "write a value, or remove what is before it"},
		{`^(Expected|Unexpected)`, `.?`, "", "is an operator, a quote, a bracket, a comma or a ; missing before this?"},
	})
})
