package host

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Clock finds out whether a file may read the time, by the names and the texts of strings in its code; see [engine.Timed]. Comments do not count.
// A word in a text counts if the text may be used as a name, a path or a format, such as "now" and "%(now)s", and not if it is a word
// of a sentence, such as "not ready now".
type Clock struct {
	words         []string
	reads         bool
	spoken, split bool // a sentence has one of the words; the code may take a text apart
}

// NewClock returns a Clock. A script has to write one of the words to read the time.
func NewClock(words ...string) *Clock { return &Clock{words: words} }

// Name adds the name of a variable, a member or anything else.
func (c *Clock) Name(name string) {
	c.reads = c.reads || slices.Contains(c.words, name)
	c.split = c.split || strings.Contains(name, "split") || strings.Contains(name, "match")
}

// Text adds the text of a string.
func (c *Clock) Text(text string) {
	for _, word := range c.words {
		for at := 0; ; {
			i := strings.Index(text[at:], word)
			if i < 0 {
				break
			}
			before, after := text[:at+i], text[at+i+len(word):]
			switch at += i + len(word); {
			case inWord(before, utf8.DecodeLastRuneInString) || inWord(after, utf8.DecodeRuneInString):
			case strings.TrimSpace(text) == word || !endsWithSpace(before) || !continues(after):
				c.reads = true
			default:
				c.spoken = true
			}
		}
	}
}

// MayRead reports whether the file may read the time.
func (c *Clock) MayRead() bool { return c.reads || c.spoken && c.split }

// inWord reports whether the rune beside a word, which decode returns, is a part of a longer one.
func inWord(text string, decode func(string) (rune, int)) bool {
	r, _ := decode(text)
	return text != "" && (r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r))
}

func endsWithSpace(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return text == "" || unicode.IsSpace(r)
}

// continues reports whether text is the rest of a sentence after a word: it is empty, or begins with a space or with a punctuation
// mark at the end of a part of the sentence.
func continues(text string) bool {
	text = strings.TrimLeft(text, ".,;:!?")
	r, _ := utf8.DecodeRuneInString(text)
	return text == "" || unicode.IsSpace(r)
}
