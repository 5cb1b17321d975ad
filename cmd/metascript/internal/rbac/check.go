package rbac

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
	"metascript/controller/rights"
	"metascript/controller/spec"
)

// A Checker compares what controllers need with what a cluster grants to their accounts.
type Checker struct {
	typed   kubernetes.Interface
	objects dynamic.Interface
}

// A Difference is what a Checker found out about an account.
type Difference struct {
	ServiceAccount v1alpha1.ServiceAccountRef `json:"serviceAccount"`
	Controllers    []string                   `json:"controllers"`       // kind and name of those that act as the account
	Exact          bool                       `json:"exact"`             // the account has exactly what it needs
	Missing        []Missing                  `json:"missing,omitempty"` // what it needs and does not have
	Excess         []Excess                   `json:"excess,omitempty"`  // what it has and does not need

	hints []string // what else may need the account
}

// A Missing is a right that an account needs and does not have.
type Missing struct {
	Verb        string `json:"verb"`
	Group       string `json:"group"` // "" is the core group
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	Namespace   string `json:"namespace,omitempty"` // "" is all namespaces, or a cluster-scoped resource
	Name        string `json:"name,omitempty"`      // "" is all objects
	Why         string `json:"why"`                 // what the server does with it
}

// An Excess is a role that grants more than an account needs.
type Excess struct {
	Role    string   `json:"role"`            // its kind and name
	Binding string   `json:"binding"`         // the binding that gives it to the account
	Group   string   `json:"group,omitempty"` // the account has it as a member of this group
	Grants  []string `json:"grants"`          // what it grants and the account does not need
	Remedy  string   `json:"remedy"`          // what to do about it
}

// NewChecker returns a Checker for the cluster of config.
func NewChecker(config *rest.Config) (*Checker, error) {
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	return &Checker{typed: typed, objects: objects}, err
}

// Check checks the accounts of controllers. Several controllers may have the same account, which then needs what each of them needs. It
// returns a Difference for each account.
func (k *Checker) Check(ctx context.Context, controllers []*Controller) ([]Difference, error) {
	accounts := map[Account][]*Controller{}
	var order []Account
	for _, c := range controllers {
		if accounts[c.Account] == nil {
			order = append(order, c.Account)
		}
		accounts[c.Account] = append(accounts[c.Account], c)
	}
	var all []Difference
	for _, a := range order {
		d, err := k.checkAccount(ctx, a, accounts[a])
		if err != nil {
			return nil, fmt.Errorf("ServiceAccount %s/%s: %w", a.Namespace, a.Name, err)
		}
		all = append(all, d)
	}
	return all, nil
}

// checkAccount checks one account.
func (k *Checker) checkAccount(ctx context.Context, a Account, of []*Controller) (Difference, error) {
	d := Difference{ServiceAccount: v1alpha1.ServiceAccountRef(a)}
	var needed, allowed []rights.Right
	for _, c := range of {
		d.Controllers = append(d.Controllers, c.ID.String())
		needed = append(needed, c.Rights.Account...)
		allowed = append(append(allowed, c.Rights.Account...), c.Rights.Rare...)
	}
	missing, err := k.missing(ctx, a, needed)
	if err != nil {
		return d, err
	}
	grants, err := grantsOf(ctx, k.typed.RbacV1(), a)
	if err != nil {
		return d, err
	}
	for _, r := range missing {
		d.Missing = append(d.Missing, Missing{r.Verb, r.Group, r.Resource, r.Subresource, r.Namespace, r.Name, r.Why})
	}
	for _, g := range grants {
		if e, exceeds := excessOf(&g, allowed, a, of); exceeds {
			d.Excess = append(d.Excess, e)
		}
	}
	if d.Exact = len(d.Missing) == 0 && len(d.Excess) == 0; !d.Exact {
		d.hints = k.otherUsers(ctx, a, of)
	}
	return d, nil
}

// Text returns a Difference for people.
func (d *Difference) Text() string {
	title := fmt.Sprintf("ServiceAccount %s/%s of %s", d.ServiceAccount.Namespace, d.ServiceAccount.Name, strings.Join(d.Controllers, ", "))
	if d.Exact {
		return title + ": has exactly what it needs\n"
	}
	lines := missingLines(d.Missing)
	for _, e := range d.Excess {
		lines = append(lines, e.lines()...)
	}
	return title + ":\n  " + strings.Join(append(lines, d.hints...), "\n  ") + "\n"
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
func missingLines(missing []Missing) []string {
	var keys []string
	verbs := map[string][]string{}
	for _, m := range missing {
		r := rights.Right{Group: m.Group, Resource: m.Resource, Subresource: m.Subresource, Namespace: m.Namespace, Name: m.Name}
		key := fmt.Sprintf("%s %s: %s", r.Target(), r.Where(), m.Why)
		keys, verbs[key] = union(keys, []string{key}), append(verbs[key], m.Verb)
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

// excessOf returns what a grant permits beyond allowed, and what to do; false if it permits no more. of are the controllers of the
// account.
func excessOf(g *grant, allowed []rights.Right, a Account, of []*Controller) (Excess, bool) {
	found, useful := g.excesses(allowed)
	e := Excess{Role: g.role.Kind + " " + g.role.Name, Binding: g.binding, Group: g.group, Remedy: g.remedy(useful, a)}
	for _, one := range found {
		e.Grants = append(e.Grants, one.String())
	}
	if slices.ContainsFunc(of, func(c *Controller) bool { return c.prints(g) }) {
		e.Remedy = "apply the output of metascript rbac again: it has another version of this role"
	}
	return e, len(found) > 0
}

// lines returns an Excess for people.
func (e *Excess) lines() []string {
	through := ""
	if e.Group != "" {
		through = " to the group " + e.Group
	}
	lines := []string{fmt.Sprintf("too much: %s, which %s binds%s", e.Role, e.Binding, through)}
	for _, grant := range e.Grants {
		lines = append(lines, "  "+grant)
	}
	return append(lines, "  "+e.Remedy)
}

// prints reports whether the role of a grant is one that c prints.
func (c *Controller) prints(g *grant) bool {
	namespace := g.namespace
	if g.role.Kind == "ClusterRole" {
		namespace = ""
	}
	return g.role.Name == c.name() && slices.ContainsFunc(c.Rights.Account, func(r rights.Right) bool { return r.Namespace == namespace })
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
			o := object.Of(&list.Items[i])
			id := spec.IDOf(o)
			account, _, _ := unstructured.NestedStringMap(o.Map(), "spec", "serviceAccount")
			if account["namespace"] != a.Namespace || account["name"] != a.Name || slices.ContainsFunc(checked, func(c *Controller) bool { return c.ID == id }) {
				continue
			}
			lines = append(lines, fmt.Sprintf("%s in the cluster has this account too: give its file with -f too", id))
		}
	}
	slices.Sort(lines)
	return lines
}
