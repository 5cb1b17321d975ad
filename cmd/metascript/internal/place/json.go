package place

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"metascript/engine/jsonescapes"
)

// isJSON reports whether a document is an object in JSON. kubectl reads such a document as JSON, and any other as YAML.
func isJSON(content []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(content, " \t\r\n"), []byte("{")) && json.Valid(content)
}

// withoutMark returns a document with spaces in the place of the mark at its beginning.
func withoutMark(content []byte) []byte {
	body := bytes.TrimLeft(content, "\n")
	if len(body) > 3 && bytes.HasPrefix(body, []byte("---")) && strings.IndexByte(" \t\n", body[3]) >= 0 {
		return slices.Concat(content[:len(content)-len(body)], []byte("   "), body[3:])
	}
	return content
}

// A jsonReader makes nodes of a document that is valid JSON, with the places of its values.
type jsonReader struct {
	*json.Decoder
	content   []byte
	at        int // the offset up to which lines and columns are counted
	line, col int
}

func jsonNode(content []byte) *yaml.Node {
	r := &jsonReader{Decoder: json.NewDecoder(bytes.NewReader(content)), content: content, line: 1, col: 1}
	r.UseNumber()
	return r.value()
}

// value returns the node of the next value.
func (r *jsonReader) value() *yaml.Node {
	n := &yaml.Node{}
	r.next()
	n.Line, n.Column = r.line, r.col
	token, _ := r.Token()
	switch token := token.(type) {
	case json.Delim:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		if token == '{' {
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		}
		for r.More() { // in an object, the keys and the values alternate
			n.Content = append(n.Content, r.value())
		}
		_, _ = r.Token()
	case string:
		n.Kind, n.Tag, n.Style, n.Value = yaml.ScalarNode, "!!str", yaml.DoubleQuotedStyle, token
	default:
		var same yaml.Node // the words and the numbers of JSON are those of YAML
		_ = yaml.Unmarshal(r.content[r.at:r.InputOffset()], &same)
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, same.Content[0].ShortTag(), same.Content[0].Value
	}
	return n
}

// next goes to the beginning of the next token.
func (r *jsonReader) next() {
	end := int(r.InputOffset())
	for end < len(r.content) && strings.IndexByte(" \t\r\n,:", r.content[end]) >= 0 {
		end++
	}
	for r.at < end {
		c, size := utf8.DecodeRune(r.content[r.at:])
		r.col++
		if c == '\n' {
			r.line, r.col = r.line+1, 1
		}
		r.at += size
	}
}

// yamlNode returns the node of a document in YAML, and its text with escapes of YAML in the place of those of JSON.
func yamlNode(content []byte) (*yaml.Node, []byte, error) {
	var places, values yaml.Node
	masked := jsonescapes.Masked(string(content))
	if err := yaml.Unmarshal([]byte(masked), &places); err != nil {
		return nil, nil, err
	}
	if masked == string(content) {
		return &places, content, nil
	}
	content = []byte(jsonescapes.Readable(string(content)))
	if err := yaml.Unmarshal(content, &values); err != nil {
		return nil, nil, err
	}
	setPlaces(&values, &places)
	return &values, content, nil
}

// setPlaces gives the nodes of one tree the places of those of another.
func setPlaces(n, from *yaml.Node) {
	n.Line, n.Column = from.Line, from.Column
	for i := range n.Content {
		setPlaces(n.Content[i], from.Content[i])
	}
}
