package informer

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"metascript/controller/object"
	"metascript/controller/ownership"
)

// owned has the fields that a field manager owns, for each object to which it applied something. An entry may be newer than the
// object in the cache, since it is added before the object. It is removed when the object is deleted.
type owned struct {
	read func(managedFields []byte) ownership.Fields // Factory.Ownership

	mu     sync.Mutex // guards fields
	fields map[types.UID]ownership.Fields
}

// update reads the managedFields of an object.
func (w *owned) update(uid types.UID, managedFields []byte) {
	if w.read == nil {
		return
	}
	read := w.read(managedFields)
	w.mu.Lock()
	defer w.mu.Unlock()
	if read.Set == "" {
		delete(w.fields, uid)
		return
	}
	if w.fields == nil {
		w.fields = map[types.UID]ownership.Fields{}
	}
	w.fields[uid] = read
}

// forget removes the entry of an object that was deleted.
func (w *owned) forget(obj any) {
	if deleted, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = deleted.Obj
	}
	if o, ok := obj.(*object.Object); ok {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.fields, o.GetUID())
	}
}

// Owned returns the fields that the field manager of [Factory.Ownership] owns of the object with this UID; the zero value if it
// applied nothing.
func (i *Informer) Owned(uid types.UID) ownership.Fields {
	for _, s := range i.parts() {
		if fields, has := s.owned.of(uid); has {
			return fields
		}
	}
	return ownership.Fields{}
}

// of returns the entry of an object.
func (w *owned) of(uid types.UID) (fields ownership.Fields, has bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fields, has = w.fields[uid]
	return fields, has
}
