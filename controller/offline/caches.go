package offline

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/binding"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/schemas"
	"metascript/controller/spec"
)

// Caches says of which objects a server that runs only this controller has caches, one text for each resource. hooks are the names of
// its hooks. It returns nil if the controller cannot be read, or names a resource that cannot exist.
func Caches(o *object.Object, hooks []string, known *schemas.Set) []string {
	d, err := spec.Read(o)
	if err != nil {
		return nil
	}
	found, err := spec.Resolve(d, tolerant{kube.Offline{Kinds: known.Kinds()}, known.Complete()})
	if err != nil {
		return nil
	}
	var all caches
	for i, rule := range d.Parents {
		all.add(rule.ResourceRule, found.Parents[i], "")
	}
	rolls := false
	for i, rule := range d.Children {
		all.add(rule.ResourceRule, found.Children[i].Resource, binding.ChildLabel(d))
		rolls = rolls || rule.Method.Rolls()
	}
	if rolls {
		all = append(all, cached{resource: v1alpha1.ControllerRevisions.GroupResource(), namespaced: true})
	}
	texts := all.texts()
	if slices.Contains(hooks, hook.Customize) {
		texts = append(texts, "each resource that the customize hook names")
	}
	return texts
}

// caches are the caches of a controller.
type caches []cached

// A cached is the cache of one resource.
type cached struct {
	resource   schema.GroupResource
	namespaced bool   // known to be
	label      string // see informer.Spec.Label
}

// add adds a cache, or widens the one of the same resource.
func (c *caches) add(rule v1alpha1.ResourceRule, found kube.Resource, label string) {
	gv, _ := schema.ParseGroupVersion(rule.APIVersion) // an error would be one of spec.Resolve
	resource := schema.GroupResource{Group: gv.Group, Resource: rule.Resource}
	at := slices.IndexFunc(*c, func(other cached) bool { return other.resource == resource })
	if at < 0 {
		*c = append(*c, cached{resource, found.Kind != "" && found.Namespaced, label})
	} else if label == "" {
		(*c)[at].label = ""
	}
}

// texts returns a text for each cache.
func (c caches) texts() []string {
	var all []string
	for _, cache := range c {
		text := cache.resource.String()
		if cache.label != "" {
			text += " with the label " + cache.label
		}
		if cache.namespaced {
			text += " in all namespaces"
		}
		all = append(all, text)
	}
	return all
}
