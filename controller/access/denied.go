package access

import (
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/account"
	"metascript/controller/shell"
)

// A DeniedError says that an account may not read objects. To kube.Forbidden it is the same as a refusal by the API server.
type DeniedError struct {
	account.Account
	Missing bool     // the account does not exist; the fields below are not set
	Verbs   []string // that are missing
	Scope
}

func (e *DeniedError) Error() string {
	if e.Missing {
		return fmt.Sprintf("%s does not exist; to create it, run: kubectl create serviceaccount %s --namespace=%s", e.Account, shell.Quote(e.Account.Name), shell.Quote(e.Account.Namespace))
	}
	what := e.GroupResource.String()
	if e.Scope.Name != "" {
		what += " " + e.Scope.Name
	}
	where := "in all namespaces"
	if e.Scope.Namespace != "" {
		where = "in namespace " + e.Scope.Namespace
	}
	return fmt.Sprintf("%s may not %s %s %s; to permit it, run: %s", e.Account, strings.Join(e.Verbs, " and "), what, where, e.permission().Command())
}

// permission returns what the account lacks. It has get too, since roles that permit to list without it are rare.
func (e *DeniedError) permission() account.Permission {
	return account.Permission{
		User: e.Account.User(), Verbs: append([]string{"get"}, verbs...), Group: e.Group, Resource: e.Resource,
		Namespace: e.Scope.Namespace, Name: e.Scope.Name,
	}
}

// Status implements apierrors.APIStatus.
func (e *DeniedError) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: e.Error()}
}
