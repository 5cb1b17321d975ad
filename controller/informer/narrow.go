package informer

import (
	"slices"

	"k8s.io/client-go/tools/cache"

	"metascript/controller/object"
)

// wide returns the spec of the cache of all objects of which the cache of s has those with its Label.
func (s Spec) wide() Spec {
	s.Label = ""
	return s
}

// full returns the spec of the cache of whole objects that has all of which s needs a part.
func (s Spec) full() Spec {
	s.Label, s.MetadataOnly, s.Kind = "", false, ""
	return s
}

// widen makes the handles of narrow use wide, once wide has synced. It does nothing if wide is stopped before.
func (f *Factory) widen(narrow, wide *shared) {
	if !cache.WaitForCacheSync(wide.done, wide.HasSynced) {
		return
	}
	moved := false
	for i := f.next(narrow, wide); i != nil; i = f.next(narrow, wide) {
		if move(i, narrow, wide) {
			moved = true
		} else {
			f.release(wide, i)
		}
		f.release(narrow, i)
	}
	if moved && f.Widened != nil {
		f.Widened(narrow.spec.Resource)
	}
}

// next returns a handle of narrow after adding it to those of wide; nil if there is none, or if wide was stopped.
func (f *Factory) next(narrow, wide *shared) *Informer {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shared[wide.spec] != wide {
		return nil
	}
	for i := range narrow.handles {
		wide.handles[i] = true
		return i
	}
	return nil
}

// move replaces one part of a handle by another one, with the handlers. It returns false if the handle was closed. The handlers of
// the new part get all its objects before the old part has no handlers any more, so that only a deletion may not be passed.
func move(i *Informer, from, to *shared) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return false
	}
	all := slices.Clone(i.parts())
	for n, part := range all {
		if part == from {
			all[n] = to
		}
	}
	i.open.Store(&all)
	for n, h := range i.handlers {
		if h.part != from {
			continue
		}
		if r, err := to.AddEventHandler(h.events); err == nil { // fails only for a cache that was stopped, and this handle keeps it open
			_ = from.RemoveEventHandler(h.ResourceEventHandlerRegistration)
			i.handlers[n] = handler{to, r, h.events}
		}
	}
	return true
}

// Narrow reports whether the cache may lack objects that do not have the label of its spec. An object that loses the label is
// deleted from such a cache.
func (i *Informer) Narrow() bool {
	return slices.ContainsFunc(i.parts(), func(s *shared) bool { return s.spec.Label != "" })
}

// Lacks reports whether the cache lacks an object because it does not have the label of its spec.
func (i *Informer) Lacks(o *object.Object) bool {
	s := i.part(o.GetNamespace())
	if s == nil || s.spec.Label == "" {
		return false
	}
	_, labeled := o.Label(s.spec.Label)
	return !labeled
}
