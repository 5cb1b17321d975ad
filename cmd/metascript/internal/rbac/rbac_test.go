package rbac

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/related"
	"metascript/controller/rights"
	"metascript/controller/selection"
	"metascript/controller/spec"
)

var secrets = kube.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Kind: "Secret", Namespaced: true}

// askedFor is what a hook asked for, for a parent in a namespace: Secrets in these namespaces.
func askedFor(parent string, namespaces ...string) Asked {
	a := Asked{Parent: object.Ref{Key: object.Key{Namespace: parent, Name: "w"}}}
	for _, namespace := range namespaces {
		a.Rules = append(a.Rules, related.Rule{Resource: secrets, Query: selection.Query{Namespace: namespace}})
	}
	return a
}

func TestNamespacesOfRelatedObjects(t *testing.T) {
	in := func(namespace string) rights.Related { return rights.Related{Resource: secrets, Namespace: namespace} }
	ofParent := rights.Related{Resource: secrets, ParentsNamespace: true}
	for _, c := range []struct {
		name  string
		asked []Asked
		want  []rights.Related
	}{
		{"nothing", nil, nil},
		{"everywhere", []Asked{askedFor("a", "")}, []rights.Related{in("")}},
		{"one namespace", []Asked{askedFor("a", "shared"), askedFor("b", "shared")}, []rights.Related{in("shared")}},
		{"that of the parent", []Asked{askedFor("a", "a"), askedFor("b", "b")}, []rights.Related{ofParent}},
		{"one in which there is a parent too", []Asked{askedFor("a", "a"), askedFor("b", "a")}, []rights.Related{in("a")}},
		{"both", []Asked{askedFor("a", "a", "shared")}, []rights.Related{ofParent, in("shared")}},
		{"of a cluster-scoped parent", []Asked{askedFor("", "a", "")}, []rights.Related{in("a"), in("")}},
	} {
		if diff := cmp.Diff(c.want, relatedOf(c.asked)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	byLabels := askedFor("a", "")
	byLabels.Rules[0].Query.Namespaces = labels.Everything()
	if got := relatedOf([]Asked{byLabels}); len(got) != 1 || !got[0].Labelled {
		t.Errorf("by the labels of namespaces: %v", got)
	}
}

// A parent is counted once, although its hook is called again and again.
func TestObserverNotesWhatDiffers(t *testing.T) {
	o, id := &Observer{}, spec.ID{Kind: "CompositeController", Name: "c"}
	for _, a := range []Asked{askedFor("a", "x"), askedFor("a", "x"), askedFor("a", "y"), askedFor("b", "x"), askedFor("a", "x")} {
		o.note(id, a.Parent, a.Rules)
	}
	var got []string
	for _, a := range o.asked[id] {
		got = append(got, a.Parent.Namespace+" "+a.Rules[0].Query.Namespace)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"a x", "a y", "b x"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// controllerWith returns a controller whose account needs these rights.
func controllerWith(needed ...rights.Right) *Controller {
	c := &Controller{ID: spec.ID{Kind: "CompositeController", Name: "c"}, Account: Account{Namespace: "team", Name: "c"}}
	c.Rights.Account = needed
	return c
}

func TestObjectsOfAnAccount(t *testing.T) {
	c := controllerWith(
		rights.Right{Verb: "list", Group: "example.com", Resource: "widgets", Why: "reads"},
		rights.Right{Verb: "watch", Group: "example.com", Resource: "widgets", Why: "reads"},
		rights.Right{Verb: "get", Group: "example.com", Resource: "widgets", Why: "reads again"},
		rights.Right{Verb: "update", Group: "example.com", Resource: "widgets", Subresource: "status", Why: "writes\nthe status"},
		rights.Right{Verb: "list", Resource: "secrets", Namespace: "a", Name: "token", Why: "refers to it"},
	)
	c.Rights.Rare = []rights.Right{
		{Verb: "patch", Resource: "pods", Namespace: "a", Why: "if it is large"},
		{Verb: "patch", Resource: "pods", Namespace: "b", Why: "if it is large"},
		{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "a", Why: "if it is large"},
	}
	c.Proposed, c.Incomplete = true, "something"
	c.Rights.Server = []rights.Right{{Verb: "list", Group: "example.com", Resource: "widgets", Why: "reads"}}
	var b strings.Builder
	if err := Print(&b, slices.Concat(c.ForAccount(), c.ForServer(Account{Namespace: "metacontroller", Name: "metacontroller"}, false), c.ForAccount())); err != nil {
		t.Fatal(err)
	}
	want := `# The permissions that CompositeController c needs.
# Set in its spec: serviceAccount: {namespace: team, name: c}
# Not complete: something
# Not included, since most controllers do not need it:
# - patch pods, deployments.apps in namespace a, in namespace b, if it is large
apiVersion: v1
kind: ServiceAccount
metadata:
  name: c
  namespace: team
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: metascript:compositecontroller:c
rules:
# get: reads again
# list, watch: reads
- apiGroups:
  - example.com
  resources:
  - widgets
  verbs:
  - get
  - list
  - watch
# update: writes the status
- apiGroups:
  - example.com
  resources:
  - widgets/status
  verbs:
  - update
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: metascript:compositecontroller:c
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: metascript:compositecontroller:c
subjects:
- kind: ServiceAccount
  name: c
  namespace: team
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: metascript:compositecontroller:c
  namespace: a
rules:
# list: refers to it
- apiGroups:
  - ""
  resourceNames:
  - token
  resources:
  - secrets
  verbs:
  - list
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: metascript:compositecontroller:c
  namespace: a
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: metascript:compositecontroller:c
subjects:
- kind: ServiceAccount
  name: c
  namespace: team
---
# The permissions that the server itself needs for CompositeController c, if its ClusterRole aggregates such roles.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  labels:
    metacontroller.k8s.io/aggregate-to-server: "true"
  name: metascript:compositecontroller:c:server
rules:
# list: reads
- apiGroups:
  - example.com
  resources:
  - widgets
  verbs:
  - list
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: metascript:compositecontroller:c:server
  namespace: team
rules:
# impersonate: acts as ServiceAccount team/c
- apiGroups:
  - ""
  resourceNames:
  - c
  resources:
  - serviceaccounts
  verbs:
  - impersonate
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: metascript:compositecontroller:c:server
  namespace: team
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: metascript:compositecontroller:c:server
subjects:
- kind: ServiceAccount
  name: metacontroller
  namespace: metacontroller
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// parseRules returns rules in YAML.
func parseRules(t *testing.T, text string) (rules []rbacv1.PolicyRule) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), &rules); err != nil {
		t.Fatal(err)
	}
	return rules
}

func TestExcesses(t *testing.T) {
	needed := []rights.Right{
		{Verb: "list", Group: "example.com", Resource: "widgets"},
		{Verb: "update", Group: "example.com", Resource: "widgets", Subresource: "status"},
		{Verb: "list", Resource: "pods", Namespace: "a"},
		{Verb: "list", Resource: "pods", Namespace: "b"},
		{Verb: "list", Resource: "secrets", Namespace: "a", Name: "token"},
	}
	for _, c := range []struct {
		name, namespace, rules string
		want                   []string
		useful                 bool // something in the rules is needed
	}{
		{"what is needed", "", `[{apiGroups: [example.com], resources: [widgets], verbs: [list]}, {apiGroups: [example.com], resources: [widgets/status], verbs: [update]}]`, nil, true},
		{"less than is needed", "a", `[{apiGroups: [example.com], resources: [widgets], resourceNames: [w], verbs: [list]}]`, nil, true},
		{"more verbs", "", `[{apiGroups: [example.com], resources: [widgets], verbs: [list, patch, delete]}]`, []string{"patch, delete cluster-wide: widgets.example.com"}, true},
		{"more resources", "", `[{apiGroups: [example.com], resources: [widgets, gadgets], verbs: [list]}]`, []string{"list cluster-wide: gadgets.example.com"}, true},
		{"more groups", "", `[{apiGroups: [example.com, ""], resources: [widgets], verbs: [list]}]`, []string{"list cluster-wide: widgets"}, true},
		{"a subresource", "", `[{apiGroups: [example.com], resources: [widgets/scale], verbs: [update]}]`, []string{"update cluster-wide: widgets/scale.example.com"}, false},
		{"the same in two rules", "", `[{apiGroups: [""], resources: [nodes], verbs: [get]}, {apiGroups: [""], resources: [nodes], verbs: [get, list]}]`, []string{"get, list cluster-wide: nodes"}, false},
		{"all namespaces", "", `[{apiGroups: [""], resources: [pods], verbs: [list]}]`, []string{"list cluster-wide (needed only in namespace a, in namespace b): pods"}, true},
		{"one namespace", "a", `[{apiGroups: [""], resources: [pods], verbs: [list]}]`, nil, true},
		{"another namespace", "c", `[{apiGroups: [""], resources: [pods], verbs: [list]}]`, []string{"list in namespace c: pods"}, false},
		{"all names", "a", `[{apiGroups: [""], resources: [secrets], verbs: [list]}]`, []string{"list in namespace a (needed only named token in namespace a): secrets"}, true},
		{"another name", "a", `[{apiGroups: [""], resources: [secrets], resourceNames: [token, key], verbs: [list]}]`, []string{"list named key in namespace a: secrets"}, true},
		{"all verbs", "", `[{apiGroups: [example.com], resources: [widgets], verbs: ["*"]}]`, []string{"* cluster-wide: widgets.example.com"}, true},
		{"all resources", "", `[{apiGroups: [example.com], resources: ["*"], verbs: [list]}]`, []string{"list cluster-wide: *.example.com"}, true},
		{"everything", "", `[{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}, {nonResourceURLs: ["*"], verbs: ["*"]}]`, []string{"* cluster-wide: *.*", "*: *"}, true},
		{"all subresources", "", `[{apiGroups: [example.com], resources: ["widgets/*"], verbs: [update]}]`, []string{"update cluster-wide: widgets/*.example.com"}, false},
		{"verbs on several resources", "", `[{apiGroups: [apps, batch], resources: [a, b], verbs: [get, list]}, {apiGroups: [""], resources: [c], verbs: [get]}]`,
			[]string{"get, list cluster-wide: a.apps, b.apps, a.batch, b.batch", "get cluster-wide: c"}, false},
		{"a path", "", `[{nonResourceURLs: [/metrics], verbs: [get]}]`, []string{"get: /metrics"}, false},
	} {
		g := &grant{namespace: c.namespace, rules: parseRules(t, c.rules)}
		found, useful := g.excesses(needed)
		var got []string
		for _, e := range found {
			got = append(got, e.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" || useful != c.useful {
			t.Errorf("%s: something is needed: %t, want %t (-want +got):\n%s", c.name, useful, c.useful, diff)
		}
	}
}

func TestBinds(t *testing.T) {
	account := Account{Namespace: "team", Name: "c"}
	for _, c := range []struct {
		subject rbacv1.Subject
		bound   bool
		group   string
	}{
		{rbacv1.Subject{Kind: "ServiceAccount", Namespace: "team", Name: "c"}, true, ""},
		{rbacv1.Subject{Kind: "ServiceAccount", Name: "c"}, true, ""}, // in the namespace of the binding
		{rbacv1.Subject{Kind: "ServiceAccount", Namespace: "other", Name: "c"}, false, ""},
		{rbacv1.Subject{Kind: "ServiceAccount", Namespace: "team", Name: "d"}, false, ""},
		{rbacv1.Subject{Kind: "User", Name: "system:serviceaccount:team:c"}, true, ""},
		{rbacv1.Subject{Kind: "User", Name: "c"}, false, ""},
		{rbacv1.Subject{Kind: "Group", Name: "system:serviceaccounts"}, true, "system:serviceaccounts"},
		{rbacv1.Subject{Kind: "Group", Name: "system:serviceaccounts:team"}, true, "system:serviceaccounts:team"},
		{rbacv1.Subject{Kind: "Group", Name: "system:serviceaccounts:other"}, false, ""},
		{rbacv1.Subject{Kind: "Group", Name: "system:authenticated"}, true, "system:authenticated"},
		{rbacv1.Subject{Kind: "Group", Name: "system:masters"}, false, ""},
	} {
		group, bound := binds([]rbacv1.Subject{{Kind: "User", Name: "somebody"}, c.subject}, "team", account)
		if group != c.group || bound != c.bound {
			t.Errorf("%v: bound %t by group %q, want %t by %q", c.subject, bound, group, c.bound, c.group)
		}
	}
}

func TestWhatToDo(t *testing.T) {
	pods := parseRules(t, `[{apiGroups: [""], resources: [pods], verbs: [list, watch]}]`)
	account := Account{Namespace: "team", Name: "c"}
	list := rights.Right{Verb: "list", Resource: "pods", Namespace: "a"}
	for _, c := range []struct {
		name, role, group string
		needed            []rights.Right
		want              string
	}{
		{"some is needed", "r", "", []rights.Right{list},
			"apply the output of metascript rbac, and remove the subject team/c from the binding (kubectl edit rolebinding b -n a); or remove these verbs from the role (kubectl edit role r -n a)"},
		{"nothing is needed", "r", "", nil,
			"nothing in it is needed: remove the subject team/c from the binding (kubectl edit rolebinding b -n a), or delete it (kubectl delete rolebinding b -n a)"},
		{"of a group", "r", "system:authenticated", nil,
			"nothing in it is needed: remove the group system:authenticated from the binding (kubectl edit rolebinding b -n a), or delete it (kubectl delete rolebinding b -n a)"},
		{"a role that is printed", "metascript:compositecontroller:c", "", []rights.Right{list},
			"apply the output of metascript rbac again: it has another version of this role"},
		{"one that was printed, and is not any more", "metascript:compositecontroller:c", "", nil,
			"nothing in it is needed: remove the subject team/c from the binding (kubectl edit rolebinding b -n a), or delete it (kubectl delete rolebinding b -n a)"},
	} {
		g := &grant{binding: "RoleBinding b in namespace a", edit: "rolebinding b -n a", namespace: "a", role: rbacv1.RoleRef{Kind: "Role", Name: c.role}, group: c.group, rules: pods}
		got, exceeds := excessOf(g, c.needed, account, []*Controller{controllerWith(c.needed...)})
		if !exceeds || got.Remedy != c.want {
			t.Errorf("%s: %q, want %q", c.name, got.Remedy, c.want)
		}
	}
}
