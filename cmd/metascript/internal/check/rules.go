package check

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/controller/api/validation"
	"metascript/manifests"
)

// Rules validate objects like the API server, for each kind whose definition is known. They are immutable, and safe for concurrent
// use.
type Rules struct {
	validators map[schema.GroupKind]*validation.Validator // by kind
}

// NewRules returns the rules of the definitions of metascript, and of others. If others defines the same kind, it has precedence.
func NewRules(others ...*apiextensionsv1.CustomResourceDefinition) (*Rules, error) {
	own, err := manifests.CRDs()
	if err != nil {
		return nil, err
	}
	r := &Rules{validators: map[schema.GroupKind]*validation.Validator{}}
	for _, crd := range append(own, others...) {
		v, err := validation.New(crd)
		if err != nil {
			return nil, fmt.Errorf("CustomResourceDefinition %s: %w", crd.Name, err)
		}
		r.validators[schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}] = v
	}
	return r, nil
}

// Validate returns the errors of an object, and whether its kind is known. An unknown field is an error too: the API server would
// remove it.
func (r *Rules) Validate(doc manifest.Document) (errs []error, known bool) {
	v, known := r.validators[doc.GroupVersionKind().GroupKind()]
	if !known {
		return nil, false
	}
	for _, err := range v.Validate(doc.Object.Object) {
		errs = append(errs, err)
	}
	return errs, true
}

// Refusals returns why the API server would not store an object unchanged. Each text begins with the name of the file.
func (r *Rules) Refusals(doc manifest.Document) []string {
	var all []string
	errs, _ := r.Validate(doc)
	for _, err := range errs {
		all = append(all, fmt.Sprintf("%s: the API server would reject it, or drop it: %v", doc.File, err))
	}
	return all
}
