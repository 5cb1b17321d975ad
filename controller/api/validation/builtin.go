package validation

import (
	"encoding/base64"
	"sync"

	apischema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"metascript/controller/api/rules"
)

// A Schema is the schema of a kind of Kubernetes itself in the two forms that validation needs. It has no references.
type Schema struct {
	Structural *apischema.Structural // the fields, for what is unknown and for defaults
	OpenAPI    *spec.Schema          // the values
}

// FormatQuantity is the format of strings that are quantities, such as 500m and 1Gi, in a [Schema].
const FormatQuantity = "quantity"

// NewBuiltin makes the Validator of a kind of Kubernetes itself. It calls load when an object first comes. The objects of some kinds,
// such as TokenReview, are not stored, and need no name. Compared with a custom
// resource, the API server is lenient: null is as good as a missing field, an empty string is as good as a missing value of an
// enumeration, and lists with map keys may have duplicates. Besides the schema, it checks what package rules knows.
func NewBuiltin(kind schema.GroupVersionKind, namespaced, stored bool, load func() (*Schema, error)) *Validator {
	v := &Validator{
		group: kind.Group, kind: kind.Kind, namespaced: namespaced, code: rules.Validate,
		versions: map[string]func() (*compiled, error){kind.Version: sync.OnceValues(func() (*compiled, error) {
			s, err := load()
			if err != nil {
				return nil, err
			}
			return &compiled{structural: s.Structural, openapi: values{validate.NewSchemaValidator(s.OpenAPI, nil, "", formats{strfmt.Default})}, builtin: true}, nil
		})},
	}
	if stored {
		v.validName = rules.Names(kind.GroupKind())
	}
	if kind == definitionKind {
		v.code = definitionObject
	}
	return v
}

// formats are the formats of strings that are checked: those of a CustomResourceDefinition, and quantities.
type formats struct{ strfmt.Registry }

// ContainsName implements Registry.
func (f formats) ContainsName(name string) bool {
	return name == FormatQuantity || f.Registry.ContainsName(name)
}

// Validates implements Registry.
func (f formats) Validates(name, text string) bool {
	switch name {
	case FormatQuantity:
		_, err := resource.ParseQuantity(text)
		return err == nil
	case "byte": // may be empty and have line breaks, unlike in a custom resource
		_, err := base64.StdEncoding.DecodeString(text)
		return err == nil
	}
	return f.Registry.Validates(name, text)
}

// values adapts a validator of kube-openapi to the function that makes errors of its results.
type values struct{ of *validate.SchemaValidator }

// Validate implements SchemaCreateValidator.
func (v values) Validate(value any, _ ...apiservervalidation.ValidationOption) *validate.Result {
	return v.of.Validate(value)
}

// isUnsetEnum reports whether err is about an empty string in the place of a value of an enumeration.
func isUnsetEnum(err *field.Error) bool {
	return err.Type == field.ErrorTypeNotSupported && err.BadValue == ""
}
