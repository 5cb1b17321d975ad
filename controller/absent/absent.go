// Package absent finds texts that a script made of a value that does not exist, such as the name web-undefined.
//
// In most languages, a missing value that is put into a text does not fail: `web-${parent.spec.nme}` is "web-undefined". The API
// server accepts such a name. So the names, labels and annotations in an answer are searched for the words that the language writes
// in place of such a value. A word is suspicious only if it is not in the request, and not in a string of the script.
package absent

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"metascript/engine"
	"metascript/engine/tree"
)

// A word is a text that a language writes in place of a value.
type word struct {
	text  string
	value string // what the value is
	part  bool   // it is also found within a longer word, and everywhere in an annotation
}

var wordsOfJavaScript = []word{
	{"undefined", "undefined", true},
	{"[object Object]", "an object", true},
	{"NaN", "not a number", false},
	{"null", "null", false},
}

// words are the words of each language.
var words = map[string][]word{
	engine.JavaScript: wordsOfJavaScript, engine.TypeScript: wordsOfJavaScript,
	engine.Starlark: {{"None", "None", false}},
	engine.Jsonnet:  {{"null", "null", false}},
}

// A Search searches the answer of one call, by one goroutine. Its zero value finds nothing. Whether a word is suspicious is decided once, so
// that an answer in which many texts have it costs no more than one in which one text has it.
type Search struct {
	Language string
	Request  map[string]any         // its strings are not suspicious
	Quotes   func(text string) bool // reports whether a string in the script has the text; may be nil

	decided map[string]bool // by the text of a word: whether it is suspicious
	request *requestWords   // nil: the request was not searched yet
}

// A Text is a text in an answer that was made of a value that does not exist.
type Text struct {
	At    []any  // its path, of keys
	Text  string // what the answer has
	Word  string // the word in it
	Value string // what the word was made of
	Key   bool   // it is the key at the end of the path, not a value
}

// Certain reports whether the language converts missing values without being told to, so that a text that is found is almost
// certainly a mistake. In the others, the script calls a function for it, or uses a format.
func (s *Search) Certain() bool {
	return s.Language == engine.JavaScript || s.Language == engine.TypeScript
}

// String says what is wrong with the text.
func (t *Text) String() string {
	path := ""
	for i, key := range t.At {
		switch name := key.(string); {
		case i == 0:
			path = name
		case strings.Trim(name, letters) == "":
			path += "." + name
		default:
			path += "[" + strconv.Quote(name) + "]"
		}
	}
	if t.Key {
		path = "the key " + path
	} else {
		path += " is " + strconv.Quote(engine.Clip(t.Text, 200))
	}
	return fmt.Sprintf("%s, and %q is neither in the request nor in the script: a value that is %s was put into the text", path, t.Word, t.Value)
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// Hint says what to do.
func (t *Text) Hint() string {
	if t.Value == "an object" {
		return "use one of its fields, or JSON.stringify"
	}
	return "is the field spelled correctly? test the value first, or use another one in its place"
}

// identity are the fields of an object that identify it.
var identity = [][]string{{"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "generateName"}, {"metadata", "namespace"}}

// Object searches the fields of an object that identify it, and its labels and annotations. It returns the first text, or nil.
func (s *Search) Object(o map[string]any) *Text {
	if len(words[s.Language]) == 0 {
		return nil
	}
	metadata, _ := o["metadata"].(map[string]any)
	for _, path := range identity {
		in := o
		if len(path) > 1 {
			in = metadata
		}
		text, _ := in[path[len(path)-1]].(string)
		if found := s.text(text, false); found != nil {
			for _, key := range path {
				found.At = append(found.At, key)
			}
			return found
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		m, _ := metadata[field].(map[string]any)
		if found := s.Strings(m, field == "annotations"); found != nil {
			found.At = append([]any{"metadata", field}, found.At...)
			return found
		}
	}
	return nil
}

// Strings searches the keys and values of labels or annotations. It returns the first text, or nil.
func (s *Search) Strings(m map[string]any, annotations bool) *Text {
	if len(words[s.Language]) == 0 {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if found := s.text(key, false); found != nil {
			found.At, found.Key = []any{key}, true
			return found
		}
		value, _ := m[key].(string)
		if found := s.text(value, annotations); found != nil {
			found.At = []any{key}
			return found
		}
	}
	return nil
}

// text searches one text. An annotation may be any text, for example JSON, so a word that is common there must be all of it.
func (s *Search) text(text string, annotation bool) *Text {
	for _, w := range words[s.Language] {
		switch {
		case annotation && !w.part && text != w.text, !w.in(text), !s.suspicious(w):
			continue
		}
		return &Text{Text: text, Word: w.text, Value: w.value}
	}
	return nil
}

// in reports whether text contains the word, with no letter or digit beside it unless w.part is set.
func (w word) in(text string) bool {
	for rest := text; ; {
		before, after, found := strings.Cut(rest, w.text)
		if !found {
			return false
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		first, _ := utf8.DecodeRuneInString(after)
		if w.part || !alphanumeric(last) && !alphanumeric(first) {
			return true
		}
		rest = after
	}
}

func alphanumeric(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// suspicious reports whether a word is neither in the request nor in a string of the script.
func (s *Search) suspicious(w word) bool {
	if suspicious, known := s.decided[w.text]; known {
		return suspicious
	}
	suspicious := (s.Quotes == nil || !s.Quotes(w.text)) && !s.inRequest(w.text)
	if s.decided == nil {
		s.decided = map[string]bool{}
	}
	s.decided[w.text] = suspicious
	return suspicious
}

// inRequest reports whether the request has a word, or may have it.
func (s *Search) inRequest(text string) bool {
	if s.request == nil {
		s.request = &requestWords{left: maxSearched, words: words[s.Language], found: map[string]bool{}}
		s.request.search(s.Request)
	}
	return s.request.found[text] || s.request.left <= 0
}

// maxSearched is how much of a request is searched: each value counts one, and so do each bytesOfValue bytes of a text. A word may be in
// the rest, so that it is not suspicious then: to search all of a large request would take longer than most scripts.
const (
	maxSearched  = 200_000
	bytesOfValue = 256
)

// A requestWords finds the words of a language in a request, all of them at the same time.
type requestWords struct {
	words []word
	found map[string]bool
	left  int // how much may still be searched
}

// search searches the keys and the strings in v.
func (r *requestWords) search(v any) {
	r.left--
	if text, ok := v.(string); ok {
		r.searchText(text)
		return
	}
	if m, ok := tree.MapOf(v); ok {
		for key, value := range m.All() {
			if r.left <= 0 {
				return
			}
			r.searchText(key)
			r.search(value)
		}
	}
	if a, ok := tree.ArrayOf(v); ok {
		for i := range a.Len() {
			if r.left <= 0 {
				return
			}
			r.search(a.Index(i))
		}
	}
}

func (r *requestWords) searchText(text string) {
	r.left -= len(text) / bytesOfValue
	for _, w := range r.words {
		if !r.found[w.text] && strings.Contains(text, w.text) {
			r.found[w.text] = true
		}
	}
}
