// Package changeplan makes a plan of what new versions of controllers would change, from what a server reports in a dry run.
//
// A [Reconcile] collects the writes of one parent, and what would follow them in a rolling update. [Against] compares the plans of two
// versions. [New] makes a [Document] of the plans: the sums, the groups of changes that are alike, and each change with its differences.
// A Document is printed as JSON, or with [Document.Text] for people. The package does no I/O.
package changeplan

import (
	"cmp"
	"slices"
	"strings"

	"metascript/controller/changes"
	"metascript/controller/object"
)

// What a plan is compared with; see Document.Against.
const (
	AgainstCluster = "cluster"
	AgainstLive    = "live"
)

// New returns the document of plans. If all is not set, only the example of each group has its differences, since they take most of the
// time.
func New(against string, controllers []Controller, plans []*ParentPlan, all bool) *Document {
	d := &Document{FormatVersion: FormatVersion, Against: against, Controllers: controllers, Complete: true}
	slices.SortFunc(plans, (*ParentPlan).compare)
	for _, p := range plans {
		parent := parentOf(p, all)
		d.count(parent)
		if parent.Result != Unchanged || parent.Drift > 0 || len(parent.Changes) > 0 {
			d.Parents = append(d.Parents, parent)
		}
	}
	d.group()
	return d
}

// Changes reports whether anything would change.
func (d *Document) Changes() bool { return d.Summary.Parents.Changed > 0 }

// Problem returns why the plan does not say what would change: that it is not complete, that controllers do not run, or that parents
// fail; "" if it does.
func (d *Document) Problem() string {
	var all []string
	broken := 0
	for _, c := range d.Controllers {
		if c.Problem != "" {
			broken++
		}
	}
	if broken > 0 {
		all = append(all, number(broken, "controller")+" cannot be planned")
	}
	if n := d.Summary.Parents.Failed; n > 0 {
		all = append(all, number(n, "parent")+" cannot be planned")
	}
	if !d.Complete {
		all = append(all, "the plan is not complete")
	}
	return strings.Join(all, "; ")
}

// parentOf returns a plan as a part of a document.
func parentOf(p *ParentPlan, all bool) Parent {
	parent := Parent{
		Controller: p.Controller, APIVersion: p.Parent.Kind.GroupVersion().String(), Kind: p.Parent.Kind.Kind,
		Namespace: p.Parent.Namespace, Name: p.Parent.Name, Drift: p.Drift, Error: p.Error,
	}
	for _, w := range p.Writes {
		c := changeOf(w)
		if all {
			c.Diff = w.diff()
		}
		parent.Changes = append(parent.Changes, c)
	}
	switch {
	case p.Error != "":
		parent.Result, parent.Changes, parent.Drift = Failed, nil, 0 // what it did before it failed is not the plan
	case p.Pending:
		parent.Result, parent.Changes = Pending, nil
	case p.Paused:
		parent.Result = Paused
	case slices.ContainsFunc(parent.Changes, func(c Change) bool { return c.Action != Suppressed }):
		parent.Result = Changed
	default:
		parent.Result = Unchanged
	}
	return parent
}

// changeOf returns a write as a part of a document.
func changeOf(w *Write) Change {
	c := Change{
		Action: w.Action, APIVersion: w.Object.Kind.GroupVersion().String(), Kind: w.Object.Kind.Kind, Namespace: w.Object.Namespace,
		Name: w.text(w.Object.Name), Why: w.text(w.Why), Rolling: w.Rolling, Live: w.Live, write: w,
	}
	if c.Restart, c.Pods = RestartOf(w); !c.Restart.Restarts() {
		c.Pods = nil
	}
	for _, field := range w.Fields {
		c.Fields = append(c.Fields, w.text(field))
	}
	if w.isShown() && w.Before != nil {
		c.Fields = nil
		for _, field := range changes.Fields(w.Before, w.After) {
			c.Fields = append(c.Fields, w.text(field))
		}
	}
	return c
}

// isShown reports whether it is shown what the write changes. The data of a ControllerRevision is not.
func (w *Write) isShown() bool { return w.Action != Revision && w.After != nil }

