package changes

import "strings"

// inContext keeps the lines that changed and those that say where they are.
func inContext(lines []Line) []Line {
	keep := make([]bool, len(lines))
	for i, line := range lines {
		if line.Sign != ' ' {
			keep[i] = true
			keepName(lines, keep, i)
			keepAbove(lines, keep, i)
		}
	}
	var kept []Line
	for i, line := range lines {
		if keep[i] {
			kept = append(kept, line)
		}
	}
	return kept
}

// keepAbove keeps the fields and the items of lists that line i is in.
func keepAbove(lines []Line, keep []bool, i int) {
	depth := depthOf(lines[i].Text)
	for at := i - 1; at >= 0 && depth > 0; at-- {
		if d := depthOf(lines[at].Text); d < depth && goesWith(lines[at], lines[i]) {
			keep[at], depth = true, d
			keepName(lines, keep, at)
		}
	}
}

// goesWith reports whether both lines are in the text before, or both in the one after.
func goesWith(a, b Line) bool { return a.Sign == ' ' || b.Sign == ' ' || a.Sign == b.Sign }

// keepName keeps the line by which people know the item of a list that begins at line i.
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

// depthOf is how deep a line of YAML is. An item is deeper than the field whose list it is in, also where it is indented
// alike, and the fields of an item are deeper than its beginning.
func depthOf(line string) int {
	depth := 2 * indentOf(line)
	if isItem(line) {
		depth++
	}
	return depth
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func isItem(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " "), "- ") }
