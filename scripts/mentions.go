package scripts

import (
	"regexp"
	"slices"
	"strings"

	"metascript/engine"
)

// A mention is a literal in a text that may be the name of a file.
type mention struct {
	name   string
	direct bool // it is the argument of load, require or import
}

// loaders match the keywords that load a file, by language.
var loaders = map[string]*regexp.Regexp{
	engine.Starlark:   regexp.MustCompile(`\bload\b`),
	engine.JavaScript: regexp.MustCompile(`\brequire\b`),
	engine.TypeScript: regexp.MustCompile(`\b(?:require|import|from)\b`),
	engine.Jsonnet:    regexp.MustCompile(`\bimport(?:str|bin)?\b`),
}

var (
	blankOrComment = regexp.MustCompile(`^(?:\s+|//[^\n]*|#[^\n]*|/\*(?s:.*?)\*/)+`)
	inSentence     = regexp.MustCompile(`^[ \t]+\w`) // a word follows the keyword, as in a comment: "we require that"
)

const (
	maxMention  = 1024     // bytes of the name of a file with its folders
	maxMentions = maxFiles // in one text, of each kind
	maxArgument = 256      // bytes after a keyword in which its argument is searched
)

// mentions lists the files that a text may load, and more: every literal that looks like the name of a file. everything is
// true if the text may load files that it does not mention, because a name has an escape or is only known at run time.
//
// It does not parse the text. A literal without escapes is the text between two quotes with no such quote between them, so
// that no literal is missed. Names in comments are found too, which only adds files that are not needed.
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

// literals returns the texts between quotes that look like names of files, at most maxMentions of them.
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

// loadedLiterals returns the literals that are arguments of the keywords. everything is true if some keyword has another
// argument.
func loadedLiterals(language, text string) (found map[string]bool, everything bool) {
	found = map[string]bool{}
	keyword := loaders[language]
	for !everything {
		match := keyword.FindStringIndex(text)
		if match == nil {
			break
		}
		word, rest := text[match[0]:match[1]], text[match[1]:min(len(text), match[1]+maxArgument)]
		text = text[match[1]:]
		switch name, kind := firstLiteral(language, rest); kind {
		case isName:
			found[name] = true
		case unknownName:
			everything = true
		case noName: // in JavaScript, require is also an ordinary value
			everything = word == "require" && !inSentence.MatchString(rest)
		}
		everything = everything || len(found) > maxMentions
	}
	return found, everything
}

// What follows a keyword.
const (
	noName      = iota // no literal
	isName             // a literal that is the name
	unknownName        // a literal or expression from which the name cannot be read
)

// firstLiteral returns the literal at the beginning of text, which follows a keyword. kind is one of the constants above.
func firstLiteral(language, text string) (name string, kind int) {
	text = skipBlank(text)
	text, opened := strings.CutPrefix(text, "(")
	if text = skipBlank(text); !opened && language != engine.Jsonnet && language != engine.TypeScript {
		return "", noName
	}
	text = strings.TrimLeft(text, "r@") // raw and verbatim strings
	if strings.HasPrefix(text, "/*") {
		return "", unknownName // after a long comment
	}
	if text == "" || !strings.Contains("\"'`", text[:1]) {
		return "", noName
	}
	quote := text[:1]
	name, after, closed := strings.Cut(text[1:], quote)
	if !closed || name == "" || strings.ContainsAny(name, "\n\\") || strings.Contains(name, "${") || strings.HasPrefix(after, quote) {
		return "", unknownName
	}
	after = skipBlank(after)
	if opened && loaders[language].MatchString("require") && !strings.HasPrefix(after, ")") && !strings.HasPrefix(after, ",") {
		return "", unknownName // 'a' + b
	}
	return name, isName
}

// skipBlank removes white space and comments from the beginning of text.
func skipBlank(text string) string { return text[len(blankOrComment.FindString(text)):] }
