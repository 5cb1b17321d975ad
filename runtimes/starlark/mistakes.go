package starlark

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// explain makes an error of the compiler one that helps people who think of Python or of another language.
func explain(e *engine.Error, text string) {
	if host.WrongLanguage(e, text, engine.Starlark) {
		return
	}
	if name, ok := strings.CutPrefix(e.Msg, "undefined: "); ok {
		name, _, _ := strings.Cut(name, " (did you mean ")
		e.Msg = "undefined: " + name
		e.Hint = cmp.Or(otherNames[name], inLibrary(name), ofRequest(name, e.Pos, text), asCode.DidYouMean(name, namesAt(e.Pos, text)), host.NoSuchName)
	}
	if hint := hintFor(e.Msg); hint != "" {
		e.Hint = hint
	}
	startOfToken(e, text)
	mistakes().Explain(e, text)
}

// inLibrary returns the hint for a name that the library defines, or "".
func inLibrary(name string) string {
	if library().Has(name) {
		return fmt.Sprintf("write load(%q, %q) at the top of the file", libraryFile, name)
	}
	return ""
}

// ofRequest returns the hint for a field of the request that is no parameter of the function at a place, or "".
func ofRequest(name string, at engine.Pos, text string) string {
	fields := []string{"parent", "children", "related", "object", "attachments"}
	tree, err := dialect.Parse(at.File, text, 0)
	if err != nil || !slices.Contains(fields, name) {
		return ""
	}
	var owner, hook string // the function at the place, and one that has the parameter
	var params []string
	for _, stmt := range tree.Stmts {
		def, ok := stmt.(*syntax.DefStmt)
		if !ok {
			continue
		}
		var names []string
		addParameters(def, func(param syntax.Expr) {
			if ident, ok := param.(*syntax.Ident); ok {
				names = append(names, ident.Name)
			}
		})
		if start, end := def.Span(); int(start.Line) <= at.Line && at.Line <= int(end.Line) {
			owner, params = def.Name.Name, names
		}
		if slices.Contains(hooks, def.Name.Name) && slices.Contains(names, name) {
			hook = def.Name.Name
		}
	}
	switch near := engine.Nearest(name, params); {
	case owner == "":
		return ""
	case !slices.Contains(hooks, owner) && hook != "":
		return fmt.Sprintf("%s is a parameter of %s: pass it to %s", name, hook, owner)
	case !slices.Contains(hooks, owner):
		return ""
	case near != "":
		return fmt.Sprintf("the parameter must be named %s, not %s", name, near)
	case name == "object" || name == "attachments":
		return fmt.Sprintf("write def %s(object, attachments): a DecoratorController has these in place of parent and children", owner)
	}
	return fmt.Sprintf("add the parameter %s to %s", name, owner)
}

// hooks are the functions that get the request.
var hooks = []string{"sync", "finalize", "customize"}

// asCode is naming without quotes around names: what is suggested is not a string.
var asCode = host.Names{Max: naming.Max, More: naming.More}

// otherNames are names of other languages, and what to write in Starlark.
var otherNames = map[string]string{
	"true": "write True", "false": "write False", "null": "write None", "nil": "write None", "undefined": "write None",
	"parseInt": "write int(text)", "parseFloat": "write float(text)", "String": "write str(x)", "Number": "write int(x) or float(x)",
	"Math": "write math, or max(a, b) and min(a, b)", "Object": "write x.items(), or list(x) for the keys", "Array": "write list(x), or type(x) == \"list\"",
	"Date": "the time is in the request: write a parameter now", "console": "write print(x)", "JSON": "write json.encode(x) or json.decode(text)",
	"isinstance": `write type(x) == "dict"`, "sum": "add in a loop: for x in list: total += x", "map": "write [f(x) for x in list]",
	"filter": "write [x for x in list if condition]", "format": `write "{}-pod".format(x)`, "round": "write math.round(x)", "pow": "write math.pow(x, y)",
	"require": `write load("file.star", "name")`, "std": "std is of Jsonnet: use len(x), json.encode(x) and the methods of strings and lists",
	"this": "a function has no this: use its parameters", "open": "a script reads no files: use values of the request",
	"end": "a block ends where the indentation ends: remove it", "datetime": "the time is in the request: write a parameter now, and time.parse_time(now)",
	"re":      "there are no regular expressions: write x.startswith(y), x.split(y) or x.replace(y, z)",
	"os":      "a script sees no environment: use values of the request, such as parent.spec",
	"logging": "write print(x): the text goes to the log", "logger": "write print(x): the text goes to the log", "log": "write print(x): the text goes to the log",
	"uuid": useRandom, "secrets": useRandom, "hashlib": `write load("metascript.star", "sha256") at the top of the file, and sha256(text)`,
	"copy": "write json.decode(json.encode(x))", "deepcopy": "write json.decode(json.encode(x))", "__name__": "remove it: the server calls the function sync",
	"hex": `write "%x" % n`, "oct": `write "%o" % n`, "divmod": "write (a // b, a % b)", "requests": "a script calls no servers: use a webhook, or customize for objects of the cluster",
	"urllib": "a script calls no servers: use a webhook, or customize for objects of the cluster", "iter": "write for x in list:", "next": "write list(x)[0]",
	"collections": "a dict keeps the order of its keys: write {}", "functools": "write a loop: for x in list:", "itertools": "write a loop: for x in list:",
	"Exception": "write fail(message)", "ValueError": "write fail(message)", "KeyError": "write fail(message)", "frozenset": "write set(x)",
	"sys": "a script sees no process: use values of the request",
}

