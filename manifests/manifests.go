// Package manifests holds the manifests that install metascript in a cluster: the CustomResourceDefinitions,
// and in base the namespace, RBAC objects and StatefulSet of the server. kubectl apply -k of this directory
// installs all of them. The components of kustomize in components and monitoring add what not every cluster
// needs, and overlays/metacontroller replaces Metacontroller. The Helm chart, in chart, has links to these files.
//
// The CustomResourceDefinitions, in crds, are generated from the Go types in controller/api/v1alpha1. They are
// embedded in the program, which also validates objects offline: see [CRDs].
package manifests

import (
	"embed"
	"fmt"
	"io/fs"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed crds/*.yaml
var files embed.FS

// CRDs returns the CustomResourceDefinitions of CompositeController, ControllerRevision and
// DecoratorController, in this order. The caller may modify them.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(files, "crds/*.yaml")
	if err != nil {
		return nil, err
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			return nil, fmt.Errorf("decode %s: %w", name, err)
		}
		crds = append(crds, crd)
	}
	return crds, nil
}
