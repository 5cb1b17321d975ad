package engine

import "testing"

func TestHintsAboutQuotesAreForLiterals(t *testing.T) {
	const text, number = "want a string, got 80", `want an integer, got the string "1"`
	for _, test := range []struct{ language, source, msg, hint, wantMsg, wantHint string }{
		{Starlark, `str(n),`, number, unquote, number, "write int(x)"},
		{Starlark, `"1",`, number, unquote, number, unquote},
		{Starlark, `80}`, text, quote, text, quote},
		{Starlark, `{"a": f(x)}`, text, quote, text, quote},
		{JavaScript, `spec.port + 1}`, text, quote, text, "write String(x)"},
		{TypeScript, `80 + n`, text + ": " + quote, "", text, "write String(x)"},
		{Jsonnet, `'%d' % n,`, number, unquote, number, "write std.parseInt(x)"},
		{Jsonnet, `f(n)`, `want a boolean, got the string "true"`, unquote, `want a boolean, got the string "true"`, unquote},
		{Jsonnet, `f(n)`, "it is null", "", "it is null", ""},
		{"", `f(n)`, text, quote, text, quote},
	} {
		e := &Error{Pos: Pos{File: "f", Line: 1, Col: 1}, Source: test.source, Msg: test.msg, Hint: test.hint}
		e.convert(test.language)
		if e.Msg != test.wantMsg || e.Hint != test.wantHint {
			t.Errorf("%s %s: got %q, %q, want %q, %q", test.language, test.source, e.Msg, e.Hint, test.wantMsg, test.wantHint)
		}
	}
}
