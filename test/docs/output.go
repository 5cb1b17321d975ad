package docs

import (
	"regexp"
	"strings"
)

// spaces matches spaces between words.
var spaces = regexp.MustCompile(`(\S)[ \t]+`)

// matches reports whether an output is as documented: "..." stands for any text in a line, and a line "..." for any lines.
func matches(documented, printed string) bool {
	var pattern strings.Builder
	pattern.WriteString("^")
	for _, line := range lines(documented) {
		if line == "..." {
			pattern.WriteString(`(?:[^\n]*\n)*?`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `[^\n]*`) + "\n")
	}
	pattern.WriteString("$")
	return regexp.MustCompile(pattern.String()).MatchString(strings.Join(append(lines(printed), ""), "\n"))
}

// lines returns the lines of a text, with single spaces between words and none at their ends.
func lines(text string) []string {
	text = strings.TrimRight(text, " \n")
	if text == "" {
		return nil
	}
	found := strings.Split(text, "\n")
	for i, line := range found {
		found[i] = strings.TrimRight(spaces.ReplaceAllString(line, "$1 "), " ")
	}
	return found
}
