package informer

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

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

// DeepCopyObject implements runtime.Object. The object cannot be changed, so that it is shared. With the environment variable
// KUBE_CACHE_MUTATION_DETECTOR, client-go compares what is cached with such a copy.
func (c *cached) DeepCopyObject() runtime.Object {
	copied := *c
	if c.fields != nil {
		fields := *c.fields
		copied.fields = &fields
	}
	return &copied
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
