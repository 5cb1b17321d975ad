package schemas

import (
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// DefinitionOf returns the name that the definition of a kind has among definitions, or "".
func DefinitionOf(among map[string]*spec.Schema, of schema.GroupVersionKind) string {
	for name, s := range among {
		kinds, _ := s.Extensions[extensionKinds].([]any)
		for _, item := range kinds {
			if kind, ok := item.(map[string]any); ok && kind["group"] == of.Group && kind["version"] == of.Version && kind["kind"] == of.Kind {
				return name
			}
		}
	}
	return ""
}

// extensionKinds lists the kinds that a definition is of.
const extensionKinds = "x-kubernetes-group-version-kind"

// openAPI returns the definition of a version of a custom resource, with the name and the fields that the API server publishes.
func openAPI(crd *apiextensionsv1.CustomResourceDefinition, of schema.GroupVersionKind) (string, *spec.Schema, error) {
	at := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == of.Version })
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[at].Schema.OpenAPIV3Schema, &internal, nil); err != nil {
		return "", nil, err
	}
	s := &spec.Schema{}
	if err := apiservervalidation.ConvertJSONSchemaProps(&internal, s); err != nil {
		return "", nil, err
	}
	if s.Properties == nil {
		s.Properties = map[string]spec.Schema{}
	}
	s.Properties["apiVersion"], s.Properties["kind"] = *spec.StringProperty(), *spec.StringProperty()
	s.Properties["metadata"] = *spec.RefSchema(refPrefix + objectMeta)
	s.AddExtension(extensionKinds, []any{map[string]any{"group": of.Group, "version": of.Version, "kind": of.Kind}})
	words := strings.Split(of.Group, ".")
	slices.Reverse(words)
	return strings.Join(append(words, of.Version, of.Kind), "."), s, nil
}
