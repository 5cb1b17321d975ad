package changeplan

import (
	"fmt"
	"strings"

	"metascript/cmd/metascript/internal/style"
	"metascript/controller/restarts"
)

// In a text that is not the full one, a group has this many names of parents, and an example this many lines.
const (
	maxNames  = 3
	maxLines  = 60
	fewSilent = 10 // parents of a deletion are named up to this number
)

// signs are the signs before groups.
var signs = map[Action]string{Create: "+", Delete: "-", Recreate: "-/+", Suppressed: "=", Leave: "="}

// Text returns the document for people: the summary, the groups, each with one example, and the failures. If all is set, each change
// is shown in place of the groups.
func (d *Document) Text(s style.Styler, all bool) string {
	t := &text{style: s}
	d.controllers(t)
	if all {
		d.each(t)
	} else {
		d.groups(t)
	}
	d.failures(t, all)
	d.summary(t)
	return t.String()
}

// A text is written line by line.
type text struct {
	strings.Builder
	style style.Styler
}

func (t *text) line(indent int, format string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		t.WriteString(strings.Repeat("  ", indent) + strings.TrimSuffix(line, "\n") + "\n")
	}
}

func (d *Document) controllers(t *text) {
	for _, c := range d.Controllers {
		for _, note := range c.Notes {
			t.line(0, "%s: %s", t.style.Strong(c.Kind+" "+c.Name), t.style.Warning(note))
		}
		if c.Problem != "" {
			t.line(0, "%s", t.style.Failure(c.Problem))
		}
	}
}

// groups writes each group with an example.
func (d *Document) groups(t *text) {
	for i := range d.Groups {
		g := &d.Groups[i]
		t.line(0, "%s", t.style.Strong(g.title()))
		t.line(1, "%s", g.parents())
		if len(g.first.Diff) > 0 || g.first.Why != "" {
			t.line(1, "for example %s", g.first.title())
			t.diff(2, g.first.Diff, maxLines)
		}
		t.line(0, "\n")
	}
}

// each writes each change, below its parent.
func (d *Document) each(t *text) {
	for i := range d.Parents {
		p := &d.Parents[i]
		if len(p.Changes) == 0 {
			continue
		}
		t.line(0, "%s", t.style.Strong(p.describe()+" ("+p.Controller+")"))
		for j := range p.Changes {
			c := &p.Changes[j]
			t.line(1, "%s %s %s", sign(c.Action), c.Action, c.title())
			t.diff(2, c.Diff, len(c.Diff))
		}
		t.line(0, "\n")
	}
}

func (t *text) diff(indent int, lines []string, most int) {
	for i, line := range lines {
		if i == most {
			t.line(indent, "%s", t.style.Dim(fmt.Sprintf("... and %d lines more", len(lines)-most)))
			return
		}
		t.line(indent, "%s", t.style.Diff(line))
	}
}

// title returns a line such as "~ update 3 ConfigMaps of 3 parents: data.text".
func (g *Group) title() string {
	title := fmt.Sprintf("%s %s %s", sign(g.Action), g.Action, number(g.Count, g.Kind))
	if len(g.Parents) != g.Count || g.Action != Status && g.Action != Finalizer && g.Action != Decorate {
		title += " of " + number(len(g.Parents), "parent")
	}
	if len(g.Fields) > 0 {
		title += ": " + strings.Join(g.Fields, ", ")
	}
	var marks []string
	switch g.Rolling {
	case Now:
		marks = append(marks, "the first step of a rolling update")
	case Later:
		marks = append(marks, "later, one at a time")
	}
	if note := restartNotes[g.Restart]; note != "" {
		marks = append(marks, "Pods: "+note)
	}
	switch {
	case g.Live == "" || g.Action == Leave:
	case g.Live == g.Action:
		marks = append(marks, "the live version would too, with another result")
	default:
		marks = append(marks, "the action of the live version is "+string(g.Live))
	}
	if len(marks) > 0 {
		title += " (" + strings.Join(marks, "; ") + ")"
	}
	return title
}

// restartNotes say what happens to Pods.
var restartNotes = map[restarts.How]string{
	restarts.Recreated:  "stopped and started again",
	restarts.Replaced:   "replaced one after the other",
	restarts.ReplacedAt: "all stopped before new ones start",
	restarts.Containers: "containers restart in place",
	restarts.Held:       "left running until they are deleted",
	restarts.NewPods:    "left as they are, only new ones have the new template",
}

// parents returns the names of the parents of a group. All are named if something is deleted and they are not many.
func (g *Group) parents() string {
	most := maxNames
	if g.Action == Delete || g.Action == Recreate {
		most = fewSilent
	}
	if len(g.Parents) <= most+1 {
		return "of " + strings.Join(g.Parents, ", ")
	}
	return fmt.Sprintf("of %s and %d more (--all names them)", strings.Join(g.Parents[:most], ", "), len(g.Parents)-most)
}

