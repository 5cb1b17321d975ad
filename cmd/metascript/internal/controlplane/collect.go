package controlplane

import (
	"cmp"
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"metascript/cmd/metascript/internal/memapi"
	"metascript/controller/object"
)

var namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}

// A collector is the garbage collector and the controller of namespaces.
type collector struct{ *requests }

// collect does what the garbage collector and the controller of namespaces do after a change.
func (p *collector) collect(ctx context.Context, c memapi.Change) {
	switch o := c.After; {
	case o == nil:
		p.collectDependents(ctx, c.Before.GetUID())
		p.finalizeNamespace(ctx, c.Before.GetNamespace())
		p.resumeOwners(ctx, c.Before)
	case object.Deleting(o):
		p.collectForeground(ctx, o)
		p.orphan(ctx, o)
		if o.GroupVersionKind() == namespaceKind {
			p.emptyNamespace(ctx, o)
		}
	default:
		p.collectAbandoned(ctx, o)
	}
}

// dependents returns the objects that have an owner with this UID, ordered by kind and name.
func (p *collector) dependents(owner types.UID) []*object.Object {
	return p.objects(func(o *object.Object) bool { return ownerRef(o, owner) != nil })
}

func (p *collector) objects(match func(*object.Object) bool) []*object.Object {
	all := slices.DeleteFunc(p.api.All(), func(o *object.Object) bool { return !match(o) })
	slices.SortFunc(all, func(a, b *object.Object) int {
		return cmp.Or(cmp.Compare(a.GetAPIVersion(), b.GetAPIVersion()), cmp.Compare(object.Describe(a), object.Describe(b)))
	})
	return all
}

func ownerRef(o *object.Object, owner types.UID) *metav1.OwnerReference {
	for _, ref := range o.GetOwnerReferences() {
		if ref.UID == owner {
			return &ref
		}
	}
	return nil
}

// collectDependents collects the dependents of an object that was deleted.
func (p *collector) collectDependents(ctx context.Context, owner types.UID) {
	for _, o := range p.dependents(owner) {
		p.collectAbandoned(ctx, o)
	}
}

// collectAbandoned deletes an object if it has owners and none of them exists. If only some exist, it removes the references to the
// others.
func (p *collector) collectAbandoned(ctx context.Context, o *object.Object) {
	var existing []metav1.OwnerReference
	refs := o.GetOwnerReferences()
	for _, ref := range refs {
		if p.exists(ref, o.GetNamespace()) {
			existing = append(existing, ref)
		}
	}
	switch {
	case len(existing) == len(refs):
	case len(existing) == 0:
		p.delete(ctx, o, metav1.DeletePropagationBackground)
	default:
		p.patch(ctx, o, map[string]any{"ownerReferences": existing})
	}
}

// exists reports whether an owner exists. An owner of a kind that is not served may exist.
func (p *collector) exists(ref metav1.OwnerReference, namespace string) bool {
	resource, namespaced, ok := p.api.Resource(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	if !ok {
		return true
	}
	key := object.Key{Name: ref.Name}
	if namespaced {
		key.Namespace = namespace
	}
	owner := p.api.Get(resource.GroupResource(), key)
	return owner != nil && owner.GetUID() == ref.UID
}

// collectForeground deletes the dependents of an object that is deleted in the foreground, and removes its finalizer when none is left
// that blocks the deletion.
func (p *collector) collectForeground(ctx context.Context, o *object.Object) {
	if !slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents) {
		return
	}
	blocked := false
	for _, dependent := range p.dependents(o.GetUID()) {
		if p.hasOther(dependent, o.GetUID()) {
			p.disown(ctx, dependent, o.GetUID())
			continue
		}
		if block := ownerRef(dependent, o.GetUID()).BlockOwnerDeletion; block != nil && *block {
			blocked = true
		}
		if !object.Deleting(dependent) {
			p.delete(ctx, dependent, metav1.DeletePropagationForeground)
		}
	}
	if !blocked {
		p.removeFinalizer(ctx, o, metav1.FinalizerDeleteDependents)
	}
}

// resumeOwners continues the deletion of the owners of an object that was deleted.
func (p *collector) resumeOwners(ctx context.Context, deleted *object.Object) {
	for _, ref := range deleted.GetOwnerReferences() {
		for _, owner := range p.objects(func(o *object.Object) bool { return o.GetUID() == ref.UID }) {
			if object.Deleting(owner) {
				p.collectForeground(ctx, owner)
			}
		}
	}
}

// orphan removes the references of dependents to an object that is deleted without them.
func (p *collector) orphan(ctx context.Context, o *object.Object) {
	if !slices.Contains(o.GetFinalizers(), metav1.FinalizerOrphanDependents) {
		return
	}
	for _, dependent := range p.dependents(o.GetUID()) {
		p.disown(ctx, dependent, o.GetUID())
	}
	p.removeFinalizer(ctx, o, metav1.FinalizerOrphanDependents)
}

// hasOther reports whether an object has another owner that exists.
func (p *collector) hasOther(o *object.Object, owner types.UID) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return ref.UID != owner && p.exists(ref, o.GetNamespace())
	})
}

// disown removes the reference of a dependent to an owner.
func (p *collector) disown(ctx context.Context, dependent *object.Object, owner types.UID) {
	refs := slices.DeleteFunc(dependent.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == owner })
	p.patch(ctx, dependent, map[string]any{"ownerReferences": append([]metav1.OwnerReference{}, refs...)})
}

// emptyNamespace deletes all objects of a namespace that is deleted.
func (p *collector) emptyNamespace(ctx context.Context, namespace *object.Object) {
	inside := p.objects(func(o *object.Object) bool { return o.GetNamespace() == namespace.GetName() })
	for _, o := range inside {
		if !object.Deleting(o) {
			p.delete(ctx, o, metav1.DeletePropagationBackground)
		}
	}
	if len(inside) == 0 {
		p.finalizeNamespace(ctx, namespace.GetName())
	}
}

// finalizeNamespace removes the finalizer of a namespace that is being deleted and is empty.
func (p *collector) finalizeNamespace(ctx context.Context, name string) {
	if name == "" {
		return
	}
	resource, _, _ := p.api.Resource(namespaceKind)
	namespace := p.api.Get(resource.GroupResource(), object.Key{Name: name})
	if namespace == nil || !object.Deleting(namespace) || len(p.objects(func(o *object.Object) bool { return o.GetNamespace() == name })) > 0 {
		return
	}
	final := object.Copy(namespace)
	unstructured.RemoveNestedField(final.Map(), "spec", "finalizers")
	_, err := p.client.Resource(resource).Update(ctx, final.Unstructured(), metav1.UpdateOptions{}, "finalize")
	p.note(err)
}

func (p *collector) removeFinalizer(ctx context.Context, o *object.Object, name string) {
	rest := slices.DeleteFunc(o.GetFinalizers(), func(other string) bool { return other == name })
	if rest == nil {
		rest = []string{}
	}
	p.patch(ctx, o, map[string]any{"finalizers": rest})
}
