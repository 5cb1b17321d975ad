package hook

import (
	"cmp"
	"reflect"
	"sync"

	"metascript/controller/object"
)

// identifier names the versions of the objects in req for engine.Env: the UID and the resourceVersion of the parent, of
// children and of related objects, and owner and the resourceVersion of the controller, whose UID would name the whole
// object rather than what hooks see of it.
//
// What is kept of an object by its name is given to later calls for every object of that name, so that with a wrong name
// one user could decide what a script sees of another's object. A map in a user's spec may look like an object. So a map is
// named only if it is the very one that the request has in that place. An object with managedFields is not named, since it
// came back from a write: caches keep the same version without them.
//
// It is called for every object of every request, and allocates nothing.
func (req *Request) identifier(owner string) func(map[string]any) (id, version string) {
	groups := sync.OnceValue(req.versionedGroups) // not every language asks
	return func(m map[string]any) (id, version string) {
		switch {
		case same(m, req.Controller.Object):
			if _, version = versionOf(m); version == "" {
				return "", ""
			}
			return owner, version
		case same(m, req.Parent.Object):
			if !req.Versioned[req.Parent.GroupVersionKind()] {
				return "", ""
			}
			return versionOf(m)
		}
		apiVersion, _ := m["apiVersion"].(string)
		kind, _ := m["kind"].(string)
		for i, groups := 0, groups(); i < len(groups); i++ {
			if g := &groups[i]; g.kind == kind && g.apiVersion == apiVersion {
				return g.versionOf(m)
			}
		}
		return "", ""
	}
}

// A versionedGroup is a group of objects that may be named.
type versionedGroup struct {
	apiVersion, kind  string
	children, related func(object.Key) *object.Object
}

// versionedGroups are those among the children and the related objects.
func (req *Request) versionedGroups() []versionedGroup {
	if len(req.Versioned) == 0 {
		return nil
	}
	none := &object.Set{}
	children, related := cmp.Or(req.Children, none), cmp.Or(req.Related, none)
	groups := make([]versionedGroup, 0, len(req.Versioned))
	for kind, versioned := range req.Versioned {
		if versioned {
			groups = append(groups, versionedGroup{kind.GroupVersion().String(), kind.Kind, children.Getter(kind), related.Getter(kind)})
		}
	}
	return groups
}

// versionOf names m if it is in the group.
func (g *versionedGroup) versionOf(m map[string]any) (id, version string) {
	metadata, _ := m["metadata"].(map[string]any)
	key := object.Key{}
	key.Name, _ = metadata["name"].(string)
	key.Namespace, _ = metadata["namespace"].(string)
	o := g.children(key)
	if o == nil || !same(m, o.Object) {
		o = g.related(key)
	}
	if o == nil || !same(m, o.Object) {
		return "", ""
	}
	return versionOf(m)
}

// versionOf gives UID and resourceVersion of an object as caches hold it, or nothing.
func versionOf(m map[string]any) (uid, version string) {
	metadata, _ := m["metadata"].(map[string]any)
	if metadata["managedFields"] != nil {
		return "", ""
	}
	uid, _ = metadata["uid"].(string)
	version, _ = metadata["resourceVersion"].(string)
	if uid == "" || version == "" {
		return "", ""
	}
	return uid, version
}

// same reports whether a and b are one map.
func same(a, b map[string]any) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}
