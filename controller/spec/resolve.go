package spec

import (
	"errors"
	"fmt"
	"slices"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/plan"
	"metascript/controller/selection"
)

// A ChildRule is a rule for children, with the resource that discovery found for it.
type ChildRule struct {
	kube.Resource
	Method plan.Method
	Plain  bool // see Child
	Adopts v1alpha1.AdoptionPolicy
}

// Resolved are the resources of a controller, as discovery found them.
type Resolved struct {
	Parents  []kube.Resource // in the order of the declaration
	Children []ChildRule
}

// A NoStatusError says that the parent resource has no status subresource. Its text is the same as in Metacontroller.
type NoStatusError struct{ kube.Resource }

func (e *NoStatusError) Error() string {
	return fmt.Sprintf("CRD [%s] does not have subresource 'Status' enabled", e.GroupResource())
}

// LacksStatus reports whether err is a NoStatusError.
func LacksStatus(err error) bool {
	var lacks *NoStatusError
	return errors.As(err, &lacks)
}

// CheckNamespaces returns an error if a parent resource has no namespaces, and only some are watched: its objects can have children in
// other namespaces.
func (found *Resolved) CheckNamespaces(d *Declaration, watched selection.Namespaces) error {
	for i, parent := range found.Parents {
		if watched != nil && !parent.Namespaced {
			return fmt.Errorf("%s: %s has no namespaces, and %s", d.Parents[i].Field, parent.GroupResource(), watched)
		}
	}
	return nil
}

// Resolve looks up the resources that d names. Of several errors it returns the first, and a NoStatusError only if there is no
// other one, since it means that all resources are served.
func Resolve(d *Declaration, in kube.Finder) (Resolved, error) {
	var found Resolved
	for _, rule := range d.Parents {
		parent, err := in.ByName(rule.APIVersion, rule.Resource)
		if err != nil {
			return Resolved{}, fmt.Errorf("%s: %w", rule.Field, err)
		}
		found.Parents = append(found.Parents, parent)
	}
	for i, rule := range d.Children {
		child, err := in.ByName(rule.APIVersion, rule.Resource)
		if err != nil {
			return Resolved{}, fmt.Errorf("%s: %w", d.Field.at(i), err)
		}
		found.Children = append(found.Children, ChildRule{child, rule.Method, rule.Plain, rule.Adopts})
	}
	// A decorator may have no parent resource.
	if d.Shape == hook.Composite && !found.Parents[0].HasStatus {
		return Resolved{}, &NoStatusError{found.Parents[0]}
	}
	return found, nil
}

// Discover is Resolve for a controller that is about to run: if a kind of children rolls, it also checks that the API server serves
// ControllerRevisions.
func Discover(d *Declaration, in kube.Finder) (Resolved, error) {
	found, err := Resolve(d, in)
	if err != nil || !slices.ContainsFunc(d.Children, func(c Child) bool { return c.Method.Rolls() }) {
		return found, err
	}
	if _, err := in.ByName(v1alpha1.GroupVersion.String(), v1alpha1.ControllerRevisions.Resource); err != nil {
		return Resolved{}, fmt.Errorf("rolling updates: %w", err)
	}
	return found, nil
}
