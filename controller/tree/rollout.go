package tree

import (
	"slices"
	"strings"

	"metascript/controller/binding"
	"metascript/controller/history"
	"metascript/controller/object"
	"metascript/controller/rollout"
)

// A Rollout is what is stored of the rollout of the children of a parent.
type Rollout struct {
	Latest rollout.Revision
	Older  []rollout.Revision
	Kinds  map[object.Kind]rollout.Rule // those that roll
}

// A wanted child is one of a revision.
type wanted struct {
	rollout.Child
	apiVersion string
}

// wanted returns the children of all revisions whose kinds roll.
func (r *Rollout) wanted() []wanted {
	versions := map[rollout.Child]string{}
	for _, revision := range append([]rollout.Revision{r.Latest}, r.Older...) {
		for child := range revision.Children {
			for kind := range r.Kinds {
				if kind.GroupKind() == child.GroupKind {
					versions[child] = kind.GroupVersion().String()
				}
			}
		}
	}
	var all []wanted
	for child, version := range versions {
		child.Group, child.Kind, child.Name = strings.Clone(child.Group), strings.Clone(child.Kind), strings.Clone(child.Name)
		all = append(all, wanted{child, version})
	}
	return all
}

// revisionOf returns the revision of a child, and whether its kind rolls.
func (r *Rollout) revisionOf(c rollout.Child) (*Revision, bool) {
	rolls := false
	for kind := range r.Kinds {
		rolls = rolls || kind.GroupKind() == c.GroupKind
	}
	if !rolls {
		return nil, false
	}
	if r.Latest.Children[c] {
		return &Revision{revisionName(r.Latest), true}, true
	}
	if i := slices.IndexFunc(r.Older, func(older rollout.Revision) bool { return older.Children[c] }); i >= 0 {
		return &Revision{revisionName(r.Older[i]), false}, true
	}
	return &Revision{}, true
}

// describe sets the revision of a child. The checks of its kind decide whether it is ready, if it has some.
func (r *Rollout) describe(n *Node, o *object.Object) {
	rule, rolls := r.Kinds[o.GroupVersionKind()]
	if !rolls {
		return
	}
	n.Revision, _ = r.revisionOf(rollout.ChildOf(o))
	if len(rule.Checks) == 0 || n.Deleted != nil {
		return
	}
	n.Ready, n.Reasons = Ready, nil
	if wrong := rule.Unhealthy(o); wrong != "" {
		n.Ready, n.Reasons = NotReady, []string{clip("it " + wrong)}
	}
}

// wait says of each child at an older revision why it does not move to the latest one.
func (r *Rollout) wait(in *Input, at map[place]*Node) {
	blocked, why := r.blocked(in, at)
	for _, n := range at {
		if n.Revision == nil || n.Revision.Latest {
			continue
		}
		switch {
		case binding.IsPaused(in.Parent):
			n.Waits = &Wait{Why: "it waits for its parent, which is paused"}
		case blocked == nil && n.Revision.Name == "" && len(r.Older) == 0:
			// no reconcile has decided about it yet
		case blocked == nil:
			n.Waits = &Wait{Why: "it waits for its turn: one child is updated after the other"}
		case in.Hides(blocked.Object):
			n.Waits = &Wait{Why: "it waits for a child that you may not read"}
		default:
			n.Waits = &Wait{For: &blocked.Object, Why: clip(why)}
		}
	}
}

// blocked returns the child at the latest revision for which the others wait, and why it is not ready; nil if there is none. If the
// last reconcile names one, it is that one, as long as it is not ready: only a reconcile can tell whether a child is as the hook wants it.
func (r *Rollout) blocked(in *Input, at map[place]*Node) (*Node, string) {
	objects := map[place]*object.Object{}
	for _, o := range in.Owned {
		objects[placeOf(history.ObjectOf(object.RefOf(o)))] = o
	}
	updated := find(ConditionsOf(in.Parent), rollout.UpdatedCondition)
	var first *Node
	var firstWhy string
	for where, n := range at {
		if n.Revision == nil || !n.Revision.Latest {
			continue
		}
		why := r.unhealthy(n, objects[where])
		if updated != nil && updated.Reason == rollout.Waiting {
			if said, is := strings.CutPrefix(updated.Message, n.Kind+" "+n.Name+" "); is && (why != "" || strings.HasPrefix(said, rollout.NotUpdated)) {
				if why == "" {
					why = said
				}
				return n, why
			}
		}
		if why != "" && (first == nil || compare(n, first) < 0) {
			first, firstWhy = n, why
		}
	}
	return first, firstWhy
}

// unhealthy returns why the rollout does not go on after a child at the latest revision, or "".
func (r *Rollout) unhealthy(n *Node, o *object.Object) string {
	switch {
	case n.Absent || o == nil:
		return "does not exist yet"
	case n.Deleted != nil:
		return "is still being deleted"
	}
	rule := r.Kinds[o.GroupVersionKind()]
	return rule.Unhealthy(o)
}

// progress returns how far the rollout is.
func (r *Rollout) progress(parent *object.Object) *Progress {
	p := &Progress{Latest: revisionName(r.Latest)}
	all := map[rollout.Child]bool{}
	for _, revision := range append([]rollout.Revision{r.Latest}, r.Older...) {
		for child := range revision.Children {
			all[child] = true
		}
	}
	p.Total, p.Updated = len(all), len(r.Latest.Children)
	if c := find(ConditionsOf(parent), rollout.UpdatedCondition); c != nil && c.Status != "True" {
		p.Message = clip(c.Message)
	}
	return p
}
