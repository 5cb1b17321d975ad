package plan

import (
	"slices"
	"strconv"

	"metascript/engine/tree"
)

// A Path is the path of a field: a string is a key of a map, an int is an index of a list. The empty path is no field.
type Path []any

// String returns a text such as "spec.containers[0].image".
func (p Path) String() string {
	text := ""
	for _, step := range p {
		switch step := step.(type) {
		case string:
			if text != "" {
				text += "."
			}
			text += step
		case int:
			text += "[" + strconv.Itoa(step) + "]"
		}
	}
	return text
}

// to returns p with one more step. The result may share memory with p, so only one result of p is valid at a time.
func (p Path) to(step any) Path { return append(p, step) }

// is reports whether p consists of exactly these keys.
func (p Path) is(keys ...string) bool {
	if len(p) != len(keys) {
		return false
	}
	for i, key := range keys {
		if p[i] != key {
			return false
		}
	}
	return true
}

// Overlaps reports whether one of two fields is the other one, or in it.
func (p Path) Overlaps(q Path) bool {
	n := min(len(p), len(q))
	return slices.Equal(p[:n], q[:n])
}

// name returns the key of the field; "" for an item of a list.
func (p Path) name() string {
	name, _ := p[len(p)-1].(string)
	return name
}

// reaches reports whether v has a value at p.
func reaches(v any, p Path) bool {
	for _, to := range p {
		if v = tree.Step(v, to); v == nil {
			return false
		}
	}
	return true
}
