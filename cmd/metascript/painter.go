package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"metascript/controller"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/changes"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/engine"
)

// A painter writes things as people read them; in colours, where it is true.
type painter bool

// painterOf uses colours on a terminal, unless the variable NO_COLOR is set.
func painterOf(out io.Writer) painter {
	file, ok := out.(*os.File)
	return painter(ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd())))
}

// The colours, as terminals have them.
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (p painter) in(colour, text string) string {
	if !bool(p) || colour == "" || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func (p painter) strong(text string) string  { return p.in(bold, text) }
func (p painter) dim(text string) string     { return p.in(faint, text) }
func (p painter) warning(text string) string { return p.in(yellow, text) }

// failure paints the first line only, so that what is below, with its caret, stands out.
func (p painter) failure(text string) string {
	first, rest, more := strings.Cut(text, "\n")
	if first = p.in(red, first); more {
		first += "\n" + rest
	}
	return first
}

var colours = map[byte]string{'+': green, '-': red, '~': yellow}

// longest is how many lines are shown of one change.
const longest = 120

// change shows a write: what it is, and below what differs.
func (p painter) change(w controller.Write, before *object.Object) string {
	sign, what := describe(w.Op)
	text := p.in(colours[sign], string(sign)+" "+w.Hidden.Text(what))
	lines := differences(w, before)
	for _, line := range lines[:min(longest, len(lines))] {
		text += "\n  " + p.in(colours[line.Sign], line.String())
	}
	if more := len(lines) - longest; more > 0 {
		text += p.dim(fmt.Sprintf("\n    ... and %d lines more", more))
	}
	return text
}

// describe names an operation for people.
func describe(op plan.Op) (sign byte, what string) {
	what = object.Describe(op.Object)
	switch {
	case op.Creates():
		return '+', what
	case op.Verb == plan.Delete:
		return '-', what + ": " + op.Why
	case op.Verb == plan.UpdateStatus:
		return '~', what + ": status"
	}
	return '~', what + ": " + op.Why
}

// differences are the lines that a write changed. What a rollout remembers is of no interest.
func differences(w controller.Write, before *object.Object) []changes.Line {
	switch {
	case w.Object.GetKind() == v1alpha1.KindControllerRevision || w.Verb == plan.Delete:
		return nil
	case w.Creates():
		return changes.Of(nil, w.Object, w.Hidden)
	case before == nil:
		return nil
	}
	after := w.Stored
	if w.Verb == plan.UpdateStatus {
		before, after = statusOf(before), statusOf(after) // what else differs is of another write, which was only tried
	}
	if lines := changes.Of(before, after, w.Hidden); len(lines) > 0 {
		return lines
	}
	if w.Verb == plan.Apply {
		return nil // it is only to be remembered
	}
	return []changes.Line{{Sign: ' ', Text: "the API server keeps it as it was"}}
}

// statusOf is o as if its status were all of it.
func statusOf(o *object.Object) *object.Object {
	only := &object.Object{Object: map[string]any{}}
	if status, there := o.Object["status"]; there {
		only.Object["status"] = status
	}
	return only
}

// printed shows what a script printed.
func (p painter) printed(m engine.Message) string {
	text := fmt.Sprintf("| %s", strings.ReplaceAll(m.Text, "\n", "\n| "))
	if m.Level == engine.Warn || m.Level == engine.Err {
		text = p.warning(text)
	}
	return text + p.dim(fmt.Sprintf("  (%s)", m.Pos))
}

// event shows an event.
func (p painter) event(kind, reason, note string) string {
	text := fmt.Sprintf("! %s: %s", reason, note)
	if kind == "Warning" {
		return p.warning(text)
	}
	return text
}
