package memapi

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"metascript/controller/kinds"
	"metascript/controller/object"
)

// A kind is a kind of objects in one version.
type kind struct {
	schema.GroupVersionResource
	names         kinds.Resource
	Kind          string
	Namespaced    bool
	HasStatus     bool // it has the status subresource
	generations   bool // its objects have a generation
	unconditional bool // an update need not have a resourceVersion
	types         func() managedfields.TypeConverter
	strategy      strategy
}

// A strategy says which objects of a kind are valid.
type strategy interface {
	// normalize sets defaults, and removes fields that the kind does not have. It returns the paths of these fields. Its error is
	// that the object cannot be decoded.
	normalize(o *object.Object) (unknown []string, err error)
	// validate returns what is wrong with o: errs, which are about its metadata, and what else is wrong. before is nil if o is created.
	validate(o, before *object.Object, errs field.ErrorList) field.ErrorList
	// otherKind returns the error for an object of another kind, or nil for the error that most kinds have.
	otherKind(k *kind, o *object.Object) error
}

// gvk returns the kind as the API writes it.
func (k *kind) gvk() schema.GroupVersionKind { return k.GroupVersion().WithKind(k.Kind) }

// newKind returns a kind with these names.
func newKind(r kinds.Resource) *kind {
	return &kind{GroupVersionResource: r.GVR(), names: r, Kind: r.Kind, Namespaced: r.Namespaced, HasStatus: r.HasStatus()}
}

// A catalog has the kinds that are served.
type catalog struct {
	builtin []*kind
	custom  map[string][]*kind // by the name of their CustomResourceDefinition
}

func newCatalog() *catalog { return &catalog{builtin: builtinKinds(), custom: map[string][]*kind{}} }

// all returns the kinds, ordered by group, version and resource.
func (c *catalog) all() []*kind {
	all := slices.Clone(c.builtin)
	for _, kinds := range c.custom {
		all = append(all, kinds...)
	}
	slices.SortFunc(all, func(a, b *kind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.GroupVersionResource.Resource, b.GroupVersionResource.Resource))
	})
	return all
}

func (c *catalog) find(match func(*kind) bool) *kind {
	all := c.all()
	if i := slices.IndexFunc(all, match); i >= 0 {
		return all[i]
	}
	return nil
}

func (c *catalog) byResource(r schema.GroupVersionResource) *kind {
	return c.find(func(k *kind) bool { return k.GroupVersionResource == r })
}

func (c *catalog) byKind(gvk schema.GroupVersionKind) *kind {
	return c.find(func(k *kind) bool { return k.gvk() == gvk })
}

// named returns the kinds with this name, without regard to case; all if name is "".
func (c *catalog) named(name string) []schema.GroupVersionKind {
	var found []schema.GroupVersionKind
	for _, k := range c.all() {
		if name == "" || strings.EqualFold(k.Kind, name) {
			found = append(found, k.gvk())
		}
	}
	return found
}
