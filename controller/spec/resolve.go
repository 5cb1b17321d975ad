package spec

import (
	"errors"
	"fmt"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/plan"
)

// A childRule is a declared child kind as discovery has it.
type ChildRule struct {
	kube.Resource
	Method plan.Method
}

// resolved are the resources of a controller as discovery has them now.
type Resolved struct {
	Parents  []kube.Resource // in the order of the declaration
	Children []ChildRule
}

// A noStatusError says that a parent kind cannot hold a status. The text is Metacontroller's.
type NoStatusError struct{ kube.Resource }

func (e *NoStatusError) Error() string {
	return fmt.Sprintf("CRD [%s] does not have subresource 'Status' enabled", e.GroupResource())
}

// lacksStatus reports whether err says that a parent kind cannot hold a status.
func LacksStatus(err error) bool {
	var lacks *NoStatusError
	return errors.As(err, &lacks)
}

// resolve looks up the resources that d names.
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
			return Resolved{}, fmt.Errorf("%s: %w", d.Field.At(i), err)
		}
		found.Children = append(found.Children, ChildRule{child, rule.Method})
	}
	// Last, since it is reported beside the fact that all resources are there. A decorator may have no parent resource.
	if d.Shape == hook.Composite && !found.Parents[0].HasStatus {
		return Resolved{}, &NoStatusError{found.Parents[0]}
	}
	return found, nil
}
