package informer

import (
	"strings"

	"metascript/controller/object"
	"metascript/controller/ownership"
)

// cached is an object as the caches store it: with the fields that the field manager of [Factory.Ownership] owns. They are of the same
// state as the object, and go with it. Those of most objects are nil, since it has applied nothing to them.
type cached struct {
	object.Object
	fields *ownership.Fields
}

// GetName returns the name, or a copy of it if there is no namespace. client-go uses that as the key of the object, and its indexes keep the
// key when the object is replaced. The copy does not keep the object in memory.
func (c *cached) GetName() string {
	name := c.Object.GetName()
	if c.GetNamespace() == "" {
		name = strings.Clone(name)
	}
	return name
}

// objectOf returns the object of what is stored.
func objectOf(stored any) *object.Object { return &stored.(*cached).Object }

// Owned returns the fields that the field manager of [Factory.Ownership] owns of o, in the state in which the cache has o; the zero value
// if it applied nothing, or if the cache does not have o.
func (i *Informer) Owned(o *object.Object) ownership.Fields {
	c := i.part(o.GetNamespace()).get(object.KeyOf(o))
	if c == nil || c.fields == nil || c.GetUID() != o.GetUID() {
		return ownership.Fields{}
	}
	return *c.fields
}
