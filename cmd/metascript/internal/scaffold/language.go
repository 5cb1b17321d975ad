package scaffold

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/gobuffalo/flect"

	"metascript/engine"
)

// A language is a language of scripts, as far as literals and the names of functions and files need it. Its template has the rest.
type language struct {
	name      string                    // as the field script.language has it
	extension string                    // of the file with the script
	indent    string                    // of a level
	comment   string                    // the beginning of a comment
	padding   string                    // between a brace and what is beside it in its line
	shorthand bool                      // {name} means {name: name}
	constants map[string]string         // true, false and null
	function  func(words string) string // returns the name of a function
	key       func(name string) string  // returns a key of an object
	quote     func(text string) string  // returns a string
	spec      func(field string) string // returns a field of the parent's spec
	vars      map[string]string         // the values with tagVar, by name
}

// languages are the languages, of which the first is the default.
var languages = []*language{
	{
		name: engine.Starlark, extension: ".star", indent: "    ", comment: "# ",
		constants: map[string]string{"true": "True", "false": "False", "null": "None"},
		function:  func(words string) string { return flect.Underscore(words) },
		key:       strconv.Quote, quote: strconv.Quote,
		spec: func(field string) string { return fmt.Sprintf("spec[%q]", field) },
		vars: vars(`spec["image"] + ":" + spec["version"]`),
	},
	{
		name: engine.JavaScript, extension: ".js", indent: "  ", comment: "// ", shorthand: true,
		function: flect.Camelize, key: quotedIfNeeded(strconv.Quote), quote: strconv.Quote, spec: dotted,
		vars: vars("`${spec.image}:${spec.version}`"),
	},
	{
		name: engine.TypeScript, extension: ".ts", indent: "  ", comment: "// ", shorthand: true,
		function: flect.Camelize, key: quotedIfNeeded(strconv.Quote), quote: strconv.Quote, spec: dotted,
		vars: vars("`${spec.image}:${spec.version}`"),
	},
	{
		name: engine.Jsonnet, extension: ".jsonnet", indent: "  ", comment: "// ", padding: " ",
		function: flect.Camelize, key: quotedIfNeeded(singleQuoted), quote: singleQuoted, spec: dotted,
		vars: vars("spec.image + ':' + spec.version"),
	},
}

// vars returns the values with tagVar. Only that of image differs between languages.
func vars(image string) map[string]string {
	return map[string]string{
		"name": "name", "namespace": "namespace", "labels": "labels(name, spec)", "selector": "selector(name)", "image": image,
	}
}

// Languages returns the names of the languages. The first is the default.
func Languages() []string {
	var names []string
	for _, l := range languages {
		names = append(names, l.name)
	}
	return names
}

// languageOf returns the language with a name, which must be one of Languages.
func languageOf(name string) *language {
	for _, l := range languages {
		if l.name == name {
			return l
		}
	}
	panic("no such language: " + name)
}

// dotted returns a field of the parent's spec in a language in which objects have fields.
func dotted(field string) string { return "spec." + field }

// singleQuoted returns a string in single quotes, as Jsonnet's formatter writes it.
func singleQuoted(text string) string {
	quoted := strconv.Quote(text)
	if strings.ContainsAny(text, `'"`) {
		return quoted
	}
	return "'" + quoted[1:len(quoted)-1] + "'"
}

// plainKey matches a key that needs no quotes.
var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// quotedIfNeeded returns a function that returns a key, in quotes if they are needed.
func quotedIfNeeded(quote func(string) string) func(string) string {
	return func(key string) string {
		if plainKey.MatchString(key) {
			return key
		}
		return quote(key)
	}
}
