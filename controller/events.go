package controller

import (
	"reflect"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/object"
)

// onParent queues a parent that changed.
func (l *loop) onParent(old, current *object.Object) {
	switch {
	case current == nil:
		l.queue.add(object.KeyOf(old), ParentChanged) // so that what is kept for it is dropped
	case old == nil || l.concerns(old, current):
		l.queue.add(object.KeyOf(current), l.news(ParentChanged))
	}
}

// news is why, once the caches are filled. What fills them did not just change, and comes after what does.
func (l *loop) news(why Reason) Reason {
	if l.filled.Load() {
		return why
	}
	return Resync
}

// concerns reports whether a parent's change is worth a reconcile. With ignoreStatusChanges those are changes of
// the spec, which raise the generation, of labels and annotations, finalizers, and the begin of a deletion.
func (l *loop) concerns(old, current *object.Object) bool {
	if old.GetResourceVersion() == current.GetResourceVersion() {
		return false
	}
	if !l.IgnoreStatusChanges || current.GetGeneration() == 0 {
		return true
	}
	return old.GetGeneration() != current.GetGeneration() ||
		old.GetUID() != current.GetUID() ||
		object.Deleting(old) != object.Deleting(current) ||
		!reflect.DeepEqual(old.GetLabels(), current.GetLabels()) ||
		!reflect.DeepEqual(old.GetAnnotations(), current.GetAnnotations()) ||
		!reflect.DeepEqual(old.GetFinalizers(), current.GetFinalizers())
}

// onChild queues the parents that a child's change concerns: who owns it, who owned it, and, while nobody does, who
// may adopt it.
func (l *loop) onChild(old, current *object.Object) {
	if old != nil && current != nil && old.GetResourceVersion() == current.GetResourceVersion() {
		return
	}
	seen := map[object.Key]bool{}
	for _, o := range []*object.Object{old, current} {
		if o == nil {
			continue
		}
		if key, owned := l.ownerKey(o); owned && !seen[key] {
			seen[key] = true
			l.queue.add(key, l.news(ChildChanged))
		}
	}
	if current != nil && object.ControllerOf(current) == nil {
		l.queueAdopters(current)
	}
}

// ownerKey names the parent that controls o, from the reference alone: the parent itself may not be cached yet.
func (l *loop) ownerKey(o *object.Object) (object.Key, bool) {
	ref := object.ControllerOf(o)
	if ref == nil || ref.Kind != l.Parent.Kind {
		return object.Key{}, false
	}
	if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || gv.Group != l.Parent.Group {
		return object.Key{}, false
	}
	key := object.Key{Name: ref.Name}
	if l.Parent.Namespaced {
		key.Namespace = o.GetNamespace()
	}
	return key, true
}

// queueAdopters queues every parent whose selector matches an orphan.
func (l *loop) queueAdopters(orphan *object.Object) {
	if l.Labels != nil && orphan.GetLabels()[generatedLabel] == "" {
		return // no generated selector matches: nearly all orphans end here
	}
	for _, parent := range l.parents.List() {
		if l.Parent.Namespaced && parent.GetNamespace() != orphan.GetNamespace() {
			continue
		}
		selector, err := l.Match(parent)
		if err == nil && selector.Matches(labels.Set(orphan.GetLabels())) {
			l.queue.add(object.KeyOf(parent), l.news(ChildChanged))
		}
	}
}
