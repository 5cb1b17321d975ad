package offline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"metascript/controller/hook"
	"metascript/controller/kinds"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/schemas"
	"metascript/controller/spec"
)

// CheckResources returns an error if a controller names a resource that cannot exist, or whose definition lacks what the server needs.
// A resource that is not known may exist, unless its name is almost that of a known one; if other resources of its group are known,
// there is a warning.
func CheckResources(o *object.Object, known *schemas.Set) (warnings []string, err error) {
	d, err := spec.Read(o)
	if err != nil {
		return nil, err
	}
	found, err := spec.Resolve(d, tolerant{kube.Offline{Kinds: known.Kinds()}, known.Complete()})
	if err != nil {
		return nil, err
	}
	if d.Shape == hook.Composite {
		if err := hasSelector(d, found.Parents[0], known); err != nil {
			return nil, err
		}
	}
	return unknownInGroup(d, found, known.Kinds()), nil
}

// tolerant is a Finder that finds each resource that may exist. Such a resource has no kind.
type tolerant struct {
	kube.Offline
	complete bool // there are no other resources
}

// ByName implements kube.Finder.
func (f tolerant) ByName(apiVersion, plural string) (kube.Resource, error) {
	found, err := f.Offline.ByName(apiVersion, plural)
	unknown := (*kube.UnknownResourceError)(nil)
	if !errors.As(err, &unknown) {
		return found, err
	}
	if unknown.MayExist && unknown.Hint == "" && !f.complete {
		return kube.Resource{HasStatus: true}, nil
	}
	unknown.MayExist = false
	return kube.Resource{}, unknown
}

// hasSelector returns an error if the server could not find out which children a parent has: the controller has no generateSelector,
// and the parent has no label selector. It asks the schema about an object with a selector.
func hasSelector(d *spec.Declaration, parent kube.Resource, known *schemas.Set) error {
	if d.GenerateSelector || parent.Kind == "" {
		return nil
	}
	kind, err := known.Kind(parent.ObjectKind())
	if err != nil {
		return err
	}
	selector := map[string]any{"matchLabels": map[string]any{"app": "web"}}
	for _, p := range kind.Validate(map[string]any{
		"apiVersion": parent.GroupVersion().String(), "kind": parent.Kind, "metadata": map[string]any{"name": "web"}, "spec": map[string]any{"selector": selector},
	}) {
		isSelector := p.Path == "spec" || p.Path == "spec.selector" || strings.HasPrefix(p.Path, "spec.selector.") && p.Cause == schemas.WrongType
		if isSelector && (p.Cause == schemas.Unknown || p.Cause == schemas.WrongType) {
			return fmt.Errorf("the schema of %s has no label selector in spec.selector, so that each parent would fail: set \"generateSelector: true\", or add spec.selector to the schema", parent.Kind)
		}
	}
	return nil
}

// unknownInGroup returns a warning for each resource that is not known although others of its group are: its definition may be missing in
// the files, or its name may be wrong.
func unknownInGroup(d *spec.Declaration, found spec.Resolved, known kinds.Table) []string {
	var warnings []string
	check := func(field, apiVersion, plural string, got kube.Resource) {
		group, _, hasGroup := strings.Cut(apiVersion, "/")
		inGroup := func(r kinds.Resource) bool { return strings.HasPrefix(r.APIVersion, group+"/") }
		if hasGroup && got.Kind == "" && slices.ContainsFunc(known, inGroup) {
			warnings = append(warnings, fmt.Sprintf("%s: there is no resource %q in %s in the definitions of this group; if it exists, give its CustomResourceDefinition too", field, plural, apiVersion))
		}
	}
	for i, rule := range d.Parents {
		check(rule.Field, rule.APIVersion, rule.Resource, found.Parents[i])
	}
	for i, rule := range d.Children {
		check(fmt.Sprintf("%s[%d]", d.Field, i), rule.APIVersion, rule.Resource, found.Children[i].Resource)
	}
	return warnings
}