// diff returns the lines that the write changes.
func (w *Write) diff() (lines []string) {
	if !w.isShown() {
		return nil
	}
	for _, line := range changes.Of(w.Before, w.After, w.Redactor) {
		lines = append(lines, w.also.Text(line.String()))
	}
	return lines
}

// count adds a parent to the summary.
func (d *Document) count(p Parent) {
	counts := &d.Summary.Parents
	counts.Total++
	switch p.Result {
	case Changed:
		counts.Changed++
	case Unchanged:
		counts.Unchanged++
		if p.Drift > 0 {
			counts.Drift++
		}
	case Failed:
		counts.Failed++
	case Paused:
		counts.Paused++
	case Pending:
		counts.Pending++
		d.Complete = false
	}
	for _, c := range p.Changes {
		d.countChange(c)
	}
}

func (d *Document) countChange(c Change) {
	s := &d.Summary
	add(&s.Changes, func(n *Count) bool { return n.Action == c.Action && n.APIVersion == c.APIVersion && n.Kind == c.Kind },
		Count{Action: c.Action, APIVersion: c.APIVersion, Kind: c.Kind}).Count++
	if c.Rolling != "" {
		n := add(&s.Rolling, func(n *RollingCount) bool { return n.APIVersion == c.APIVersion && n.Kind == c.Kind }, RollingCount{APIVersion: c.APIVersion, Kind: c.Kind})
		if c.Rolling == Now {
			n.Now++
		} else {
			n.Later++
		}
	}
	if c.Restart == "" {
		return
	}
	n := add(&s.Restarts, func(n *RestartCount) bool {
		return n.APIVersion == c.APIVersion && n.Kind == c.Kind && n.How == c.Restart
	},
		RestartCount{APIVersion: c.APIVersion, Kind: c.Kind, How: c.Restart})
	n.Objects++
	switch {
	case c.Pods != nil:
		n.Pods += *c.Pods
	case c.Restart.Restarts():
		n.Unknown++
	}
}

// add returns the item of a list that is the one, or adds it.
func add[T any](list *[]T, is func(*T) bool, item T) *T {
	for i := range *list {
		if is(&(*list)[i]) {
			return &(*list)[i]
		}
	}
	*list = append(*list, item)
	return &(*list)[len(*list)-1]
}

// group fills the groups, and sorts them and the sums: by the action, and then the larger ones first.
func (d *Document) group() {
	found := map[string]int{}
	for i := range d.Parents {
		p := &d.Parents[i]
		for j := range p.Changes {
			c := &p.Changes[j]
			key := strings.Join(slices.Concat([]string{p.Controller, string(c.Action), c.APIVersion, c.Kind, string(c.Restart), string(c.Rolling), string(c.Live)}, c.Fields), "\n")
			at, exists := found[key]
			if !exists {
				at = len(d.Groups)
				found[key] = at
				if c.Diff == nil {
					c.Diff = c.write.diff()
				}
				d.Groups = append(d.Groups, Group{
					Action: c.Action, APIVersion: c.APIVersion, Kind: c.Kind, Fields: c.Fields, Restart: c.Restart, Rolling: c.Rolling, Live: c.Live,
					Example: c.describe(), first: c,
				})
			}
			g := &d.Groups[at]
			g.Count++
			if name := p.describe(); len(g.Parents) == 0 || g.Parents[len(g.Parents)-1] != name {
				g.Parents = append(g.Parents, name)
			}
		}
	}
	slices.SortStableFunc(d.Groups, func(a, b Group) int {
		return cmp.Or(order(a.Action)-order(b.Action), b.Count-a.Count, cmp.Compare(a.Kind, b.Kind))
	})
	slices.SortStableFunc(d.Summary.Changes, func(a, b Count) int {
		return cmp.Or(order(a.Action)-order(b.Action), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.APIVersion, b.APIVersion))
	})
}

func order(a Action) int { return slices.Index(actions, a) }

func (c *Change) describe() string {
	return c.Kind + " " + object.Key{Namespace: c.Namespace, Name: c.Name}.String()
}

func (p *Parent) describe() string {
	return p.Kind + " " + object.Key{Namespace: p.Namespace, Name: p.Name}.String()
}
