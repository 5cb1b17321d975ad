// Package markdown shows Markdown, as the documentation of the project uses it, as plain text: headings, paragraphs, lists, code and
// tables. Links lose their addresses, and a table becomes a list, since its cells are longer than a line. A block of code that follows
// another one directly is the output of the commands in it, and gets a title.
package markdown

import (
	"regexp"
	"strings"

	"metascript/cmd/metascript/internal/style"
)

// Width is the maximum length of the lines that Wrap returns.
const Width = 100

var (
	link     = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	emphasis = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// Inline returns a text without the marks of links and emphasis.
func Inline(text string) string {
	return emphasis.ReplaceAllString(link.ReplaceAllString(text, "$1"), "$1")
}

// Plain returns a page as plain text. The links of a paragraph may contain line breaks.
func Plain(page string, in style.Styler) string {
	var out strings.Builder
	var paragraph, table []string
	flush := func() {
		out.WriteString(strings.TrimSuffix(Inline(strings.Join(paragraph, "")), "\n"))
		if len(paragraph) > 0 {
			out.WriteString("\n")
		}
		writeTable(&out, table, in)
		paragraph, table = nil, nil
	}
	code, ended := false, false
	for line := range strings.Lines(page) {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			flush()
			if code = !code; code && ended { // what the commands above print
				out.WriteString("\n  Output:\n\n")
			}
			ended = !code
			continue
		case code:
			out.WriteString("    " + line)
		case strings.HasPrefix(strings.TrimSpace(line), "<!--"): // for the tests of the pages, and not shown
		case strings.HasPrefix(line, "#"):
			flush()
			out.WriteString(in.Strong(Inline(strings.TrimLeft(strings.TrimSpace(line), "# "))) + "\n")
		case strings.HasPrefix(line, "|"):
			table = append(table, line)
		case strings.TrimSpace(line) == "":
			flush()
			out.WriteString("\n")
		default:
			paragraph = append(paragraph, line)
		}
		ended = false
	}
	flush()
	return out.String()
}

// writeTable writes the rows of a table: the first cell, and below it the other cells, each with the title of its column.
func writeTable(out *strings.Builder, rows []string, in style.Styler) {
	if len(rows) < 2 {
		return
	}
	titles := cells(rows[0])
	for _, row := range rows[2:] { // the second one is the line below the titles
		for i, cell := range cells(row) {
			switch {
			case i == 0:
				out.WriteString("  " + in.Strong(cell) + "\n")
			case cell != "":
				if i < len(titles) && titles[i] != "" {
					cell = titles[i] + ": " + cell
				}
				out.WriteString(Wrap(cell, "      "))
			}
		}
	}
}

// cells returns the cells of a row. A cell can contain the sign of columns after a backslash.
func cells(row string) []string {
	const bar = "\x00"
	row = strings.ReplaceAll(strings.Trim(strings.TrimSpace(row), "|"), `\|`, bar)
	all := strings.Split(row, "|")
	for i, cell := range all {
		all[i] = strings.TrimSpace(Inline(strings.ReplaceAll(cell, bar, "|")))
	}
	return all
}

// Wrap returns a text in lines of at most [Width], each with an indentation.
func Wrap(text, indent string) string {
	var out strings.Builder
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(indent)+len(line)+1+len(word) > Width {
			out.WriteString(indent + line + "\n")
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		out.WriteString(indent + line + "\n")
	}
	return out.String()
}

// FirstSentence returns the title of a page, and the first sentence below it.
func FirstSentence(page string) (title, sentence string) {
	heading, rest, _ := strings.Cut(page, "\n")
	paragraph, _, _ := strings.Cut(strings.TrimSpace(rest), "\n\n")
	paragraph = strings.Join(strings.Fields(Inline(paragraph)), " ")
	if end := sentenceEnd.FindStringIndex(paragraph); end != nil {
		paragraph = paragraph[:end[0]+1]
	}
	return strings.TrimLeft(heading, "# "), paragraph
}

// sentenceEnd matches the end of a sentence: a point before a space and a capital letter.
var sentenceEnd = regexp.MustCompile(`[.:] [A-Z]`)
