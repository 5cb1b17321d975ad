package plan

import "strconv"

// A Path leads to a field: a string is a key of a map, an int the place in a list. The empty one leads nowhere.
type Path []any

// String gives "spec.containers[0].image".
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

// to is p and a step further. It shares what p has room for: a search that goes on elsewhere takes it back.
func (p Path) to(step any) Path { return append(p, step) }

// is reports whether p consists of just these keys.
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

// reaches reports whether p leads to something in v.
func reaches(v any, p Path) bool {
	for _, to := range p {
		if v = step(v, to); v == nil {
			return false
		}
	}
	return true
}
