package style

import (
	"fmt"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/changes"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/redact"
)

// A Change is a write, with the object before and after it. Both are as the API server has them, with its defaults, so that an
// update shows what really changed.
type Change struct {
	plan.Op
	Before, After *object.Object   // nil: there was none, or it is not known
	Hidden        *redact.Redactor // what is not to be shown of them
}

// maxLines is how many lines of one change are shown. A CustomResourceDefinition can have thousands.
const maxLines = 120

// signColours are the colours of diff: a sign that is not there has none.
var signColours = map[byte]string{'+': green, '-': red, '~': yellow}

// Change formats a write: a line that says what it is, and below it the lines that differ.
func (s Styler) Change(c Change) string {
	sign, title := c.title()
	text := s.in(signColours[sign], string(sign)+" "+c.Hidden.Text(title))
	lines := c.lines()
	for _, line := range lines[:min(maxLines, len(lines))] {
		text += "\n  " + s.in(signColours[line.Sign], line.String())
	}
	if more := len(lines) - maxLines; more > 0 {
		text += s.Dim(fmt.Sprintf("\n    ... and %d lines more", more))
	}
	return text
}

// title says what the write does to which object, and the sign that stands for it.
func (c *Change) title() (sign byte, title string) {
	title = object.Describe(c.Object)
	switch {
	case c.Creates():
		return '+', title
	case c.Verb == plan.Delete:
		return '-', title + ": " + c.Why
	case c.Verb == plan.UpdateStatus:
		return '~', title + ": status"
	}
	return '~', title + ": " + c.Why
}

// lines are those that the write changed. A ControllerRevision has none: nobody edits what a rollout stores in it.
func (c *Change) lines() []changes.Line {
	switch {
	case c.Object.GetKind() == v1alpha1.KindControllerRevision || c.Verb == plan.Delete:
		return nil
	case c.Creates(): // without the defaults of the API server, which the author did not write
		return changes.Of(nil, c.Object, c.Hidden)
	case c.Before == nil:
		return nil
	}
	before, after := c.Before, c.After
	if c.Verb == plan.UpdateStatus {
		before, after = statusOf(before), statusOf(after) // the rest is from a write before this one, which a dry run did not store
	}
	if lines := changes.Of(before, after, c.Hidden); len(lines) > 0 {
		return lines
	}
	if c.Verb == plan.Apply {
		return nil // the write only records which fields are applied
	}
	return []changes.Line{{Sign: ' ', Text: "the API server keeps it as it was"}}
}

// statusOf is an object with nothing but the status of o.
func statusOf(o *object.Object) *object.Object {
	only := &object.Object{Object: map[string]any{}}
	if status, exists := o.Object["status"]; exists {
		only.Object["status"] = status
	}
	return only
}
