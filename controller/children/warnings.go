package children

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/redact"
)

// maxWarnings is how many texts are remembered of one child. Further ones are not reported.
const maxWarnings = 20

// reportWarnings reports the warnings of the API server about a child.
func (w *Writer) reportWarnings(ctx context.Context, parent, child *object.Object, warnings []string) {
	ref := object.RefOf(child)
	for i, text := range redact.FromContext(ctx).Texts(warnings) {
		field, unknown := "", kube.UnknownFields(warnings[i:i+1])
		if len(unknown) > 0 {
			field = unknown[0]
			text += ", so that the field is not stored: is it misspelled?"
		}
		text = fmt.Sprintf("the API server warns about %s: %s", object.Describe(child), text)
		if len(unknown) > 0 && w.Memory.unknown[ref].path == "" {
			at := w.response.ChildField(child, hook.Field{Path: field, Key: true})
			w.Memory.unknown[ref] = unknownField{field, w.response.Locate(at, errors.New(text)).Error()}
		}
		w.reportOnce(ctx, parent, child, "APIWarning", field, text)
	}
}

// An unknownField is a field that the API server does not know, and does not store.
type unknownField struct {
	path string // such as spec.containers[0].imagee
	text string // what the API server said about it, after the place in the script
}

// hasField reports whether an object has a field.
func hasField(o map[string]any, path string) bool {
	_, found := object.ParsePath(path, o)
	return found
}

// noteUnstored remembers the fields that the API server did not store of a child that dynamic apply wrote, so that the child is not
// written again because of them. It reports those about which there was no warning.
func (w *Writer) noteUnstored(ctx context.Context, parent, stored *object.Object, op plan.Op, warnings []string) {
	unknown := kube.UnknownFields(warnings)
	missing := slices.DeleteFunc(w.Memory.unstored.Note(stored, op.Object), func(field string) bool {
		return slices.ContainsFunc(unknown, func(name string) bool { return strings.HasPrefix(name, field) })
	})
	w.Memory.lacks.Store(len(w.Memory.unstored) > 0)
	if len(missing) > 0 {
		first, more := missing[0], ""
		if n := len(missing) - maxFields; n > 0 {
			missing, more = missing[:maxFields], fmt.Sprintf(" and %d more fields", n)
		}
		w.reportOnce(ctx, parent, stored, "FieldNotStored", first, fmt.Sprintf("the API server does not store %s%s of %s as the hook returned it, so that it is not written again because of that", strings.Join(missing, ", "), more, object.Describe(stored)))
	}
}

// maxFields is how many fields a message names.
const maxFields = 10

// UnknownField returns what the API server said about a field that it does not know and that is therefore not stored, of the first
// child by name with such a field; "" if there is none.
func (m *Memory) UnknownField() string {
	var first object.Ref
	text := ""
	for child, known := range m.unknown {
		if text == "" || cmp.Less(child.String(), first.String()) {
			first, text = child, known.text
		}
	}
	return text
}

// reportOnce reports a text about a field of a child, in the log and by an event on parent, unless it was reported before. If the
// hook returned the child, the event has the place in the script. field may be "".
func (w *Writer) reportOnce(ctx context.Context, parent, child *object.Object, reason, field, text string) {
	ref := object.RefOf(child)
	known := w.Memory.warnings[ref]
	if len(known) >= maxWarnings || slices.Contains(known, text) {
		return
	}
	w.Memory.warnings[ref] = append(known, text)
	w.Log.Warn("warning of the API server", "parent", object.RefOf(parent), "child", ref, "detail", text)
	if at := w.response.ChildField(child, hook.Field{Path: field, Key: true}); at != nil {
		w.Events.Warning(parent, reason, "%v", redact.FromContext(ctx).Error(w.response.Problem(at, text, "")))
		return
	}
	w.Events.Warning(parent, reason, "%s", text)
}

// warned returns what was reported about a child, as the beginning of a message; "" if there is nothing.
func (m *Memory) warned(child *object.Object) string {
	texts := m.warnings[object.RefOf(child)]
	if len(texts) == 0 {
		return ""
	}
	return strings.ReplaceAll(strings.Join(texts, ". ")+". ", "?. ", "? ")
}
