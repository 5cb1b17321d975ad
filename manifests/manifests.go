// Package manifests holds what installs metascript in a cluster: the definitions of its kinds, and the
// namespace, permissions and StatefulSet of the server. kubectl apply -k of this folder installs all of it,
// in place of a Metacontroller that is there.
//
// The definitions, in crds, are generated from the Go types in controller/api/v1alpha1. They are compiled into
// the program, since objects are checked against them offline too: see [CRDs].
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

// CRDs returns the definitions of CompositeController, ControllerRevision and DecoratorController, in this
// order. They are the caller's own.
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
