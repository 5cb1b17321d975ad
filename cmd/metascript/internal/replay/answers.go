package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/recording"
)

// An answer is what a hook answered: in the recording, or now.
type answer struct {
	failure string // the text of the error; "": the call did not fail
	err     error  // of a call that was made now

	status       any
	labels       hook.Changes
	annotations  hook.Changes
	children     *object.Set
	resync       time.Duration
	finalized    bool
	notFinalized bool // it says so
	events       []hook.Event
	related      any
	warnings     []string

	response *hook.Response // of a call that was made now
}

// recordedAnswer returns a recorded answer with its children.
func recordedAnswer(r *recording.Answer, children []*object.Object) (*answer, error) {
	a := &answer{labels: r.Labels, annotations: r.Annotations, resync: r.ResyncAfter, finalized: r.Finalized, notFinalized: r.NotFinalized, warnings: r.Warnings, children: &object.Set{}}
	for _, child := range children {
		a.children.Put(child)
	}
	for _, e := range r.Events {
		a.events = append(a.events, hook.Event{Type: e.Type, Reason: e.Reason, Message: e.Message})
	}
	var err error
	if a.status, err = decodeValue(r.Status); err != nil {
		return nil, fmt.Errorf("the status in the recording: %w", err)
	}
	if a.related, err = decodeValue(r.Related); err != nil {
		return nil, fmt.Errorf("the related objects in the recording: %w", err)
	}
	return a, nil
}

// decodeValue decodes a JSON value; nil if there is none. Integers become int64.
func decodeValue(text json.RawMessage) (v any, err error) {
	if len(text) > 0 {
		err = utiljson.Unmarshal(text, &v)
	}
	return v, err
}

// decodeObject decodes an object.
func decodeObject(text json.RawMessage) (*object.Object, error) {
	var content map[string]any
	if err := utiljson.Unmarshal(text, &content); err != nil {
		return nil, err
	}
	return object.New(content), nil
}

// answerOf returns the answer of a call that was made now.
func answerOf(response *hook.Response, err error) *answer {
	if err != nil {
		return &answer{failure: err.Error(), err: err}
	}
	a := &answer{
		labels: response.Labels, annotations: response.Annotations, children: response.Children, resync: response.ResyncAfter,
		finalized: response.Finalized, events: response.Events, response: response,
	}
	if response.Status != nil {
		a.status = response.Status
	}
	if response.Shape == hook.Customizing {
		a.related = recording.Rules(response.Related)
	}
	for _, warning := range response.Warnings {
		a.warnings = append(a.warnings, warning.Error())
	}
	if a.children == nil {
		a.children = &object.Set{}
	}
	return a
}

// What differs between two answers.
type part int

const (
	ofChild    part = iota // a field of a child, or a whole one
	ofStatus               // a field of the status
	ofAnswer               // another field of the answer
	ofFailure              // the call fails now, or with another error
	ofRecovery             // the call failed before
)

// A difference is one between a recorded answer and the one now.
type difference struct {
	part  part
	shape string    // the kind of difference, without names and indexes
	path  plan.Path // of the field; nil for a whole child
	child object.Ref
}

// compare returns the differences between two answers, in a fixed order.
func compare(before, after *answer) []difference {
	switch {
	case after.failure != "" && sameFailure(before.failure, after.failure):
		return nil
	case after.failure != "":
		return []difference{{part: ofFailure, shape: "error " + generalFailure(after.failure)}}
	case before.failure != "":
		return []difference{{part: ofRecovery, shape: "no error " + generalFailure(before.failure)}}
	}
	all := compareChildren(before.children, after.children)
	differences(plan.Path{"status"}, before.status, after.status, func(path plan.Path) {
		all = append(all, difference{part: ofStatus, shape: shapeOf(path), path: path})
	})
	add := func(field string, differ bool) {
		if differ {
			all = append(all, difference{part: ofAnswer, shape: field, path: plan.Path{field}})
		}
	}
	differences(plan.Path{"relatedResources"}, before.related, after.related, func(path plan.Path) {
		all = append(all, difference{part: ofAnswer, shape: shapeOf(path), path: path})
	})
	for _, changes := range []struct {
		field string
		a, b  hook.Changes
	}{{"labels", before.labels, after.labels}, {"annotations", before.annotations, after.annotations}} {
		for _, key := range changedKeys(changes.a, changes.b) {
			path := plan.Path{changes.field, key}
			all = append(all, difference{part: ofAnswer, shape: shapeOf(path), path: path})
		}
	}
	add("resyncAfterSeconds", before.resync != after.resync)
	add("finalized", before.finalized != after.finalized)
	add("events", !slices.Equal(before.events, after.events))
	add("warnings", !slices.EqualFunc(before.warnings, after.warnings, sameFailure))
	return all
}

// changedKeys returns the keys with another value, sorted.
func changedKeys(a, b hook.Changes) []string {
	differ := map[string]bool{}
	for _, pair := range [][2]hook.Changes{{a, b}, {b, a}} {
		for key, left := range pair[0] {
			right, found := pair[1][key]
			if !found || (left == nil) != (right == nil) || left != nil && *left != *right {
				differ[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(differ))
}

// The ends of the shapes of differences that are whole children.
const (
	added   = " added"
	removed = " removed"
)

// orderShape is the shape of answers with the same children in another order, which is that of writes and of rollouts.
const orderShape = "order of the children"

// compareChildren returns the differences of the desired children.
func compareChildren(before, after *object.Set) []difference {
	var all []difference
	var kept []object.Ref
	for o := range after.Added() {
		ref := object.RefOf(o)
		earlier := before.Get(ref.Kind, ref.Key)
		if earlier == nil {
			all = append(all, difference{part: ofChild, shape: ref.Kind.Kind + added, child: ref})
			continue
		}
		kept = append(kept, ref)
		if earlier == o {
			continue
		}
		differences(nil, earlier.Value(), o.Value(), func(path plan.Path) {
			all = append(all, difference{part: ofChild, shape: ref.Kind.Kind + " " + shapeOf(path), path: path, child: ref})
		})
	}
	var order []object.Ref
	for o := range before.Added() {
		ref := object.RefOf(o)
		if after.Get(ref.Kind, ref.Key) == nil {
			all = append(all, difference{part: ofChild, shape: ref.Kind.Kind + removed, child: ref})
		} else {
			order = append(order, ref)
		}
	}
	if !slices.Equal(order, kept) {
		all = append(all, difference{part: ofAnswer, shape: orderShape})
	}
	return all
}

// Errors have positions in the script, which an edit changes, and the names of objects.
var (
	positions = regexp.MustCompile(`[\w./-]+\.(star|js|ts|jsonnet|libsonnet)(:\d+)+(: )?`)
	indexes   = regexp.MustCompile(`\[\d+\]`)
	quoted    = regexp.MustCompile(`\((\w+) "[^"]*"\)`)
)

// sameFailure reports whether two errors differ at most in their positions in the script.
func sameFailure(a, b string) bool {
	return a == b || a != "" && b != "" && positions.ReplaceAllString(a, "") == positions.ReplaceAllString(b, "")
}

// generalFailure returns an error without positions, indexes and names of children, on one line.
func generalFailure(text string) string {
	text = positions.ReplaceAllString(text, "")
	text = indexes.ReplaceAllString(text, "[*]")
	text = quoted.ReplaceAllString(text, "($1)")
	return strings.Join(strings.Fields(text), " ")
}
