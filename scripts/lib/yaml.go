package lib

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"metascript/engine/jsonescapes"
)

// encodeYAML returns a value as one YAML document with sorted keys.
func encodeYAML(c *call) (any, error) {
	s := &c.sizes[0]
	length := 2*s.bytes + s.escape + 24*s.nodes + 2*(s.levels+s.lines)
	if err := c.meter.CheckSize(3*length+2*nodeSize*s.nodes, "the YAML text"); err != nil {
		return nil, err
	}
	if err := c.meter.Spend(length + 10*s.nodes); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	e.CompactSeqIndent()
	if err := e.Encode(yamlNode(c.args[0])); err != nil {
		return nil, c.yamlError(err)
	}
	if err := e.Close(); err != nil {
		return nil, c.yamlError(err)
	}
	return b.String(), nil
}

// yamlNode returns the YAML node of a value.
func yamlNode(v any) *yaml.Node {
	switch v := v.(type) {
	case string:
		return yamlString(v)
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, element := range v {
			n.Content = append(n.Content, yamlNode(element))
		}
		return n
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			n.Content = append(n.Content, yamlString(key), yamlNode(v[key]))
		}
		return n
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: writeJSON(v, 0)}
}

// sexagesimal matches a string that is a number in base 60 in YAML 1.1. Most readers do not support such numbers.
var sexagesimal = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`)

// yamlString returns the node of a string. It is quoted if a reader of YAML 1.1 would not read it as a string without quotes.
func yamlString(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if _, isBool := oldBools[s]; isBool || s == "<<" || s == "=" || sexagesimal.MatchString(s) || !isBlock(s) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// isBlock reports whether a text can be written as a block scalar if it has several lines. The reader would not always keep white
// space at the beginning of a line.
func isBlock(s string) bool {
	if !strings.Contains(s, "\n") {
		return true
	}
	for line := range strings.Lines(s) {
		text := strings.TrimLeft(line, " ")
		if text == "" || text[0] == '\t' || text == "\n" && line != "\n" {
			return false
		}
	}
	return true
}

// yamlError returns the error for an error of the YAML package.
func (c *call) yamlError(err error) *Error {
	return c.errorf("%s", short(strings.TrimPrefix(err.Error(), "yaml: ")))
}

// decodeYAML returns the value of the single document in a text, or null if there is none.
func decodeYAML(c *call) (any, error) {
	all, err := c.documents()
	if err != nil {
		return nil, err
	}
	documents := withoutNull(all)
	if len(documents) == 0 {
		return nil, nil
	}
	if len(documents) > 1 {
		err := c.errorf("the text has %d documents", len(documents))
		err.Hint = "yaml.decodeAll reads them all"
		return nil, err
	}
	return documents[0], nil
}

// decodeAllYAML returns the values of all documents in a text, without empty ones.
func decodeAllYAML(c *call) (any, error) {
	documents, err := c.documents()
	if err != nil {
		return nil, err
	}
	return withoutNull(documents), nil
}

// documents returns the values of the documents in the first argument; null for those that are empty. JSON is YAML too.
func (c *call) documents() ([]any, error) {
	text := c.text(0)
	if err := c.checkYAML(text); err != nil {
		return nil, err
	}
	documents, err := c.readYAML(jsonescapes.Readable(text))
	if (err != nil || strings.ContainsAny(text, otherBreaks)) && isJSON(text) {
		v, err := readJSON(c)
		return []any{v}, err
	}
	return documents, err
}

// otherBreaks are characters that end a line in YAML 1.1, but not in JSON.
const otherBreaks = "\u0085\u2028\u2029"

// isJSON reports whether a text is an object or a list in JSON.
func isJSON(text string) bool {
	start := strings.TrimLeft(text, " \t\r\n")
	return start != "" && strings.Contains("{[", start[:1]) && json.Valid([]byte(text))
}

// readYAML returns the values of the documents in a text.
func (c *call) readYAML(text string) ([]any, error) {
	r := yamlReader{call: c}
	d := yaml.NewDecoder(strings.NewReader(text))
	out := []any{}
	for {
		var n yaml.Node
		if err := d.Decode(&n); err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, c.yamlError(err)
		}
		v, err := r.value(&n, 0)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
}

// Limits of a YAML text. The time to read it grows faster than some of these numbers.
const (
	maxYAML   = 1 << 20 // bytes
	maxTags   = 100     // %TAG directives
	maxNested = 1000    // open brackets, and indicators such as "- " in a row
)

// nodeSize is about how many bytes of memory the reader needs for a node and its tokens.
const nodeSize = 400

// withoutNull returns the documents that are not null.
func withoutNull(documents []any) []any {
	return slices.DeleteFunc(documents, func(v any) bool { return v == nil })
}

// checkYAML returns an error if it would take too much time or memory to read a text. It counts the steps of reading.
func (c *call) checkYAML(text string) error {
	if len(text) > maxYAML {
		return c.errorf("the text is larger than %d bytes", maxYAML)
	}
	if strings.Count(text, "%TAG") > maxTags {
		return c.errorf("the text has more than %d directives", maxTags)
	}
	nodes, deep := countYAML(text)
	if deep >= 0 {
		return c.errorf("%s: nested too deeply", lineOf(text, int64(deep)))
	}
	if err := c.meter.CheckSize(int64(len(text))+nodeSize*nodes, "the decoded YAML"); err != nil {
		return err
	}
	return c.meter.Spend(4*int64(len(text)) + 20*nodes)
}

// countYAML returns the maximum number of nodes in a text, and the offset at which there are more than maxNested open brackets, or
// indicators in a row, or -1.
func countYAML(text string) (nodes int64, deep int) {
	nodes, open, row := 1, 0, 0
	for i := range len(text) {
		switch text[i] {
		case '[', '{':
			nodes++
			open++
			row = 0
		case ']', '}':
			open = max(0, open-1)
			row = 0
		case '-', '?', ':':
			nodes++
			row++
			if i+1 < len(text) && text[i+1] != ' ' && text[i+1] != '\t' {
				row = 0
			}
		case ' ', '\t':
		case ',', '\n':
			nodes++
			row = 0
		default:
			row = 0
		}
		if open > maxNested || row > maxNested {
			return nodes, i
		}
	}
	return nodes, -1
}
