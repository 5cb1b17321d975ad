package style

import (
	"fmt"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/changes"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/redact"
)

// A Change is a write, with the object before and after it. Both are as the API server returned them, with defaults, so that the
// differences of an update are those in the cluster.
type Change struct {
	plan.Op
	Before, After *object.Object   // nil: it does not exist, or is not known
	Hidden        *redact.Redactor // removes secret values from the output
}

// maxLines is the maximum number of lines for one change. A CustomResourceDefinition can have thousands.
const maxLines = 120

// signColors are the colors of signs, as in diff. Other signs have no color.
var signColors = map[byte]string{'+': green, '-': red, '~': yellow}

// Change formats a write: a line with the title, and below it the lines that differ.
func (s Styler) Change(c Change) string {
	sign, title := c.title()
	text := s.in(signColors[sign], string(sign)+" "+c.Hidden.Text(title))
	lines := c.lines()
	for _, line := range lines[:min(maxLines, len(lines))] {
		text += "\n  " + s.in(signColors[line.Sign], line.String())
	}
	if more := len(lines) - maxLines; more > 0 {
		text += s.Dim(fmt.Sprintf("\n    ... and %d lines more", more))
	}
	return text
}

// title returns a text about the write with the name of the object, and the sign for the kind of write.
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

// lines returns the lines that the write changed. It returns none for a ControllerRevision: authors do not edit its data.
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
		before, after = statusOf(before), statusOf(after) // other fields differ because of an earlier write, which a dry run did not store
	}
	if lines := changes.Of(before, after, c.Hidden); len(lines) > 0 {
		return lines
	}
	if c.Verb == plan.Apply {
		return nil // the write only records which fields are applied
	}
	return []changes.Line{{Sign: ' ', Text: "the API server keeps it as it was"}}
}

// statusOf returns an object with only the status of o.
func statusOf(o *object.Object) *object.Object {
	only := object.New(map[string]any{})
	if status, exists := o.Map()["status"]; exists {
		only.Map()["status"] = status
	}
	return only
}
