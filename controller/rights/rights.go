// Package rights says what a controller has to be permitted: which verbs on which resources, where, and why. It is pure: it sends
// no request.
//
// [Of] returns the [Rights] that follow from the spec of a controller and from what its customize hook asks for. They are those of
// the requests that packages claim, kube, reconcile and revisions send for a controller, and of the objects that its hooks get. If
// one of these packages sends another request, Of has to change too.
package rights

import (
	"slices"
	"strings"
)

// A Right is the permission for one verb on one resource.
type Right struct {
	Verb        string
	Group       string // "" is the core group
	Resource    string // the plural name
	Subresource string // "" is the resource itself
	Namespace   string // "" is all namespaces, or a cluster-scoped resource
	Name        string // of the only object; "" is all objects

	Why string // what the server does with it, in a few words for users; several reasons are separated by "; "
}

// Covers reports whether r permits all that other does. A wildcard has no special meaning.
func (r Right) Covers(other Right) bool {
	return r.Verb == other.Verb && r.Target() == other.Target() &&
		(r.Namespace == "" || r.Namespace == other.Namespace) && (r.Name == "" || r.Name == other.Name)
}

// Target returns the resource as RBAC, and kubectl, write it: "widgets/status.example.com" is the subresource status.
func (r Right) Target() string {
	text := r.PolicyResource()
	if r.Group != "" {
		text += "." + r.Group
	}
	return text
}

// PolicyResource returns the resource as a rule of a Role has it: without the group, and with the subresource.
func (r Right) PolicyResource() string {
	if r.Subresource == "" {
		return r.Resource
	}
	return r.Resource + "/" + r.Subresource
}

// Where returns the objects of the resource that r is about, such as "in namespace a" or "cluster-wide".
func (r Right) Where() string {
	where := "cluster-wide"
	if r.Namespace != "" {
		where = "in namespace " + r.Namespace
	}
	if r.Name != "" {
		where = "named " + r.Name + " " + where
	}
	return where
}

// String returns a text such as "update widgets/status.example.com in namespace a".
func (r Right) String() string { return r.Verb + " " + r.Target() + " " + r.Where() }

// Rights are what a controller has to be permitted.
type Rights struct {
	// Account are the rights that the ServiceAccount of the controller needs, and no others.
	Account []Right
	// Rare are rights that the account needs only in a special case, which Why says. Most controllers never need them.
	Rare []Right
	// Server are the rights that the server itself needs because of the controller: it reads for all controllers.
	Server []Right
}

// minimal returns rights without those that another one covers. The one that covers them gets their reasons.
func minimal(all []Right) []Right {
	var kept []Right
	for i, r := range all {
		covered := false
		for j, other := range all {
			covered = covered || j != i && other.Covers(r) && (j < i || !r.Covers(other)) // of equal ones the first is kept
		}
		if !covered {
			r.Why = reasons(r, all)
			kept = append(kept, r)
		}
	}
	return kept
}

// reasons returns the reasons of all rights that r covers, each once.
func reasons(r Right, all []Right) string {
	var whys []string
	for _, other := range all {
		if r.Covers(other) && !slices.Contains(whys, other.Why) {
			whys = append(whys, other.Why)
		}
	}
	return strings.Join(whys, "; ")
}

// without returns the rights that none of the others covers.
func without(all, others []Right) []Right {
	return slices.DeleteFunc(all, func(r Right) bool {
		return slices.ContainsFunc(others, func(other Right) bool { return other.Covers(r) })
	})
}
