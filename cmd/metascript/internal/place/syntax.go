package place

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"metascript/engine"
	"metascript/engine/jsonescapes"
)

// maxPrefixes is the number of lines up to which [text.failing] searches; it takes the square of it.
const maxPrefixes = 2000

// syntax returns the error of a document that is not valid YAML. The library often names the line in which the innermost object begins,
// so the line is found in another way, and the cause by what the line looks like.
func (t *text) syntax(from, to int, err error) error {
	if e, ok := t.inJSON(from, to); ok {
		return e
	}
	reported := strings.TrimPrefix(err.Error(), "yaml: ")
	at := t.failing(from, to)
	if match := lineOf.FindStringSubmatch(reported); match != nil {
		reported = strings.Replace(reported, match[0], "", 1)
		if line, _ := strconv.Atoi(match[1]); at < 0 {
			at = min(max(line-1, from), to-1)
		}
	}
	if at < 0 {
		return &Error{Place: Place{Pos: engine.Pos{File: t.file}}, Msg: "not valid YAML: " + reported}
	}
	m := mistake{text: t, at: at, above: t.above(at, from), first: from, reported: reported}
	for _, find := range []func(mistake) *Error{mistake.tab, mistake.script, mistake.emptyBlock, mistake.quote, mistake.anchor, mistake.template, mistake.space, mistake.colon, mistake.colons, mistake.brackets, mistake.character, mistake.endOfBlock, mistake.deeper, mistake.indentation} {
		if e := find(m); e != nil {
			return e
		}
	}
	return m.error(at, indentOf(t.lines[at]), "not valid YAML: "+reported, "")
}

// failing returns the line, counted from 0, after the longest beginning of a document that is valid; -1 if it is not known.
func (t *text) failing(from, to int) int {
	if to-from > maxPrefixes {
		return -1
	}
	for end := to - 1; end >= from; end-- {
		var root yaml.Node
		if yaml.Unmarshal([]byte(jsonescapes.Masked(string(t.document(from, end)))), &root) != nil {
			continue
		}
		for end < to-1 && isBlank(t.lines[end]) {
			end++
		}
		return end
	}
	return -1
}

// above returns the last line before at that is not empty, or -1.
func (t *text) above(at, from int) int {
	for i := at - 1; i >= from; i-- {
		if !isBlank(t.lines[i]) && !separator.MatchString(t.lines[i]) {
			return i
		}
	}
	return -1
}

