// Package accounts makes controllers act as their accounts.
package accounts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"metascript/controller/access"
	"metascript/controller/account"
	"metascript/controller/binding"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/references"
	"metascript/controller/related"
	"metascript/controller/selection"
	"metascript/scripts"
)

// Accounts are the accounts of all controllers of a server. It is safe for concurrent use.
type Accounts struct {
	Actors     *kube.Actors
	Reviewer   *access.Reviewer
	Client     dynamic.Interface // of the server itself
	Finalizers *kube.Finalizers  // as the server itself
	Log        *slog.Logger

	Required         bool                 // a controller must have an account
	ScriptNamespaces []string             // from which all controllers may load scripts; * is all
	Watched          selection.Namespaces // of the accounts
}

// Check returns an error if a controller must have an account and has none, or if its account is not watched.
func (a *Accounts) Check(who account.Account) error {
	if a.Required && who.IsServer() {
		return errors.New("spec.serviceAccount is missing, and this server runs with --require-service-account: name the ServiceAccount that the controller acts as; metascript rbac prints one with the permissions that it needs")
	}
	if !who.IsServer() && !a.Watched.Has(who.Namespace) {
		return fmt.Errorf("spec.serviceAccount.namespace is %q, and %s", who.Namespace, a.Watched)
	}
	return nil
}

// Bind sets the fields of b that depend on its account. Close of b ends the use of the account.
func (a *Accounts) Bind(b *binding.Binding, who account.Account) error {
	actor, err := a.Actors.Open(who)
	if err != nil {
		return err
	}
	var kinds []access.Kind
	for _, parent := range b.Parents {
		kinds = append(kinds, access.Kind{GroupResource: parent.GroupResource(), Namespaced: parent.Namespaced})
	}
	b.Access = access.NewReader(who, a.Reviewer, kinds...)
	if !who.IsServer() {
		b.SeesParents = b.Access.ShowsNamespace
	}
	b.Write, b.GetLive, b.Events, b.Release = actor, actor.Get, actor.Events, func() { a.Actors.Close(who) }
	b.ReleaseLost = func(ctx context.Context, parent *object.Object, finalizer string) (bool, error) {
		return a.ReleaseLost(ctx, who, parent, finalizer)
	}
	return nil
}

// ReleaseLost removes a finalizer from a parent as the server itself, if the namespace of the parent is being deleted with the account. An
// account cannot be created again in such a namespace, and all objects in it are deleted without the hook. It reports whether it did.
func (a *Accounts) ReleaseLost(ctx context.Context, who account.Account, parent *object.Object, finalizer string) (bool, error) {
	if !object.Deleting(parent) || parent.GetNamespace() != who.Namespace {
		return false, nil
	}
	namespace, err := a.Client.Resource(related.Namespaces.GroupVersionResource).Get(ctx, who.Namespace, metav1.GetOptions{})
	if err != nil || namespace.GetDeletionTimestamp() == nil {
		return false, err
	}
	a.Log.Warn("a finalizer is removed without calling the finalize hook, since the namespace is deleted with the account of the controller", "parent", object.RefOf(parent), "account", who.String())
	return a.Finalizers.Remove(ctx, parent, finalizer, "the namespace is deleted with the account of the controller")
}

// Permit returns a function that returns an error if the account may not read a Secret or a ConfigMap.
func (a *Accounts) Permit(who account.Account) func(references.Object) error {
	return func(o references.Object) error {
		scope := access.Scope{GroupResource: o.Resource().GroupResource(), Namespace: o.Namespace, Name: o.Name}
		return a.Reviewer.MayRead(context.Background(), who, scope)
	}
}

// ConfigMaps returns a function that reads ConfigMaps with read, if a controller with the account may load scripts from them.
func (a *Accounts) ConfigMaps(who account.Account, read scripts.ConfigMaps) scripts.ConfigMaps {
	return func(namespace, name string) (*scripts.ConfigMap, error) {
		if err := a.MayLoad(who, []references.Object{{Kind: references.ConfigMap, Namespace: namespace, Name: name}}); err != nil {
			return nil, err
		}
		return read(namespace, name)
	}
}

// MayLoad returns an error if a controller with an account may not load scripts from the ConfigMaps: the account may not read
// them, or they are in another namespace, where users who may not use the account may write ConfigMaps.
func (a *Accounts) MayLoad(who account.Account, configMaps []references.Object) error {
	if who.IsServer() {
		return nil
	}
	for _, o := range configMaps {
		if o.Namespace != who.Namespace && !slices.Contains(a.ScriptNamespaces, o.Namespace) && !slices.Contains(a.ScriptNamespaces, "*") {
			return fmt.Errorf("%s is not in the namespace of %s: a controller with an account loads scripts only from the namespace of its account; move the ConfigMap, or run the server with --script-namespaces=%s", o, who, o.Namespace)
		}
		if err := a.Permit(who)(o); err != nil {
			return fmt.Errorf("%s cannot be used: %w", o, err)
		}
	}
	return nil
}
