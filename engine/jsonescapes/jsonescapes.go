// Package jsonescapes makes YAML of texts with the escapes that JSON has and the YAML package does not know: "\/", and pairs of surrogates
// such as "\ud83d\ude00", as Python writes them. By YAML 1.2, JSON is YAML.
//
// [Readable] returns a text that the YAML package reads with the right values, and [Masked] one in which everything is at the same
// line and column. [Lone] finds what neither can make. A surrogate without its other half stays as it is, and is an error of the YAML package.
package jsonescapes

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"go.yaml.in/yaml/v3"
)

// escape matches an escape of a string in double quotes.
var escape = regexp.MustCompile(`\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?s:.))`)

// Masked returns a text that is YAML if the text with the escapes of JSON is, and in which every other character is at the same place.
func Masked(text string) string {
	return replaced(text, func(found string) string {
		if found == `\/` {
			return `\_`
		}
		return `\ue000\ue000`
	})
}

// Readable returns the text with escapes of YAML in the place of those of JSON, in strings in double quotes. A text that is not
// valid for another reason is returned as it is.
func Readable(text string) string {
	masked := Masked(text)
	if masked == text {
		return text
	}
	var b strings.Builder
	done := 0
	for _, at := range quoted(masked) {
		end := at + 1 + closing(text[at+1:])
		if at < done || end <= at {
			return text // the lines of the YAML package are others
		}
		b.WriteString(text[done:at])
		b.WriteString(replaced(text[at:end], yamlEscape))
		done = end
	}
	return b.String() + text[done:]
}

// replaced returns the text with the result of f in the place of each escape of JSON.
func replaced(text string, f func(string) string) string {
	if !strings.Contains(text, `\/`) && !strings.Contains(text, `\u`) {
		return text
	}
	return escape.ReplaceAllStringFunc(text, func(found string) string {
		if found == `\/` || len(found) == len(`\ud83d\ude00`) {
			return f(found)
		}
		return found
	})
}

// yamlEscape returns the escape of YAML for one of JSON.
func yamlEscape(found string) string {
	if found == `\/` {
		return "/"
	}
	high, _ := strconv.ParseUint(found[2:6], 16, 32)
	low, _ := strconv.ParseUint(found[8:12], 16, 32)
	r := utf16.DecodeRune(rune(high), rune(low))
	return `\U` + strings.Repeat("0", 8-len(strconv.FormatInt(int64(r), 16))) + strconv.FormatInt(int64(r), 16)
}

// Lone returns the offset of the first escape of half of a surrogate pair in a JSON text, or -1. It is no character: packages of Go read
// U+FFFD for it.
func Lone(text string) int {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		c := escapedUnit(text[i:])
		switch {
		case !utf16.IsSurrogate(c):
			i++
		case utf16.DecodeRune(c, escapedUnit(text[min(i+6, len(text)):])) == unicode.ReplacementChar:
			return i
		default:
			i += 11
		}
	}
	return -1
}

// escapedUnit returns the code unit that an escape at the beginning of a text stands for, or -1.
func escapedUnit(text string) rune {
	if len(text) < 6 || text[:2] != `\u` {
		return -1
	}
	c, err := strconv.ParseUint(text[2:6], 16, 16)
	if err != nil {
		return -1
	}
	return rune(c)
}

// closing returns the offset of the quote that ends a string, or the length of the text.
func closing(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(text)
}

// quoted returns the offsets of the strings in double quotes in a YAML text, in order.
func quoted(text string) []int {
	var all []int
	lines := offsets(text)
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		var root yaml.Node
		if d.Decode(&root) != nil {
			return all
		}
		walk(&root, func(n *yaml.Node) {
			if n.Kind != yaml.ScalarNode || n.Style&yaml.DoubleQuotedStyle == 0 || n.Line > len(lines) {
				return
			}
			at := column(text, lines[n.Line-1], n.Column)
			if quote := strings.IndexByte(text[at:], '"'); quote >= 0 { // after an anchor and a tag
				all = append(all, at+quote)
			}
		})
	}
}

// walk calls visit for a node and all in it.
func walk(n *yaml.Node, visit func(*yaml.Node)) {
	visit(n)
	for _, inner := range n.Content {
		walk(inner, visit)
	}
}

// offsets returns where the lines begin.
func offsets(text string) []int {
	all := []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			all = append(all, i+1)
		}
	}
	return all
}

// column returns the offset of a column, which is counted in characters from 1.
func column(text string, line, col int) int {
	for i := range text[line:] {
		if col--; col <= 0 {
			return line + i
		}
	}
	return len(text)
}
