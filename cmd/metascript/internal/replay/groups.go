package replay

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"metascript/controller/changes"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/engine"
	"metascript/engine/tree"
)

const (
	// maxGroups limits how many shapes are told apart. A script with the names of objects in the keys of maps could have one for each.
	maxGroups = 1000
	// otherShape is the shape of all others.
	otherShape = "other"
	// maxNames is how many names are kept of objects.
	maxNames = 5
	// maxLines is how many lines an example has.
	maxLines = 16
)

// A reporter sums up results.
type reporter struct {
	run     *run
	report  *Report
	calls   int                  // of the controller, also those that are not selected
	kinds   map[object.Kind]bool // of the parents
	parents map[string]bool      // all, and
	changed map[string]bool      // those with another answer
	groups  map[string]*collected
	effects collectedEffects
	skipped map[string]*Skipped
	sampled int
	varying Varying
}

// collected is a group while it is collected.
type collected struct {
	Group
	part    part
	parents map[string]bool
	effects collectedEffects
}

// collectedEffects has the children and the parents by the verb and the kind.
type collectedEffects map[[2]string]*touched

type touched struct{ children, parents map[string]bool }

// add adds an effect.
func (c collectedEffects) add(e effect, parent string) {
	at := [2]string{e.verb, e.child.Kind.Kind}
	if c[at] == nil {
		c[at] = &touched{map[string]bool{}, map[string]bool{}}
	}
	c[at].children[e.child.String()], c[at].parents[parent] = true, true
}

