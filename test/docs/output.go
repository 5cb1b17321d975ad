package docs

import (
	"regexp"
	"strings"
)

// spaces matches spaces between words.
var spaces = regexp.MustCompile(`(\S)[ \t]+`)

// logged matches a line that kubectl logs, such as that a watch ended, which it then repeats. On a slow machine there are some.
var logged = regexp.MustCompile(`(?m)^[EIW]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \w+\.go:\d+\] .*\n`)

// matches reports whether an output is as documented: "..." stands for any text in a line, and a line "..." for any lines. What kubectl
// logs does not count.
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
	return regexp.MustCompile(pattern.String()).MatchString(strings.Join(append(lines(logged.ReplaceAllString(printed, "")), ""), "\n"))
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
