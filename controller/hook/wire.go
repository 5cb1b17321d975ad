package hook

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"metascript/controller/absent"
	"metascript/controller/httpanswer"
	"metascript/controller/object"
	"metascript/engine"
)

// The fields of a response.
const (
	fieldStatus    = "status"
	fieldLabels    = "labels"
	fieldNotes     = "annotations"
	fieldResync    = "resyncAfterSeconds"
	fieldFinalized = "finalized"
	fieldEvents    = "events"
)

// encode returns req as the value that hooks get. It shares the objects of req, which are packed if they are of a cache.
func encode(req *Request, version string) map[string]any {
	if req.Shape == Customizing {
		return map[string]any{"controller": req.Controller.Value(), "parent": req.Parent.Value()}
	}
	return map[string]any{
		"controller":         req.Controller.Value(),
		req.Shape.parent():   req.Recorder.Parent(req.Parent),
		req.Shape.children(): encodeSet(req.Children, req, version, req.Recorder.Child),
		"related":            encodeSet(req.Related, req, version, req.Recorder.Relate),
		"finalizing":         req.Finalizing,
	}
}

// encodeSet returns a set as a map of groups, which are maps of objects. Groups are named "Pod.v1" or "StatefulSet.apps/v1".
func encodeSet(set *object.Set, req *Request, version string, value func(*object.Object) any) map[string]any {
	groups := map[string]any{}
	if set == nil {
		return groups
	}
	for _, kind := range set.Kinds() {
		group := make(map[string]any, len(set.Group(kind)))
		for _, o := range set.Group(kind) {
			group[wireKey(o, req.Parent, version)] = value(o)
		}
		groups[groupName(kind)] = group
	}
	return groups
}

func groupName(kind object.Kind) string { return kind.Kind + "." + kind.GroupVersion().String() }

// wireKey returns the key of an object in its group. In v1 it is the name, or "namespace/name" for a namespaced object of a
// cluster-scoped parent; in v2 it is "namespace/name" for every namespaced object.
func wireKey(o, parent *object.Object, version string) string {
	if version != V2 && parent.GetNamespace() != "" {
		return o.GetName()
	}
	return object.KeyOf(o).String()
}

// decodeOptions say how strictly a response is checked.
type decodeOptions struct {
	strict        bool // refuse missing children, undeclared kinds and duplicates
	knownKeys     bool // refuse unknown keys
	owned         bool // nothing else uses the response, so that its children need not be copied
	listed        bool // refuse missing children: the answer has a form that Metacontroller does not have
	refuseMissing bool // refuse missing children (v1alpha1.MissingChildrenHold)

	twice func() []error // returns an error for each key of the answer that occurs twice, of which a value is lost; may be nil

	absent *absent.Search // finds texts that a script made of a missing value
}

// decode converts and checks a response.
func decode(ctx context.Context, answer map[string]any, req *Request, how decodeOptions) (*Response, error) {
	if err := checkForm(answer, req.Shape, how); err != nil {
		return nil, err
	}
	if err := checkNone(answer, req, how); err != nil {
		return nil, err
	}
	if req.Shape == Customizing {
		if n := req.observed(); how.refuseMissing && n > 0 && answer[fieldRelated] == nil {
			return nil, fmt.Errorf("no %[1]s in the answer, while %[2]d %[3]s there that may depend on them, and missingChildren is Hold: answer with %[1]s, or with [] for none", fieldRelated, n, childrenAre(n))
		}
		return decodeRelated(answer, how)
	}
	resp := &Response{Shape: req.Shape, FillTimes: how.strict}
	var err error
	if resp.Status, err = decodeStatus(answer, req.Shape, how); err != nil {
		return nil, err
	}
	if req.Shape == Decorator {
		if resp.Labels, err = decodeChanges(answer, fieldLabels); err != nil {
			return nil, err
		}
		if resp.Annotations, err = decodeChanges(answer, fieldNotes); err != nil {
			return nil, err
		}
	}
	for _, field := range []string{fieldLabels, fieldNotes} {
		m, _ := answer[field].(map[string]any)
		if found := how.absent.Strings(m, field == fieldNotes); found != nil && req.Shape == Decorator {
			if how.strict && how.absent.Certain() {
				return nil, within(fmt.Errorf("%s: %w", field, absentError(found)), field)
			}
			resp.warn(func() error { return within(fmt.Errorf("%s: %w", field, absentError(found)), field) })
		}
	}
	if resp.ResyncAfter, err = decodeSeconds(answer[fieldResync]); err != nil {
		return nil, err
	}
	if resp.Finalized, err = decodeBool(answer, fieldFinalized); err != nil {
		return nil, err
	}
	resp.NotFinalized = answer[fieldFinalized] == false
	if resp.Events, err = decodeEvents(answer[fieldEvents]); err != nil {
		if how.strict {
			return nil, err
		}
		resp.warn(func() error { return err }) // Metacontroller has no such field
	}
	items, err := decodeChildren(answer, req, how)
	if err != nil {
		return nil, err
	}
	if err := resp.desire(ctx, items, req, how); err != nil {
		return nil, err
	}
	return resp, nil
}

