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
			put(&w.Memory.unknown, ref, unknownField{field, w.response.Locate(at, errors.New(text)).Error()})
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

// noteWritten remembers what the API server stored of a child that op wrote, so that the child does not differ in the form of its values.
// It reports values that were stored with another meaning than the hook returned, or not at all, unless there was a warning about them.
func (w *Writer) noteWritten(ctx context.Context, parent *object.Object, op plan.Op, stored *object.Object, warnings []string) error {
	if err := w.Policy(parent, nil).NoteWritten(op, stored); err != nil {
		return err
	}
	w.Memory.spells.Store(w.Memory.written.Spells())
	unknown := kube.UnknownFields(warnings)
	other := slices.DeleteFunc(plan.Spellings(stored, op.Wanted), func(s plan.Spelling) bool {
		field := s.Path.String()
		return s.Same || slices.ContainsFunc(unknown, func(name string) bool { return strings.HasPrefix(name, field) })
	})
	if len(other) == 0 {
		w.Memory.noteSpelled(object.RefOf(stored), "")
		return nil
	}
	w.reportSpelled(ctx, parent, stored, other)
	return nil
}

// reportSpelled reports values of a child that the API server did not store with the meaning that the hook returned.
func (w *Writer) reportSpelled(ctx context.Context, parent, stored *object.Object, fields []plan.Spelling) {
	first, who := fields[0].Path.String(), ""
	other := slices.IndexFunc(fields, func(s plan.Spelling) bool { return !s.Missing() })
	if other >= 0 {
		first, who = fields[other].Path.String(), ": "+w.whoStored(stored, fields[other].Path)
	}
	texts, more := make([]string, 0, maxFields), ""
	if n := len(fields) - maxFields; n > 0 {
		fields, more = fields[:maxFields], fmt.Sprintf(" and %d more fields", n)
	}
	for _, s := range fields {
		texts = append(texts, s.Text(redact.FromContext(ctx).Text))
	}
	text := fmt.Sprintf("the API server does not store %s as the hook returned it: %s%s%s. It is not written again because of that", object.Describe(stored), strings.Join(texts, ", "), more, who)
	w.Memory.noteSpelled(object.RefOf(stored), text)
	if other < 0 {
		w.reportOnce(ctx, parent, stored, "FieldNotStored", first, text)
		return
	}
	w.reportOnce(ctx, parent, stored, "StoredDifferently", first, text)
}

// whoStored says who has changed a field of a child that was just written, as far as the object shows it.
func (w *Writer) whoStored(stored *object.Object, field plan.Path) string {
	if names := w.othersIn(stored, field); len(names) > 0 {
		return "the field manager " + strings.Join(names, " and ") + " owns it too"
	}
	return "a mutating admission webhook or policy, or the API server itself, has changed it"
}

// maxFields is how many fields a message names.
const maxFields = 10

// NotStored says which fields the API server did not store, or stored with another meaning, of the first child by name with such a
// field; "" if there is none.
func (m *Memory) NotStored() string {
	var first object.Ref
	text := ""
	note := func(child object.Ref, about string) {
		if text == "" || cmp.Less(child.String(), first.String()) {
			first, text = child, about
		}
	}
	for child, known := range m.unknown {
		note(child, known.text)
	}
	for child, about := range m.spelled {
		if m.unknown[child].text == "" {
			note(child, about)
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
	put(&w.Memory.warnings, ref, append(known, text))
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
