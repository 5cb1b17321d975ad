package rbac

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/rights"
)

// AggregateLabel is the label of ClusterRoles whose rules are added to those of the server.
const AggregateLabel = "metacontroller.k8s.io/aggregate-to-server"

// A Manifest is an object, with comments.
type Manifest struct {
	Comments []string // lines above the object
	Object   any      // the object, without Rules
	Rules    []Rule   // of a Role or ClusterRole
}

// A Rule is a rule of a role, with the reasons for its verbs.
type Rule struct {
	Comments []string // lines above the rule
	rbacv1.PolicyRule
}

// ForAccount returns the ServiceAccount of a controller, and the roles and bindings that permit it what it needs: a ClusterRole
// for what is cluster-wide, and a Role in each namespace for the rest.
func (c *Controller) ForAccount() []Manifest {
	all := []Manifest{{
		Comments: c.about(),
		Object: &corev1.ServiceAccount{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			ObjectMeta: metav1.ObjectMeta{Namespace: c.Account.Namespace, Name: c.Account.Name},
		},
	}}
	var namespaces []string
	for _, r := range c.Rights.Account {
		if !slices.Contains(namespaces, r.Namespace) {
			namespaces = append(namespaces, r.Namespace)
		}
	}
	slices.Sort(namespaces) // cluster-wide is the first
	for _, namespace := range namespaces {
		all = append(all, c.granting(namespace)...)
	}
	return all
}

// about returns the comment above all objects.
func (c *Controller) about() []string {
	lines := []string{fmt.Sprintf("The permissions that %s needs.", c.ID)}
	if c.Proposed {
		lines = append(lines, fmt.Sprintf("Set in its spec: serviceAccount: {namespace: %s, name: %s}", c.Account.Namespace, c.Account.Name))
	}
	switch {
	case c.Incomplete != "":
		lines = append(lines, "Not complete: "+c.Incomplete)
	case len(c.asked) > 0:
		lines = append(lines, fmt.Sprintf("Its customize hook was called for %s. If it asks for other resources for others, list and watch of these are missing.", parents(len(c.asked))))
	}
	if len(c.Rights.Rare) > 0 {
		lines = append(lines, "Not included, since most controllers do not need it:")
	}
	return append(lines, rareLines(c.Rights.Rare)...)
}

// rareLines describes rights that are not included: a line for each verb and reason.
func rareLines(all []rights.Right) []string {
	var lines []string
	for len(all) > 0 {
		first := all[0]
		isOther := func(r rights.Right) bool { return r.Verb != first.Verb || r.Why != first.Why }
		var targets, where []string
		for _, r := range all {
			if !isOther(r) {
				targets, where = append(targets, r.Target()), append(where, r.Where())
			}
		}
		all = slices.DeleteFunc(slices.Clone(all), func(r rights.Right) bool { return !isOther(r) })
		lines = append(lines, fmt.Sprintf("- %s %s %s, %s", first.Verb, list(targets), list(where), first.Why))
	}
	return lines
}

// list returns texts separated by commas, each once.
func list(texts []string) string { return strings.Join(union(nil, texts), ", ") }

func parents(n int) string {
	if n == 1 {
		return "one parent"
	}
	return fmt.Sprintf("%d parents", n)
}

// name returns the name of the roles and bindings of a controller. It has a colon, so it is no name of a controller with a suffix.
func (c *Controller) name() string { return "metascript:" + strings.ToLower(c.Kind) + ":" + c.Name }

// granting returns the role and the binding for the rights in one namespace; "" means those that are cluster-wide.
func (c *Controller) granting(namespace string) []Manifest {
	return roleAndBinding(c.name(), namespace, c.Account, rulesOf(slices.DeleteFunc(slices.Clone(c.Rights.Account), func(r rights.Right) bool { return r.Namespace != namespace })))
}