// isBlank reports whether a line is empty or a comment.
func isBlank(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

// indentOf returns the number of spaces at the beginning of a line.
func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// A mistake is a line at which a document stops to be valid.
type mistake struct {
	*text
	at, above, first int // the line, the one above it that is not empty or -1, and the first of the document
	reported         string
}

// error returns an error at a byte of a line.
func (m mistake) error(line, offset int, msg, hint string) *Error {
	before := m.lines[line][:min(offset, len(m.lines[line]))]
	return &Error{Place: m.text.at(line+1, utf8.RuneCountInString(before)+1), Msg: msg, Hint: hint}
}

// candidates are the lines that may have the mistake: the one at which the document stops to be valid, and the one above.
func (m mistake) candidates() []int {
	if m.above < 0 {
		return []int{m.at}
	}
	return []int{m.at, m.above}
}

func (m mistake) tab() *Error {
	for _, i := range m.candidates() {
		line := m.lines[i]
		if blank := line[:len(line)-len(strings.TrimLeft(line, " \t"))]; strings.Contains(blank, "\t") {
			return m.error(i, strings.Index(blank, "\t"), "a tab: YAML is indented with spaces", "replace the tab by spaces")
		}
	}
	return nil
}

// scriptKey matches a key whose value is a script, without |.
var scriptKey = regexp.MustCompile(`^(\s*(?:- +)?)(["']?(?:inline|[\w./-]+\.(?:star|js|ts|jsonnet|libsonnet))["']?):(\s+[^|>"'\s#].*|\s*)$`)

// script finds a script of several lines without |.
func (m mistake) script() *Error {
	indent := indentOf(m.lines[m.at])
	if next := m.next(m.at); next > 0 && indentOf(m.lines[next]) > indent {
		indent++ // so that the line itself is looked at too
	}
	for i := m.at; i >= m.first; i-- {
		line := m.lines[i]
		if isBlank(line) || indentOf(line) >= indent {
			continue
		}
		indent = indentOf(line)
		if match := scriptKey.FindStringSubmatch(line); match != nil {
			return m.error(i, len(match[1]), "a script of several lines needs |", fmt.Sprintf("write %s: | and begin the script in the next line", match[2]))
		}
	}
	return nil
}

// next returns the first line after a line that is not empty, or -1.
func (m mistake) next(line int) int {
	for i := line + 1; i < len(m.lines); i++ {
		if strings.TrimSpace(m.lines[i]) != "" {
			return i
		}
	}
	return -1
}

// blockKey matches a key whose value is a text of several lines.
var blockKey = regexp.MustCompile(`^\s*(?:- +)?([^\s:][^:]*):\s+[|>][-+0-9]*\s*(?:#.*)?$`)

// block returns the last line before the mistake with a key whose value is a text of several lines, the key, and the first line of the
// text.
func (m mistake) block() (line int, key string, begin int, ok bool) {
	for i := m.at - 1; i >= m.first; i-- {
		if match := blockKey.FindStringSubmatch(m.lines[i]); match != nil {
			return i, match[1], m.next(i), true
		}
	}
	return 0, "", 0, false
}

// emptyBlock finds a text of several lines that is not indented.
func (m mistake) emptyBlock() *Error {
	line, key, begin, ok := m.block()
	if !ok || begin < 0 || begin > m.at || indentOf(m.lines[begin]) > indentOf(m.lines[line]) {
		return nil
	}
	return m.error(begin, indentOf(m.lines[begin]), fmt.Sprintf("the text of %q is not indented", key), fmt.Sprintf("indent its lines by more than the %d spaces of line %d", indentOf(m.lines[line]), line+1))
}

// endOfBlock finds a line that was probably meant to be in a text of several lines, and is indented less.
func (m mistake) endOfBlock() *Error {
	_, key, begin, ok := m.block()
	if !ok || begin < 0 || begin >= m.at || m.above < 0 {
		return nil
	}
	indent := indentOf(m.lines[begin])
	for i := begin; i < m.at; i++ {
		if strings.TrimSpace(m.lines[i]) != "" && indentOf(m.lines[i]) < indent {
			return nil
		}
	}
	if indentOf(m.lines[m.at]) >= indent {
		return nil
	}
	return m.error(m.at, indentOf(m.lines[m.at]), fmt.Sprintf("the text of %q ends here, since this line is indented less than line %d", key, begin+1), fmt.Sprintf("if it belongs to the text, indent it by at least %d spaces", indent))
}

// beforeQuote matches a line whose value begins with a quote.
var beforeQuote = regexp.MustCompile(`^(\s*(?:- +)*(?:[^\s:#"'][^:#"']*:\s+)?(?:- +)*)(["'])(.*)$`)

func (m mistake) quote() *Error {
	match := beforeQuote.FindStringSubmatch(m.lines[m.at])
	if match == nil {
		return nil
	}
	before, quote, rest := match[1], match[2], match[3]
	end := closing(rest, quote[0])
	if end < 0 {
		return m.error(m.at, len(before), "the quote is not closed", fmt.Sprintf("write %s at the end of the value", quote))
	}
	after := strings.TrimSpace(rest[end+1:])
	if after != "" && after[0] != '#' && after[0] != ':' && !strings.HasPrefix(after, ",") {
		return m.error(m.at, len(before)+1+end+1, "there is text after the closing quote", "write quotes around the whole value, or none")
	}
	return nil
}

// closing returns the index of the quote that closes a text, or -1.
func closing(text string, quote byte) int {
	for i := 0; i < len(text); i++ {
		switch {
		case quote == '"' && text[i] == '\\':
			i++
		case text[i] == quote && quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i
		}
	}
	return -1
}

// unknownAnchor matches the error about an alias.
var unknownAnchor = regexp.MustCompile(`unknown anchor '(.*)' referenced`)

func (m mistake) anchor() *Error {
	match := unknownAnchor.FindStringSubmatch(m.reported)
	if match == nil {
		return nil
	}
	return m.error(m.at, max(strings.Index(m.lines[m.at], "*"), 0), fmt.Sprintf("a value that begins with * is a reference in YAML, and nothing has the anchor &%s", match[1]), "for a string write quotes around the value")
}

func (m mistake) template() *Error {
	at := strings.Index(m.lines[m.at], "{{")
	if at < 0 || !strings.Contains(m.lines[m.at], "}}") {
		return nil
	}
	return m.error(m.at, at, "{{ begins a template, which this command does not render", "render it first, or write quotes around the value")
}

var (
	wordOnly     = regexp.MustCompile(`^[A-Za-z_][\w./-]*$`)
	withoutSpace = regexp.MustCompile(`^(\s*(?:- +)?)([A-Za-z_][\w.-]*):([^\s/:].*)$`)
	withoutColon = regexp.MustCompile(`^(\s*(?:- +)?)([A-Za-z_][\w./-]*)( +[^:=]*)?$`)
	withColons   = regexp.MustCompile(`^(\s*(?:- +)?[^\s"'{\[][^:]*: +)([^\s"'|>{\[].*:(?:\s.*)?)$`)
)

func (m mistake) space() *Error {
	for _, i := range m.candidates() {
		if match := withoutSpace.FindStringSubmatch(m.lines[i]); match != nil {
			return m.error(i, len(match[1])+len(match[2])+1, fmt.Sprintf("there is no space after %q", match[2]+":"), fmt.Sprintf("write %s: %s", match[2], match[3]))
		}
	}
	return nil
}

func (m mistake) colon() *Error {
	for _, i := range m.candidates() {
		match := withoutColon.FindStringSubmatch(m.lines[i])
		if match == nil || i == m.above && indentOf(m.lines[m.at]) <= indentOf(m.lines[i]) {
			continue
		}
		return m.error(i, len(match[1])+len(match[2]), fmt.Sprintf("there is no colon after %q", match[2]), "write "+strings.TrimRight(match[2]+":"+match[3], " "))
	}
	return nil
}

func (m mistake) colons() *Error {
	match := withColons.FindStringSubmatch(m.lines[m.at])
	if match == nil || !strings.Contains(m.reported, "mapping values") {
		return nil
	}
	return m.error(m.at, len(match[1]), `a value without quotes cannot contain ": "`, "write quotes around the value")
}

// brackets finds a { or [ that is not closed, or a comma that is missing between them.
func (m mistake) brackets() *Error {
	var open []int // their offsets in the line
	line := m.lines[m.at]
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '"', '\'':
			end := closing(line[i+1:], c)
			if end < 0 {
				return nil
			}
			i += end + 1
		case '{', '[':
			open = append(open, i)
		case '}', ']':
			if len(open) == 0 || line[open[len(open)-1]] != map[byte]byte{'}': '{', ']': '['}[c] {
				i = len(line) // the last one that is open is not closed
				break
			}
			open = open[:len(open)-1]
		}
	}
	at := strings.IndexAny(line, "{[")
	switch {
	case at < 0:
		return nil
	case len(open) > 0:
		last := open[len(open)-1]
		return m.error(m.at, last, fmt.Sprintf("the %c is not closed", line[last]), fmt.Sprintf("write %c after its last item, and commas between the items", map[byte]rune{'{': '}', '[': ']'}[line[last]]))
	case strings.Contains(m.reported, "did not find expected ','"):
		return m.error(m.at, at, "a comma is missing, or a bracket that closes", "write commas between the items")
	}
	return nil
}

