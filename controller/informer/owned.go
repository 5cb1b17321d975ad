package informer

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"metascript/controller/object"
	"metascript/controller/ownership"
)

// owned keeps what a field manager owns of objects, by their UID: only of those to which it applied something. An entry
// may be a little newer than the object in the cache, since it is made before the cache has the object. It is dropped
// when the object is gone.
type owned struct {
	read func(*object.Object) ownership.Fields

	mu sync.Mutex
	of map[types.UID]ownership.Fields
}

// note takes what is owned of an object that still has its managedFields.
func (t *owned) note(obj any) {
	o, ok := obj.(*object.Object)
	if !ok || t.read == nil || !hasManagedFields(o) {
		return
	}
	fields := t.read(o)
	t.mu.Lock()
	defer t.mu.Unlock()
	if fields.Set == "" {
		delete(t.of, o.GetUID())
		return
	}
	if t.of == nil {
		t.of = map[types.UID]ownership.Fields{}
	}
	t.of[o.GetUID()] = fields
}

// hasManagedFields is false of an object from which they were taken off.
func hasManagedFields(o *object.Object) bool {
	metadata, _ := o.Object["metadata"].(map[string]any)
	_, has := metadata["managedFields"]
	return has
}

// forget drops the entry of an object that was deleted.
func (t *owned) forget(obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	if o, ok := obj.(*object.Object); ok {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.of, o.GetUID())
	}
}

// Owned is what the field manager of [Factory.Ownership] owns of the object with that UID.
func (i *Informer) Owned(uid types.UID) ownership.Fields {
	t := &i.shared.owned
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[uid]
}
