package replay

import (
	"fmt"
	"strings"

	"metascript/cmd/metascript/internal/style"
	"metascript/controller/shell"
)

// Text returns the report for people.
func (r *Report) Text(in style.Styler) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s for %s, recorded %s\n", count(r.Calls, "call", "calls"), r.Controller, count(r.Parents, "parent", "parents"), r.Recording.when())
	for _, e := range r.Effects {
		if e.Verb == wouldDelete {
			b.WriteString(in.Failure(strings.ToUpper("deletes: ")+e.text()) + "\n")
		}
	}
	b.WriteString(r.summary(in))
	for _, g := range r.Differences {
		b.WriteString("\n" + g.text(in))
	}
	if len(r.NotReplayed) > 0 {
		b.WriteString("\n")
	}
	for _, s := range r.NotReplayed {
		fmt.Fprintf(&b, "%s\n  such as call %d of %s\n%s", in.Warning(fmt.Sprintf("%s could not be replayed: %s", count(s.Calls, "call", "calls"), s.Reason)), s.Example, s.Parent, paste(expectNotReplayed, s.Expected))
	}
	if v := r.Varying; v != nil {
		fmt.Fprintf(&b, "\n%s\n%s", in.Warning(fmt.Sprintf("the script answers the same call differently: %d of %s that were made twice, such as call %d; is it near a limit of its time?", v.Calls, count(v.Of, "call", "calls"), v.Example)), paste(expectVarying, v.Expected))
	}
	if len(r.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, note := range r.Notes {
		b.WriteString(in.Warning("note: "+note) + "\n")
	}
	for _, unused := range r.Unused {
		b.WriteString(in.Warning(fmt.Sprintf("note: --expect %q: there is no such difference", unused)) + "\n")
	}
	return b.String()
}

// when returns when the recording was made.
func (r *Recording) when() string {
	const form = "2006-01-02 15:04:05"
	text := r.Began.UTC().Format(form)
	if r.Ended != nil {
		text += " to " + r.Ended.UTC().Format(form)
	}
	return text + " UTC"
}

// summary returns the lines with the numbers.
func (r *Report) summary(in style.Styler) string {
	text := in.Success(count(r.Same, "answer is", "answers are")+" the same") + "\n"
	if r.Kept > 0 {
		text += count(r.Kept, "answer is", "answers are") + " for older revisions, with their own scripts, which do not change\n"
	}
	if r.Different == 0 {
		return text
	}
	text += in.Failure(fmt.Sprintf("%s, for %s", count(r.Different, "answer differs", "answers differ"), count(r.Changed, "parent", "parents"))) + "\n"
	if len(r.Effects) > 0 {
		text += "The new answers would:\n"
	}
	for _, e := range r.Effects {
		text += "  " + e.text() + "\n"
	}
	return text
}

// text returns an effect, such as "recreate 3 Pods of 2 parents (default/a, default/b, ...)".
func (e *Effect) text() string {
	verb, after := e.Verb, ""
	switch e.Verb {
	case wouldRoll:
		after = ", one at a time, and begin a rollout"
	case wouldRestart:
		verb, after = "update", ", and so restart Pods"
	case wouldLeave:
		verb, after = "not update", ", since the method is OnDelete"
	}
	names := strings.Join(e.Names, ", ")
	if e.Children > len(e.Names) {
		names += ", ..."
	}
	return fmt.Sprintf("%s %s of %s%s: %s", verb, count(e.Children, e.Kind, e.Kind+" objects"), count(e.Parents, "parent", "parents"), after, names)
}

// text returns a group for people.
func (g *Group) text(in style.Styler) string {
	title := fmt.Sprintf("%s: %s, %s", g.Shape, count(g.Calls, "call", "calls"), count(g.Parents, "parent", "parents"))
	if g.Expected {
		title = in.Strong(title) + in.Dim(" (expected)")
	} else {
		title = in.Failure(title)
	}
	text := title + "\n"
	for _, e := range g.Effects {
		line := "  would " + e.text()
		if e.Verb == wouldDelete {
			line = in.Failure(line)
		}
		text += line + "\n"
	}
	if g.Redacted > 0 {
		text += in.Warning(fmt.Sprintf("  %s had a value that the recording replaced, from which the difference may come", count(g.Redacted, "call", "calls"))) + "\n"
	}
	return text + g.Example.text(in) + paste(g.Shape, g.Expected)
}

// text returns an example for people.
func (e *Example) text(in style.Styler) string {
	text := fmt.Sprintf("  such as call %d, %s of %s", e.Call, e.Hook, e.Parent)
	if e.Revision != "" {
		text += " as in revision " + e.Revision
	}
	if e.Child != "" {
		text += ", " + e.Child
	}
	text += "\n"
	for _, line := range e.Lines {
		text += indented(in.Diff(line), "    ")
	}
	if e.Error != "" {
		text += indented(e.Error, "    ")
	}
	if e.Place != "" {
		text += indented(e.Place, "    ")
	}
	return text
}

// indented returns the lines of a text with a text before each.
func indented(text, by string) string {
	return by + strings.ReplaceAll(text, "\n", "\n"+by) + "\n"
}

// paste returns the line with the flag that makes a difference an expected one; "" if it is one.
func paste(shape string, expected bool) string {
	if expected {
		return ""
	}
	return "  --expect " + shell.Quote(shape) + "\n"
}