// keys returns the keys that a response may have.
func (s Shape) keys() []string {
	if s == Customizing {
		return []string{fieldRelated}
	}
	keys := []string{fieldStatus, s.children(), fieldResync, fieldFinalized, fieldEvents}
	if s == Decorator {
		keys = append(keys, fieldLabels, fieldNotes)
	}
	return keys
}

// checkForm returns an error if an answer has another form than that of its shape.
func checkForm(answer map[string]any, shape Shape, how decodeOptions) error {
	if fields := httpanswer.Fields(answer); len(fields) > 0 && answer[shape.list()] == nil {
		return within(fmt.Errorf("the answer is an HTTP response, with %s and without %s: answer with the object that is its body", enumerate(fields), shape.list()), engine.Key(fields[0]))
	}
	if how.knownKeys {
		return checkKeys(answer, shape)
	}
	return checkMeant(answer, shape)
}

// checkMeant returns an error for an answer without children that was not made for this hook: one with a field that only the answers
// of the other kind of controller have, or only with unknown keys. It does not mean that there are no children, as {} does in
// Metacontroller.
func checkMeant(answer map[string]any, shape Shape) error {
	if shape == Customizing || answer[shape.list()] != nil {
		return nil
	}
	if field := fieldOfOther(answer, shape); field != "" {
		return within(fmt.Errorf("no %s in the answer, but %s, as in the answer for a %s: answer with %[1]s", shape.list(), field, shape.other()), engine.Key(field))
	}
	known := shape.keys()
	for key := range answer {
		if slices.Contains(known, key) {
			return nil
		}
	}
	return checkKeys(answer, shape)
}

// fieldOfOther returns a field of an answer that only the answers for the other kind of controller have; "" if there is none. A null
// beside a null for the children does not count: a server for both kinds may write all fields.
func fieldOfOther(answer map[string]any, shape Shape) string {
	_, hasList := answer[shape.list()]
	own := shape.keys()
	for _, key := range shape.other().keys() {
		value, found := answer[key]
		if found && !slices.Contains(own, key) && (value != nil || !hasList) {
			return key
		}
	}
	return ""
}

// checkKeys returns an error for an unknown key. Most often it is misspelled, and with "childs" all children would be
// deleted.
func checkKeys(answer map[string]any, shape Shape) error {
	known := shape.keys()
	for _, key := range slices.Sorted(maps.Keys(answer)) {
		if !slices.Contains(known, key) {
			return unknownKey(key, shape)
		}
	}
	return nil
}

// unknownKey returns the error for an unknown key of an answer.
func unknownKey(key string, shape Shape) error {
	known := shape.keys()
	like := engine.Nearest(key, known)
	if shape != Customizing && (key == Composite.children() || key == Decorator.children()) {
		like = shape.children() // of a controller of the other kind
	}
	if like != "" {
		return within(fmt.Errorf("unknown key %q in the answer: did you mean %q?", key, like), engine.Key(key))
	}
	return within(fmt.Errorf("unknown key %q in the answer: it may have %s", key, enumerate(known)), engine.Key(key))
}