// title returns a line such as "ConfigMap default/a: data.text differs".
func (c *Change) title() string {
	if c.Why == "" {
		return c.describe()
	}
	return c.describe() + ": " + c.Why
}

func sign(a Action) string {
	if sign, found := signs[a]; found {
		return sign
	}
	return "~"
}

// failures writes the errors. Parents with the same error are written once.
func (d *Document) failures(t *text, all bool) {
	of := map[string][]string{}
	var order []string
	for i := range d.Parents {
		p := &d.Parents[i]
		if p.Result != Failed {
			continue
		}
		key := p.Error
		if !all {
			key = strings.ReplaceAll(key, p.Name, "…")
		}
		if of[key] == nil {
			order = append(order, key)
			of[key] = []string{p.Error}
		}
		of[key] = append(of[key], p.describe())
	}
	for _, key := range order {
		g := Group{Parents: of[key][1:]}
		t.line(0, "%s", t.style.Strong(number(len(g.Parents), "parent")+" cannot be planned"))
		t.line(1, "%s", g.parents())
		t.line(1, "%s", t.style.Failure(of[key][0]))
		t.line(0, "\n")
	}
}

func (d *Document) summary(t *text) {
	n := d.Summary.Parents
	parts := []string{fmt.Sprintf("%d changed", n.Changed), fmt.Sprintf("%d unchanged", n.Unchanged)}
	for _, more := range []struct {
		n    int
		what string
	}{{n.Failed, "failed"}, {n.Paused, "paused"}, {n.Pending, "not planned"}} {
		if more.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", more.n, more.what))
		}
	}
	t.line(0, "%s", t.style.Strong(fmt.Sprintf("plan of %s: %s", number(n.Total, "parent"), strings.Join(parts, ", "))))
	if d.Against == AgainstLive && n.Drift > 0 {
		t.line(1, "drift: %s would change with the live version too, in the same way", number(n.Drift, "parent"))
	}
	for i, c := range d.Summary.Changes {
		if i == 0 || d.Summary.Changes[i-1].Action != c.Action {
			t.line(1, "%-10s %s", c.Action, d.kinds(c.Action))
		}
	}
	for _, r := range d.Summary.Rolling {
		t.line(1, "%-10s %s one at a time: %d in the first step, %d later", "rolling", number(r.Now+r.Later, r.Kind), r.Now, r.Later)
	}
	d.restarts(t)
	if !d.Complete {
		t.line(1, "%s", t.style.Failure("the plan is not complete"))
	}
}

// kinds returns the numbers of objects with an action.
func (d *Document) kinds(a Action) string {
	var all []string
	for _, c := range d.Summary.Changes {
		if c.Action == a {
			all = append(all, number(c.Count, c.Kind))
		}
	}
	return strings.Join(all, ", ")
}

func (d *Document) restarts(t *text) {
	quiet := true
	for _, r := range d.Summary.Restarts {
		quiet = quiet && !r.How.Restarts()
		what := "restarts"
		if !r.How.Restarts() {
			what = "templates"
		}
		t.line(1, "%-10s %s", what, r.String())
	}
	if quiet && d.Changes() {
		t.line(1, "%-10s nothing", "restarts")
	}
}

// String returns a text such as "6 Pods of 2 Deployments: replaced one after the other".
func (r RestartCount) String() string {
	what := number(r.Objects, r.Kind)
	switch {
	case !r.How.Restarts() || r.Kind == "Pod":
	case r.Unknown == r.Objects:
		what = "the Pods of " + what
	case r.Unknown > 0:
		what = fmt.Sprintf("%s of %s, and those of %d whose number is not known", number(r.Pods, "Pod"), number(r.Objects, r.Kind), r.Unknown)
	default:
		what = number(r.Pods, "Pod") + " of " + what
	}
	return what + ": " + restartNotes[r.How]
}

// number returns a number with a noun.
func number(n int, noun string) string {
	if n != 1 {
		noun = plural(noun)
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func plural(noun string) string {
	last := noun[len(noun)-1:]
	switch {
	case strings.HasSuffix(noun, "ss") || strings.HasSuffix(noun, "us") || strings.HasSuffix(noun, "x") || strings.HasSuffix(noun, "ch"):
		return noun + "es"
	case last == "s":
		return noun
	case last == "y" && !strings.ContainsAny(noun[max(0, len(noun)-2):len(noun)-1], "aeiou"):
		return noun[:len(noun)-1] + "ies"
	}
	return noun + "s"
}
