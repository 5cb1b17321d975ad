package engine

import (
	"regexp"
	"strings"
)

// The hints about quotes, which are for literals.
const (
	quote   = "put it in quotes"
	unquote = "leave out the quotes"
)

// computed matches the beginning of an expression, and literal a whole value.
var (
	computed = regexp.MustCompile(`^["'\w$]`)
	literal  = regexp.MustCompile(`^(?:"[^"]*"|'[^']*'|[-+]?\d[\w.]*|[Tt]rue|[Ff]alse)\s*(?:[,}\])#;]|//|$)`)
)

// conversions are, by language, the functions that make a string and a number of a value.
var conversions = map[string][2]string{
	Starlark:   {"str(x)", "int(x)"},
	JavaScript: {"String(x)", "Number(x)"},
	TypeScript: {"String(x)", "Number(x)"},
	Jsonnet:    {"std.toString(x)", "std.parseInt(x)"},
}

// convert replaces a hint about quotes in an error about a value that the script computes: it has no quotes there.
func (e *Error) convert(language string) {
	line := []rune(e.Source)
	to, known := conversions[language]
	if !known || e.Pos.Col < 1 || e.Pos.Col > len(line) {
		return
	}
	from := string(line[e.Pos.Col-1:])
	if !computed.MatchString(from) || literal.MatchString(from) {
		return
	}
	msg, inText := strings.CutSuffix(e.Msg, ": "+quote)
	switch {
	case inText || e.Hint == quote:
		e.Msg, e.Hint = msg, "write "+to[0]
	case e.Hint == unquote && !strings.Contains(e.Msg, "want a boolean"):
		e.Hint = "write " + to[1]
	}
}
