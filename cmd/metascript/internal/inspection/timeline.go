package inspection

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"metascript/cmd/metascript/internal/style"
	"metascript/controller/history"
	"metascript/controller/inspect"
	"metascript/controller/observe"
)

// A Timeline prints entries of the history as lines for people.
type Timeline struct {
	Style style.Styler
	Print func(line string)
}

// Head prints what is known of a parent now.
func (t Timeline) Head(why *inspect.Why) {
	for _, line := range unanswered(why.APIServer, why.Reviewed) {
		t.Print(line)
	}
	if !why.Exists {
		t.Print(t.Style.Strong(objectText(why.Parent)) + " does not exist any more")
		return
	}
	t.Print(t.Style.Strong(objectText(why.Parent)))
	t.state(why.State)
}

// unanswered returns lines that say that the API server does not answer as it should, and that what the caller may read was asked earlier.
func unanswered(apiServer string, reviewed *time.Time) (lines []string) {
	if apiServer != "" {
		lines = append(lines, apiServer)
	}
	if reviewed != nil {
		lines = append(lines, fmt.Sprintf("the API server does not answer what you may read; this is what you could read at %s", reviewed.Local().Format(time.RFC3339)))
	}
	return lines
}

func (t Timeline) state(s *inspect.State) {
	if s.Paused {
		t.Print("  paused by its annotation: nothing is done for it")
	}
	if s.Deleting {
		t.Print("  is being deleted; finalizers: " + strings.Join(s.Finalizers, ", "))
	}
	for _, c := range s.Conditions {
		t.Print("  " + c.String())
	}
}

// Controller prints a line about a controller and its script.
func (t Timeline) Controller(c inspect.Controller, off bool) {
	line := c.Kind + " " + c.Name
	if c.Script != "" {
		line += ", script " + c.Script
	}
	switch {
	case !c.Runs:
		line += ", does not run any more"
	case !c.Has:
		line += ", does not select the object any more"
	}
	t.Print("")
	t.Print(t.Style.Strong(line))
	switch {
	case off:
		t.Print("  the server keeps no history: --history-memory is 0")
	case len(c.Entries) == 0:
		t.Print("  no reconcile is known: the server has not reconciled the object since it started, or has dropped what is old; see --history-memory")
	}
}

// Entry prints one reconcile, or several that need not be done.
func (t Timeline) Entry(e history.Entry, script string) {
	at := e.Time.Local().Format(time.RFC3339)
	if e.Count > 0 {
		text := "nothing to do: " + strings.ReplaceAll(e.Source, "_", " ") + " (" + strings.Join(e.Reasons, ", ") + ")"
		if e.Last != nil {
			text += fmt.Sprintf(", %d times until %s", e.Count, e.Last.Local().Format(time.RFC3339))
		}
		t.Print(t.Style.Dim(at + "  " + text))
		return
	}
	t.Print(at + "  " + t.Style.Strong(strings.Join(e.Reasons, ", ")) + t.Style.Dim(fmt.Sprintf(", took %s", e.Took.Duration)))
	line := func(format string, args ...any) { t.Print("    " + fmt.Sprintf(format, args...)) }
	for _, c := range e.Causes {
		line("because %s was %s%s", objectText(c.Object), c.Change, fieldsText(c.Fields, c.More))
	}
	if e.Missed > 0 {
		line("and %d more changes", e.Missed)
	}
	for _, c := range e.Calls {
		line("%s", callText(c))
	}
	if e.Script != "" && e.Script != script && len(e.Calls) > 0 {
		line("with the script %s, which is another one than now", e.Script)
	}
	for _, w := range e.Writes {
		t.write(line, w)
	}
	if e.More > 0 {
		line("and %d more writes", e.More)
	}
	t.candidate(line, e.Candidate)
	if e.Hidden > 0 {
		line("and %d changes and writes of objects that you may not read", e.Hidden)
	}
	if e.Next != nil && e.Next.Unstable {
		line("not finished: %s", e.Error)
	} else if e.Error != "" {
		text := e.Error
		if e.Detail != "" {
			text = e.Detail
		}
		for i, part := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
			if i == 0 {
				part = t.Style.Failure("failed: " + part)
			}
			line("%s", part)
		}
	}
	t.next(line, e.Next)
}

