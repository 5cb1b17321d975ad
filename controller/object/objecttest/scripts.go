package objecttest

import (
	"fmt"
	"strings"
)

// Starlark is a script in which each function answers with its own name in status.from.
func Starlark(functions ...string) string {
	var b strings.Builder
	for _, name := range functions {
		fmt.Fprintf(&b, "def %s(parent): return {'status': {'from': '%s'}, 'children': []}\n", name, name)
	}
	return b.String()
}

// Inline is a script as a value in YAML's flow style.
func Inline(language, source string) string {
	return fmt.Sprintf("{language: %s, inline: %s}", language, Quoted(source))
}

// Quoted is text as a value in YAML's flow style.
func Quoted(text string) string { return fmt.Sprintf("%q", text) }
