package hook

import (
	"cmp"
	"sync"

	"metascript/controller/object"
	"metascript/engine/tree"
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
func (req *Request) identifier(owner string) func(tree.Map) (id, version string) {
	groups := sync.OnceValue(req.versionedGroups) // not every language calls the function
	return func(m tree.Map) (id, version string) {
		switch {
		case req.Controller.Same(m):
			if _, version = versionOf(m); version == "" {
				return "", ""
			}
			return owner, version
		case req.Parent.Same(m):
			if !req.Versioned[req.Parent.GroupVersionKind()] {
				return "", ""
			}
			return versionOf(m)
		}
		apiVersion, kind := textIn(m, "apiVersion"), textIn(m, "kind")
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
func (g *versionedGroup) versionOf(m tree.Map) (id, version string) {
	metadata := metadataOf(m)
	key := object.Key{Name: textIn(metadata, "name"), Namespace: textIn(metadata, "namespace")}
	o := g.children(key)
	if o == nil || !o.Same(m) {
		o = g.related(key)
	}
	if o == nil || !o.Same(m) {
		return "", ""
	}
	return versionOf(m)
}

// versionOf returns the UID and the resourceVersion of an object from a cache; "" for any other map.
func versionOf(m tree.Map) (uid, version string) {
	metadata := metadataOf(m)
	if managed, _ := metadata.Get("managedFields"); managed != nil {
		return "", ""
	}
	uid, version = textIn(metadata, "uid"), textIn(metadata, "resourceVersion")
	if uid == "" || version == "" {
		return "", ""
	}
	return uid, version
}

// metadataOf returns the metadata of an object, which are empty if it has none.
func metadataOf(m tree.Map) tree.Map {
	v, _ := m.Get("metadata")
	if metadata, ok := tree.MapOf(v); ok {
		return metadata
	}
	return tree.GoMap(nil)
}

// textIn returns the value of a key if it is a string; "" otherwise.
func textIn(m tree.Map, key string) string {
	v, _ := m.Get(key)
	text, _ := v.(string)
	return text
}
