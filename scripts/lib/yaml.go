package lib

import (
	"bytes"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// encodeYAML writes a value as one document of YAML, with sorted keys.
func encodeYAML(c *call) (any, error) {
	s := &c.sizes[0]
	length := 2*s.bytes + s.escape + 24*s.nodes + 2*(s.levels+s.lines)
	if err := c.meter.Hold(3*length+2*nodeSize*s.nodes, "the YAML text"); err != nil {
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
		return nil, c.wrongYAML(err)
	}
	if err := e.Close(); err != nil {
		return nil, c.wrongYAML(err)
	}
	return b.String(), nil
}

// yamlNode returns the node that a value is written as.
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

// sexagesimal matches what is a number in YAML 1.1, and in no reader that we know of.
var sexagesimal = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`)

// yamlString returns the node of a string, in quotes where a reader of YAML 1.1 would see something else in it.
func yamlString(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if _, old := oldBools[s]; old || s == "<<" || s == "=" || sexagesimal.MatchString(s) || !isBlock(s) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// isBlock reports whether a text, if it has lines, can stand as a block: what begins a line is not always taken for its own.
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

func (c *call) wrongYAML(err error) *Error {
	return c.errorf("%s", short(strings.TrimPrefix(err.Error(), "yaml: ")))
}

// decodeYAML reads one document; none is null.
func decodeYAML(c *call) (any, error) {
	documents, err := c.documents()
	if err != nil || len(documents) == 0 {
		return nil, err
	}
	if len(documents) > 1 {
		err := c.errorf("the text has %d documents", len(documents))
		err.Hint = "yaml.decodeAll reads them all"
		return nil, err
	}
	return documents[0], nil
}

// decodeAllYAML reads all documents, without those that are empty.
func decodeAllYAML(c *call) (any, error) {
	documents, err := c.documents()
	if err != nil {
		return nil, err
	}
	return documents, nil
}

// documents reads the text that is the first argument, and leaves out what is empty or null.
func (c *call) documents() ([]any, error) {
	text := c.text(0)
	if err := c.weighYAML(text); err != nil {
		return nil, err
	}
	r := yamlReader{call: c}
	d := yaml.NewDecoder(strings.NewReader(text))
	out := []any{}
	for {
		var n yaml.Node
		if err := d.Decode(&n); err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, c.wrongYAML(err)
		}
		v, err := r.value(&n, 0)
		if err != nil {
			return nil, err
		}
		if v != nil {
			out = append(out, v)
		}
	}
}

// What bounds a text of YAML: its length, its directives, and how many brackets are open or indicators such as "- " stand
// in a row. Reading it takes a time that grows faster than some of them.
const (
	maxYAML   = 1 << 20
	maxTags   = 100
	maxNested = 1000
)

// nodeSize is what the reader's node takes, and the tokens it was made of.
const nodeSize = 400

// weighYAML refuses what would take the reader too long, or too much memory.
func (c *call) weighYAML(text string) error {
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
	if err := c.meter.Hold(int64(len(text))+nodeSize*nodes, "the decoded YAML"); err != nil {
		return err
	}
	return c.meter.Spend(4*int64(len(text)) + 20*nodes)
}

// countYAML returns how many nodes there are in a text at most, and where too many brackets are open or indicators in a row, or
// -1.
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
