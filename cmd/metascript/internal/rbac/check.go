package rbac

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"metascript/controller/rights"
	"metascript/controller/spec"
)

// A Checker compares what controllers need with what a cluster grants to their accounts, and prints the differences.
type Checker struct {
	Out io.Writer

	typed   kubernetes.Interface
	objects dynamic.Interface
}

// NewChecker returns a Checker for the cluster of config.
func NewChecker(config *rest.Config, out io.Writer) (*Checker, error) {
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	return &Checker{Out: out, typed: typed, objects: objects}, err
}

// Check checks the accounts of controllers. Several controllers may have the same account, which then needs what each of them needs. It
// reports whether each account has exactly what it needs.
func (k *Checker) Check(ctx context.Context, controllers []*Controller) (exact bool, err error) {
	accounts := map[Account][]*Controller{}
	var order []Account
	for _, c := range controllers {
		if accounts[c.Account] == nil {
			order = append(order, c.Account)
		}
		accounts[c.Account] = append(accounts[c.Account], c)
	}
	exact = true
	for _, a := range order {
		one, err := k.checkAccount(ctx, a, accounts[a])
		if err != nil {
			return false, fmt.Errorf("ServiceAccount %s/%s: %w", a.Namespace, a.Name, err)
		}
		exact = exact && one
	}
	return exact, nil
}

// checkAccount checks one account.
func (k *Checker) checkAccount(ctx context.Context, a Account, of []*Controller) (bool, error) {
	var names []string
	var needed, allowed []rights.Right
	for _, c := range of {
		names = append(names, c.ID.String())
		needed = append(needed, c.Rights.Account...)
		allowed = append(append(allowed, c.Rights.Account...), c.Rights.Rare...)
	}
	missing, err := k.missing(ctx, a, needed)
	if err != nil {
		return false, err
	}
	grants, err := grantsOf(ctx, k.typed.RbacV1(), a)
	if err != nil {
		return false, err
	}
	title := fmt.Sprintf("ServiceAccount %s/%s of %s", a.Namespace, a.Name, strings.Join(names, ", "))
	lines := missingLines(missing)
	for _, g := range grants {
		lines = append(lines, excessLines(&g, allowed, a, of)...)
	}
	if len(lines) == 0 {
		fmt.Fprintf(k.Out, "%s: has exactly what it needs\n", title)
		return true, nil
	}
	fmt.Fprintf(k.Out, "%s:\n", title)
	lines = append(lines, k.otherUsers(ctx, a, of)...)
	for _, line := range lines {
		fmt.Fprintf(k.Out, "  %s\n", line)
	}
	return false, nil
}

// missing returns the rights that the API server does not permit to an account. It asks the API server, since there are other
// authorizers than RBAC.
func (k *Checker) missing(ctx context.Context, a Account, needed []rights.Right) ([]rights.Right, error) {
	var missing []rights.Right
	for i, r := range needed {
		if slices.ContainsFunc(needed[:i], func(other rights.Right) bool { return other.Covers(r) }) {
			continue // another controller needs it too
		}
		review, err := k.typed.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: userName(a), Groups: groupsOf(a),
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name,
				},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("ask whether it may %s: %w", r, err)
		}
		if !review.Status.Allowed {
			missing = append(missing, r)
		}
	}
	return missing, nil
}

// missingLines returns a line for each resource and reason, and what to do.
func missingLines(missing []rights.Right) []string {
	var keys []string
	verbs := map[string][]string{}
	for _, r := range missing {
		key := fmt.Sprintf("%s %s: %s", r.Target(), r.Where(), r.Why)
		keys, verbs[key] = union(keys, []string{key}), append(verbs[key], r.Verb)
	}
	var lines []string
	for _, key := range keys {
		lines = append(lines, fmt.Sprintf("missing: %s %s", list(verbs[key]), key))
	}
	if len(lines) > 0 {
		lines = append(lines, "  to grant it, pipe the output of metascript rbac, with the same flags except --check, into kubectl apply -f -")
	}
	return lines
}

// excessLines returns what a grant permits beyond allowed, and what to do. of are the controllers of the account.
func excessLines(g *grant, allowed []rights.Right, a Account, of []*Controller) []string {
	found, useful := g.excesses(allowed)
	if len(found) == 0 {
		return nil
	}
	lines := []string{fmt.Sprintf("too much: %s %s, which %s binds%s", g.role.Kind, g.role.Name, g.binding, g.through())}
	for _, e := range found {
		lines = append(lines, "  "+e.String())
	}
	if slices.ContainsFunc(of, func(c *Controller) bool { return c.prints(g) }) {
		return append(lines, "  apply the output of metascript rbac again: it has another version of this role")
	}
	return append(lines, "  "+g.remedy(useful, a))
}

// prints reports whether the role of a grant is one that c prints.
func (c *Controller) prints(g *grant) bool {
	namespace := g.namespace
	if g.role.Kind == "ClusterRole" {
		namespace = ""
	}
	return g.role.Name == c.name() && slices.ContainsFunc(c.Rights.Account, func(r rights.Right) bool { return r.Namespace == namespace })
}

// through says by which group the account has the role.
func (g *grant) through() string {
	if g.group == "" {
		return ""
	}
	return " to the group " + g.group
}

// remedy says what to do about a role that grants too much. useful means that the account needs something of it.
func (g *grant) remedy(useful bool, a Account) string {
	from := fmt.Sprintf("the subject %s/%s", a.Namespace, a.Name)
	if g.group != "" {
		from = "the group " + g.group
	}
	if !useful {
		return fmt.Sprintf("nothing in it is needed: remove %s from the binding (kubectl edit %s), or delete it (kubectl delete %s)", from, g.edit, g.edit)
	}
	text := fmt.Sprintf("apply the output of metascript rbac, and remove %s from the binding (kubectl edit %s)", from, g.edit)
	if !g.builtin {
		text += fmt.Sprintf("; or remove these verbs from the role (kubectl edit %s)", g.editRole())
	}
	return text
}

// otherUsers returns a hint for each controller in the cluster that has the account and is not among those that are checked: the
// account may need for it what is too much for the others. A user need not have the permission to read controllers.
func (k *Checker) otherUsers(ctx context.Context, a Account, checked []*Controller) []string {
	var lines []string
	for _, resource := range spec.Resources {
		list, err := k.objects.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for i := range list.Items {
			o := &list.Items[i]
			id := spec.IDOf(o)
			account, _, _ := unstructured.NestedStringMap(o.Object, "spec", "serviceAccount")
			if account["namespace"] != a.Namespace || account["name"] != a.Name || slices.ContainsFunc(checked, func(c *Controller) bool { return c.ID == id }) {
				continue
			}
			lines = append(lines, fmt.Sprintf("%s in the cluster has this account too: give its file with -f too", id))
		}
	}
	slices.Sort(lines)
	return lines
}
