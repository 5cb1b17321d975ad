// Package manifest reads objects from YAML and JSON files. It finds controllers, CustomResourceDefinitions, and ConfigMaps with
// scripts among them. [Sources] reads the scripts of controllers, and says where in the files a position in a script is.
package manifest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"metascript/cmd/metascript/internal/place"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
	"metascript/controller/schemas"
	"metascript/engine"
	"metascript/scripts"
)

// A Document is an object and the file that it is in, which errors and warnings name. A copy of a Document has the same object.
type Document struct {
	*object.Object
	File  string      // the path; "-" means standard input
	Value place.Value // the object as it is written in the file, for the places of its fields
}

// Copy returns a Document with a copy of the object.
func (d Document) Copy() Document {
	d.Object = object.Copy(d.Object)
	return d
}

// Errorf returns an error about a field of the object, at its place in the file.
func (d Document) Errorf(path, format string, args ...any) *place.Error {
	e := d.Value.Errorf(path, format, args...)
	e.File, e.About = d.File, object.Describe(d.Object)
	return e
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
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(doc.Object.Map(), crd); err != nil {
			return nil, doc.badCRD(err)
		}
		found = append(found, crd)
	}
	return found, nil
}

// badCRD returns the error of a CustomResourceDefinition that has values of wrong types. The errors of the schema say where.
func (d Document) badCRD(err error) error {
	if kind, unknown := schemas.Kubernetes().Kind(d.GroupVersionKind()); unknown == nil {
		for _, p := range kind.Validate(d.Object.Map()) {
			if p.Cause == schemas.WrongType {
				return d.Problem(p)
			}
		}
	}
	return d.Errorf("", "%v", err)
}

// CRDsWithNeighbors returns the CustomResourceDefinitions among documents and their [Neighbors].
func CRDsWithNeighbors(docs []Document) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	neighbors, err := Neighbors(docs)
	if err != nil {
		return nil, err
	}
	return CRDs(append(neighbors, docs...)) // of the same definition twice, the latter has precedence
}

// Neighbors returns the objects in a file crd.yaml beside the file of a controller, like in a directory of test cases, unless the
// documents are from that file too.
func Neighbors(docs []Document) ([]Document, error) {
	var paths []string
	for _, doc := range Controllers(docs) {
		path := filepath.Join(filepath.Dir(doc.File), "crd.yaml")
		if _, err := os.Stat(path); err == nil && doc.File != "-" && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	paths = slices.DeleteFunc(paths, func(path string) bool {
		return slices.ContainsFunc(docs, func(doc Document) bool { return filepath.Clean(doc.File) == path })
	})
	return Read(paths, nil)
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

// NoControllers returns the error that there is no controller among documents, which were read from paths. It has the kind of an object
// that was probably meant to be one.
func NoControllers(paths []string, docs []Document) error {
	text := "no CompositeController and no DecoratorController in " + strings.Join(paths, ", ")
	for _, doc := range docs {
		kind := doc.GroupVersionKind()
		like := engine.Nearest(kind.Kind, []string{v1alpha1.KindCompositeController, v1alpha1.KindDecoratorController})
		switch {
		case like != "" && kind.Kind != like:
			return fmt.Errorf("%s: there is no kind %s: did you mean \"kind: %s\"?", doc.File, kind.Kind, like)
		case kind.Group == v1alpha1.Group && kind.Version != v1alpha1.GroupVersion.Version:
			return fmt.Errorf("%s: there is no kind %s in %s: did you mean \"apiVersion: %s\"?", doc.File, kind.Kind, kind.GroupVersion(), v1alpha1.GroupVersion)
		}
	}
	return errors.New(text + HintNested(paths))
}

// NeedWorkers reports whether one of the controllers among documents runs its scripts in worker processes. Otherwise a command that
// works offline need not start any.
func NeedWorkers(docs []Document) bool {
	return slices.ContainsFunc(Controllers(docs), func(doc Document) bool {
		isolation, _, _ := unstructured.NestedString(doc.Object.Map(), "spec", "isolation")
		return isolation == string(v1alpha1.IsolationProcess) || hasTypeScript(doc.Object.Map()["spec"])
	})
}

// hasTypeScript reports whether a value in the spec of a controller is a script in TypeScript, which always runs in worker processes.
func hasTypeScript(v any) bool {
	m, _ := v.(map[string]any)
	if m == nil {
		return false
	}
	ref, _ := m["configMapRef"].(map[string]any)
	for _, name := range []any{m["file"], ref["key"]} {
		if text, ok := name.(string); ok && m["language"] == nil && scripts.LanguageOf(text) == engine.TypeScript {
			return true
		}
	}
	if m["language"] == engine.TypeScript {
		return true
	}
	for _, field := range []string{"script", "shadow", "hooks", "sync", "finalize", "customize"} {
		if hasTypeScript(m[field]) {
			return true
		}
	}
	return false
}
