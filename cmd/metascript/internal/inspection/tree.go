package inspection

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"metascript/cmd/metascript/internal/output"
	"metascript/cmd/metascript/internal/style"
	"metascript/controller/inspect"
	"metascript/controller/tree"
)

// treeFlags are the flags of the command tree.
type treeFlags struct {
	Flags
	controller string
	output     output.Format
}

// TreeCommand returns the command tree. It is for a person who asks what belongs to an object, and what is not ready.
func TreeCommand() *cobra.Command {
	var f treeFlags
	cmd := &cobra.Command{
		Use:        "tree KIND/NAME",
		SuggestFor: []string{"children", "owned", "graph"},
		Short:      "Show the children of a parent, which of them are ready, and what waits for what",
		Long: `Show the ownership tree of a parent: its children, and their children if they are parents too. For each object it says
whether it is ready and why not, how old it is, and whether it is being deleted; in a rollout, whether it is at the latest
revision, and which child has to be ready before it is updated; and problems of its owner and of the last write. A child that
a controller wants and that does not exist is in the tree too. Below a parent is what it waits for, and the error of its last
reconcile: the command why shows more of it.

An object is ready as kubectl shows it: by its condition Ready or Available, its phase or its replicas. For a kind of children
with status checks in the controller, these decide. "-" means that the status does not say it.

The command finds the server as the command why does, and shows what the owner of your token may read. A tree has at most
1,000 objects, and 200 children of one parent; those that are not ready are shown first.

KIND is a kind, a resource or a short name, with or without its group.

With --output json or yaml, the output is the response of the server: an object with the field root, which has the fields of
an object and the list controllers, each with its children.`,
		Example: `  metascript tree website/shop -n default
  metascript tree catsets.ctl.enisoc.com/nginx
  metascript tree website/shop -o json`,
		Args: objectArgument,
		RunE: func(cmd *cobra.Command, args []string) error { return showTree(cmd, &f, args) },
	}
	f.Register(cmd.Flags())
	cmd.Flags().StringVar(&f.controller, "controller", "", "show only the children that the parent has because of this controller")
	f.output.Register(cmd.Flags())
	return cmd
}

