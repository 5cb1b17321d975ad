package scripts

import (
	"regexp"
	"slices"
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
	blankOrComment = regexp.MustCompile(`^(?:\s+|//[^\n]*|#[^\n]*|/\*(?s:.*?)\*/)+`)
	inSentence     = regexp.MustCompile(`^[ \t]+\w`) // "we require that"
)

const (
	maxMention  = 1024     // bytes of the name of a file with its folders
	maxMentions = maxFiles // in one text, of either kind
	maxArgument = 256      // bytes behind a loading word in which its argument is looked for
)

// mentions lists what a text may load, and more: any literal that looks like the name of a file. It reports everything
// when the text may load what it does not mention: a name with an escape in it, or one that is only known at run time.
//
// It knows no grammar, and needs none to miss nothing: a literal without escapes is what stands between two quotes
// with no such quote between them. Names in comments are mentioned too, and only cause a file too many.
func mentions(language, text string) (found []mention, everything bool) {
	loaded, everything := loadedLiterals(language, text)
	for name := range loaded {
		found = append(found, mention{name, true})
	}
	for name := range literals(text) {
		if !loaded[name] {
			found = append(found, mention{name, false})
		}
	}
	slices.SortFunc(found, func(a, b mention) int { return strings.Compare(a.name, b.name) })
	return found, everything
}

// literals are what stands between quotes and looks like the name of a file; the first of them when there are many.
func literals(text string) map[string]bool {
	found := map[string]bool{}
	for _, quote := range []string{`"`, `'`, "`"} {
		_, rest, _ := strings.Cut(text, quote)
		for rest != "" && len(found) < maxMentions {
			var name string
			name, rest, _ = strings.Cut(rest, quote)
			if len(name) <= maxMention && strings.ContainsAny(name, "./") && !strings.ContainsAny(name, "\n\\()'`\"") {
				found[name] = true
			}
		}
	}
	return found
}

// loadedLiterals are the literals that follow loading words. It reports everything when one is followed by something else.
func loadedLiterals(language, text string) (found map[string]bool, everything bool) {
	found = map[string]bool{}
	word := loaders[language]
	for !everything {
		at := word.FindStringIndex(text)
		if at == nil {
			break
		}
		behind := text[at[1]:min(len(text), at[1]+maxArgument)]
		text = text[at[1]:]
		switch name, is := firstLiteral(language, behind); is {
		case plainName:
			found[name] = true
		case oddName:
			everything = true
		case noName: // only JavaScript's word is an ordinary value
			everything = language == engine.JavaScript && !inSentence.MatchString(behind)
		}
		everything = everything || len(found) > maxMentions
	}
	return found, everything
}

// What follows a loading word.
const (
	noName    = iota
	plainName // a literal that is the name, as it is written
	oddName   // a literal, and the name is another
)

// firstLiteral is the literal that text, which follows a loading word, begins with.
func firstLiteral(language, text string) (name string, is int) {
	text = skipBlank(text)
	if language != engine.Jsonnet {
		opened := false
		if text, opened = strings.CutPrefix(text, "("); !opened {
			return "", noName
		}
		text = skipBlank(text)
	}
	text = strings.TrimLeft(text, "r@") // raw and verbatim strings
	if strings.HasPrefix(text, "/*") {
		return "", oddName // behind a long comment
	}
	if text == "" || !strings.Contains("\"'`", text[:1]) {
		return "", noName
	}
	quote := text[:1]
	name, after, closed := strings.Cut(text[1:], quote)
	if !closed || name == "" || strings.ContainsAny(name, "\n\\") || strings.Contains(name, "${") || strings.HasPrefix(after, quote) {
		return "", oddName
	}
	after = skipBlank(after)
	if language == engine.JavaScript && !strings.HasPrefix(after, ")") && !strings.HasPrefix(after, ",") {
		return "", oddName // 'a' + b
	}
	return name, plainName
}

func skipBlank(text string) string { return text[len(blankOrComment.FindString(text)):] }
