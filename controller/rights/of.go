package rights

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/references"
	"metascript/controller/related"
	"metascript/controller/spec"
)

// A Controller is what the rights of a controller follow from.
type Controller struct {
	Shape      hook.Shape // composite or decorator
	Parents    []kube.Resource
	Children   []spec.ChildRule
	Finalizes  bool                // there is a finalize hook
	ServerSide bool                // children are written by server-side apply
	References []references.Object // the Secrets of webhooks, and the ConfigMaps of webhooks and scripts
	Related    []Related           // what the customize hook asks for

	// Namespaces are the namespaces of the parents, and so of their children. None means all.
	Namespaces []string

	// AccountNamespace is the namespace of the account; "" if it is not known.
	AccountNamespace string

	// Watched says that the server watches only Namespaces, and not all.
	Watched bool
}

// A Related is a resource for which a customize hook asks.
type Related struct {
	kube.Resource
	Namespace        string // where its objects are; "" is all namespaces
	ParentsNamespace bool   // its objects are in the namespace of the parent, whatever Namespace is
	Labelled         bool   // namespaces are selected by their labels
}

// The verbs of a Right.
const (
	get    = "get"
	list   = "list"
	watch  = "watch"
	create = "create"
	update = "update"
	patch  = "patch"
	remove = "delete"
)

// Of returns the rights of a controller.
func Of(c *Controller) Rights {
	d := &derivation{Controller: c, methods: map[object.Kind]plan.Method{}}
	for _, child := range c.Children {
		d.methods[child.ObjectKind()] = child.Method // the last rule of a kind counts
	}
	for _, parent := range c.Parents {
		d.parent(parent)
	}
	for _, child := range c.Children {
		d.child(child.Resource, d.methods[child.ObjectKind()])
		d.owned(child)
	}
	d.revisions()
	for _, parent := range c.Parents {
		d.eventsAbout(parent)
	}
	if c.AccountNamespace != "" {
		d.record(c.AccountNamespace, "records events about the controller in the namespace of its account")
	}
	d.referenced()
	d.related()
	account, server := minimal(d.Account), minimal(d.Server)
	return Rights{Account: account, Rare: without(minimal(d.Rare), account), Server: server}
}

// A derivation is one call of Of, with the rights so far. They may contain a right more than once.
type derivation struct {
	*Controller
	methods map[object.Kind]plan.Method // of the children
	Rights
}

// in returns the namespaces in which the controller uses a resource; "" is all of them, or that it is cluster-scoped.
func (d *derivation) in(r kube.Resource) []string {
	if !r.Namespaced || len(d.Namespaces) == 0 {
		return []string{""}
	}
	return d.Namespaces
}

// need adds verbs on a resource, or on a subresource of it.
func (d *derivation) need(r kube.Resource, subresource, why string, verbs ...string) {
	d.Account = append(d.Account, each(r, subresource, d.in(r), why, verbs)...)
}

// mayNeed adds verbs that are needed only in the case that why says.
func (d *derivation) mayNeed(r kube.Resource, why string, verbs ...string) {
	d.Rare = append(d.Rare, each(r, "", d.in(r), why, verbs)...)
}

// served adds verbs of the server. It reads for all controllers, so it reads all namespaces, if it does not watch only some.
func (d *derivation) served(r kube.Resource, namespaces []string, why string, verbs ...string) {
	if !d.Watched {
		namespaces = []string{""}
	}
	d.Server = append(d.Server, each(r, "", namespaces, why, verbs)...)
}

// each returns a right for each namespace and each verb.
func each(r kube.Resource, subresource string, namespaces []string, why string, verbs []string) []Right {
	var all []Right
	for _, namespace := range namespaces {
		for _, verb := range verbs {
			all = append(all, Right{Verb: verb, Group: r.Group, Resource: r.GroupVersionResource.Resource, Subresource: subresource, Namespace: namespace, Why: why})
		}
	}
	return all
}

