package scaffold

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/version"

	"metascript/controller/kinds"
)

// A Kind is a kind that a user names.
type Kind struct {
	kinds.Resource
	Custom bool // it is not a kind of Kubernetes: the plural name is a guess, and the kind is assumed to be namespaced
}

// versionName matches a version such as v1 and v1beta1.
var versionName = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// ParseKind returns the kind with a name such as Deployment.apps/v1 or Service.v1. The version of a kind of Kubernetes can be left out, and
// the group too if only one group has the kind.
func ParseKind(name string) (Kind, error) {
	kind, rest, _ := strings.Cut(name, ".")
	gvk := schema.GroupVersionKind{Kind: kind, Group: rest}
	if group, version, found := strings.Cut(rest, "/"); found || versionName.MatchString(rest) {
		gvk.Group, gvk.Version = group, version
		if !found {
			gvk.Group, gvk.Version = "", rest
		}
	}
	if kind == "" || strings.Contains(kind, "/") {
		return Kind{}, fmt.Errorf("%q is not a kind: write it with its group and version, such as Deployment.apps/v1 or Service.v1", name)
	}
	if gvk.Version == "" {
		return withoutVersion(name, gvk)
	}
	if found, ok := childKinds().ByKind(gvk); ok {
		return Kind{found, false}, nil
	}
	if _, near := kinds.Kubernetes().Nearest(gvk); near || !kinds.MayExist(gvk.GroupVersion().String()) {
		return Kind{}, noSuchKind(name, gvk)
	}
	return custom(name, gvk)
}

// childKinds returns the kinds of Kubernetes that a controller can watch and create, which are those that it can have as parents or
// children.
func childKinds() kinds.Table {
	return slices.DeleteFunc(slices.Clone(kinds.Kubernetes()), func(r kinds.Resource) bool {
		return !slices.Contains(r.Verbs, "watch") || !slices.Contains(r.Verbs, "create")
	})
}

// withoutVersion returns the kind of Kubernetes with a name that has no version.
func withoutVersion(name string, of schema.GroupVersionKind) (Kind, error) {
	newest := map[string]kinds.Resource{} // by group
	for _, r := range kinds.Kubernetes() {
		if r.Kind != of.Kind || of.Group != "" && r.GVK().Group != of.Group {
			continue
		}
		if best, found := newest[r.GVK().Group]; !found || version.CompareKubeAwareVersionStrings(r.GVK().Version, best.GVK().Version) > 0 {
			newest[r.GVK().Group] = r
		}
	}
	var names []string
	for _, r := range newest {
		names = append(names, r.Name())
	}
	slices.Sort(names)
	switch {
	case len(newest) == 1:
		return ParseKind(names[0])
	case len(newest) > 1:
		return Kind{}, fmt.Errorf("several groups have the kind %s: write %s", name, strings.Join(names, " or "))
	case of.Group != "" && kinds.MayExist(of.Group+"/v1"):
		name = strings.TrimSuffix(name, "/")
		return Kind{}, fmt.Errorf("%s has no version: write it after the group, such as %s/v1", name, name)
	}
	return Kind{}, noSuchKind(name, of)
}

// noSuchKind returns the error for a kind that Kubernetes does not have.
func noSuchKind(name string, of schema.GroupVersionKind) error {
	if r, ok := kinds.Kubernetes().ByKind(of); ok {
		return fmt.Errorf("%s cannot be watched and created, so it cannot be a parent or a child", r.Name())
	}
	text := "Kubernetes has no kind " + name
	if near, found := childKinds().Nearest(of); found {
		return fmt.Errorf("%s; did you mean %s?", text, near.Name())
	}
	if of.Group == "" && of.Version == "" {
		text += fmt.Sprintf(". For a kind of a CustomResourceDefinition, write its group and version too, such as %s.example.com/v1", title(of.Kind))
	}
	return errors.New(text)
}

// custom returns a kind that is defined by a CustomResourceDefinition.
func custom(name string, of schema.GroupVersionKind) (Kind, error) {
	switch {
	case len(validation.IsDNS1035Label(strings.ToLower(of.Kind))) > 0:
		return Kind{}, fmt.Errorf("%s: the kind %q must have only letters and digits, beginning with a letter", name, of.Kind)
	case of.Kind[0] >= 'a':
		return Kind{}, fmt.Errorf("%s: write the kind, which begins with a capital letter, and not the resource; did you mean %s.%s?",
			name, strings.ToUpper(of.Kind[:1])+of.Kind[1:], of.GroupVersion())
	case len(validation.IsDNS1123Subdomain(of.Group)) > 0:
		return Kind{}, fmt.Errorf("%s: the group %q must have only lower-case letters, digits, dashes and dots", name, of.Group)
	case len(validation.IsDNS1035Label(of.Version)) > 0:
		return Kind{}, fmt.Errorf("%s: the version %q must be a word such as v1", name, of.Version)
	}
	return Kind{kinds.Resource{
		APIVersion: of.GroupVersion().String(), Kind: of.Kind, Plural: kinds.Plural(of.Kind), Namespaced: true,
	}, true}, nil
}

// KindNames returns the names of the kinds of Kubernetes, for completion.
func KindNames() []string {
	var names []string
	for _, r := range childKinds() {
		names = append(names, r.Name())
	}
	return names
}
