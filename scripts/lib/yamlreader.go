package lib

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// A yamlReader converts YAML nodes to values like Kubernetes: by the rules of YAML 1.1, in which yes and off are booleans, but times
// remain strings. The value of an alias is created again, and counted again, for each use of the alias.
type yamlReader struct {
	*call
	nodes int64 // how many nodes were converted
	bytes int64 // approximate memory of their values
}

// value returns the value of a node that is nested depth levels deep.
func (r *yamlReader) value(n *yaml.Node, depth int) (any, error) {
	if err := r.count(n, depth); err != nil {
		return nil, err
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return r.value(n.Content[0], depth)
	case yaml.AliasNode:
		return r.value(n.Alias, depth+1) // if it contains itself, the depth exceeds MaxDepth
	case yaml.SequenceNode:
		return r.list(n, depth)
	case yaml.MappingNode:
		return r.object(n, depth)
	}
	return r.scalar(n)
}

// count counts a node. It returns an error if the node is nested too deeply, or if there are too many nodes.
func (r *yamlReader) count(n *yaml.Node, depth int) error {
	if depth > MaxDepth {
		return r.wrong(n, "nested deeper than %d levels", MaxDepth)
	}
	r.nodes++
	r.bytes += int64(len(n.Value)) + 100
	if r.nodes%spendEvery != 0 {
		return nil
	}
	if err := r.meter.CheckSize(r.bytes, "the decoded YAML"); err != nil {
		return err
	}
	return r.meter.Spend(2 * spendEvery)
}

// wrong returns an error about a node.
func (r *yamlReader) wrong(n *yaml.Node, format string, args ...any) *Error {
	return r.errorf("line %d: "+format, append([]any{n.Line}, args...)...)
}

func (r *yamlReader) list(n *yaml.Node, depth int) (any, error) {
	out := make([]any, len(n.Content))
	for i, element := range n.Content {
		v, err := r.value(element, depth+1)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func (r *yamlReader) object(n *yaml.Node, depth int) (any, error) {
	out := make(map[string]any, len(n.Content)/2)
	var merges []*yaml.Node
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].ShortTag() == "!!merge" {
			merges = append(merges, n.Content[i+1])
			continue
		}
		key, err := r.key(n.Content[i])
		if err != nil {
			return nil, err
		}
		if _, twice := out[key]; twice {
			return nil, r.wrong(n.Content[i], "the key %q is there twice", short(key))
		}
		if out[key], err = r.value(n.Content[i+1], depth+1); err != nil {
			return nil, err
		}
	}
	for _, from := range merges {
		if err := r.merge(out, from, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// merge adds to out the fields of from, the value of a << key, which is an object or a list of objects. It does not replace fields
// of out.
func (r *yamlReader) merge(out map[string]any, from *yaml.Node, depth int) error {
	v, err := r.value(from, depth)
	if err != nil {
		return err
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, v := range list {
		fields, ok := v.(map[string]any)
		if !ok {
			return r.wrong(from, "<< wants an object, or a list of objects")
		}
		for key, v := range fields {
			if _, exists := out[key]; !exists {
				out[key] = v
			}
		}
	}
	return nil
}

// key returns the text of a key: in JSON all keys are strings.
func (r *yamlReader) key(n *yaml.Node) (string, error) {
	v, err := r.value(n, 0)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case bool:
		return strconv.FormatBool(v), nil
	}
	return "", r.wrong(n, "a key is %s, want a string", typeOf(v))
}

// oldBools are the booleans of YAML 1.1 in addition to true and false.
var oldBools = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}

// scalar returns the value of a scalar node.
func (r *yamlReader) scalar(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		return r.boolean(n)
	case "!!int":
		return r.integer(n)
	case "!!float":
		return r.float(n)
	case "!!binary":
		return r.binary(n)
	case "!!str":
		if b, ok := oldBools[n.Value]; ok && n.Style == 0 {
			return b, nil
		}
	}
	return n.Value, nil
}

func (r *yamlReader) boolean(n *yaml.Node) (any, error) {
	if b, ok := oldBools[n.Value]; ok {
		return b, nil
	}
	switch n.Value {
	case "true", "True", "TRUE":
		return true, nil
	case "false", "False", "FALSE":
		return false, nil
	}
	return nil, r.wrong(n, "%q is not a boolean", short(n.Value))
}

func (r *yamlReader) integer(n *yaml.Node) (any, error) {
	digits := strings.ReplaceAll(n.Value, "_", "")
	i, err := strconv.ParseInt(digits, 0, 64)
	if err != nil {
		return nil, r.tooLong("line "+strconv.Itoa(n.Line), n.Value)
	}
	return i, nil
}

func (r *yamlReader) float(n *yaml.Node) (any, error) {
	digits := strings.ReplaceAll(n.Value, "_", "")
	if isDigits(strings.TrimLeft(digits, "+-")) && n.Style&yaml.TaggedStyle == 0 {
		return nil, r.tooLong("line "+strconv.Itoa(n.Line), digits)
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, r.wrong(n, "%s is not a number that JSON has", short(n.Value))
	}
	return f, nil
}

func (r *yamlReader) binary(n *yaml.Node) (any, error) {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
	if err != nil || !utf8.Valid(data) {
		return nil, r.wrong(n, "!!binary of what is no text")
	}
	return string(data), nil
}