func showTree(cmd *cobra.Command, f *treeFlags, args []string) error {
	ctx := cmd.Context()
	client, err := f.Open(ctx, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer client.Close()
	found := &inspect.Tree{}
	if _, err := client.GetNamed(ctx, "/v1/tree", args, f.controller, found); err != nil {
		return err
	}
	if !f.output.IsText() {
		return f.output.Print(cmd.OutOrStdout(), found)
	}
	for _, line := range unanswered(found.APIServer, found.Reviewed) {
		fmt.Fprintln(cmd.ErrOrStderr(), line)
	}
	PrintTree(cmd.OutOrStdout(), style.For(cmd.OutOrStdout()), found, time.Now())
	return nil
}

// PrintTree prints a tree as a table with notes below its lines. now is the time to which ages are computed.
func PrintTree(w io.Writer, s style.Styler, found *inspect.Tree, now time.Time) {
	p := &treePrinter{style: s, now: now, namespace: found.Root.Namespace, off: found.Off}
	p.node(found.Root, "", "")
	p.print(w)
}

// A treePrinter collects the lines of a tree.
type treePrinter struct {
	style     style.Styler
	now       time.Time
	namespace string // of the root, which is not repeated
	off       bool
	lines     []treeLine
}

// A treeLine is a line with columns, or a note.
type treeLine struct {
	columns [4]string // the first has the branches
	ready   tree.Readiness
	note    string // in place of the columns but the first
}

var treeHead = [4]string{"NAME", "READY", "AGE", "REVISION"}

// node adds the lines of a node. branch is what is before its name, and below what is before those of its notes and children.
func (p *treePrinter) node(n *tree.Node, branch, below string) {
	line := treeLine{columns: [4]string{branch + p.name(n), readyText(n), "-", revisionText(n)}, ready: n.Ready}
	if n.Created != nil {
		line.columns[2] = duration.HumanDuration(p.now.Sub(*n.Created))
	}
	p.lines = append(p.lines, line)
	notes := nodeNotes(n)
	if len(n.Controllers) == 1 {
		notes = append(notes, p.controllerNotes(n, n.Controllers[0])...)
	}
	bar := "  "
	if hasBelow(n) {
		bar = "│ "
	}
	for _, note := range notes {
		p.lines = append(p.lines, treeLine{columns: [4]string{below + bar}, note: note})
	}
	switch len(n.Controllers) {
	case 0:
	case 1:
		p.children(n.Controllers[0], below)
	default:
		for i, c := range n.Controllers {
			branch, under := branches(below, i == len(n.Controllers)-1)
			p.lines = append(p.lines, treeLine{columns: [4]string{branch}, note: p.style.Strong(c.Kind + " " + c.Name)})
			bar := "  "
			if len(c.Children) > 0 {
				bar = "│ "
			}
			for _, note := range p.controllerNotes(n, c)[1:] {
				p.lines = append(p.lines, treeLine{columns: [4]string{under + bar}, note: note})
			}
			p.children(c, under)
		}
	}
}

// hasBelow reports whether lines follow that belong to n, after its notes.
func hasBelow(n *tree.Node) bool {
	return len(n.Controllers) > 1 || len(n.Controllers) == 1 && len(n.Controllers[0].Children) > 0
}

// branches returns what is before the name of the next child, and before what is below it.
func branches(below string, last bool) (branch, under string) {
	if last {
		return below + "└─", below + "  "
	}
	return below + "├─", below + "│ "
}

// children adds the lines of the children of a controller.
func (p *treePrinter) children(c *tree.Controller, below string) {
	for i, child := range c.Children {
		branch, under := branches(below, i == len(c.Children)-1)
		p.node(child, branch, under)
	}
}

// name returns a name such as Pod/web-0, with the namespace if it is another one than that of the root.
func (p *treePrinter) name(n *tree.Node) string {
	name := n.Kind + "/" + n.Name
	if n.Namespace != p.namespace && n.Namespace != "" {
		name += " (namespace " + n.Namespace + ")"
	}
	return name
}

func readyText(n *tree.Node) string {
	switch {
	case n.Absent:
		return "absent"
	case n.Deleted != nil:
		return "deleted"
	case n.Ready == tree.Unclear:
		return "-"
	}
	return string(n.Ready)
}

func revisionText(n *tree.Node) string {
	switch {
	case n.Revision == nil:
		return ""
	case n.Revision.Latest:
		return "latest"
	case n.Revision.Name == "":
		return "unknown"
	}
	return "old"
}

// nodeNotes returns what there is to say of an object beside its columns.
func nodeNotes(n *tree.Node) []string {
	var notes []string
	if n.Absent && len(n.Problems) == 0 {
		notes = append(notes, "it is wanted, and does not exist")
	}
	if n.Deleted != nil {
		note := "it is being deleted"
		if len(n.Finalizers) > 0 {
			note += ", and held by the finalizers " + strings.Join(n.Finalizers, ", ")
		}
		notes = append(notes, note)
	}
	notes = append(append(notes, n.Reasons...), n.Problems...)
	if w := n.Waits; w != nil && w.For == nil {
		notes = append(notes, w.Why)
	} else if w != nil {
		notes = append(notes, "it waits for "+w.For.Kind+"/"+w.For.Name+", which "+w.Why)
	}
	if n.Paused {
		notes = append(notes, "it is paused by its annotation: nothing is done for it")
	}
	return notes
}

// controllerNotes returns what there is to say of a controller of a parent; first its name.
func (p *treePrinter) controllerNotes(n *tree.Node, c *tree.Controller) []string {
	notes := []string{p.style.Dim("children of " + c.Kind + " " + c.Name)}
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if c.Loading {
		note("the controller fills its caches: children may be missing here")
	}
	if c.Problem != "" {
		note("the controller is not ready: %s", firstLine(c.Problem))
	}
	switch {
	case c.Error != "" && c.Next != nil && c.Next.Unstable:
		note("the last reconcile was not finished: %s", firstLine(c.Error))
	case c.Error != "":
		note("%s", p.style.Failure("the last reconcile failed: "+firstLine(c.Error)))
	case c.Last == nil && !p.off && !n.Paused:
		note("no reconcile is known: the server has not reconciled it since it started, or has dropped what is old")
	}
	Timeline{Style: p.style}.next(note, c.Next)
	if r := c.Rollout; r != nil && r.Updated < r.Total {
		text := fmt.Sprintf("rollout: %d of %d children are at the latest revision", r.Updated, r.Total)
		if r.Message != "" {
			text += ": " + firstLine(r.Message)
		}
		note("%s", text)
	}
	if c.More > 0 {
		text := fmt.Sprintf("and %d more children", c.More)
		if c.NotReady > 0 {
			text += fmt.Sprintf(", of which %d are not ready", c.NotReady)
		}
		note("%s", text)
	}
	for _, hidden := range c.Hidden {
		note("and %d of the kind %s that you may not read", hidden.Count, hidden.Kind)
	}
	return notes
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// print prints the lines as a table.
func (p *treePrinter) print(w io.Writer) {
	var widths [4]int
	for _, line := range append([]treeLine{{columns: treeHead}}, p.lines...) {
		if line.note != "" {
			continue
		}
		for i, text := range line.columns {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	fmt.Fprintln(w, p.style.Dim(padded(treeHead, widths)))
	for _, line := range p.lines {
		text := line.columns[0] + line.note
		if line.note == "" {
			if text = padded(line.columns, widths); line.ready == tree.NotReady {
				text = p.style.Strong(text)
			}
		}
		fmt.Fprintln(w, text)
	}
}

// padded joins columns of these widths.
func padded(columns [4]string, widths [4]int) string {
	var text strings.Builder
	for i, column := range columns {
		text.WriteString(column + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(column)+2))
	}
	return strings.TrimRight(text.String(), " ")
}
