// Command chart writes the table of the values in README.md, from values.yaml: "make generate" runs it. The lines of comments before a
// value are its description.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:generate go run .

func main() {
	if err := generate("README.md", "values.yaml"); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func generate(readme, values string) error {
	text, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	source, err := os.ReadFile(values)
	if err != nil {
		return err
	}
	fresh, err := update(string(text), string(source))
	if err != nil {
		return fmt.Errorf("%s: %w", values, err)
	}
	return os.WriteFile(readme, []byte(fresh), 0o644)
}

// heading is the last heading of the README: the table follows.
const heading = "## Values\n\n"

// update returns the README with the table of these values.
func update(readme, values string) (string, error) {
	before, _, found := strings.Cut(readme, heading)
	if !found {
		return "", fmt.Errorf("the README has no line %q", strings.TrimSpace(heading))
	}
	described, err := describe(values)
	if err != nil {
		return "", err
	}
	var table strings.Builder
	table.WriteString(before + heading + "| value | default | |\n|---|---|---|\n")
	for _, v := range described {
		fmt.Fprintf(&table, "| `%s` | `%s` | %s |\n", v.path, v.fallback, v.text)
	}
	return table.String(), nil
}

// A value has a path such as image.tag, a default in JSON, and a description.
type value struct{ path, fallback, text string }

// describe returns the values that have a comment before them, in their order. What is in such a value belongs to it.
func describe(values string) ([]value, error) {
	var defaults map[string]any
	if err := yaml.UnmarshalStrict([]byte(values), &defaults); err != nil {
		return nil, err
	}
	var found []value
	var comment []string
	var path []string
	inside := -1 // the indentation of a value with a description, until a line that is not part of it
	for n, line := range strings.Split(values, "\n") {
		content := strings.TrimLeft(line, " ")
		indent := len(line) - len(content)
		if content == "" || inside >= 0 && indent > inside {
			continue
		}
		inside = -1
		if text, is := strings.CutPrefix(content, "# "); is {
			comment = append(comment, text)
			continue
		}
		key, _, is := strings.Cut(content, ":")
		if !is || indent%2 != 0 || indent/2 > len(path) {
			return nil, fmt.Errorf("line %d is neither a comment nor a value: %s", n+1, line)
		}
		path = append(path[:indent/2], key)
		if comment == nil {
			continue
		}
		fallback, err := json.Marshal(at(defaults, path))
		if err != nil {
			return nil, err
		}
		found = append(found, value{strings.Join(path, "."), string(fallback), strings.Join(comment, " ")})
		comment, inside = nil, indent
	}
	return found, nil
}

// at returns the value at a path.
func at(values map[string]any, path []string) any {
	found := values[path[0]]
	if inner, is := found.(map[string]any); is && len(path) > 1 {
		return at(inner, path[1:])
	}
	return found
}
