// Package account names the ServiceAccounts that controllers act as, and says how a permission is granted to one.
package account

import (
	"fmt"
	"regexp"
	"strings"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/shell"
)

// An Account names a ServiceAccount. The zero value is the server itself: a controller without spec.serviceAccount.
type Account struct{ Namespace, Name string }

// Of returns the Account of a controller object; ref is its spec.serviceAccount, or nil.
func Of(ref *v1alpha1.ServiceAccountRef) Account {
	if ref == nil {
		return Account{}
	}
	return Account{ref.Namespace, ref.Name}
}

// IsServer reports whether a is the server itself.
func (a Account) IsServer() bool { return a == Account{} }

// userPrefix begins the user name of every ServiceAccount.
const userPrefix = "system:serviceaccount:"

// User returns the name of the user that the API server knows the account by.
func (a Account) User() string { return userPrefix + a.Namespace + ":" + a.Name }

// The groups of which every ServiceAccount is a member, beside that of its namespace.
const (
	allAccounts   = "system:serviceaccounts"
	authenticated = "system:authenticated"
)

// Groups returns the groups of the user. The API server adds the same ones to a request that impersonates the account.
func (a Account) Groups() []string {
	return []string{allAccounts, allAccounts + ":" + a.Namespace, authenticated}
}

// String returns the account as it is called in messages.
func (a Account) String() string { return fmt.Sprintf("service account %s/%s", a.Namespace, a.Name) }

// A Permission is what a user needs: verbs on a resource.
type Permission struct {
	User      string
	Verbs     []string
	Group     string // API group; "" is the core group
	Resource  string // such as pods, or pods/status
	Namespace string // "" is all namespaces, or a cluster-scoped resource
	Name      string // of one object; "" is all objects
}

// Command returns the kubectl commands that grant the permission: they create a role and bind it to the user.
func (p Permission) Command() string {
	resource, sub, _ := strings.Cut(p.Resource, "/")
	if p.Group != "" {
		resource += "." + p.Group
	}
	if sub != "" {
		resource += "/" + sub
	}
	role, scope := "clusterrole", ""
	if p.Namespace != "" {
		role, scope = "role", " --namespace="+shell.Quote(p.Namespace)
	}
	name := p.roleName()
	create := fmt.Sprintf("kubectl create %s %s%s --verb=%s --resource=%s", role, name, scope, shell.Quote(strings.Join(p.Verbs, ",")), shell.Quote(resource))
	if p.Name != "" {
		create += " --resource-name=" + shell.Quote(p.Name)
	}
	return fmt.Sprintf("%s && kubectl create %sbinding %s%s --%s=%s %s", create, role, name, scope, role, name, p.subject())
}

var notInNames = regexp.MustCompile(`[^a-z0-9.]+`)

// roleName returns a name for the role that differs for each permission of a user.
func (p Permission) roleName() string {
	user := p.User[strings.LastIndex(p.User, ":")+1:]
	parts := append([]string{user}, p.Verbs...)
	name := strings.ToLower(strings.Join(append(parts, p.Resource, p.Name), "-"))
	return strings.Trim(notInNames.ReplaceAllString(name, "-"), "-.")
}

// subject returns the flag of kubectl create rolebinding for the user.
func (p Permission) subject() string {
	if account, is := strings.CutPrefix(p.User, userPrefix); is {
		return "--serviceaccount=" + shell.Quote(account)
	}
	return "--user=" + shell.Quote(p.User)
}

// refusal matches the message of an API server that a user lacks a permission.
var refusal = regexp.MustCompile(`User "([^"]+)" cannot (\S+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)"| at the cluster scope)`)

// Refused returns the permission that is missing according to the message of an API server that refused a request of the account. It
// returns false if the message does not say so, for example because an admission plugin refused the request.
//
// If the server may not impersonate the account, that is the permission to do so. An API server that has constrained impersonation
// names a permission for the single request, but still accepts this one.
func (a Account) Refused(message string) (Permission, bool) {
	found := refusal.FindStringSubmatch(message)
	if found == nil {
		return Permission{}, false
	}
	p := Permission{User: found[1], Verbs: []string{found[2]}, Resource: found[3], Group: found[4], Namespace: found[5]}
	if strings.HasPrefix(found[2], impersonate) {
		p = Permission{User: found[1], Verbs: []string{impersonate}, Resource: "serviceaccounts", Namespace: a.Namespace, Name: a.Name}
	}
	return p, true
}

// impersonate is the verb for impersonation. Those of constrained impersonation begin with it.
const impersonate = "impersonate"
