package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"metascript/controller/object"
)

// Read reads the objects in files, in their order; "-" is standard input. A folder stands for the YAML and JSON files in
// it, but not for those in its own folders. A List counts as its items.
func Read(paths []string, stdin io.Reader) ([]Document, error) {
	var all []Document
	paths, err := Files(paths)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := readFile(path, stdin)
		if err != nil {
			return nil, err
		}
		found, err := Parse(path, text)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// Files replaces folders by the YAML and JSON files in them. A path that does not exist stays, so that reading it gives the
// error.
func Files(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		if info, err := os.Stat(path); path == "-" || err != nil || !info.IsDir() {
			files = append(files, path)
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

// HintNested is what to add to the error that nothing was found at paths: a folder has folders in it, which Read does not
// read. It is "" where there are none.
func HintNested(paths []string) string {
	for _, path := range paths {
		entries, err := os.ReadDir(path)
		if err == nil && slices.ContainsFunc(entries, os.DirEntry.IsDir) {
			return fmt.Sprintf(": the folders in %s are not looked into, name them one by one", path)
		}
	}
	return ""
}

// readFile reads a file, or standard input.
func readFile(path string, stdin io.Reader) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(path)
}

// Parse reads the objects in the text of a file, which is one YAML document or several. JSON is YAML too.
func Parse(file string, text []byte) ([]Document, error) {
	var found []Document
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for n := 1; ; n++ {
		part, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		objects, err := parseDocument(part)
		if err != nil {
			return nil, fmt.Errorf("%s, document %d: %w", file, n, err)
		}
		for _, o := range objects {
			found = append(found, Document{o, file})
		}
	}
}

// parseDocument reads the objects in one YAML document. A key that is there twice is an error. Whole numbers are int64, as
// client-go has them.
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
	return Objects(m)
}

// Objects returns the object that m is, or the items of the List that it is. It checks what every object has: a kind, an
// API version, and a name unless it is in a List.
func Objects(m map[string]any) ([]*object.Object, error) {
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
	return items(o)
}

// items are the objects of a List. They need not have names.
func items(list *object.Object) ([]*object.Object, error) {
	parsed, err := list.ToList()
	if err != nil {
		return nil, err
	}
	var found []*object.Object
	for i := range parsed.Items {
		item := &parsed.Items[i]
		if item.GetAPIVersion() == "" || item.GetKind() == "" {
			return nil, fmt.Errorf("items[%d]: apiVersion or kind is missing", i)
		}
		found = append(found, item)
	}
	return found, nil
}
