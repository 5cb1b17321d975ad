package hook

import (
	"cmp"
	"reflect"
	"sync"

	"metascript/controller/object"
	"metascript/engine"
)

// identifier returns a function for engine.Env that identifies versions of the objects in req: by the UID and the
// resourceVersion for the parent, children and related objects; and by owner and the resourceVersion for the controller,
// since its UID would identify the whole object, and hooks get only a part of it.
//
// The engine may reuse what it computed for an identity in all later calls. So with a wrong identity one user could decide
// what a script gets of an object of another user. A map in the spec of a user may look like an object, so a map is
// identified only if it is the same map as the object in the request. An object with managedFields is not identified: it is
// the result of a write, and caches have the same version without them.
//
// The function is called for every object of every request, and allocates nothing.
func (req *Request) identifier(owner string) func(engine.Map) (id, version string) {
	groups := sync.OnceValue(req.versionedGroups) // not every language calls the function
	return func(object engine.Map) (id, version string) {
		m, plain := object.(engine.GoMap)
		if !plain {
			return "", ""
		}
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

// A versionedGroup is a kind whose objects may be identified.
type versionedGroup struct {
	apiVersion, kind  string
	children, related func(object.Key) *object.Object
}

// versionedGroups returns the groups of the kinds in Versioned.
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

// versionOf returns the identity of m if it is an object of the group; "" otherwise.
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

// versionOf returns the UID and the resourceVersion of an object from a cache; "" for any other map.
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

// same reports whether a and b are the same map.
func same(a, b map[string]any) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}
