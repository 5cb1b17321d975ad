package lib

import "regexp"

// ParseJSON and ParseYAML are functions of Jsonnet's own std, which are not in the library. They read texts as json.decode and
// yaml.decodeAll do, so that no number is rounded.
var (
	ParseJSON = &Function{Name: "std.parseJson", Params: params("str", String), Result: Any, run: decodeJSON}
	ParseYAML = &Function{Name: "std.parseYaml", Params: params("str", String), Result: Any, run: parseYAML}
)

// documentMark matches the mark at the beginning of a document.
var documentMark = regexp.MustCompile(`(?m)^---([ \t\r]|$)`)

// parseYAML returns the documents of a text as a list if one of them begins with a mark, and else the only document, or null.
func parseYAML(c *call) (any, error) {
	documents, err := c.documents()
	switch {
	case err != nil:
		return nil, err
	case documentMark.MatchString(c.text(0)):
		return documents, nil
	case len(documents) == 0:
		return nil, nil
	}
	return documents[0], nil
}
