package rights

import (
	"fmt"
	"slices"
)

// The verbs of constrained impersonation, see https://kep.k8s.io/5284.
const (
	impersonate   = "impersonate"
	impersonateSA = "impersonate:serviceaccount"
	impersonateOn = "impersonate-on:serviceaccount:"
)

// Acting returns the rights that the server needs to act as an account that has rights. If constrained, they are those of
// constrained impersonation: the server may act as the account only in the requests that the controller needs.
func Acting(namespace, name string, as Rights, constrained bool) []Right {
	r := Right{
		Verb: impersonate, Resource: "serviceaccounts", Namespace: namespace, Name: name,
		Why: fmt.Sprintf("acts as ServiceAccount %s/%s", namespace, name),
	}
	if !constrained {
		return []Right{r}
	}
	r.Group, r.Verb = "authentication.k8s.io", impersonateSA
	all := []Right{r}
	for _, needed := range as.Account {
		// The server fills the caches with its own permissions, and no request is sent to the subresource finalizers.
		if slices.Contains([]string{list, watch}, needed.Verb) || needed.Subresource == "finalizers" {
			continue
		}
		needed.Verb, needed.Why = impersonateOn+needed.Verb, "acts as the account: "+needed.Why
		all = append(all, needed)
	}
	return all
}
