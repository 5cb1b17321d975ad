package inspection

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"metascript/cmd/metascript/internal/style"
	"metascript/controller/history"
	"metascript/controller/inspect"
	"metascript/controller/tree"
)

func TestPrintTree(t *testing.T) {
	now := time.Unix(1000, 0)
	node := func(kind, name string, change func(*tree.Node)) *tree.Node {
		created := now.Add(-2 * time.Minute)
		n := &tree.Node{Object: history.Object{APIVersion: "v1", Kind: kind, Namespace: "default", Name: name}, Created: &created}
		if change != nil {
			change(n)
		}
		return n
	}
	part := node("Part", "a", func(n *tree.Node) {
		n.Ready, n.Reasons, n.Revision = tree.NotReady, []string{"Ready=False: it starts"}, &tree.Revision{Name: "r2", Latest: true}
		n.Controllers = []*tree.Controller{{Kind: "DecoratorController", Name: "parts", Last: &now, Children: []*tree.Node{node("Service", "s", nil)}}}
	})
	old := node("Part", "b", func(n *tree.Node) {
		n.Ready, n.Revision, n.Waits = tree.Ready, &tree.Revision{Name: "r1"}, &tree.Wait{For: &part.Object, Why: "is not ready"}
	})
	absent := &tree.Node{Object: history.Object{APIVersion: "v1", Kind: "Part", Namespace: "other", Name: "c"}, Absent: true, Ready: tree.NotReady, Revision: &tree.Revision{}}
	deleted := node("ConfigMap", "d", func(n *tree.Node) { n.Ready, n.Deleted, n.Finalizers = tree.NotReady, &now, []string{"example.com/f"} })
	retry := now.Add(time.Second)
	web := &tree.Controller{
		Kind: "CompositeController", Name: "web", Last: &now, Error: "it failed\n  at a place", Next: &history.Next{RetryAt: &retry},
		Rollout: &tree.Progress{Updated: 1, Total: 2, Message: "Part a is not ready"}, Children: []*tree.Node{part, old, absent}, More: 9, NotReady: 2, Hidden: []tree.Hidden{{Kind: "Secret", Count: 3}},
	}
	for _, c := range []struct {
		controllers []*tree.Controller
		want        string
	}{
		{[]*tree.Controller{web}, `
NAME                            READY   AGE   REVISION
Widget/w                        True    2m
│ children of CompositeController web
│ the last reconcile failed: it failed
│ is tried again at ` + retry.Local().Format("15:04:05Z07:00") + `
│ rollout: 1 of 2 children are at the latest revision: Part a is not ready
│ and 9 more children, of which 2 are not ready
│ and 3 of the kind Secret that you may not read
├─Part/a                        False   2m    latest
│ │ Ready=False: it starts
│ │ children of DecoratorController parts
│ └─Service/s                   -       2m
├─Part/b                        True    2m    old
│   it waits for Part/a, which is not ready
└─Part/c (namespace other)      absent  -     unknown
    it is wanted, and does not exist
`},
		{[]*tree.Controller{{Kind: "CompositeController", Name: "one", Children: []*tree.Node{deleted}}, {Kind: "DecoratorController", Name: "one", Last: &now}}, `
NAME             READY    AGE  REVISION
Widget/w         True     2m
├─CompositeController one
│ │ no reconcile is known: the server has not reconciled it since it started, or has dropped what is old
│ └─ConfigMap/d  deleted  2m
│     it is being deleted, and held by the finalizers example.com/f
└─DecoratorController one
`},
	} {
		var out strings.Builder
		root := node("Widget", "w", func(n *tree.Node) { n.Ready, n.Controllers = tree.Ready, c.controllers })
		PrintTree(&out, style.For(&out), &inspect.Tree{Root: root}, now)
		if diff := cmp.Diff(strings.Fields(c.want), strings.Fields(out.String())); diff != "" {
			t.Errorf("got\n%s\nwant%s\n%s", out.String(), c.want, diff)
		}
	}
}
