package access

import (
	"context"
	"slices"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/account"
	"metascript/controller/informer"
	"metascript/controller/object"
)

// The resources that a watch watches.
var (
	serviceAccounts     = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	roles               = rbacv1.SchemeGroupVersion.WithResource("roles")
	clusterRoles        = rbacv1.SchemeGroupVersion.WithResource("clusterroles")
	roleBindings        = rbacv1.SchemeGroupVersion.WithResource("rolebindings")
	clusterRoleBindings = rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings")
)

// A watch watches the ServiceAccounts, and the roles and role bindings. It finds the accounts that a change concerns. Without
// the permission to watch roles and bindings nothing reports their changes, and answers are remembered for their full time.
type watch struct {
	caches   *informer.Factory
	affected func(namespace string, concerns func(account.Account) bool)

	mu     sync.Mutex // guards opened
	opened bool

	// These caches are set by open, those of bindings before those of roles, and do not change afterwards.
	accounts *informer.Informer
	bindings []*informer.Informer
	roles    []*informer.Informer
}

func newWatch(caches *informer.Factory, affected func(string, func(account.Account) bool)) *watch {
	return &watch{caches: caches, affected: affected}
}

// open opens the watches, unless they are open.
func (w *watch) open() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.opened {
		return
	}
	w.opened = true
	w.accounts = w.start(informer.Spec{Resource: serviceAccounts, Namespaced: true, MetadataOnly: true, Kind: "ServiceAccount"}, w.onAccount)
	for _, resource := range []schema.GroupVersionResource{roleBindings, clusterRoleBindings} {
		w.bindings = append(w.bindings, w.start(informer.Spec{Resource: resource, Namespaced: resource == roleBindings}, w.onBinding))
	}
	w.roles = []*informer.Informer{
		w.start(informer.Spec{Resource: roles, Namespaced: true, MetadataOnly: true, Kind: "Role"}, w.onRole),
		w.start(informer.Spec{Resource: clusterRoles, MetadataOnly: true, Kind: "ClusterRole"}, w.onRole),
	}
}

func (w *watch) start(spec informer.Spec, handle func(o *object.Object)) *informer.Informer {
	cache := w.caches.Open(spec)
	_ = cache.Handle(func(old, current *object.Object) { // fails only for a cache that has been stopped
		if old != nil && current != nil && old.GetResourceVersion() == current.GetResourceVersion() {
			return
		}
		for _, o := range []*object.Object{old, current} {
			if o != nil {
				handle(o)
			}
		}
	})
	return cache
}

func (w *watch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.opened {
		return
	}
	w.accounts.Close()
	for _, cache := range slices.Concat(w.bindings, w.roles) {
		cache.Close()
	}
}

// exists reports whether an account exists. It waits until the cache of ServiceAccounts is filled.
func (w *watch) exists(ctx context.Context, who account.Account) (bool, error) {
	if !w.accounts.HasSynced() {
		w.accounts.WaitForSyncOrError(ctx)
		if err := w.accounts.SyncError(); err != nil {
			return false, err
		}
	}
	return w.accounts.Get(object.Key{Namespace: who.Namespace, Name: who.Name}) != nil, ctx.Err()
}

func (w *watch) onAccount(o *object.Object) {
	changed := account.Account{Namespace: o.GetNamespace(), Name: o.GetName()}
	w.affected("", func(who account.Account) bool { return who == changed })
}

func (w *watch) onBinding(o *object.Object) {
	subjects := subjectsOf(o)
	w.affected(o.GetNamespace(), func(who account.Account) bool { return slices.ContainsFunc(subjects, matches(who)) })
}

// onRole finds the bindings of a role. A ClusterRole that is aggregated from others has an event of its own.
func (w *watch) onRole(role *object.Object) {
	var subjects []rbacv1.Subject
	for _, cache := range w.bindings {
		for _, binding := range cache.List() {
			kind, name := binding.TextAt("roleRef", "kind"), binding.TextAt("roleRef", "name")
			if name == role.GetName() && kind == role.GetKind() && (role.GetNamespace() == "" || role.GetNamespace() == binding.GetNamespace()) {
				subjects = append(subjects, subjectsOf(binding)...)
			}
		}
	}
	w.affected(role.GetNamespace(), func(who account.Account) bool { return slices.ContainsFunc(subjects, matches(who)) })
}

// subjectsOf returns the subjects of a RoleBinding or ClusterRoleBinding.
func subjectsOf(binding *object.Object) []rbacv1.Subject {
	var all []rbacv1.Subject
	subjects, _ := binding.Field("subjects")
	list, _ := subjects.([]any)
	for _, item := range list {
		fields, _ := item.(map[string]any)
		text := func(name string) string { value, _ := fields[name].(string); return value }
		all = append(all, rbacv1.Subject{Kind: text("kind"), Namespace: text("namespace"), Name: text("name")})
	}
	return all
}

// matches returns a function that reports whether a subject is the account or a group that it is in.
func matches(who account.Account) func(rbacv1.Subject) bool {
	return func(s rbacv1.Subject) bool {
		switch s.Kind {
		case rbacv1.ServiceAccountKind:
			return s.Namespace == who.Namespace && s.Name == who.Name
		case rbacv1.UserKind:
			return s.Name == who.User()
		case rbacv1.GroupKind:
			return slices.Contains(who.Groups(), s.Name)
		}
		return false
	}
}
