package hook

import (
	"fmt"

	"metascript/controller/object"
)

// several is from how many children on it is reported that a script has read nothing before it deletes all of them.
const several = 2

// unread returns the warning that the answer of a sync deletes all of several children, although the script has read nothing of what the
// parent asks for; nil if it does not. Most often such an answer is that of a branch which was not written for this parent, such as one
// for errors.
func unread(req *Request, resp *Response) error {
	if req.Shape == Customizing || req.Finalizing || resp.Children.Len() > 0 {
		return nil
	}
	n := req.observed()
	if n < several {
		return nil
	}
	// A decorated object was made for something else, and asks for attachments by its labels and annotations.
	asking, names := [][]string{{"spec"}}, "the spec"
	if req.Shape == Decorator {
		asking, names = append(asking, []string{"metadata", "labels"}, []string{"metadata", "annotations"}), "the labels, the annotations and the spec"
	}
	if empty := object.Emptied(req.Parent, asking...); empty == nil || !req.Recorder.ReadsTheSame(empty) {
		return nil
	}
	field := req.Shape.children()
	return within(fmt.Errorf("the answer has no %s, so that all %d are deleted, and the script has read nothing of %s of the %s: is that meant?", field, n, names, req.Shape.parent()), field)
}

// silent returns the warning that the answer of a webhook to a sync deletes all of several children although it does not say so; nil if it
// does. What a webhook has read is not known; an answer with an empty list, or null, says it.
func silent(answer map[string]any, req *Request) error {
	field := req.Shape.list()
	_, said := answer[field]
	n := req.observed()
	if said || req.Shape == Customizing || req.Finalizing || n < several {
		return nil
	}
	return fmt.Errorf("the answer has no %s, so that all %d are deleted: is that meant? If the webhook always answers with %[1]s, set missingChildren: Hold", field, n)
}
