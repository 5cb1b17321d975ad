package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
)

// A document is an object and the file it stands in.
type document struct {
	*object.Object
	file string
}

// readFiles reads the objects in YAML or JSON files, "-" being standard input; a folder stands for the files of
// these kinds in it. A List counts as its items.
func readFiles(paths []string, stdin io.Reader) ([]document, error) {
	var all []document
	paths, err := expand(paths)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := readFile(path, stdin)
		if err != nil {
			return nil, err
		}
		found, err := parse(path, text)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// expand puts, in place of a folder, the files in it.
func expand(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		if info, err := os.Stat(path); path == "-" || err != nil || !info.IsDir() {
			files = append(files, path) // one that is not there is told of when it is read
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if ext := filepath.Ext(entry.Name()); ext == ".yaml" || ext == ".yml" || ext == ".json" {
				files = append(files, filepath.Join(path, entry.Name()))
			}
		}
	}
	return files, nil
}

// nested says, to whoever finds nothing there, that folders have folders in them, which are not looked into.
func nested(paths []string) string {
	for _, path := range paths {
		entries, err := os.ReadDir(path)
		if err == nil && slices.ContainsFunc(entries, os.DirEntry.IsDir) {
			return fmt.Sprintf(": the folders in %s are not looked into, name them one by one", path)
		}
	}
	return ""
}

func readFile(path string, stdin io.Reader) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(path)
}

func parse(path string, text []byte) ([]document, error) {
	var found []document
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for n := 1; ; n++ {
		part, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		objects, err := parseDocument(part)
		if err != nil {
			return nil, fmt.Errorf("%s, document %d: %w", path, n, err)
		}
		for _, o := range objects {
			found = append(found, document{o, path})
		}
	}
}

func parseDocument(text []byte) ([]*object.Object, error) {
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	if err := utiljson.Unmarshal(asJSON, &m); err != nil {
		return nil, errors.New("an object is wanted")
	}
	if m == nil {
		return nil, nil // nothing but comments
	}
	return objectsOf(m)
}

// objectsOf gives the object that m is, or those of the List that it is.
func objectsOf(m map[string]any) ([]*object.Object, error) {
	o := &object.Object{Object: m}
	if o.GetAPIVersion() == "" || o.GetKind() == "" {
		return nil, errors.New("apiVersion or kind is missing")
	}
	if metadata, ok := m["metadata"].(map[string]any); m["metadata"] != nil && !ok || !o.IsList() && metadata["name"] == nil {
		return nil, fmt.Errorf("%s: metadata must be an object with a name", o.GetKind())
	}
	if !o.IsList() {
		return []*object.Object{o}, nil
	}
	list, err := o.ToList()
	if err != nil {
		return nil, err
	}
	var items []*object.Object
	for i := range list.Items {
		item := &list.Items[i]
		if item.GetAPIVersion() == "" || item.GetKind() == "" {
			return nil, fmt.Errorf("items[%d]: apiVersion or kind is missing", i)
		}
		items = append(items, item)
	}
	return items, nil
}

// definitions picks the CustomResourceDefinitions among documents.
func definitions(docs []document) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var found []*apiextensionsv1.CustomResourceDefinition
	for _, doc := range docs {
		if doc.GetKind() != "CustomResourceDefinition" {
			continue
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(doc.Object.Object, crd); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", doc.file, object.Describe(doc.Object), err)
		}
		found = append(found, crd)
	}
	return found, nil
}

// isController reports whether o is a CompositeController or a DecoratorController.
func isController(o *object.Object) bool {
	kind := o.GroupVersionKind()
	return kind.GroupVersion() == v1alpha1.GroupVersion &&
		(kind.Kind == v1alpha1.KindCompositeController || kind.Kind == v1alpha1.KindDecoratorController)
}

// controllers picks the controllers among documents.
func controllers(docs []document) []document {
	var found []document
	for _, doc := range docs {
		if isController(doc.Object) {
			found = append(found, doc)
		}
	}
	return found
}