// roleAndBinding returns a role with rules, and its binding to an account: a ClusterRole if namespace is "".
func roleAndBinding(name, namespace string, to Account, rules []Rule) []Manifest {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: to.Namespace, Name: to.Name}}
	if namespace == "" {
		role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}
		return []Manifest{
			{Object: &rbacv1.ClusterRole{TypeMeta: typeOf("ClusterRole"), ObjectMeta: meta}, Rules: rules},
			{Object: &rbacv1.ClusterRoleBinding{TypeMeta: typeOf("ClusterRoleBinding"), ObjectMeta: meta, Subjects: subjects, RoleRef: role}},
		}
	}
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}
	return []Manifest{
		{Object: &rbacv1.Role{TypeMeta: typeOf("Role"), ObjectMeta: meta}, Rules: rules},
		{Object: &rbacv1.RoleBinding{TypeMeta: typeOf("RoleBinding"), ObjectMeta: meta, Subjects: subjects, RoleRef: role}},
	}
}

func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

// ForServer returns what the server needs because of a controller: a ClusterRole, which the server gets by aggregation, and for what is
// in one namespace roles and bindings, such as those that permit it to act as the account of the controller. If constrained, the server may do as the account only the
// requests that the controller needs, which needs Kubernetes 1.36.
func (c *Controller) ForServer(server Account, constrained bool) []Manifest {
	aggregated := Manifest{
		Comments: []string{
			fmt.Sprintf("The permissions that the server itself needs for %s, if its ClusterRole aggregates such roles.", c.ID),
		},
		Object: &rbacv1.ClusterRole{
			TypeMeta:   typeOf("ClusterRole"),
			ObjectMeta: metav1.ObjectMeta{Name: c.name() + ":server", Labels: map[string]string{AggregateLabel: "true"}},
		},
	}
	needed := slices.Concat(c.Rights.Server, rights.Acting(c.Account.Namespace, c.Account.Name, c.Rights, constrained))
	var namespaces []string
	for _, r := range needed {
		if r.Namespace != "" {
			namespaces = append(namespaces, r.Namespace)
		}
	}
	in := func(namespace string) []rights.Right {
		return slices.DeleteFunc(slices.Clone(needed), func(r rights.Right) bool { return r.Namespace != namespace })
	}
	var all []Manifest
	if aggregated.Rules = rulesOf(in("")); len(aggregated.Rules) > 0 {
		all = append(all, aggregated)
	}
	slices.Sort(namespaces)
	for _, namespace := range slices.Compact(namespaces) {
		all = append(all, roleAndBinding(c.name()+":server", namespace, server, rulesOf(in(namespace)))...)
	}
	return all
}

// rulesOf returns a rule for each resource, with all of its verbs, in the order of the rights.
func rulesOf(all []rights.Right) []Rule {
	var groups [][]rights.Right
	for _, r := range all {
		at := slices.IndexFunc(groups, func(g []rights.Right) bool { return g[0].Target() == r.Target() && g[0].Name == r.Name })
		if at < 0 {
			groups = append(groups, []rights.Right{r})
			continue
		}
		groups[at] = append(groups[at], r)
	}
	var rules []Rule
	for _, group := range groups {
		slices.SortStableFunc(group, func(a, b rights.Right) int { return rights.CompareVerbs(a.Verb, b.Verb) })
		rules = append(rules, ruleOf(group))
	}
	return rules
}

// ruleOf returns the rule for rights that differ only in their verbs.
func ruleOf(group []rights.Right) Rule {
	first := group[0]
	rule := Rule{PolicyRule: rbacv1.PolicyRule{APIGroups: []string{first.Group}, Resources: []string{first.PolicyResource()}}}
	if first.Name != "" {
		rule.ResourceNames = []string{first.Name}
	}
	for len(group) > 0 {
		why, verbs := group[0].Why, []string(nil)
		for _, r := range group {
			if r.Why == why {
				verbs = append(verbs, r.Verb)
			}
		}
		group = slices.DeleteFunc(group, func(r rights.Right) bool { return r.Why == why })
		rule.Verbs = append(rule.Verbs, verbs...)
		rule.Comments = append(rule.Comments, strings.Join(verbs, ", ")+": "+why)
	}
	slices.SortFunc(rule.Verbs, rights.CompareVerbs)
	return rule
}
