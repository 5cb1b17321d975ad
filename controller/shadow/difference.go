package shadow

import (
	"maps"
	"reflect"
	"slices"

	"metascript/controller/binding"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/plan"
	"metascript/controller/preview"
)

// difference returns the first difference between two answers to the same request; "" if they are equal. The order of children does
// not count. If the difference is about a child, it returns that too.
func difference(live, candidate *hook.Response) (what string, child object.Ref) {
	if what, child = childDifference(live.Children, candidate.Children); what != "" {
		return what, child.Clone()
	}
	for _, found := range []string{
		changesDifference("labels", live.Labels, candidate.Labels),
		changesDifference("annotations", live.Annotations, candidate.Annotations),
		statusDifference(live.Status, candidate.Status),
	} {
		if found != "" {
			return found, child
		}
	}
	switch {
	case live.Finalized != candidate.Finalized:
		what = "finalized"
	case live.ResyncAfter != candidate.ResyncAfter:
		what = "resyncAfterSeconds"
	case !slices.Equal(live.Events, candidate.Events):
		what = "events"
	}
	return what, child
}

const (
	onlyLive      = " is only in the answer of the script that runs"
	onlyCandidate = " is only in the answer of the candidate"
)

func childDifference(live, candidate *object.Set) (string, object.Ref) {
	for o := range added(live) {
		other := get(candidate, o)
		if other == nil {
			return object.Describe(o) + onlyLive, object.RefOf(o)
		}
		if field := plan.ObjectDifference(o, other); field != "" {
			return object.Describe(o) + ": " + field, object.RefOf(o)
		}
	}
	for o := range added(candidate) {
		if get(live, o) == nil {
			return object.Describe(o) + onlyCandidate, object.RefOf(o)
		}
	}
	return "", object.Ref{}
}

func added(s *object.Set) func(func(*object.Object) bool) {
	if s == nil {
		return func(func(*object.Object) bool) {}
	}
	return s.Added()
}

func get(s *object.Set, o *object.Object) *object.Object {
	if s == nil {
		return nil
	}
	return s.Get(o.GroupVersionKind(), object.KeyOf(o))
}

// changesDifference compares changes to labels or annotations.
func changesDifference(field string, live, candidate hook.Changes) string {
	keys := slices.Sorted(maps.Keys(live))
	for _, key := range slices.Sorted(maps.Keys(candidate)) {
		if _, both := live[key]; !both {
			return field + "[" + key + "]" + onlyCandidate
		}
	}
	for _, key := range keys {
		value, both := candidate[key]
		if !both {
			return field + "[" + key + "]" + onlyLive
		}
		if !reflect.DeepEqual(live[key], value) {
			return field + "[" + key + "]"
		}
	}
	return ""
}

// statusDifference compares two statuses. A nil status leaves that of the parent as it is.
func statusDifference(live, candidate map[string]any) string {
	switch {
	case live == nil && candidate == nil:
		return ""
	case candidate == nil:
		return "status" + onlyLive
	case live == nil:
		return "status" + onlyCandidate
	}
	if field := plan.Difference(live, candidate); field != "" {
		return "status." + field
	}
	return ""
}

// relatedDifference compares two answers of the customize hook.
func relatedDifference(live, candidate []hook.RelatedRule) string {
	for i := range min(len(live), len(candidate)) {
		if !reflect.DeepEqual(live[i], candidate[i]) {
			return hook.RelatedField(i)
		}
	}
	switch {
	case len(live) > len(candidate):
		return hook.RelatedField(len(candidate)) + onlyLive
	case len(live) < len(candidate):
		return hook.RelatedField(len(live)) + onlyCandidate
	}
	return ""
}

// maxWrites is how many writes of a comparison are kept.
const maxWrites = 8

// writes returns at most maxWrites of what only one of two versions would write to the children in a request: first the writes of the
// candidate; and how many others there are. An error of planning is reported by the reconcile, or would be if the candidate ran.
func writes(b *binding.Binding, req *hook.Request, live, candidate *hook.Response) (all []observe.ComparedWrite, more int) {
	now, then := preview.Children(b, req, live), preview.Children(b, req, candidate)
	alikeNow, alikeThen := alike(now), alike(then)
	for _, w := range then.Without(now).Writes {
		text := w.String()
		if alikeNow[doneTo(w)] {
			text += ", with another content"
		}
		all = append(all, observe.ComparedWrite{Object: object.RefOf(w.Object).Clone(), Text: text})
	}
	for _, w := range now.Without(then).Writes {
		if !alikeThen[doneTo(w)] {
			all = append(all, observe.ComparedWrite{Live: true, Object: object.RefOf(w.Object).Clone(), Text: "not " + w.String()})
		}
	}
	shown := min(len(all), maxWrites)
	return all[:shown], len(all) - shown
}

// A done is what a write does to which child. Two writes may do the same with another content.
type done struct {
	verb  plan.Verb
	child object.Ref
}

func doneTo(w preview.Write) done { return done{w.Verb, object.RefOf(w.Object)} }

// alike returns what the writes of a version do.
func alike(r *preview.Result) map[done]bool {
	all := make(map[done]bool, len(r.Writes))
	for _, w := range r.Writes {
		all[doneTo(w)] = true
	}
	return all
}