const useRandom = `write load("metascript.star", "random") at the top of the file, and random.token(name, secret, key); what no other object has is parent.metadata.uid`

// namesAt returns the names that a position of a file can use, those of the innermost functions first.
func namesAt(at engine.Pos, text string) []string {
	tree, err := dialect.Parse(at.File, text, 0)
	if err != nil {
		return nil
	}
	var names []string
	add := func(target syntax.Expr) {
		for part := range targets(target) {
			if name, ok := part.(*syntax.Ident); ok {
				names = append(names, name.Name)
			}
		}
	}
	blocks := [][]syntax.Stmt{tree.Stmts}
	for len(blocks) > 0 {
		last := len(blocks) - 1
		block := blocks[last]
		blocks = blocks[:last]
		for _, stmt := range block {
			switch s := stmt.(type) {
			case *syntax.AssignStmt:
				add(s.LHS)
			case *syntax.LoadStmt:
				for _, name := range s.To {
					add(name)
				}
			case *syntax.ForStmt:
				add(s.Vars)
				blocks = append(blocks, s.Body)
			case *syntax.IfStmt:
				blocks = append(blocks, s.True, s.False)
			case *syntax.DefStmt:
				add(s.Name)
				if start, end := s.Span(); int(start.Line) <= at.Line && at.Line <= int(end.Line) {
					addParameters(s, add)
					blocks = append(blocks, s.Body)
				}
			}
		}
	}
	slices.Reverse(names)
	return slices.Concat(names, predeclared.Keys(), starlark.Universe.Keys())
}

// addParameters calls add for the name of each parameter.
func addParameters(def *syntax.DefStmt, add func(syntax.Expr)) {
	for _, param := range def.Params {
		switch p := param.(type) {
		case *syntax.BinaryExpr: // with a default
			param = p.X
		case *syntax.UnaryExpr: // *args
			param = p.X
		}
		if param != nil {
			add(param)
		}
	}
}

// afterToken matches the messages whose position is the end of a token, and not the beginning.
var afterToken = regexp.MustCompile(`^got (?:[a-z]+|\w+ literal|'.+'), want |does not associate`)

// lastToken matches the last token of a line.
var lastToken = regexp.MustCompile(`(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\w+|[^\w\s"']+)$`)

// maxToken is the maximum length of a token whose beginning is searched, in bytes.
const maxToken = 1 << 10

// startOfToken moves the position of an error from the end of a token to its beginning.
func startOfToken(e *engine.Error, text string) {
	if !afterToken.MatchString(e.Msg) || strings.HasSuffix(e.Msg, "want primary expression") || strings.HasPrefix(e.Msg, "got newline") {
		return
	}
	lines := host.NewLines(text)
	line := []rune(lines.Line(e.Pos.Line - 1))
	end := min(len(line), e.Pos.Col-1)
	before := string(line[max(0, end-maxToken):max(0, end)])
	if token := lastToken.FindString(before); token != "" {
		symbol, _, _ := strings.Cut(strings.TrimPrefix(e.Msg, "got '"), "'")
		if strings.HasPrefix(e.Msg, "got '") && strings.HasSuffix(token, symbol) {
			token = symbol // of ):, only :
		}
		e.Pos.Col -= len([]rune(token))
	}
}

