// Package changes shows what a write changes: [Of] returns the lines of YAML that differ between two versions of an object, and
// above each the fields that contain it. It does no I/O.
//
// Fields that the API server sets, such as resourceVersion, and annotations with the last applied configuration are left out.
// Values of Secrets are redacted.
package changes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"sigs.k8s.io/yaml"

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/redact"
)

// A Line is a line of YAML that was added or removed, or that shows where changed lines are.
type Line struct {
	Sign byte // '+', '-' or ' '
	Text string
}

// String returns the sign, a space and the text.
func (l Line) String() string { return string(l.Sign) + " " + l.Text }

// Of returns the differences between before and after; nil if there are none. If before is nil, after is a new object, and all its
// lines are added. Values of Secrets are redacted: those in redactor, which may be nil, and those of before and after.
func Of(before, after *object.Object, redactor *redact.Redactor) []Line {
	if redactor == nil {
		redactor = redact.New()
	}
	redactor.Add(before, after)
	shown := shownOf(after)
	if before == nil {
		dropForNew(shown)
		redactSecret(nil, shown, after)
		return allLines('+', text(shown, redactor))
	}
	shownBefore := shownOf(before)
	redactSecret(shownBefore, shown, after)
	return withContext(merge(text(shownBefore, redactor), text(shown, redactor)))
}

// metadataFields are the fields of metadata that the API server sets, or that identify the object.
var metadataFields = []string{"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"}

// appliedAnnotations are annotations with the last applied configuration.
var appliedAnnotations = []string{plan.LastApplied, plan.AppliedDigest, "kubectl.kubernetes.io/last-applied-configuration"}

// shownOf returns a copy of o without the fields that are not shown.
func shownOf(o *object.Object) map[string]any {
	shown := object.Copy(o).Map()
	drop(shown, "apiVersion", "kind")
	update(shown, "metadata", func(metadata map[string]any) {
		drop(metadata, metadataFields...)
		update(metadata, "annotations", func(annotations map[string]any) { drop(annotations, appliedAnnotations...) })
	})
	return shown
}

// dropForNew drops the fields of a new object that are not shown: the status, which a create ignores, and the owner references,
// which each child has.
func dropForNew(shown map[string]any) {
	drop(shown, "status")
	update(shown, "metadata", func(metadata map[string]any) { drop(metadata, "ownerReferences") })
}

// drop deletes fields of m.
func drop(m map[string]any, fields ...string) {
	maps.DeleteFunc(m, func(field string, _ any) bool { return slices.Contains(fields, field) })
}

// update calls change with a field that is a map, and deletes the field if it is empty afterwards.
func update(m map[string]any, field string, change func(map[string]any)) {
	inner, ok := m[field].(map[string]any)
	if !ok {
		return
	}
	if change(inner); len(inner) == 0 {
		delete(m, field)
	}
}

// redactSecret replaces the values of a Secret by texts that only show whether a value differs. It does nothing if o is not a
// Secret.
func redactSecret(before, after map[string]any, o *object.Object) {
	if !redact.IsSecret(o) {
		return
	}
	for _, field := range []string{"data", "stringData"} {
		old, _ := before[field].(map[string]any)
		current, _ := after[field].(map[string]any)
		for key, value := range current {
			current[key] = redact.Mark
			if before, exists := old[key]; exists && before != value {
				current[key] = "[redacted, another one]"
			}
		}
		for key := range old {
			old[key] = redact.Mark
		}
	}
}

// text returns a value as redacted YAML; "" if it is empty.
func text(shown map[string]any, redactor *redact.Redactor) string {
	if len(shown) == 0 {
		return ""
	}
	yaml, err := yaml.Marshal(shown)
	if err != nil {
		return fmt.Sprintf("%v\n", err) // not reached: an object is JSON
	}
	return redactor.Text(string(yaml))
}

// linesOf returns the lines of a text.
func linesOf(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// allLines returns the lines of a text, all with this sign; nil if it is empty.
func allLines(sign byte, text string) []Line {
	if text == "" {
		return nil
	}
	var lines []Line
	for _, line := range linesOf(text) {
		lines = append(lines, Line{sign, line})
	}
	return lines
}

// merge returns the lines of both texts in order; a line that is in both is returned once, with the sign ' '.
func merge(before, after string) []Line {
	var merged []Line
	unmerged := allLines(' ', before)
	take := func(n int) { // moves the first n unmerged lines of before to merged
		merged, unmerged = append(merged, unmerged[:n]...), unmerged[n:]
	}
	hunks := linesOf(string(diff.Diff("", []byte(before), "", []byte(after))))
	for _, line := range hunks[min(3, len(hunks)):] { // the first three lines are a header
		var from, count int
		if n, _ := fmt.Sscanf(line, "@@ -%d,%d", &from, &count); n == 2 {
			if count > 0 {
				from-- // counts from 1, except for an empty range
			}
			take(from - (len(allLines(' ', before)) - len(unmerged)))
			continue
		}
		merged = append(merged, Line{line[0], line[1:]})
		if line[0] != '+' {
			unmerged = unmerged[1:]
		}
	}
	take(len(unmerged))
	return merged
}