// keyWithValue matches a key and a value in one line.
var keyWithValue = regexp.MustCompile(`^\s*(?:- +)?([^\s:][^:]*): +[^|>&\s#]`)

// deeper finds a line that is indented below one that has a value already.
func (m mistake) deeper() *Error {
	if m.above < 0 {
		return nil
	}
	match := keyWithValue.FindStringSubmatch(m.lines[m.above])
	if match == nil || indentOf(m.lines[m.at]) == strings.Index(m.lines[m.above], match[1]) || indentOf(m.lines[m.at]) <= indentOf(m.lines[m.above]) {
		return nil
	}
	return m.error(m.at, indentOf(m.lines[m.at]), fmt.Sprintf("this line is indented more than %q in line %d, which has a value already", match[1], m.above+1), "indent both in the same way")
}

// indentation finds a line whose indentation fits to no line above.
func (m mistake) indentation() *Error {
	indent := indentOf(m.lines[m.at])
	if m.above < 0 || indent >= indentOf(m.lines[m.above]) && !strings.HasPrefix(strings.TrimSpace(m.lines[m.at]), "- ") {
		return nil
	}
	var above []int
	least := indentOf(m.lines[m.above]) + 1
	for i := m.above; i >= m.first; i-- {
		line := m.lines[i]
		if isBlank(line) || separator.MatchString(line) || indentOf(line) >= least {
			continue
		}
		least = indentOf(line)
		above = append(above, least)
	}
	if len(above) == 0 || slices.Contains(above, indent) {
		return nil
	}
	slices.Reverse(above)
	return m.error(m.at, indent, fmt.Sprintf("this line is indented by %s, like no line above it", spaces(indent)), "indent it like the line above it that it belongs to: by "+listOf(above))
}

func spaces(n int) string {
	if n == 1 {
		return "1 space"
	}
	return fmt.Sprintf("%d spaces", n)
}

func listOf(numbers []int) string {
	var all []string
	for _, n := range numbers {
		all = append(all, strconv.Itoa(n))
	}
	return strings.Join(all, " or ")
}

// reservedValue matches a value that begins with a character that has a meaning in YAML.
var reservedValue = regexp.MustCompile("^(\\s*(?:- +)*(?:[^\\s:#\"'][^:#\"']*:\\s+)?(?:- +)*)([@`%&*!|>])")

func (m mistake) character() *Error {
	match := reservedValue.FindStringSubmatch(m.lines[m.at])
	if match == nil {
		return nil
	}
	return m.error(m.at, len(match[1]), fmt.Sprintf("%s has a meaning in YAML, and cannot begin this value", match[2]), "write quotes around the value")
}