// mistakes are explained after hints, in terms of the source around the error.
var mistakes = sync.OnceValue(func() *host.Mistakes {
	return host.NewMistakes([]string{"#"}, []host.Mistake{
		// Blocks.
		{``, `\bfor\s*(?P<at>\()\s*(?:const|let|var)\s+\w+`, "for has no parentheses", "write for x in list:"},
		{`got indent|unindent`, `^ +\S.*\n(?P<at>\t)[ \t]*\S?`, "this line is indented with a tab, and the line before with spaces", "indent every line with spaces"},
		{`got indent|unindent`, `^\t+\S.*\n(?P<at> )[ \t]*\S?`, "this line is indented with spaces, and the line before with a tab", "indent every line with spaces"},
		{`got indent`, `^\s*(?P<at>\S)?`, "this line is indented more than the line before it", "indent it like the line before: only a line after one that ends with : is indented more"},
		{`unindent`, `^\s*(?P<at>\S)`, "this line is indented like no block before it", "indent it like the other lines of its block"},
		{`want indent`, `(?P<at>\w+|\S)`, "a block must be indented", "indent the lines after :, or write pass if the block is empty"},
		{`want ':'`, `\b(then|do)\b`, "Starlark has no $1", "write : at the end of the line"},
		{`primary expression`, `\blambda[^:\n]*:\s*(?P<at>return)\b`, "lambda has one expression, and no return", "remove return, or write def"},
		{`^got newline, want ':'`, `[^\s#](?P<at>)[ \t]*(?:#.*)?\n`, "a : is missing at the end of this line", "write : at its end"},
		{``, `^\s*(?P<at>\.\.\.)\s*$`, "Starlark has no ...", "write pass for an empty block"},
		{``, `\belse\s+if\b`, "Starlark has no else if", "write elif"},
		{``, `\b(elsif|elseif)\b.*`, "Starlark has no $1", "write elif"},
		{`^got '\{'`, `(?:\)|\belse)\s*(?P<at>\{)`, "a block does not begin with {", "write : in place of {, indent the block, and write no }"},
		{``, `\{\{.*`, "{{ is of a template, and the script is not one", "read values from the request"},

		// Statements and expressions that Starlark does not have.
		{``, `\b(function|func|fn)\s+(\w+)`, "Starlark has no $1", "write def $2(parent, children):"},
		{``, `\b(function)\s*\(`, "Starlark has no $1", "write lambda x: …, or def"},
		{``, `\b(const|let|var|local)\s+(\w+)`, "Starlark has no $1", "write $2 = … without $1"},
		{`^got (import|from)`, `(?P<at>import|from)\b`, "Starlark has no $1", `write load("file.star", "name") for a file of the script; json, math and time need none`},
		{``, `^\s*(?P<at>class)\b.*`, "Starlark has no class", "write a function that returns a dict"},
		{``, `^\s*(?P<at>try|except|finally)\b`, "Starlark has no $1", "test before the operation: if key in x, or x.get(key); there are no exceptions to catch"},
		{``, `\b(raise|throw)\b.*`, "Starlark has no $1", "write fail(message)"},
		{``, `^\s*(?P<at>with)\b`, "Starlark has no with", "a script opens nothing: use values of the request"},
		{``, `\b(async|await)\b(?:\s+\w+)?`, "Starlark has no $1", "remove the word: every call returns its result"},
		{``, `\b(yield)\b`, "Starlark has no yield", "append to a list, and return it"},
		{``, `\b(global|nonlocal)\b`, "Starlark has no $1", "return the value: a function cannot assign to names outside of it"},
		{``, `^\s*(?P<at>assert)\b.*`, "Starlark has no assert", "write if not condition: fail(message)"},
		{``, `^\s*(?P<at>del)\b`, "Starlark has no del", "write x.pop(key)"},
		{``, `^\s*(?P<at>(switch|match|case))\s+\S+.*`, "Starlark has no $2", "write if and elif"},
		{``, `\b(print)\s+["'\w]+`, "print is a function", "write print(…)"},
		{``, `\b(new)\s+\w+`, "Starlark has no new", "call the function, or write a dict"},
		{``, `\b(typeof)\s+\w+`, "Starlark has no typeof", "write type(x)"},
		{``, `(?:\bif\b.*?)?\b(?P<at>is)\s+not\b`, "Starlark has no is not", "write != in its place"},
		{``, `(?:\bif\b.*?)?\b(?P<at>is)\s`, "Starlark has no is", "write == in its place"},
		{``, `:=`, "Starlark has no :=", "write = in a line of its own"},
		{`^got ':'`, `(?:\bdef\s.*?|^\s*\w+\s*)(?P<at>:)[ \t]*[\w"']`, "Starlark has no types", "remove the : and the type"},
		{``, `\)\s*(?P<at>->)`, "Starlark has no types", "remove -> and the type"},
		{`^got for`, `(for)\b`, "for is only possible directly in [ ] or { }", "write a list: any([x for x in list]), or close the bracket before for"},
		{`does not associate`, `[<>=!]=?|\b(?:in|not in)\b`, "comparisons cannot be chained", "write a < b and b < c"},
		{``, `@\w+`, "Starlark has no decorators", "call the function where you need it"},

		// Operators.
		{``, `&&`, "Starlark has no &&", "write and"},
		{``, `\|\|`, "Starlark has no ||", "write or"},
		{``, `===`, "Starlark has no ===", "write =="},
		{``, `!==`, "Starlark has no !==", "write !="},
		{`'!'`, `!`, "Starlark has no !", "write not"},
		{`primary expression`, `(?:\[|\{|,)\s*(?P<at>\.\.\.|\*\*?)\s*\w*`, "a list or dict cannot be unpacked here", "join lists with +, and dicts with |"},
		{``, `[\w)\]]\s*(?P<at>\*\*)`, "Starlark has no **", "write x * x, or math.pow(x, y)"},
		{``, `=>`, "Starlark has no =>", "write lambda x: …, or def"},
		{``, `(?P<at>\+\+)\s*`, "Starlark has no ++", "write x += 1"},
		{``, `\w(?P<at>--)\s*`, "Starlark has no --", "write x -= 1"},
		{``, `\?\?`, "Starlark has no ??", "write x if x != None else y, or x.get(key, y)"},
		{``, `\?\.`, "Starlark has no ?.", `write x.get("key", {})`},
		{`'\?'`, `\?`, "Starlark has no ?", "write a if condition else b"},
		{`'@'`, `@`, "Starlark has no @", "write a function for it"},

		// Text, keys and punctuation.
		{``, `^\s*(?P<at>/\*)`, "a comment does not begin with /*", "write # before each line of it"},
		{`^undefined`, `//.*`, "", "is it a comment? // divides: write #"},
		{``, `(?P<at>//).*`, "a comment does not begin with //", "write #"},
		{``, "`", "Starlark has no templates in `", `write "x-%s" % y`},
		{``, `\b[fF]["']`, "Starlark has no f-strings", `write "x-%s" % y, or "x-{}".format(y)`},
		{``, `[“”‘’]`, "this is not a quote of code", `write " or '`},
		{`want ('[}\])]'|',')`, `[^\s,](?P<at>)[ \t]*\n\s*(?:"_*"|'_*')(?:\s*:)`, "a comma is missing at the end of this line", "write , after each item"},
		{`^got string literal, want ('[}\])]'|',')`, `(?s)^\s*(?:""".*?"""|'''.*?''')[ \t]*(?:#[^\n]*)?(?:\n|$)`, host.NotClosed, ""}, // a comment after def f(
		{`got string literal`, `["'](\s*)(?P<at>["'])`, "strings side by side are not joined", "write +, a comma or : between them"},
		{`^got ':', want ('[}\])]'|',')`, `(?P<at>:)[ \t]*(?:#.*)?$`, host.NotClosed, ""},
		{`^got identifier, want ('[}\])]'|',')`, `^\s*(?P<at>\w+)`, "a comma or a closing bracket is missing before this line", "write , after each item, and close each (, [ and {"},
		{`^got (string literal|int literal|float literal|identifier), want ('[}\])]'|',')`, `[\w"'\])}]\s+(?P<at>["']|\w+)`, "a comma is missing before this", "write , after each item"},
		{`^got (string literal|int literal|float literal|identifier), want ('[}\])]'|',')`, `[\w\])}](?P<at>["'])`, "an operator, a bracket or a comma is missing before this", "write , after each item"},
		{`^got (?:[a-z]+|end of file), want ('[}\])]'|',')`, `.?`, host.NotClosed, ""},
		{`^got (?:'}',.* in [(\[]|'\]',.* in [({]|'\)',.* in [\[{])`, `.?`, host.NotClosed, ""},
		{`^got (?:outdent|indent|newline|end of file), want primary expression in [(\[{]`, `.?`, host.NotClosed, ""},
		{`^got '=', want ':'`, `\b(?:if|elif)\b.*?[^=!<>](?P<at>=)`, "= assigns, and is not a comparison", "write =="},
		{`^got '=', want ':'`, `=`, "a key and its value are not separated by =", "write : between them"},
		{`^got ',', want ':'`, `,`, "an item of a dict has a key and a value", "write key: value, or set([…]) for a set"},
		{`^got ';'`, `;`, "a ; cannot be between brackets", "remove it"},
		{`^undefined: \w+`, `[{,]\s*(\w+)\s*:`, "", `a key is a string: write "$1"`},
		{`^unexpected '`, `.`, "", "it closes nothing: remove it"},
		{`newline in string|unexpected EOF in string`, `.`, "", "end the string with the quote that begins it; \"\"\" begins one of several lines"},
		{`required parameter may not follow`, `.`, "", "write the parameters with a default last"},
		{`load statement within`, `.`, "", "write load at the top of the file"},
		{`not in a loop|not within a function`, `.`, "", "indent it, or remove it"},
		{`want primary expression`, `[:=,(\[+*/<>|&%-]\s*(?P<at>[}\])]|$)`, "a value is missing before this", "write a value, or remove what is before it"},
		{`^got`, `.?`, "", "is an operator, a quote, a bracket or a comma missing before this?"},
	})
})