// parent adds what is done with the parents of a resource.
func (d *derivation) parent(r kube.Resource) {
	d.need(r, "", "hooks get the parents", list, watch)
	d.served(r, d.in(r), "reads the parents", get, list, watch)
	if d.Finalizes {
		d.need(r, "", "adds its finalizer to parents, and removes it", update)
		d.served(r, d.in(r), "removes the finalizers of the controller when it is deleted", update)
	}
	if d.Shape == hook.Decorator {
		d.need(r, "", "writes the labels and annotations that the hook returns"+statusToo(r), update)
	}
	if d.Shape == hook.Composite && !d.Finalizes {
		d.mayNeed(r, "to remove the finalizer from parents, if an earlier version of the controller had a finalize hook", update)
	}
	if r.HasStatus {
		d.need(r, "status", "writes the status that the hook returns", update)
	}
	if len(d.Children) == 0 {
		return
	}
	if d.Shape == hook.Composite {
		d.need(r, "", "reads a parent again before it adopts a child", get)
	}
	d.need(r, "finalizers", "sets blockOwnerDeletion in the ownerReferences of children, which the admission plugin OwnerReferencesPermissionEnforcement checks", update)
}

// statusToo continues the reason of a DecoratorController to update parents: without a status subresource, the status is written with
// the object.
func statusToo(r kube.Resource) string {
	if r.HasStatus {
		return ""
	}
	return ", and the status"
}

// child adds what is done with the children of a resource.
func (d *derivation) child(r kube.Resource, method plan.Method) {
	d.need(r, "", "hooks get the children", list, watch)
	d.served(r, d.in(r), "reads the children", get, list, watch)
	d.need(r, "", "reads a child again if a write shows that somebody else created or changed it", get)
	d.need(r, "", "creates children", create)
	d.need(r, "", deletes(method), remove)
	if d.Shape == hook.Composite {
		d.need(r, "", "adopts and releases children", update)
	}
	if d.ServerSide {
		d.applied(r, method)
	} else {
		d.merged(r, method)
	}
	d.granting(r)
}

// owned adds how a rule about attachments changes whose they are. Children of a CompositeController can always be adopted.
func (d *derivation) owned(child spec.ChildRule) {
	if d.Shape != hook.Decorator {
		return
	}
	if child.Plain {
		d.need(child.Resource, "", "changes the owner references of attachments that have other ones than the rule says", update)
	}
	if child.Adopts == v1alpha1.AdoptIfUnowned || child.Adopts == v1alpha1.AdoptForce {
		d.need(child.Resource, "", "takes over existing objects", update)
		for _, parent := range d.Parents {
			d.need(parent, "", "reads a parent again before it takes over an object", get)
		}
	}
}

// deletes returns why children are deleted.
func deletes(method plan.Method) string {
	if method == plan.Recreate || method == plan.RollingRecreate {
		return "deletes children that the hook does not return, and those that it recreates"
	}
	return "deletes children that the hook does not return"
}

// applied adds how server-side apply writes children.
func (d *derivation) applied(r kube.Resource, method plan.Method) {
	d.need(r, "", "creates and updates children by server-side apply", patch)
	if method != plan.OnDelete {
		d.need(r, "", "prepares children that were written in another way for server-side apply", update)
	}
}

// merged adds how dynamic apply writes children.
func (d *derivation) merged(r kube.Resource, method plan.Method) {
	const large = "for a child that is too large for dynamic apply"
	const back = "for a child that was last written by server-side apply"
	switch method {
	case plan.OnDelete:
		d.mayNeed(r, large, patch)
	case plan.Recreate, plan.RollingRecreate:
		d.need(r, "", "finds out by a dry run of an update whether a child has to be recreated", update)
		d.mayNeed(r, back, patch)
	default:
		d.need(r, "", "updates children", update)
		d.mayNeed(r, large, patch)
		d.mayNeed(r, back, patch)
	}
}