// candidate prints what came of the comparison with a candidate in spec.shadow.
func (t Timeline) candidate(line func(string, ...any), c *history.Candidate) {
	if c == nil {
		return
	}
	text := "candidate " + c.Script
	if c.Later {
		text += " at " + c.Time.Local().Format(time.DateTime)
	}
	if c.Result != string(observe.Dropped) {
		text += ", " + c.Took.Duration.String()
	}
	switch c.Result {
	case string(observe.Agrees):
		line("%s: answers the same", text)
	case string(observe.Dropped):
		line("%s: was not called, since it cannot keep up or exceeds a limit", text)
	case string(observe.Differs):
		line("%s: answers differently: %s", text, c.Difference)
	default:
		detail := cmp.Or(c.Detail, c.Error)
		for i, part := range strings.Split(strings.TrimRight(detail, "\n"), "\n") {
			if i == 0 {
				part = text + ": " + t.Style.Failure("failed: "+part)
			}
			line("%s", part)
		}
	}
	for _, w := range c.Writes {
		line("  would %s", w.Text)
	}
	if c.More > 0 {
		line("  and %d more writes", c.More)
	}
}

func (t Timeline) write(line func(string, ...any), w history.Write) {
	text := w.Verb + " " + objectText(w.Object)
	if w.Why != "" {
		text += ": " + w.Why
	}
	line("%s", text)
	for _, f := range w.Fields {
		before, after := f.Before, f.After
		if before == "" {
			before = "nothing"
		}
		if after == "" {
			after = "nothing"
		}
		line("  %s: %s -> %s", f.Path, before, after)
	}
	if w.More {
		line("  and more fields")
	}
	if len(w.Stored) > 0 {
		line("  %s", strings.Join(w.Stored, ", "))
	}
	if w.Error != "" {
		line("  %s", t.Style.Failure("failed: "+w.Error))
	}
}

func (t Timeline) next(line func(string, ...any), n *history.Next) {
	if n == nil {
		return
	}
	clock := func(at *time.Time) string { return at.Local().Format("15:04:05Z07:00") }
	if n.RetryAt != nil {
		line("is tried again at %s", clock(n.RetryAt))
	}
	if n.ResyncAt != nil {
		line("is reconciled again at %s", clock(n.ResyncAt))
	}
	if n.Held {
		line("the script is not called again for this object until the object or the script changes")
	}
	if n.Unseen > 0 {
		line("waits until the caches show %d writes", n.Unseen)
	}
}

func callText(c history.Call) string {
	text := fmt.Sprintf("%s, %s", c.Hook, c.Took.Duration)
	if c.Revision != "" {
		text += " for revision " + c.Revision
	}
	if c.Failed {
		return text + ": failed"
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(c.Children)) {
		parts = append(parts, fmt.Sprintf("%d %s", c.Children[kind], kind))
	}
	if c.Hook == "customize" {
		parts = append(parts, fmt.Sprintf("%d rules", c.Related))
	} else if len(parts) == 0 {
		parts = append(parts, "no children")
	}
	if len(c.Status) > 0 {
		parts = append(parts, "status {"+strings.Join(c.Status, ", ")+"}")
	}
	if c.Finalized {
		parts = append(parts, "finalized")
	}
	if c.ResyncAfter != nil {
		parts = append(parts, "again after "+c.ResyncAfter.Duration.String())
	}
	return text + ": " + strings.Join(parts, ", ")
}

func fieldsText(fields []string, more bool) string {
	if len(fields) == 0 {
		return ""
	}
	text := ": " + strings.Join(fields, ", ")
	if more {
		text += " and more"
	}
	return text
}

// objectText names an object, such as "Pod default/web-0".
func objectText(o history.Object) string {
	return strings.TrimSuffix(o.Kind+" "+strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"), "/")
}
