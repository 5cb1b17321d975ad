package javascript

import (
	"strings"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-sourcemap/sourcemap"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// esbuild converts TypeScript to JavaScript: it removes the types without checking them, converts enums and the like, and converts
// import and export to require and exports.
//
// Its parser and its later steps have no limits: for some texts of a few hundred bytes they need years, or all memory. No check of
// the text before can exclude these. So TypeScript that is not trusted is only compiled in worker processes, which can be killed;
// see build.Sandbox.

// A translation says where the JavaScript made of a file comes from.
type translation struct {
	original string
	lines    *host.Lines         // of original
	places   *sourcemap.Consumer // nil if there is no code
}

// unsupported is the syntax of newer versions of ECMAScript that goja does not have: esbuild converts it to older syntax.
var unsupported = map[string]bool{
	"async-generator": false, "for-await": false, "using": false, "decorators": false, "import-attributes": false,
}

// translate converts the text of a file in TypeScript to JavaScript.
func (m *module) translate(name string) error {
	if err := m.measureText(name); err != nil {
		return err
	}
	made := api.Transform(m.src, api.TransformOptions{
		Loader: api.LoaderTS, Format: api.FormatCommonJS, Target: api.ESNext, Supported: unsupported, TreeShaking: api.TreeShakingFalse,
		Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude, Sourcefile: name,
		TsconfigRaw: `{"compilerOptions": {"verbatimModuleSyntax": false}}`,
		LogLevel:    api.LogLevelSilent, LogLimit: 1,
	})
	if len(made.Errors) > 0 {
		m.from = &translation{original: m.src}
		e := untranslatable(name, made.Errors[0])
		m.explain(e)
		return e
	}
	places, err := sourcemap.Parse("", made.Map)
	if err != nil {
		places = nil // there is no code: only types and comments
	}
	m.from = &translation{original: m.src, lines: host.NewLines(m.src), places: places}
	m.src = string(made.Code)
	return nil
}

// untranslatable returns the error for a file that esbuild does not parse.
func untranslatable(name string, msg api.Message) *engine.Error {
	e := &engine.Error{Kind: engine.KindSyntax, Pos: engine.Pos{File: name}, Msg: engine.Clip(msg.Text, maxText)}
	if at := msg.Location; at != nil {
		before := at.LineText[:min(max(0, at.Column), len(at.LineText))]
		e.Pos.Line, e.Pos.Col = at.Line, utf8.RuneCountInString(before)+1
		if at.Suggestion != "" && !strings.HasPrefix(msg.Text, "Expected ") { // it would only repeat what was expected
			e.Hint = "did you mean " + engine.Clip(at.Suggestion, naming.Max) + "?"
		}
	}
	return e
}

// adds reports whether esbuild has added a name to a file: that of a helper function.
func (t *translation) adds(name string) bool {
	return t != nil && strings.HasPrefix(name, "__") && !strings.Contains(t.original, name)
}

// pos converts a place in the JavaScript, which is a line, counted from 0, and the text before it in that line, to a position in the
// original text.
func (t *translation) pos(name string, line int, before string) engine.Pos {
	if t.places == nil {
		return engine.Pos{File: name}
	}
	_, _, line, column, ok := t.places.Source(line+1, units(before))
	if !ok || line < 1 {
		return engine.Pos{File: name}
	}
	text := strings.TrimRight(t.lines.Line(line-1), "\r\n")
	return engine.Pos{File: name, Line: line, Col: characters(text, column) + 1}
}

// units returns the length of a text in UTF-16.
func units(text string) (n int) {
	for _, r := range text {
		if n++; r > 0xffff {
			n++
		}
	}
	return n
}

// characters returns how many characters of a text its first units are.
func characters(text string, units int) (n int) {
	for _, r := range text {
		if units <= 0 {
			break
		}
		if units--; r > 0xffff {
			units--
		}
		n++
	}
	return n
}
