package scripts

import (
	"regexp"
	"strings"

	"metascript/engine"
)

// A mention is the name of a file, perhaps, in a text.
type mention struct {
	name   string
	direct bool // as what load, require or import is given
}

// loaders are the words that load a file.
var loaders = map[string]*regexp.Regexp{
	engine.Starlark:   regexp.MustCompile(`\bload\b`),
	engine.JavaScript: regexp.MustCompile(`\brequire\b`),
	engine.Jsonnet:    regexp.MustCompile(`\bimport(?:str|bin)?\b`),
}

var (
	gap   = regexp.MustCompile(`^(?:\s+|//[^\n]*|#[^\n]*|/\*(?s:.*?)\*/)+`)
	prose = regexp.MustCompile(`^[ \t]+\w`) // "we require that"
)

// maxMention bounds the name of a file with its folders.
const maxMention = 1024

// mentions lists what a text may load, and more: any literal that looks like the name of a file. It reports everything when the
// text may load what it does not mention: a name with an escape in it, or one that is only known at run time.
//
// It knows no grammar, and needs none to miss nothing: a literal without escapes is what stands between two quotes
// with no such quote between them. Names in comments are mentioned too, and only cause a file too many.
func mentions(language, text string) (found []mention, everything bool) {
	for _, at := range loaders[language].FindAllStringIndex(text, -1) {
		name, ok := argument(language, text[at[1]:])
		switch {
		case ok:
			found = append(found, mention{name, true})
		case language == engine.JavaScript && !prose.MatchString(text[at[1]:]):
			everything = true
		case name != "":
			everything = true
		}
	}
	for _, quote := range []string{`"`, `'`, "`"} {
		parts := strings.Split(text, quote)
		for i := 1; i < len(parts)-1; i++ {
			if name := parts[i]; len(name) <= maxMention && strings.ContainsAny(name, "./") && !strings.ContainsAny(name, "\n\\") {
				found = append(found, mention{name, false})
			}
		}
	}
	return found, everything
}

// maxArgument bounds how far behind a loading word its argument is looked for.
const maxArgument = 4 << 10

func skipGap(text string) string { return text[len(gap.FindString(text)):] }

// argument is the literal that follows a loading word. Without ok, a name says that there is one and it is not plain.
func argument(language, text string) (name string, ok bool) {
	text = skipGap(text[:min(len(text), maxArgument)])
	if language != engine.Jsonnet {
		if text, ok = strings.CutPrefix(text, "("); !ok {
			return "", false
		}
		text = skipGap(text)
	}
	text = strings.TrimLeft(text, "r@") // raw and verbatim strings
	if text == "" || !strings.Contains("\"'`", text[:1]) {
		return "", false
	}
	quote := text[:1]
	name, after, closed := strings.Cut(text[1:], quote)
	if !closed || name == "" || strings.ContainsAny(name, "\n\\") || strings.Contains(name, "${") || strings.HasPrefix(after, quote) {
		return "an odd one", false
	}
	after = skipGap(after)
	if language == engine.JavaScript && !strings.HasPrefix(after, ")") && !strings.HasPrefix(after, ",") {
		return "an odd one", false // 'a' + b
	}
	return name, true
}
