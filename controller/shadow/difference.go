package shadow

import (
	"maps"
	"reflect"
	"slices"

	"metascript/controller/binding"
	"metascript/controller/children"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// difference returns the first difference between two answers to the same request; "" if they are equal. The order of children does
// not count.
func difference(live, candidate *hook.Response) string {
	for _, found := range []string{
		childDifference(live.Children, candidate.Children),
		changesDifference("labels", live.Labels, candidate.Labels),
		changesDifference("annotations", live.Annotations, candidate.Annotations),
		statusDifference(live.Status, candidate.Status),
	} {
		if found != "" {
			return found
		}
	}
	switch {
	case live.Finalized != candidate.Finalized:
		return "finalized"
	case live.ResyncAfter != candidate.ResyncAfter:
		return "resyncAfterSeconds"
	case !slices.Equal(live.Events, candidate.Events):
		return "events"
	}
	return ""
}

const (
	onlyLive      = " is only in the answer of the script that runs"
	onlyCandidate = " is only in the answer of the candidate"
)

func childDifference(live, candidate *object.Set) string {
	for o := range added(live) {
		other := get(candidate, o)
		if other == nil {
			return object.Describe(o) + onlyLive
		}
		if field := plan.ObjectDifference(o, other); field != "" {
			return object.Describe(o) + ": " + field
		}
	}
	for o := range added(candidate) {
		if get(live, o) == nil {
			return object.Describe(o) + onlyCandidate
		}
	}
	return ""
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

// writes returns what only one of two versions would write to the children in a request: the writes of the candidate, and then those
// of the version that runs, which begin with "not ". An error of planning is reported by the reconcile, or would be if the candidate ran.
func writes(b *binding.Binding, req *hook.Request, live, candidate *hook.Response) []string {
	if req.Children == nil || object.Deleting(req.Parent) && !b.FinalizesChildren(req.Parent) {
		return nil // the garbage collector deletes the children
	}
	policy := (&children.Writer{Binding: b, Memory: children.NewMemory()}).Policy(req.Parent)
	ops := func(r *hook.Response) ([]plan.Op, map[object.Ref]plan.Op) {
		desired := r.Children
		if desired == nil {
			desired = &object.Set{}
		}
		planned, _ := plan.Children(req.Children, desired, policy)
		byRef := map[object.Ref]plan.Op{}
		for _, op := range planned.Ops {
			byRef[object.RefOf(op.Object)] = op
		}
		return planned.Ops, byRef
	}
	now, nowByRef := ops(live)
	then, thenByRef := ops(candidate)
	var all []string
	for _, op := range then {
		switch other, both := nowByRef[object.RefOf(op.Object)]; {
		case !both || other.Verb != op.Verb:
			all = append(all, op.String())
		case plan.ObjectDifference(op.Object, other.Object) != "":
			all = append(all, op.String()+", with another content")
		}
	}
	for _, op := range now {
		if other, both := thenByRef[object.RefOf(op.Object)]; !both || other.Verb != op.Verb {
			all = append(all, "not "+op.String())
		}
	}
	return all[:min(len(all), maxWrites)]
}