// effects returns the effects in the order of verbs.
func (c collectedEffects) effects() []Effect {
	var all []Effect
	for at, t := range c {
		all = append(all, Effect{Verb: at[0], Kind: at[1], Children: len(t.children), Parents: len(t.parents), Names: firstOf(t.children)})
	}
	slices.SortFunc(all, func(a, b Effect) int {
		return cmp.Or(slices.Index(verbs, a.Verb)-slices.Index(verbs, b.Verb), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}

// firstOf returns the first names of a set, sorted.
func firstOf(names map[string]bool) []string {
	all := slices.Sorted(maps.Keys(names))
	return all[:min(len(all), maxNames)]
}

func newReporter(r *run) *reporter {
	return &reporter{
		run: r, report: &Report{}, kinds: map[object.Kind]bool{}, parents: map[string]bool{}, changed: map[string]bool{}, groups: map[string]*collected{},
		effects: collectedEffects{}, skipped: map[string]*Skipped{},
	}
}

// addAll adds results in the order of their calls, until there are no more. It calls done with each call.
func (p *reporter) addAll(results <-chan *result, done func(*job)) {
	waiting := map[int]*result{}
	next := 0
	for res := range results {
		waiting[res.job.position] = res
		for res := waiting[next]; res != nil; res = waiting[next] {
			delete(waiting, next)
			p.add(res)
			done(res.job)
			next++
		}
	}
}

// add adds one result.
func (p *reporter) add(res *result) {
	of := res.job.of.Parent
	parent := describe(of)
	p.parents[parent], p.kinds[kindOf(of.APIVersion, of.Kind)] = true, true
	p.report.Calls++
	if res.sampled {
		p.sampled++
	}
	if res.varies {
		p.varying.Calls++
		p.varying.Example = cmp.Or(p.varying.Example, res.job.number)
	}
	switch {
	case res.skipped != "":
		p.skip(res, parent)
	case res.kept:
		p.report.Kept++
	case res.unrelated:
		p.report.Unrelated++
	case len(res.differences) == 0:
		p.report.Same++
	default:
		p.differ(res, parent)
	}
}

// skip adds a call that could not be replayed.
func (p *reporter) skip(res *result, parent string) {
	if p.skipped[res.skipped] == nil {
		p.skipped[res.skipped] = &Skipped{Reason: res.skipped, Example: res.job.number, Parent: parent}
	}
	p.skipped[res.skipped].Calls++
}

// differ adds a call with another answer.
func (p *reporter) differ(res *result, parent string) {
	p.report.Different++
	p.changed[parent] = true
	if res.job.call.Redacted {
		p.report.Redacted++
	}
	for _, e := range res.effects {
		p.effects.add(e, parent)
	}
	seen := map[*collected]bool{}
	for _, d := range res.differences {
		g := p.group(d)
		if g.Calls == 0 {
			g.Example = p.example(res, d, parent)
		}
		if !seen[g] {
			seen[g] = true
			g.Calls++
			g.parents[parent] = true
			if res.job.call.Redacted {
				g.Redacted++
			}
		}
		for _, e := range res.effects {
			if d.part == ofRecovery || d.part == ofChild && e.child == d.child {
				g.effects.add(e, parent)
			}
		}
	}
}

// group returns the group of a difference.
func (p *reporter) group(d difference) *collected {
	shape := d.shape
	if p.groups[shape] == nil && len(p.groups) >= maxGroups {
		shape = otherShape
	}
	g := p.groups[shape]
	if g == nil {
		g = &collected{Group: Group{Shape: shape}, part: d.part, parents: map[string]bool{}, effects: collectedEffects{}}
		p.groups[shape] = g
	}
	return g
}

// example returns a difference as an example.
func (p *reporter) example(res *result, d difference, parent string) Example {
	j := res.job
	e := Example{Call: j.number, Hook: j.call.Hook, Revision: j.call.Revision, Parent: parent, Repeated: res.repeated}
	var before, after any
	switch d.part {
	case ofFailure:
		e.Error = engine.DetailOf(p.located(res.after.err))
		return e
	case ofRecovery:
		e.Error = res.before.failure
		return e
	case ofChild:
		e.Child = d.child.Kind.Kind + " " + d.child.Key.String()
		e.Lines = p.childLines(res, d)
	case ofStatus:
		before, after = res.before.status, res.after.status
		e.Lines = linesOf(map[string]any{"status": before}, map[string]any{"status": after})
	default:
		e.Lines = linesOf(res.before.document(), res.after.document())
	}
	e.Lines = clipped(e.Lines)
	e.Place = p.place(res.after.response, d)
	return e
}

// childLines returns the lines of a child that differ.
func (p *reporter) childLines(res *result, d difference) []string {
	before, after := res.before.children.Get(d.child.Kind, d.child.Key), res.after.children.Get(d.child.Kind, d.child.Key)
	switch {
	case before == nil:
		return texts(changes.Of(nil, after, nil))
	case after == nil:
		return []string{"- the child " + d.child.Kind.Kind + " " + d.child.Name}
	}
	return texts(changes.Of(before, after, nil))
}

// linesOf returns the lines in which two documents differ.
func linesOf(before, after map[string]any) []string {
	native := func(m map[string]any) *object.Object {
		return object.New(plan.WithoutNulls(tree.Native(m).(map[string]any)))
	}
	return texts(changes.Of(native(before), native(after), nil))
}

func texts(lines []changes.Line) []string {
	var all []string
	for _, line := range lines {
		all = append(all, line.String())
	}
	return all
}

// clipped returns the first lines, and how many there are more.
func clipped(lines []string) []string {
	if more := len(lines) - maxLines; more > 1 {
		return append(slices.Clip(lines[:maxLines]), "  ... and "+count(more, "line", "lines")+" more")
	}
	return lines
}

// document returns an answer without children and status.
func (a *answer) document() map[string]any {
	rest := hook.Response{Shape: hook.Decorator, Labels: a.labels, Annotations: a.annotations, Children: &object.Set{}, ResyncAfter: a.resync, Finalized: a.finalized, Events: a.events}
	doc := rest.Document()
	delete(doc, "attachments")
	if a.related != nil {
		doc["relatedResources"] = a.related
	}
	if len(a.warnings) > 0 {
		var all []any
		for _, warning := range a.warnings {
			all = append(all, warning)
		}
		doc["warnings"] = all
	}
	return doc
}

// errDiffers is the text of the error by which the place of a value is found.
var errDiffers = errors.New("the answer differs here")

// place returns where the script writes the value that differs; "" if that is not known.
func (p *reporter) place(response *hook.Response, d difference) string {
	if response == nil {
		return ""
	}
	var at engine.Path
	switch d.part {
	case ofStatus:
		at = response.StatusField(hook.Field{Path: d.path.String()})
	case ofChild:
		child := response.Children.Get(d.child.Kind, d.child.Key)
		if child == nil {
			return ""
		}
		at = response.ChildField(child, hook.Field{Path: d.path.String()})
	default:
		at = engine.Path(d.path)
	}
	err := response.Locate(at, errDiffers)
	if located := (*engine.Located)(nil); !errors.As(err, &located) {
		return ""
	}
	return strings.Replace(engine.DetailOf(p.located(err)), ": "+errDiffers.Error(), "", 1)
}

// located adds the place in the files to an error.
func (p *reporter) located(err error) error {
	if p.run.Locate == nil {
		return err
	}
	return p.run.Locate(err)
}

// finish returns the report.
func (p *reporter) finish() *Report {
	r, file := p.report, p.run.File
	r.Controller = object.Describe(p.run.edited.given)
	r.Recording = Recording{Program: file.Header.Program, Began: file.Header.Began, Versions: len(p.run.versions), Unread: file.Unread}
	for _, problem := range file.Problems {
		r.Recording.Problems = append(r.Recording.Problems, problem.Error())
	}
	if file.MoreProblem > 0 {
		r.Recording.Problems = append(r.Recording.Problems, "and "+count(file.MoreProblem, "other problem", "other problems"))
	}
	if file.End != nil {
		r.Recording.Ended, r.Recording.Dropped = &file.End.Ended, file.End.Dropped
	}
	r.Parents, r.Changed, r.Effects = len(p.parents), len(p.changed), p.effects.effects()
	for _, g := range p.groups {
		g.Group.Parents, g.Names, g.Group.Effects = len(g.parents), firstOf(g.parents), g.effects.effects()
		r.Differences = append(r.Differences, &g.Group)
	}
	slices.SortFunc(r.Differences, func(a, b *Group) int {
		return cmp.Or(p.rank(a)-p.rank(b), b.Calls-a.Calls, cmp.Compare(a.Shape, b.Shape))
	})
	for _, reason := range slices.Sorted(maps.Keys(p.skipped)) {
		r.NotReplayed = append(r.NotReplayed, *p.skipped[reason])
	}
	if p.varying.Calls > 0 {
		p.varying.Of = p.sampled
		r.Varying = &p.varying
	}
	r.Notes = p.run.notes(r)
	r.expect(p.run.Expect)
	return r
}

// rank returns the place of a group in the output: deletions, errors, and then all others.
func (p *reporter) rank(g *Group) int {
	switch {
	case len(g.Effects) > 0 && g.Effects[0].Verb == wouldDelete:
		return 0
	case p.groups[g.Shape].part == ofFailure:
		return 1
	case p.groups[g.Shape].part == ofChild:
		return 2
	}
	return 3
}
