package kinds

import (
	"slices"
	"strings"

	"github.com/gobuffalo/flect"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Plural returns the plural name that a kind probably has, such as gateways. It makes it like controller-gen, so it is right for most
// CustomResourceDefinitions.
func Plural(kind string) string { return flect.Pluralize(strings.ToLower(kind)) }

// Name returns the kind with its group and version, such as Deployment.apps/v1: the key of its children in a request.
func (r Resource) Name() string { return r.Kind + "." + r.APIVersion }

// Named reports whether a name is the kind, plural, singular or short name of the resource, in any case.
func (r Resource) Named(name string) bool {
	names := append([]string{r.Kind, r.Plural, r.Singular}, r.ShortNames...)
	return slices.ContainsFunc(names, func(n string) bool { return n != "" && strings.EqualFold(n, name) })
}

// Nearest returns the resource that was probably meant by a kind that is not in the table.
func (t Table) Nearest(of schema.GroupVersionKind) (Resource, bool) {
	return t.nearest(of.GroupVersion(), of.Kind, func(r Resource) string { return r.Kind })
}
