// Package changes shows people what a write changes: [Of] gives the lines of YAML that differ between an object before and
// after, and above each the fields that it is in. It is pure.
//
// What a server and an API server keep for themselves, such as versions and what was applied last, is no change, and what is
// in a Secret is not shown.
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

// A Line of YAML was added, removed, or is there to say where its neighbours are.
type Line struct {
	Sign byte // '+', '-' or ' '
	Text string
}

// String gives sign and text.
func (l Line) String() string { return string(l.Sign) + " " + l.Text }

// Of gives what leads from before, nil for an object that was not there, to after, without what the Secrets hold that
// hidden knows, or that they are; nothing when they are alike.
func Of(before, after *object.Object, hidden *redact.Redactor) []Line {
	if hidden == nil {
		hidden = redact.New()
	}
	hidden.Add(before, after)
	shown := shownOf(after)
	if before == nil {
		forNew(shown)
		hide(nil, shown, after)
		return all('+', text(shown, hidden))
	}
	shownBefore := shownOf(before)
	hide(shownBefore, shown, after)
	return inContext(merge(text(shownBefore, hidden), text(shown, hidden)))
}

// kept are the fields of metadata that the API server keeps, or that name the object.
var kept = []string{"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"}

// remembered are annotations that say what was applied last.
var remembered = []string{plan.LastApplied, plan.Applied, "kubectl.kubernetes.io/last-applied-configuration"}

// shownOf is as much of o as people care for.
func shownOf(o *object.Object) map[string]any {
	shown := object.Copy(o).Object
	drop(shown, "apiVersion", "kind")
	within(shown, "metadata", func(metadata map[string]any) {
		drop(metadata, kept...)
		within(metadata, "annotations", func(annotations map[string]any) { drop(annotations, remembered...) })
	})
	return shown
}

// forNew drops what every new object of a parent's has, or has in vain.
func forNew(shown map[string]any) {
	drop(shown, "status")
	within(shown, "metadata", func(metadata map[string]any) { drop(metadata, "ownerReferences") })
}

func drop(m map[string]any, fields ...string) {
	maps.DeleteFunc(m, func(field string, _ any) bool { return slices.Contains(fields, field) })
}

// within changes a field that is a map, and drops it when it is empty then.
func within(m map[string]any, field string, change func(map[string]any)) {
	inner, ok := m[field].(map[string]any)
	if !ok {
		return
	}
	if change(inner); len(inner) == 0 {
		delete(m, field)
	}
}

// hide puts, in place of what is in a Secret, a word that only says whether it differs.
func hide(before, after map[string]any, o *object.Object) {
	if !redact.IsSecret(o) {
		return
	}
	for _, field := range []string{"data", "stringData"} {
		old, _ := before[field].(map[string]any)
		now, _ := after[field].(map[string]any)
		for key, value := range now {
			now[key] = redact.Mark
			if was, there := old[key]; there && was != value {
				now[key] = "[redacted, another one]"
			}
		}
		for key := range old {
			old[key] = redact.Mark
		}
	}
}

// text is the YAML of a value without what is hidden.
func text(shown map[string]any, hidden *redact.Redactor) string {
	if len(shown) == 0 {
		return ""
	}
	yaml, err := yaml.Marshal(shown)
	if err != nil {
		return fmt.Sprintf("%v\n", err) // it is no JSON, which an object always is
	}
	return hidden.Text(string(yaml))
}

func linesOf(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func all(sign byte, text string) []Line {
	if text == "" {
		return nil
	}
	var lines []Line
	for _, line := range linesOf(text) {
		lines = append(lines, Line{sign, line})
	}
	return lines
}

// merge gives all lines of both texts, those that are in both once.
func merge(before, after string) []Line {
	var merged []Line
	old := all(' ', before)
	upTo := func(line int) { // of before
		merged, old = append(merged, old[:line]...), old[line:]
	}
	hunks := linesOf(string(diff.Diff("", []byte(before), "", []byte(after))))
	for _, line := range hunks[min(3, len(hunks)):] { // what comes first are the names
		var from, count int
		if n, _ := fmt.Sscanf(line, "@@ -%d,%d", &from, &count); n == 2 {
			if count > 0 {
				from-- // counts from 1 then
			}
			upTo(from - (len(all(' ', before)) - len(old)))
			continue
		}
		merged = append(merged, Line{line[0], line[1:]})
		if line[0] != '+' {
			old = old[1:]
		}
	}
	upTo(len(old))
	return merged
}
