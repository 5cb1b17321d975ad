package scaffold

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A printer writes YAML as a literal of a language. What is in block style in the YAML gets a line for each item, and what is in flow
// style stays on one line. Comments above a field are kept.
type printer struct {
	*language
	text strings.Builder
}

// literal returns a node as a literal, whose first line begins at the given level.
func (l *language) literal(n *yaml.Node, level int) string {
	p := &printer{language: l}
	p.node(n, level)
	return p.text.String()
}

func (p *printer) node(n *yaml.Node, level int) {
	switch n.Kind {
	case yaml.MappingNode:
		p.mapping(n, level)
	case yaml.SequenceNode:
		p.sequence(n, level)
	default:
		p.text.WriteString(p.scalar(n))
	}
}

// scalar returns a value: one from the parent, a string, or a word, which is a number, true, false or null.
func (p *printer) scalar(n *yaml.Node) string {
	switch n.Tag {
	case tagSpec:
		return p.spec(n.Value)
	case tagVar:
		return p.vars[n.Value]
	case "!!str":
		return p.quote(n.Value)
	}
	if word, ok := p.constants[n.Value]; ok {
		return word
	}
	return n.Value
}

func (p *printer) mapping(n *yaml.Node, level int) {
	p.text.WriteString("{")
	inline, padding := n.Style&yaml.FlowStyle != 0, p.padding
	if len(n.Content) == 0 {
		padding = ""
	}
	if inline {
		p.text.WriteString(padding)
	}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if inline && i > 0 {
			p.text.WriteString(", ")
		}
		if !inline {
			p.head(key, level+1)
		}
		if p.shorthand && value.Tag == tagVar && p.vars[value.Value] == key.Value {
			p.text.WriteString(key.Value)
		} else {
			p.text.WriteString(p.key(key.Value) + ": ")
			p.node(value, level+1)
		}
		if !inline {
			p.text.WriteString(",")
		}
	}
	if inline {
		p.text.WriteString(padding)
	} else {
		p.line(level)
	}
	p.text.WriteString("}")
}

// sequence writes a list. An only item begins in the line of the bracket.
func (p *printer) sequence(n *yaml.Node, level int) {
	p.text.WriteString("[")
	inline := n.Style&yaml.FlowStyle != 0 || len(n.Content) == 1
	for i, item := range n.Content {
		if inline {
			if i > 0 {
				p.text.WriteString(", ")
			}
			p.node(item, level)
			continue
		}
		p.head(item, level+1)
		p.node(item, level+1)
		p.text.WriteString(",")
	}
	if !inline {
		p.line(level)
	}
	p.text.WriteString("]")
}

// head begins the line of an item, after its comments.
func (p *printer) head(n *yaml.Node, level int) {
	for comment := range strings.Lines(n.HeadComment) {
		p.line(level)
		p.text.WriteString(p.comment + strings.TrimSpace(strings.TrimPrefix(comment, "#")))
	}
	p.line(level)
}

func (p *printer) line(level int) { p.text.WriteString("\n" + strings.Repeat(p.indent, level)) }

// A scope has the values that come from a parent.
type scope struct {
	spec map[string]any // by the names of the fields
	vars map[string]any // by the names in language.vars
}

// value returns a node with the values of a parent.
func (s *scope) value(n *yaml.Node) (any, error) {
	switch {
	case n.Tag == tagSpec:
		return lookUp(s.spec, n)
	case n.Tag == tagVar:
		return lookUp(s.vars, n)
	case n.Kind == yaml.MappingNode:
		all := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			value, err := s.value(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			all[n.Content[i].Value] = value
		}
		return all, nil
	case n.Kind == yaml.SequenceNode:
		all := []any{}
		for _, item := range n.Content {
			value, err := s.value(item)
			if err != nil {
				return nil, err
			}
			all = append(all, value)
		}
		return all, nil
	}
	var value any
	err := n.Decode(&value)
	return value, err
}

func lookUp(values map[string]any, n *yaml.Node) (any, error) {
	value, ok := values[n.Value]
	if !ok {
		return nil, fmt.Errorf("line %d of a sample: there is no %s %s", n.Line, n.Tag, n.Value)
	}
	return value, nil
}

// uses adds the fields of the spec that the sample uses to a set.
func (s *sample) uses(fields map[string]bool) { usedBy(&s.Object, fields) }

func usedBy(n *yaml.Node, fields map[string]bool) {
	switch {
	case n.Tag == tagSpec:
		fields[n.Value] = true
	case n.Tag == tagVar && n.Value == "image":
		fields["image"] = true
	}
	for _, inner := range n.Content {
		usedBy(inner, fields)
	}
}
