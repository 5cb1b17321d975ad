package rbac

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"

	"metascript/controller/rights"
	"metascript/controller/shell"
)

// userName returns the user name of an account in requests to the API server.
func userName(a Account) string { return "system:serviceaccount:" + a.Namespace + ":" + a.Name }

// groupsOf returns the groups that an account is in.
func groupsOf(a Account) []string {
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + a.Namespace, "system:authenticated"}
}

// A grant is a role that a binding gives to an account.
type grant struct {
	binding   string // "ClusterRoleBinding b", or "RoleBinding b in namespace a"
	edit      string // the arguments of kubectl to edit the binding
	namespace string // where the role applies; "" is everywhere
	role      rbacv1.RoleRef
	group     string // the account has the role as a member of this group; "": itself
	rules     []rbacv1.PolicyRule
	builtin   bool // the role is one of Kubernetes itself, which nobody should edit
}

// everyones are the ClusterRoles that Kubernetes gives to all accounts.
var everyones = []string{"system:basic-user", "system:discovery", "system:public-info-viewer", "system:service-account-issuer-discovery"}

// grantsOf reads the roles that bindings in the cluster give to an account, except for those that all accounts have in each cluster.
func grantsOf(ctx context.Context, client rbacclient.RbacV1Interface, a Account) ([]grant, error) {
	global, err := client.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list ClusterRoleBindings: %w", err)
	}
	local, err := client.RoleBindings("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list RoleBindings: %w", err)
	}
	var all []grant
	for _, b := range global.Items {
		if group, bound := binds(b.Subjects, "", a); bound {
			all = append(all, grant{binding: "ClusterRoleBinding " + b.Name, edit: "clusterrolebinding " + shell.Quote(b.Name), role: b.RoleRef, group: group})
		}
	}
	for _, b := range local.Items {
		if group, bound := binds(b.Subjects, b.Namespace, a); bound {
			all = append(all, grant{
				binding: "RoleBinding " + b.Name + " in namespace " + b.Namespace, edit: "rolebinding " + shell.Quote(b.Name) + " -n " + shell.Quote(b.Namespace),
				namespace: b.Namespace, role: b.RoleRef, group: group,
			})
		}
	}
	all = slices.DeleteFunc(all, func(g grant) bool { return g.group != "" && slices.Contains(everyones, g.role.Name) })
	for i := range all {
		if err := all[i].readRules(ctx, client); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// binds reports whether one of the subjects is the account, or a group that it is in. namespace is that of the binding.
func binds(subjects []rbacv1.Subject, namespace string, a Account) (group string, bound bool) {
	for _, s := range subjects {
		switch {
		case s.Kind == rbacv1.ServiceAccountKind && s.Name == a.Name && cmp.Or(s.Namespace, namespace) == a.Namespace,
			s.Kind == rbacv1.UserKind && s.Name == userName(a):
			return "", true
		case s.Kind == rbacv1.GroupKind && slices.Contains(groupsOf(a), s.Name):
			group, bound = s.Name, true
		}
	}
	return group, bound
}

// bootstrapping is the label of the ClusterRoles of Kubernetes itself.
const bootstrapping = "kubernetes.io/bootstrapping"

// readRules reads the rules of the role. A role that does not exist has none.
func (g *grant) readRules(ctx context.Context, client rbacclient.RbacV1Interface) error {
	var err error
	if g.role.Kind == "ClusterRole" {
		var role *rbacv1.ClusterRole
		if role, err = client.ClusterRoles().Get(ctx, g.role.Name, metav1.GetOptions{}); err == nil {
			g.rules, g.builtin = role.Rules, role.Labels[bootstrapping] != ""
		}
	} else {
		var role *rbacv1.Role
		if role, err = client.Roles(g.namespace).Get(ctx, g.role.Name, metav1.GetOptions{}); err == nil {
			g.rules = role.Rules
		}
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// editRole returns the arguments of kubectl to edit the role.
func (g *grant) editRole() string {
	if g.role.Kind == "ClusterRole" {
		return "clusterrole " + shell.Quote(g.role.Name)
	}
	return "role " + shell.Quote(g.role.Name) + " -n " + shell.Quote(g.namespace)
}

// rights returns the rights that a rule grants: one for each combination of its lists. Wildcards stay.
func (g *grant) rights(rule rbacv1.PolicyRule) []rights.Right {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	var all []rights.Right
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			plural, subresource, _ := strings.Cut(resource, "/")
			for _, name := range names {
				for _, verb := range rule.Verbs {
					all = append(all, rights.Right{Verb: verb, Group: group, Resource: plural, Subresource: subresource, Namespace: g.namespace, Name: name})
				}
			}
		}
	}
	return all
}

// An excess is what a role grants beyond what is needed: verbs on resources.
type excess struct {
	verbs   []string
	targets []string // resources, or paths that are no resources
	where   string   // "" for paths
	needed  string   // where some of it is needed; "" if it is not needed at all
}

// String returns a text such as "delete, patch in namespace a: pods, secrets".
func (e excess) String() string {
	text := list(e.verbs)
	if e.where != "" {
		text += " " + e.where
	}
	if e.needed != "" {
		text += " (needed only " + e.needed + ")"
	}
	return text + ": " + list(e.targets)
}

// excesses returns what g grants beyond needed, and whether g grants something that is needed.
func (g *grant) excesses(needed []rights.Right) (found []excess, useful bool) {
	for _, rule := range g.rules {
		for _, r := range g.rights(rule) {
			allowed := slices.ContainsFunc(needed, func(n rights.Right) bool { return n.Covers(r) })
			useful = useful || allowed || slices.ContainsFunc(needed, func(n rights.Right) bool { return permits(r, n) })
			if !allowed {
				found = append(found, excess{[]string{r.Verb}, []string{r.Target()}, r.Where(), narrower(r, needed)})
			}
		}
		for _, path := range rule.NonResourceURLs {
			for _, verb := range rule.Verbs {
				found = append(found, excess{verbs: []string{verb}, targets: []string{path}})
			}
		}
	}
	return joined(found), useful
}

// joined joins those that differ only in a verb, and then those that differ only in a resource.
func joined(all []excess) []excess {
	all = joinIf(all, func(a, b excess) bool { return slices.Equal(a.targets, b.targets) })
	return joinIf(all, func(a, b excess) bool { return slices.Equal(a.verbs, b.verbs) })
}

// joinIf joins those at the same place for which same is true.
func joinIf(all []excess, same func(a, b excess) bool) []excess {
	var result []excess
	for _, e := range all {
		at := slices.IndexFunc(result, func(r excess) bool { return r.where == e.where && r.needed == e.needed && same(r, e) })
		if at < 0 {
			result = append(result, e)
			continue
		}
		result[at].verbs, result[at].targets = union(result[at].verbs, e.verbs), union(result[at].targets, e.targets)
	}
	return result
}

// union returns the values of both lists, each once.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, value := range b {
		if !slices.Contains(all, value) {
			all = append(all, value)
		}
	}
	return all
}

// permits reports whether a right in a rule, which may have wildcards, permits all that n permits.
func permits(r, n rights.Right) bool {
	if r.Verb == "*" {
		r.Verb = n.Verb
	}
	if r.Group == "*" {
		r.Group = n.Group
	}
	if r.Resource == "*" {
		r.Resource = n.Resource
		r.Subresource = cmp.Or(r.Subresource, n.Subresource) // "*" includes the subresources
	}
	return r.Covers(n)
}

// narrower returns where that part of r is that is needed, or "".
func narrower(r rights.Right, needed []rights.Right) string {
	var where []string
	for _, n := range needed {
		if r.Covers(n) {
			where = append(where, n.Where())
		}
	}
	return list(where)
}
