// Package manifest reads objects from YAML and JSON files. It finds controllers, CustomResourceDefinitions, and ConfigMaps with
// scripts among them.
package manifest

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
)

// A Document is an object and the file that it is in, which errors and warnings name. A copy of a Document has the same object.
type Document struct {
	*object.Object
	File string // the path; "-" means standard input
}

// KindCRD is the kind of an object that defines a kind.
const KindCRD = "CustomResourceDefinition"

// CRDs returns the CustomResourceDefinitions among documents.
func CRDs(docs []Document) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var found []*apiextensionsv1.CustomResourceDefinition
	for _, doc := range docs {
		if doc.GetKind() != KindCRD {
			continue
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(doc.Object.Object, crd); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", doc.File, object.Describe(doc.Object), err)
		}
		found = append(found, crd)
	}
	return found, nil
}

// IsController reports whether o is a CompositeController or a DecoratorController, of the version that the server reads. Other
// groups may have kinds of the same names.
func IsController(o *object.Object) bool {
	kind := o.GroupVersionKind()
	return kind.GroupVersion() == v1alpha1.GroupVersion &&
		(kind.Kind == v1alpha1.KindCompositeController || kind.Kind == v1alpha1.KindDecoratorController)
}

// Controllers returns the controllers among documents.
func Controllers(docs []Document) []Document {
	var found []Document
	for _, doc := range docs {
		if IsController(doc.Object) {
			found = append(found, doc)
		}
	}
	return found
}

// NeedWorkers reports whether one of the controllers among documents runs its scripts in worker processes. Otherwise a command that
// works offline need not start any.
func NeedWorkers(docs []Document) bool {
	return slices.ContainsFunc(Controllers(docs), func(doc Document) bool {
		isolation, _, _ := unstructured.NestedString(doc.Object.Object, "spec", "isolation")
		return isolation == string(v1alpha1.IsolationProcess)
	})
}
