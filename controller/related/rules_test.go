package related

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"metascript/controller/object"
	"metascript/controller/selection"
)

func TestVersion1RestrictsParentToItsNamespace(t *testing.T) {
	home, cluster := labeled("Widget", "default", "w", "1", nil), labeled("Widget", "", "w", "1", nil)
	selector := labels.Everything()
	for _, c := range []struct {
		name   string
		parent *object.Object
		query  selection.Query
		want   string // the namespace, or an error
	}{
		{"any", home, selection.Query{}, "default"},
		{"its own", home, selection.Query{Namespace: "default"}, "default"},
		{"another", home, selection.Query{Namespace: "far"}, `namespace is "far": Widget default/w sees only its own namespace`},
		{"selected", home, selection.Query{Namespaces: selector}, "namespaceSelector: Widget default/w sees only its own namespace"},
		{"any, of a cluster-scoped parent", cluster, selection.Query{}, ""},
		{"one, of a cluster-scoped parent", cluster, selection.Query{Namespace: "far"}, "far"},
	} {
		q, _, err := inNamespaceOf(c.parent, c.query)
		got := q.Namespace
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
