package rights

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/plan"
	"metascript/controller/references"
	"metascript/controller/spec"
)

// The resources of the tests.
var (
	widgets    = kube.Resource{GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}, Kind: "Widget", Namespaced: true, HasStatus: true}
	clusters   = kube.Resource{GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "clusters"}, Kind: "Cluster", HasStatus: true}
	pods       = kube.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: "Pod", Namespaced: true, HasStatus: true}
	configMaps = kube.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true}
	secrets    = kube.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Kind: "Secret", Namespaced: true}
	nodes      = kube.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, Kind: "Node", HasStatus: true}
	roles      = kube.Resource{GroupVersionResource: schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}, Kind: "Role", Namespaced: true}
	bindings   = kube.Resource{GroupVersionResource: schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}, Kind: "RoleBinding", Namespaced: true}
)

// lines returns rights as text: a line for each resource and place, with all verbs.
func lines(all []Right) string {
	var keys []string
	verbs := map[string][]string{}
	for _, r := range all {
		key := r.Target() + " " + r.Where()
		if verbs[key] == nil {
			keys = append(keys, key)
		}
		verbs[key] = append(verbs[key], r.Verb)
	}
	var b strings.Builder
	for _, key := range keys {
		slices.SortStableFunc(verbs[key], CompareVerbs)
		b.WriteString(key + ": " + strings.Join(verbs[key], " ") + "\n")
	}
	return b.String()
}

