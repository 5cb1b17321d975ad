package simulation

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/cmd/metascript/internal/memapi"
	"metascript/controller/object"
	"metascript/engine"
)

// names finds the objects that steps name.
type names struct{ api *memapi.Server }

// find returns the object that a step names, such as "Pod default/web" or "Pod web". It is an error if it does not exist.
func (n names) find(reference string) (*object.Object, error) {
	resource, key, err := n.resolve(reference)
	if err != nil {
		return nil, err
	}
	if o := n.api.Get(resource.GroupResource(), key); o != nil {
		return o, nil
	}
	return nil, fmt.Errorf("%s does not exist%s", reference, n.likeObject(reference, resource, key))
}

// likeObject returns the end of a message about an object that does not exist: the one that was probably meant.
func (n names) likeObject(reference string, resource schema.GroupVersionResource, key object.Key) string {
	var same, all []string // in the same namespace only the name was probably misspelt
	for _, o := range n.api.All() {
		of, _, _ := n.api.Resource(o.GroupVersionKind())
		if of.GroupResource() != resource.GroupResource() {
			continue
		}
		all = append(all, object.KeyOf(o).String())
		if o.GetNamespace() == key.Namespace {
			same = append(same, o.GetName())
		}
	}
	kind, name, _ := strings.Cut(reference, " ")
	if like := engine.Nearest(key.Name, same); like != "" {
		return fmt.Sprintf("; did you mean %q?", kind+" "+strings.TrimSuffix(name, key.Name)+like)
	}
	if at := slices.IndexFunc(all, func(other string) bool { return strings.HasSuffix(other, "/"+key.Name) }); at >= 0 {
		return fmt.Sprintf("; did you mean %q?", kind+" "+all[at])
	}
	return ""
}

// likeKind returns the end of a message about a kind that does not exist: the one that was probably meant.
func (n names) likeKind(name string) string {
	var all []string
	for _, gvk := range n.api.Kinds("") {
		all = append(all, gvk.Kind)
	}
	return didYouMean(name, all)
}

// undefined returns the end of a message about the kind of an object, which does not exist: what was probably meant.
func (n names) undefined(of schema.GroupVersionKind) string {
	if same := n.api.Kinds(of.Kind); len(same) > 0 {
		return fmt.Sprintf("; did you mean \"apiVersion: %s\"?", same[0].GroupVersion())
	}
	if like := n.likeKind(of.Kind); like != "" {
		return like
	}
	return ": is its CustomResourceDefinition in crd.yaml?"
}

// resolve returns the resource and the name of an object that a step names.
func (n names) resolve(reference string) (schema.GroupVersionResource, object.Key, error) {
	var key object.Key
	kind, name, ok := strings.Cut(reference, " ")
	if !ok || name == "" {
		return schema.GroupVersionResource{}, key, fmt.Errorf(`%q does not name an object: want a kind and a name, such as "Pod default/web"`, reference)
	}
	resource, namespaced, err := n.resource(kind)
	if err != nil {
		return resource, key, err
	}
	key.Name = name
	if namespaced {
		if key.Namespace = defaultNamespace; strings.Contains(name, "/") {
			key.Namespace, key.Name, _ = strings.Cut(name, "/")
		}
	}
	return resource, key, nil
}

// resource returns the resource of a kind: "Pod", or with its version, as in the children of a script, "Deployment.apps/v1".
func (n names) resource(text string) (schema.GroupVersionResource, bool, error) {
	name, version, exact := strings.Cut(text, ".")
	groups := map[string]schema.GroupVersionKind{}
	for _, gvk := range n.api.Kinds(name) {
		if !exact || gvk.GroupVersion().String() == version {
			groups[gvk.Group] = gvk
		}
	}
	switch len(groups) {
	case 0:
		if like := n.likeKind(name); like != "" {
			return schema.GroupVersionResource{}, false, fmt.Errorf("there is no kind %s%s", text, like)
		}
		return schema.GroupVersionResource{}, false, fmt.Errorf("there is no kind %s: want its name as in an object, such as Pod or Deployment.apps/v1", text)
	case 1:
		for _, gvk := range groups {
			resource, namespaced, _ := n.api.Resource(gvk)
			return resource, namespaced, nil
		}
	}
	var all []string
	for _, gvk := range groups {
		all = append(all, gvk.Kind+"."+gvk.GroupVersion().String())
	}
	slices.Sort(all)
	return schema.GroupVersionResource{}, false, fmt.Errorf("there are several kinds %s: write %s", text, strings.Join(all, " or "))
}

// all returns the names of the objects of a kind, without those in which the server stores something for itself.
func (n names) all(text string) ([]string, error) {
	resource, _, err := n.resource(text)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, o := range n.api.All() {
		if of, _, _ := n.api.Resource(o.GroupVersionKind()); of.GroupResource() == resource.GroupResource() && o.GetNamespace() != serverNamespace {
			found = append(found, object.KeyOf(o).String())
		}
	}
	slices.Sort(found)
	return found, nil
}
