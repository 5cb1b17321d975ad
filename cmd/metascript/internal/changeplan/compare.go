package changeplan

import (
	"cmp"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// A ParentPlan is what one version of a controller does for one parent.
type ParentPlan struct {
	Controller string
	Parent     object.Ref
	Paused     bool   // by the annotation
	Pending    bool   // it is not planned
	Error      string // why it is not known what would change; "" if nothing failed
	Writes     []*Write
	Drift      int // how many writes Against has left out
}

// compare orders plans by controller, namespace and name.
func (p *ParentPlan) compare(q *ParentPlan) int {
	return cmp.Or(
		cmp.Compare(p.Controller, q.Controller), cmp.Compare(p.Parent.Kind.Kind, q.Parent.Kind.Kind),
		cmp.Compare(p.Parent.Namespace, q.Parent.Namespace), cmp.Compare(p.Parent.Name, q.Parent.Name),
	)
}

// A planned identifies a ParentPlan.
type planned struct {
	controller string
	parent     object.Ref
}

// Against leaves in plans only what differs from live, the plans of the version in the cluster: what that version would do too is drift.
// A parent that live does not have, because it has failed or is paused there, is not compared.
func Against(plans, live []*ParentPlan) {
	found := map[planned]*ParentPlan{}
	for _, p := range live {
		if p.Error == "" && !p.Paused && !p.Pending {
			found[planned{p.Controller, p.Parent}] = p
		}
	}
	for _, p := range plans {
		if other := found[planned{p.Controller, p.Parent}]; other != nil && p.Error == "" && !p.Paused && !p.Pending {
			p.Writes, p.Drift = differing(p.Writes, other.Writes)
		}
	}
}

// A part is what one version does to a part of an object. The status and the finalizers of a parent, and whether an object is owned,
// are parts of their own; whatever else is done to an object is one.
type part struct {
	object object.Ref
	action Action
}

func partOf(w *Write) part {
	switch w.Action {
	case Status, Finalizer, Decorate, Adopt, Release, Revision, Suppressed:
		return part{w.Object, w.Action}
	}
	return part{w.Object, ""}
}

// differing returns the writes that differ from those of the live version, and how many do not.
func differing(writes, live []*Write) (left []*Write, drift int) {
	of := map[part]*Write{}
	for _, w := range live {
		of[partOf(w)] = w
	}
	for _, w := range writes {
		other := of[partOf(w)]
		delete(of, partOf(w))
		switch {
		case other == nil:
			left = append(left, w)
		case same(w, other):
			drift++
		case w.Action == Revision:
			left = append(left, w) // its content is not shown
		default:
			left = append(left, relative(w, other))
		}
	}
	for _, w := range live {
		if of[partOf(w)] == w && w.Action != Suppressed && w.Action != Revision {
			left = append(left, abandoned(w))
		}
	}
	return left, drift
}

// relative returns w with the result of the live version as the object before it.
func relative(w, live *Write) *Write {
	changed := *w
	changed.Live = live.Action
	if how, _ := RestartOf(live); how != "" {
		here, _ := RestartOf(w)
		changed.NoRestart = here == how
	}
	if live.After != nil && w.After != nil {
		changed.Before, changed.After, changed.Fields = live.After, w.After, nil
		if how, _ := RestartOf(w); how == "" { // the live version changes the Pod template, and the new one does not
			changed.NoRestart = true
		}
	}
	changed.also = live.Redactor
	return &changed
}

// abandoned returns a write of the live version that the new version does not do, as the difference that this makes.
func abandoned(live *Write) *Write {
	w := *live
	w.Action, w.Live, w.NoRestart, w.Rolling = Leave, live.Action, true, ""
	w.Before, w.After = live.After, live.Before
	w.Why = "the live version would " + string(live.Action) + " it"
	return &w
}

// same reports whether both versions do the same to an object.
func same(a, b *Write) bool {
	if a.Action != b.Action || a.Rolling != b.Rolling || (a.After == nil) != (b.After == nil) || !slices.Equal(a.Fields, b.Fields) {
		return false
	}
	return a.After == nil || reflect.DeepEqual(content(a.After), content(b.After))
}

// volatile are the fields of metadata that differ although the same was written.
var volatile = []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"}

// content returns what is compared of an object.
func content(o *object.Object) any {
	m := maps.Clone(object.Copy(o).Map())
	if metadata, ok := m["metadata"].(map[string]any); ok {
		for _, field := range volatile {
			delete(metadata, field)
		}
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			delete(annotations, plan.LastApplied)
			delete(annotations, plan.AppliedDigest)
			if len(annotations) == 0 {
				delete(metadata, "annotations")
			}
		}
	}
	return withoutTimes(m)
}

// timestamp matches a time. Two versions that are asked at different times may differ only in it.
var timestamp = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

// withoutTimes replaces the times in v.
func withoutTimes(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, field := range v {
			v[key] = withoutTimes(field)
		}
	case []any:
		for i, item := range v {
			v[i] = withoutTimes(item)
		}
	case string:
		if timestamp.MatchString(v) {
			return "(time)"
		}
	}
	return v
}
