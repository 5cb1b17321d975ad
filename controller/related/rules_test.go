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

func TestRulesSelectOnlyWatchedNamespaces(t *testing.T) {
	for _, c := range []struct {
		name        string
		query       selection.Query
		field, want string // of the error; "" if there is none
	}{
		{"a watched one", selection.Query{Namespace: "a"}, "", ""},
		{"another", selection.Query{Namespace: "c"}, "namespace", `namespace is "c", and this server watches only objects in the namespaces of --watch-namespaces: a, b`},
		{"all", selection.Query{}, "resource", "without a namespace the rule selects objects of all namespaces, and this server watches only"},
		{"by labels", selection.Query{Namespaces: labels.Everything()}, "namespaceSelector", "namespaceSelector: this server watches only"},
	} {
		field, err := watched(c.query, selection.Namespaces{"a", "b"})
		if field != c.field || (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: field %q, error %v", c.name, field, err)
		}
	}
}