// granting adds what the API server requires of an account that creates Roles and bindings.
func (d *derivation) granting(r kube.Resource) {
	if r.Group != rbacv1.GroupName {
		return
	}
	const unless = "unless the account itself has all permissions that the children contain"
	switch r.GroupVersionResource.Resource {
	case "roles", "clusterroles":
		d.mayNeed(r, unless, "escalate")
	case "rolebindings", "clusterrolebindings":
		roles := rbacv1.SchemeGroupVersion.WithResource("roles")
		d.mayNeed(kube.Resource{GroupVersionResource: roles, Namespaced: true}, unless, "bind")
		d.mayNeed(kube.Resource{GroupVersionResource: rbacv1.SchemeGroupVersion.WithResource("clusterroles")}, unless, "bind")
	}
}

// revisions adds what is done with ControllerRevisions, if a kind of children rolls.
func (d *derivation) revisions() {
	rolls := false
	for _, method := range d.methods {
		rolls = rolls || method.Rolls()
	}
	if !rolls {
		return
	}
	r := kube.Resource{GroupVersionResource: v1alpha1.ControllerRevisions, Namespaced: true}
	d.need(r, "", "reads and writes the progress of rolling updates", get, list, watch, create, update, remove)
	d.served(r, d.in(r), "reads the progress of rolling updates", get, list, watch)
}

// eventsAbout adds the events about the parents of a resource. Those about cluster-scoped objects are in the namespace default.
func (d *derivation) eventsAbout(r kube.Resource) {
	namespaces := d.in(r)
	if !r.Namespaced {
		namespaces = []string{metav1.NamespaceDefault}
	}
	for _, namespace := range namespaces {
		d.record(namespace, "records events about the parents")
	}
}

// record adds the right to record events in a namespace.
func (d *derivation) record(namespace, why string) {
	events := kube.Resource{GroupVersionResource: corev1.SchemeGroupVersion.WithResource("events")}
	d.Account = append(d.Account, each(events, "", []string{namespace}, why, []string{create, patch})...)
}

// referenced adds the Secrets and ConfigMaps to which the controller refers by their names.
func (d *derivation) referenced() {
	for _, o := range d.References {
		r := Right{Resource: o.Resource().Resource, Namespace: o.Namespace, Name: o.Name, Why: fmt.Sprintf("the controller refers to %s", o)}
		for _, verb := range []string{list, watch} {
			r.Verb = verb
			d.Account = append(d.Account, r)
		}
		if !d.Watched {
			r.Namespace = "" // an aggregated ClusterRole cannot limit it
		}
		for _, verb := range []string{get, list, watch} {
			r.Verb = verb
			d.Server = append(d.Server, r)
		}
	}
}

// related adds what the customize hook asks for.
func (d *derivation) related() {
	const why = "the customize hook asks for them"
	for _, r := range d.Related {
		namespaces := []string{r.Namespace}
		if !r.Namespaced || r.ParentsNamespace {
			namespaces = d.in(r.Resource)
		}
		d.Account = append(d.Account, each(r.Resource, "", namespaces, why, []string{list, watch})...)
		d.served(r.Resource, namespaces, "reads what the customize hook asks for", get, list, watch)
		if r.Labelled {
			d.Account = append(d.Account, each(related.Namespaces, "", []string{""}, "the customize hook selects namespaces by their labels", []string{list, watch})...)
			d.served(related.Namespaces, []string{""}, "reads the labels of namespaces, by which the customize hook selects", get, list, watch)
		}
	}
}

// order is the order of verbs in messages and rules.
var order = []string{get, list, watch, create, update, patch, remove}

// CompareVerbs compares two verbs for slices.SortFunc: the verbs that read are first. A verb that is not known is last.
func CompareVerbs(a, b string) int {
	at := func(verb string) int {
		if i := slices.Index(order, strings.TrimPrefix(verb, impersonateOn)); i >= 0 {
			return i
		}
		return len(order)
	}
	return at(a) - at(b)
}
