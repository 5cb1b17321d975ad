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
	n := 0
	for child := range req.Children.All() {
		if !object.Deleting(child) {
			n++
		}
	}
	if n < several {
		return nil
	}
	if empty := askingNothing(req); empty == nil || !req.Recorder.ReadsTheSame(empty) {
		return nil
	}
	return within(fmt.Errorf("the answer has no %s, so that all %d are deleted, and the script has read nothing of %s of the %s: is that meant?",
		req.Shape.children(), n, req.Shape.asking(), req.Shape.parent()), req.Shape.children())
}

// asking names the fields in which a parent asks for its children. A decorated object was made for something else, and its labels and
// annotations ask for attachments.
func (s Shape) asking() string {
	if s == Decorator {
		return "the labels, the annotations and the spec"
	}
	return "the spec"
}

// askingNothing returns a copy of the parent in which the fields are empty in which it asks for its children; nil if they are empty.
func askingNothing(req *Request) *object.Object {
	paths := [][]string{{"spec"}}
	if req.Shape == Decorator {
		paths = append(paths, []string{"metadata", "labels"}, []string{"metadata", "annotations"})
	}
	parent, asks := object.Copy(req.Parent), false
	for _, path := range paths {
		in := parent.Map()
		for _, key := range path[:len(path)-1] {
			in, _ = in[key].(map[string]any)
		}
		last := path[len(path)-1]
		if fields, _ := in[last].(map[string]any); len(fields) > 0 {
			in[last], asks = map[string]any{}, true
		}
	}
	if !asks {
		return nil
	}
	return parent
}
