package kinds

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"metascript/engine"
)

// KindHint returns what was probably meant by a kind that is not in the table, such as `did you mean "apiVersion: apps/v1"?`, or "".
func (t Table) KindHint(of schema.GroupVersionKind) string {
	r, found := t.nearest(of.GroupVersion(), of.Kind, func(r Resource) string { return r.Kind })
	if !found {
		return ""
	}
	var lines []string
	if r.GVK().GroupVersion() != of.GroupVersion() {
		lines = append(lines, "apiVersion: "+r.APIVersion)
	}
	if r.Kind != of.Kind {
		lines = append(lines, "kind: "+r.Kind)
	}
	return didYouMean(lines)
}

// ResourceHint returns what was probably meant by a plural name that is not in the table, such as `did you mean "resource: pods"?`,
// or "".
func (t Table) ResourceHint(apiVersion, plural string) string {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return ""
	}
	r, found := t.nearest(gv, plural, func(r Resource) string { return r.Plural })
	if !found {
		return ""
	}
	var lines []string
	if r.APIVersion != apiVersion {
		lines = append(lines, "apiVersion: "+r.APIVersion)
	}
	if r.Plural != plural {
		lines = append(lines, "resource: "+r.Plural)
	}
	return didYouMean(lines)
}

func didYouMean(lines []string) string {
	return fmt.Sprintf("did you mean %q?", strings.Join(lines, ", "))
}

// nearest returns the resource that was probably meant by a name. The name may be any of the names of a resource, also in the wrong
// case. If the group version has no such resource, other versions of its group are considered. Other groups are considered only for a
// group of Kubernetes: a kind of any other group may well exist, with a definition that is not known here.
func (t Table) nearest(gv schema.GroupVersion, name string, nameOf func(Resource) string) (Resource, bool) {
	within := func(of func(schema.GroupVersion) bool) Table {
		return slices.DeleteFunc(slices.Clone(t), func(r Resource) bool { return !of(r.GVK().GroupVersion()) })
	}
	inVersion := within(func(other schema.GroupVersion) bool { return other == gv })
	inGroup := within(func(other schema.GroupVersion) bool { return other.Group == gv.Group })
	everywhere := within(func(other schema.GroupVersion) bool { return isOfKubernetes(gv.Group) && isOfKubernetes(other.Group) })
	for _, among := range []Table{inVersion, inGroup, everywhere} {
		if r, found := among.named(name); found {
			return r, true
		}
	}
	for _, among := range []Table{inVersion, inGroup, everywhere} {
		var names []string
		for _, r := range among {
			names = append(names, nameOf(r))
		}
		if like := engine.Nearest(name, names); like != "" {
			return among.named(like)
		}
	}
	return Resource{}, false
}

// named returns the resource that has a name, as its kind, plural, singular or short name, in any case. Of several versions it returns
// the newest stable one, and of several groups the first.
func (t Table) named(name string) (Resource, bool) {
	var best Resource
	for _, r := range t {
		if !r.Named(name) {
			continue
		}
		gv, bestGV := r.GVK().GroupVersion(), best.GVK().GroupVersion()
		if best.Kind == "" || gv.Group == bestGV.Group && version.CompareKubeAwareVersionStrings(gv.Version, bestGV.Version) > 0 {
			best = r
		}
	}
	return best, best.Kind != ""
}

// isOfKubernetes reports whether a group can only be of Kubernetes itself: it is one of its groups, or it has no dot, which the group
// of a CustomResourceDefinition must have.
func isOfKubernetes(group string) bool {
	return !strings.Contains(group, ".") || slices.ContainsFunc(Kubernetes(), func(r Resource) bool { return r.GVK().Group == group })
}

// MayExist reports whether an API version may have kinds that are not known here: they may be defined by CustomResourceDefinitions, or
// it may be an alpha or beta version of Kubernetes, which the API server serves only if it is enabled there.
func MayExist(apiVersion string) bool {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return false
	}
	if !isOfKubernetes(gv.Group) {
		return true
	}
	inGroup := slices.ContainsFunc(Kubernetes(), func(r Resource) bool { return r.GVK().Group == gv.Group })
	return inGroup && unstable.MatchString(gv.Version)
}

// unstable matches alpha and beta versions.
var unstable = regexp.MustCompile(`^v[0-9]+(alpha|beta)[0-9]+$`)
