package binding

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/claim"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/ownership"
)

// CheckSelector returns an error if parent has no valid selector, so that its children cannot be found. A parent that is being
// deleted needs none, since it adopts and releases nothing.
func (b *Binding) CheckSelector(parent *object.Object) error {
	if b.Match == nil || object.Deleting(parent) {
		return nil
	}
	_, err := b.Match(parent)
	return err
}

// Expect returns which children a response about parent may have.
func (b *Binding) Expect(parent *object.Object) (hook.Expect, error) {
	e := hook.Expect{Kinds: b.Kinds, Annotations: b.ChildAnnotations}
	if b.Match != nil {
		var err error
		if e.Selector, err = b.Match(parent); err != nil && !object.Deleting(parent) {
			return e, err
		}
	}
	if b.Labels != nil {
		e.Labels = b.Labels(parent)
	}
	return e, nil
}

// OwnerOf returns the parent that controls child. It reads only the owner reference, since the parent may not be in the cache
// yet.
func (b *Binding) OwnerOf(child *object.Object) (object.Ref, bool) {
	ref := object.OwnerOf(child)
	if ref == nil || !claim.HasAnnotations(child, b.ChildAnnotations) {
		return object.Ref{}, false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return object.Ref{}, false
	}
	for _, parent := range b.Parents {
		if parent.Kind == ref.Kind && parent.Group == gv.Group {
			key := object.Key{Name: ref.Name}
			if parent.Namespaced {
				key.Namespace = child.GetNamespace()
			}
			return object.Ref{Kind: parent.ObjectKind(), Key: key}, true
		}
	}
	return object.Ref{}, false
}

// Owned returns the fields of child that our field manager owns, from the cache.
func (b *Binding) Owned(child *object.Object) ownership.Fields {
	cache := b.CacheOf(child.GroupVersionKind())
	if cache == nil {
		return ownership.Fields{}
	}
	return cache.Owned(child)
}

// ParentOf returns the parent whose child an object is, also if another controller reconciles that parent; nil if it is no child, or if the parent is
// not in the cache.
func (b *Binding) ParentOf(o *object.Object) *object.Object {
	ref := object.OwnerOf(o)
	if ref == nil {
		return nil
	}
	if _, declared := b.Kinds[o.GroupVersionKind()]; !declared {
		return nil
	}
	group := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group
	for _, rule := range b.Parents {
		if rule.Kind != ref.Kind || rule.Group != group {
			continue
		}
		for _, namespace := range []string{o.GetNamespace(), ""} {
			if parent := rule.Cache.Get(object.Key{Namespace: namespace, Name: ref.Name}); parent != nil && parent.GetUID() == ref.UID {
				return parent
			}
		}
	}
	return nil
}

// HasStatus reports whether related objects of a kind have the status subresource, or it is not known.
func (b *Binding) HasStatus(kind object.Kind) bool {
	found, known := b.RelatedKinds.Load(kind)
	has, _ := found.(bool)
	return has || !known
}

// Applied returns the part of child that our field manager has applied, from the cache. It returns nil if it applied nothing, or if that
// is not known.
func (b *Binding) Applied(child *object.Object) map[string]any {
	applied, err := b.Owned(child).Applied(child)
	if err != nil {
		return nil
	}
	return applied
}
