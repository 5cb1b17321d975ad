package scripts

import (
	"slices"
	"strings"

	"metascript/engine"
)

// maxNamed bounds the names in a hint.
const maxNamed = 10

// suggest returns a hint for a name that is not among names.
func suggest(name string, names []string) string {
	if nearest := engine.Nearest(name, names); nearest != "" {
		return "did you mean " + nearest + "?"
	}
	if len(names) == 0 {
		return ""
	}
	names = slices.Clone(names)
	if len(names) > maxNamed {
		names = append(names[:maxNamed], "...")
	}
	return "there is " + strings.Join(names, ", ")
}

// differInCase lists the pairs of names that differ only in upper and lower case.
func differInCase(names []string) (pairs [][2]string) {
	first := map[string]string{}
	for _, name := range names {
		folded := strings.ToLower(name)
		if other, ok := first[folded]; ok && other != name {
			pairs = append(pairs, [2]string{other, name})
		} else {
			first[folded] = name
		}
	}
	return pairs
}