// enumerate returns a list such as "a, b and c".
func enumerate(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// decodeStatus reads the status. If it is missing or null, the status of the parent does not change for a script or a
// decorator; otherwise it becomes empty, as in Metacontroller.
func decodeStatus(answer map[string]any, shape Shape, how decodeOptions) (map[string]any, error) {
	switch status := answer[fieldStatus].(type) {
	case map[string]any:
		return object.CopyValue(status).(map[string]any), nil // a copy, since it may be that of the parent
	case nil:
		if how.strict || shape == Decorator {
			return nil, nil
		}
		return map[string]any{}, nil
	default:
		return nil, within(fmt.Errorf("status in the answer is %s, want an object", typeName(status)), fieldStatus)
	}
}

// decodeChanges reads labels or annotations: strings are set, and null removes one.
func decodeChanges(answer map[string]any, field string) (Changes, error) {
	m, ok := answer[field].(map[string]any)
	if !ok && answer[field] != nil {
		return nil, within(fmt.Errorf("%s in the answer is %s, want an object", field, typeName(answer[field])), field)
	}
	changes := Changes{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		switch value := m[key].(type) {
		case nil:
			changes[key] = nil
		case string:
			changes[key] = &value
		default:
			return nil, within(fmt.Errorf("%s[%q] in the answer is %s, want a string, or null to remove it", field, key, typeName(value)), field, key)
		}
	}
	return changes, nil
}

// decodeChildren reads the list of children.
func decodeChildren(answer map[string]any, req *Request, how decodeOptions) ([]any, error) {
	field := req.Shape.children()
	switch items := answer[field].(type) {
	case []any:
		return items, nil
	case nil:
		n := req.observed()
		if n > 0 && (how.strict || how.listed) {
			return nil, fmt.Errorf("no %[1]s in the answer, which would delete the %[2]d there %[3]s: return %[1]s, or [] to delete them on purpose", field, n, isOrAre(n))
		}
		if n > 0 && how.refuseMissing {
			return nil, fmt.Errorf("no %[1]s in the answer, which would delete the %[2]d there %[3]s, and missingChildren is Hold: answer with %[1]s, or with [] to delete them on purpose", field, n, isOrAre(n))
		}
		return nil, nil
	default:
		return nil, within(fmt.Errorf("%s in the answer is %s, want a list of objects", field, typeName(items)), field)
	}
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func childrenAre(n int) string {
	if n == 1 {
		return "child is"
	}
	return "children are"
}

// maxSeconds limits durations, so that they do not overflow: 100 years.
const maxSeconds = 100 * 365 * 24 * 3600

func decodeSeconds(v any) (time.Duration, error) {
	var seconds float64
	switch n := v.(type) {
	case nil:
		return 0, nil
	case int64:
		seconds = float64(n)
	case float64:
		seconds = n
	default:
		return 0, within(fmt.Errorf("%s in the answer is %s, want a number of seconds", fieldResync, typeName(v)), fieldResync)
	}
	return time.Duration(math.Min(math.Max(seconds, 0), maxSeconds) * float64(time.Second)), nil
}

func decodeBool(answer map[string]any, field string) (bool, error) {
	switch b := answer[field].(type) {
	case nil:
		return false, nil
	case bool:
		return b, nil
	default:
		return false, within(fmt.Errorf("%s in the answer is %s, want true or false", field, typeName(b)), field)
	}
}

func decodeEvents(v any) ([]Event, error) {
	if v == nil {
		return nil, nil
	}
	items, ok := v.([]any)
	if !ok {
		return nil, within(fmt.Errorf("events in the answer is %s, want a list of {type, reason, message}", typeName(v)), fieldEvents)
	}
	events := make([]Event, 0, len(items))
	for i, item := range items {
		event, err := decodeEvent(item)
		if err != nil {
			return nil, within(fmt.Errorf("events[%d] in the answer: %w", i, err), fieldEvents, i)
		}
		events = append(events, event)
	}
	return events, nil
}

func decodeEvent(v any) (Event, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return Event{}, fmt.Errorf("is %s, want {type, reason, message}", typeName(v))
	}
	event := Event{Type: "Normal"}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		text, ok := m[key].(string)
		if !ok {
			return Event{}, within(fmt.Errorf("%s is %s, want a string", key, typeName(m[key])), key)
		}
		switch key {
		case "type":
			event.Type = text
		case "reason":
			event.Reason = text
		case "message":
			event.Message = text
		default:
			return Event{}, within(fmt.Errorf("unknown key %q: it may have type, reason and message", key), engine.Key(key))
		}
	}
	if event.Type != "Normal" && event.Type != "Warning" {
		return Event{}, within(fmt.Errorf("type is %q, want Normal or Warning", event.Type), "type")
	}
	if event.Reason == "" || event.Message == "" {
		return Event{}, fmt.Errorf("reason and message must not be empty")
	}
	return event, nil
}

// typeName returns the name of the type of a JSON value, for messages.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case int64, float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return fmt.Sprintf("a %T", v)
}
