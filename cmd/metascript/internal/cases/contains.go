package cases

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"metascript/engine"
)

// missing returns a line for each part of want that got does not have: its path, what is wanted and what there is. It returns none if
// got contains want:
//
//   - an object contains another one if it contains each of its fields; other fields are ignored. A field that is null must not exist;
//   - a list of objects with names contains another one if it has an object for each of its objects, in any order; others are
//     ignored. The name of a Kubernetes object is its kind and name; of others it is their name or their type, like those of
//     containers and conditions;
//   - any other list has the same length, and each element contains the one at the same place;
//   - any other value is equal.
func missing(want, got any) []string { return missingAt("", want, got) }

// missingAt is missing for values at a path.
func missingAt(path string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		if got, ok := got.(map[string]any); ok {
			return missingFields(path, want, got)
		}
	case []any:
		if got, ok := got.([]any); ok {
			return missingItems(path, want, got)
		}
	}
	if reflect.DeepEqual(want, got) {
		return nil
	}
	return []string{differs(path, want, show(got))}
}

// missingFields compares the fields of objects.
func missingFields(path string, want, got map[string]any) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		at := name
		if path != "" {
			at = path + "." + name
		}
		value, exists := got[name]
		switch {
		case want[name] == nil && value == nil:
		case !exists:
			lines = append(lines, differs(at, want[name], "nothing"))
		default:
			lines = append(lines, missingAt(at, want[name], value)...)
		}
	}
	return lines
}

// missingItems compares the elements of lists.
func missingItems(path string, want, got []any) []string {
	if !allNamed(want) {
		return missingPlaces(path, want, got)
	}
	var lines []string
	for _, item := range want {
		lines = append(lines, missingItem(path, item, got)...)
	}
	return lines
}

// missingPlaces compares the elements of lists by their places.
func missingPlaces(path string, want, got []any) []string {
	if len(want) != len(got) {
		return []string{differs(path, want, show(got))}
	}
	var lines []string
	for i := range want {
		lines = append(lines, missingAt(fmt.Sprintf("%s[%d]", path, i), want[i], got[i])...)
	}
	return lines
}

// missingItem compares an object with those of a list that have its name. If there are several, such as events of one type, one of them
// has to contain it; otherwise the lines are about the one with the fewest.
func missingItem(path string, want any, among []any) []string {
	name := nameOf(want)
	var nearest, names []string
	found := false
	for _, item := range among {
		other := nameOf(item)
		if other != name {
			names = append(names, cmp.Or(other, "one without a name"))
			continue
		}
		lines := missingAt(fmt.Sprintf("%s[%s]", path, name), want, item)
		if !found || len(lines) < len(nearest) {
			nearest, found = lines, true
		}
	}
	if found {
		return nearest
	}
	line := fmt.Sprintf("%s: want %s, got ", cmp.Or(path, "the answer"), name)
	switch like := engine.Nearest(name, names); {
	case len(names) == 0:
		line += "an empty list"
	case like != "":
		line += fmt.Sprintf("only %s; did you mean %q?", strings.Join(names, ", "), like)
	default:
		line += "only " + strings.Join(names, ", ")
	}
	return []string{line}
}

// allNamed reports whether a list has elements, and each is an object with a name.
func allNamed(items []any) bool {
	return len(items) > 0 && !slices.ContainsFunc(items, func(item any) bool { return nameOf(item) == "" })
}

// nameOf returns the name of an object in a list; "" if it has none.
func nameOf(item any) string {
	object, _ := item.(map[string]any)
	if kind, ok := object["kind"].(string); ok {
		metadata, _ := object["metadata"].(map[string]any)
		name, _ := metadata["name"].(string)
		return kind + " " + name
	}
	if name, ok := object["name"].(string); ok {
		return name
	}
	name, _ := object["type"].(string)
	return name
}

// differs returns a line about a value at a path.
func differs(path string, want any, got string) string {
	return fmt.Sprintf("%s: want %s, got %s", cmp.Or(path, "the answer"), show(want), got)
}

// maxShown is the maximum length of a value in a line.
const maxShown = 200

// show returns a value as JSON, in one line. It shortens long values.
func show(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error() // not for values from YAML
	}
	if len(text) > maxShown {
		return strings.ToValidUTF8(string(text[:maxShown]), "") + "..."
	}
	return string(text)
}
