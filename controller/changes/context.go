package changes

import "strings"

// withContext returns the lines that changed, and those that show where they are.
func withContext(lines []Line) []Line {
	keep := make([]bool, len(lines))
	for i, line := range lines {
		if line.Sign != ' ' {
			keep[i] = true
			keepName(lines, keep, i)
			keepAbove(lines, keep, i)
		}
	}
	var result []Line
	for i, line := range lines {
		if keep[i] {
			result = append(result, line)
		}
	}
	return result
}

// keepAbove keeps the lines of the fields and the list items that contain line i.
func keepAbove(lines []Line, keep []bool, i int) {
	depth := depthOf(lines[i].Text)
	for at := i - 1; at >= 0 && depth > 0; at-- {
		if d := depthOf(lines[at].Text); d < depth && sameVersion(lines[at], lines[i]) {
			keep[at], depth = true, d
			keepName(lines, keep, at)
		}
	}
}

// sameVersion reports whether both lines are in the text before, or both are in the text after.
func sameVersion(a, b Line) bool { return a.Sign == ' ' || b.Sign == ' ' || a.Sign == b.Sign }

// keepName keeps the lines with the fields name and type of the list item that begins at line i, if one does.
func keepName(lines []Line, keep []bool, i int) {
	if !isItem(lines[i].Text) {
		return
	}
	inside := indentOf(lines[i].Text) + len("- ")
	for at := i + 1; at < len(lines) && indentOf(lines[at].Text) >= inside; at++ {
		field := lines[at].Text[inside:]
		if strings.HasPrefix(field, "name: ") || strings.HasPrefix(field, "type: ") {
			keep[at] = true
		}
	}
}

// depthOf returns the depth of a line of YAML. A list item is deeper than the field of the list, also if both have the same
// indentation. The other fields of an item are deeper than its first line.
func depthOf(line string) int {
	depth := 2 * indentOf(line)
	if isItem(line) {
		depth++
	}
	return depth
}

// indentOf returns how many spaces a line begins with.
func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// isItem reports whether a list item begins at a line.
func isItem(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " "), "- ") }