// expect compares rights with lines of text.
func expect(t *testing.T, what string, got []Right, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), lines(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// children returns a rule for children.
func children(r kube.Resource, method plan.Method) []spec.ChildRule {
	return []spec.ChildRule{{Resource: r, Method: method}}
}

func TestCompositeController(t *testing.T) {
	c := &Controller{Shape: hook.Composite, Parents: []kube.Resource{widgets}, Children: children(pods, plan.InPlace)}
	got := Of(c)
	expect(t, "account", got.Account, `
widgets.example.com cluster-wide: get list watch
widgets/status.example.com cluster-wide: update
widgets/finalizers.example.com cluster-wide: update
pods cluster-wide: get list watch create update delete
events cluster-wide: create patch
`)
	expect(t, "rare", got.Rare, `
widgets.example.com cluster-wide: update
pods cluster-wide: patch
`)
	expect(t, "server", got.Server, `
widgets.example.com cluster-wide: get list watch
pods cluster-wide: get list watch
`)
}

func TestDecoratorController(t *testing.T) {
	c := &Controller{Shape: hook.Decorator, Parents: []kube.Resource{widgets, configMaps}, Children: children(pods, plan.OnDelete)}
	got := Of(c)
	// It does not adopt, so it neither reads a parent again nor updates children. A ConfigMap has no status.
	expect(t, "account", got.Account, `
widgets.example.com cluster-wide: list watch update
widgets/status.example.com cluster-wide: update
widgets/finalizers.example.com cluster-wide: update
configmaps cluster-wide: list watch update
configmaps/finalizers cluster-wide: update
pods cluster-wide: get list watch create delete
events cluster-wide: create patch
`)
	expect(t, "rare", got.Rare, `
pods cluster-wide: patch
`)
}

// A DecoratorController changes whose the attachments are only if a rule says so.
func TestDecoratorControllerThatTakesOver(t *testing.T) {
	for name, rule := range map[string]spec.ChildRule{
		"another owner reference": {Resource: pods, Method: plan.OnDelete, Plain: true},
		"existing objects":        {Resource: pods, Method: plan.OnDelete, Adopts: v1alpha1.AdoptIfUnowned},
		"never":                   {Resource: pods, Method: plan.OnDelete, Adopts: v1alpha1.AdoptNever},
	} {
		got := lines(Of(&Controller{Shape: hook.Decorator, Parents: []kube.Resource{widgets}, Children: []spec.ChildRule{rule}}).Account)
		if updates := strings.Contains(got, "pods cluster-wide: get list watch create update delete\n"); updates != (name != "never") {
			t.Errorf("%s: updates attachments: %t", name, updates)
		}
		if reads := strings.Contains(got, "widgets.example.com cluster-wide: get list watch update\n"); reads != (name == "existing objects") {
			t.Errorf("%s: reads parents again: %t", name, reads)
		}
	}
}

func TestControllerWithoutChildren(t *testing.T) {
	expect(t, "composite", Of(&Controller{Shape: hook.Composite, Parents: []kube.Resource{widgets}}).Account, `
widgets.example.com cluster-wide: list watch
widgets/status.example.com cluster-wide: update
events cluster-wide: create patch
`)
	expect(t, "decorator", Of(&Controller{Shape: hook.Decorator, Parents: []kube.Resource{secrets}}).Account, `
secrets cluster-wide: list watch update
events cluster-wide: create patch
`)
}

// A finalizer is written with the whole parent. When the controller is deleted, the server removes it as itself.
func TestFinalizeHook(t *testing.T) {
	got := Of(&Controller{Shape: hook.Composite, Parents: []kube.Resource{widgets}, Finalizes: true})
	expect(t, "account", got.Account, `
widgets.example.com cluster-wide: list watch update
widgets/status.example.com cluster-wide: update
events cluster-wide: create patch
`)
	expect(t, "rare", got.Rare, "")
	expect(t, "server", got.Server, `
widgets.example.com cluster-wide: get list watch update
`)
}

func TestVerbsOnChildrenByMethodAndStrategy(t *testing.T) {
	for _, c := range []struct {
		shape      hook.Shape
		serverSide bool
		method     plan.Method
		verbs      string // in addition to get list watch create delete
		rare       string
	}{
		{hook.Composite, false, plan.OnDelete, "update", "patch"},
		{hook.Composite, false, plan.InPlace, "update", "patch"},
		{hook.Composite, false, plan.Recreate, "update", "patch"},
		{hook.Composite, false, plan.RollingInPlace, "update", "patch"},
		{hook.Composite, false, plan.RollingRecreate, "update", "patch"},
		{hook.Composite, true, plan.OnDelete, "update patch", ""},
		{hook.Composite, true, plan.InPlace, "update patch", ""},
		{hook.Composite, true, plan.Recreate, "update patch", ""},
		{hook.Decorator, false, plan.OnDelete, "", "patch"},
		{hook.Decorator, false, plan.InPlace, "update", "patch"},
		{hook.Decorator, false, plan.Recreate, "update", "patch"},
		{hook.Decorator, true, plan.OnDelete, "patch", ""},
		{hook.Decorator, true, plan.InPlace, "update patch", ""},
		{hook.Decorator, true, plan.Recreate, "update patch", ""},
	} {
		got := Of(&Controller{Shape: c.shape, Parents: []kube.Resource{widgets}, Children: children(pods, c.method), ServerSide: c.serverSide})
		of := func(all []Right) string {
			all = slices.DeleteFunc(slices.Clone(all), func(r Right) bool {
				return r.Resource != "pods" || slices.Contains([]string{get, list, watch, create, remove}, r.Verb)
			})
			var verbs []string
			for _, r := range all {
				verbs = append(verbs, r.Verb)
			}
			slices.SortFunc(verbs, CompareVerbs)
			return strings.Join(verbs, " ")
		}
		if needed, rare := of(got.Account), of(got.Rare); needed != c.verbs || rare != c.rare {
			t.Errorf("shape %v, server-side %t, method %s: needed %q, rare %q, want %q, %q", c.shape, c.serverSide, c.method, needed, rare, c.verbs, c.rare)
		}
		for _, verb := range []string{get, list, watch, create, remove} {
			if !slices.ContainsFunc(got.Account, func(r Right) bool { return r.Resource == "pods" && r.Verb == verb }) {
				t.Errorf("shape %v, server-side %t, method %s: no %s", c.shape, c.serverSide, c.method, verb)
			}
		}
	}
}

// If several rules name a kind, the last one counts.
func TestLastRuleOfAKindCounts(t *testing.T) {
	c := &Controller{Shape: hook.Decorator, Parents: []kube.Resource{widgets}, Children: append(children(pods, plan.InPlace), children(pods, plan.OnDelete)...)}
	for _, r := range Of(c).Account {
		if r.Resource == "pods" && r.Verb == update {
			t.Errorf("%s is not needed by method OnDelete", r)
		}
	}
}

func TestRollingUpdateNeedsControllerRevisions(t *testing.T) {
	c := &Controller{Shape: hook.Composite, Parents: []kube.Resource{widgets}, Children: children(pods, plan.RollingRecreate), Namespaces: []string{"a"}}
	got := Of(c)
	expect(t, "account", got.Account, `
widgets.example.com in namespace a: get list watch
widgets/status.example.com in namespace a: update
widgets/finalizers.example.com in namespace a: update
pods in namespace a: get list watch create update delete
controllerrevisions.metacontroller.k8s.io in namespace a: get list watch create update delete
events in namespace a: create patch
`)
	// The server watches all namespaces.
	expect(t, "server", got.Server, `
widgets.example.com cluster-wide: get list watch
pods cluster-wide: get list watch
controllerrevisions.metacontroller.k8s.io cluster-wide: get list watch
`)
}

// Cluster-scoped resources have no namespace, and events about them are in the namespace default.
func TestNamespaces(t *testing.T) {
	c := &Controller{Shape: hook.Decorator, Parents: []kube.Resource{widgets, clusters}, Children: children(configMaps, plan.OnDelete), Namespaces: []string{"a", "b"}}
	expect(t, "account", Of(c).Account, `
widgets.example.com in namespace a: list watch update
widgets.example.com in namespace b: list watch update
widgets/status.example.com in namespace a: update
widgets/status.example.com in namespace b: update
widgets/finalizers.example.com in namespace a: update
widgets/finalizers.example.com in namespace b: update
clusters.example.com cluster-wide: list watch update
clusters/status.example.com cluster-wide: update
clusters/finalizers.example.com cluster-wide: update
configmaps in namespace a: get list watch create delete
configmaps in namespace b: get list watch create delete
events in namespace a: create patch
events in namespace b: create patch
events in namespace default: create patch
`)
}

func TestReferencesByName(t *testing.T) {
	c := &Controller{Shape: hook.Decorator, References: []references.Object{
		{Kind: references.Secret, Namespace: "a", Name: "token"}, {Kind: references.ConfigMap, Namespace: "b", Name: "script"},
	}}
	got := Of(c)
	expect(t, "account", got.Account, `
secrets named token in namespace a: list watch
configmaps named script in namespace b: list watch
`)
	expect(t, "server", got.Server, `
secrets named token cluster-wide: get list watch
configmaps named script cluster-wide: get list watch
`)
}

func TestRelated(t *testing.T) {
	c := &Controller{Shape: hook.Decorator, Namespaces: []string{"a"}, Related: []Related{
		{Resource: pods, ParentsNamespace: true}, {Resource: secrets, Namespace: "shared"}, {Resource: configMaps, Labelled: true}, {Resource: nodes},
	}}
	got := Of(c)
	expect(t, "account", got.Account, `
pods in namespace a: list watch
secrets in namespace shared: list watch
configmaps cluster-wide: list watch
namespaces cluster-wide: list watch
nodes cluster-wide: list watch
`)
	expect(t, "server", got.Server, `
pods cluster-wide: get list watch
secrets cluster-wide: get list watch
configmaps cluster-wide: get list watch
namespaces cluster-wide: get list watch
nodes cluster-wide: get list watch
`)
}

// What is needed everywhere is not needed in one namespace too. The reasons are kept.
func TestCoveredRightsAreLeftOut(t *testing.T) {
	c := &Controller{
		Shape: hook.Composite, Parents: []kube.Resource{widgets}, Children: children(secrets, plan.OnDelete),
		References: []references.Object{{Kind: references.Secret, Namespace: "a", Name: "token"}},
		Related:    []Related{{Resource: secrets, Namespace: "shared"}, {Resource: widgets}},
	}
	got := Of(c)
	expect(t, "account", got.Account, `
widgets.example.com cluster-wide: get list watch
widgets/status.example.com cluster-wide: update
widgets/finalizers.example.com cluster-wide: update
secrets cluster-wide: get list watch create update delete
events cluster-wide: create patch
`)
	at := slices.IndexFunc(got.Account, func(r Right) bool { return r.Verb == list && r.Resource == "secrets" })
	want := "hooks get the children; the controller refers to Secret a/token; the customize hook asks for them"
	if why := got.Account[at].Why; why != want {
		t.Errorf("the reason is %q, want %q", why, want)
	}
}

// The API server lets an account create only roles with permissions that it has, unless it has these verbs.
func TestRolesAsChildren(t *testing.T) {
	c := &Controller{Shape: hook.Decorator, Parents: []kube.Resource{widgets}, Children: append(children(roles, plan.InPlace), children(bindings, plan.InPlace)...), ServerSide: true}
	expect(t, "rare", Of(c).Rare, `
roles.rbac.authorization.k8s.io cluster-wide: escalate bind
clusterroles.rbac.authorization.k8s.io cluster-wide: bind
`)
}

// Each right has a reason.
func TestReasons(t *testing.T) {
	c := &Controller{
		Shape: hook.Decorator, Parents: []kube.Resource{configMaps, widgets}, Children: children(pods, plan.RollingInPlace), Finalizes: true,
		References: []references.Object{{Kind: references.Secret, Namespace: "a", Name: "token"}}, Related: []Related{{Resource: nodes, Labelled: true}},
	}
	got := Of(c)
	for _, r := range slices.Concat(got.Account, got.Rare, got.Server) {
		if r.Why == "" {
			t.Errorf("%s has no reason", r)
		}
	}
	if why, want := got.Account[2].Why, "adds its finalizer to parents, and removes it; writes the labels and annotations that the hook returns, and the status"; why != want {
		t.Errorf("%s: the reason is %q, want %q", got.Account[2], why, want)
	}
}

func TestCovers(t *testing.T) {
	wide := Right{Verb: list, Resource: "secrets"}
	local, other := Right{Verb: list, Resource: "secrets", Namespace: "a"}, Right{Verb: list, Resource: "secrets", Namespace: "b"}
	named := Right{Verb: list, Resource: "secrets", Namespace: "a", Name: "token"}
	for _, c := range []struct {
		a, b Right
		want bool
	}{
		{wide, local, true}, {local, wide, false}, {local, other, false}, {local, named, true}, {named, local, false}, {wide, named, true}, {wide, wide, true},
		{wide, Right{Verb: watch, Resource: "secrets"}, false},
		{wide, Right{Verb: list, Group: "example.com", Resource: "secrets"}, false},
		{wide, Right{Verb: list, Resource: "secrets", Subresource: "status"}, false},
		{Right{Verb: "*", Resource: "secrets"}, wide, false},
	} {
		if got := c.a.Covers(c.b); got != c.want {
			t.Errorf("%s covers %s: %t, want %t", c.a, c.b, got, c.want)
		}
	}
}

func TestActing(t *testing.T) {
	as := Rights{Account: []Right{
		{Verb: list, Resource: "pods", Namespace: "a"},
		{Verb: create, Resource: "pods", Namespace: "a"},
		{Verb: update, Group: "example.com", Resource: "widgets", Subresource: "status"},
		{Verb: update, Group: "example.com", Resource: "widgets", Subresource: "finalizers"},
	}}
	expect(t, "classic", Acting("home", "tenant", as, false), `
serviceaccounts named tenant in namespace home: impersonate
`)
	expect(t, "constrained", Acting("home", "tenant", as, true), `
serviceaccounts.authentication.k8s.io named tenant in namespace home: impersonate:serviceaccount
pods in namespace a: impersonate-on:serviceaccount:create
widgets/status.example.com cluster-wide: impersonate-on:serviceaccount:update
`)
}
