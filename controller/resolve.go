package controller

import (
	"errors"
	"fmt"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/plan"
)

// A childRule is a declared child kind as discovery has it.
type childRule struct {
	kube.Resource
	method plan.Method
}

// resolved are the resources of a controller as discovery has them now.
type resolved struct {
	parents  []kube.Resource // in the order of the declaration
	children []childRule
}

// A noStatusError says that a parent kind cannot hold a status. The text is Metacontroller's.
type noStatusError struct{ kube.Resource }

func (e *noStatusError) Error() string {
	return fmt.Sprintf("CRD [%s] does not have subresource 'Status' enabled", e.GroupResource())
}

// lacksStatus reports whether err says that a parent kind cannot hold a status.
func lacksStatus(err error) bool {
	var lacks *noStatusError
	return errors.As(err, &lacks)
}

// resolve looks up the resources that d names.
func resolve(d *declaration, in kube.Finder) (resolved, error) {
	var found resolved
	for _, rule := range d.Parents {
		parent, err := in.ByName(rule.APIVersion, rule.Resource)
		if err != nil {
			return resolved{}, fmt.Errorf("%s: %w", rule.Field, err)
		}
		found.parents = append(found.parents, parent)
	}
	for i, rule := range d.Children {
		child, err := in.ByName(rule.APIVersion, rule.Resource)
		if err != nil {
			return resolved{}, fmt.Errorf("%s: %w", d.Field.at(i), err)
		}
		found.children = append(found.children, childRule{child, rule.Method})
	}
	// Last, since it is reported beside the fact that all resources are there. A decorator may have no parent resource.
	if d.Shape == hook.Composite && !found.parents[0].HasStatus {
		return resolved{}, &noStatusError{found.parents[0]}
	}
	return found, nil
}
