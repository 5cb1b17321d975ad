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

// Read returns the objects in files, in their order; "-" means standard input. A folder means the YAML and JSON files in it, without
// those in its subfolders. A List is replaced by its items.
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

// Files replaces folders by the YAML and JSON files in them. A path that does not exist is not replaced, so that reading it returns
// the error.
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

// HintNested returns a hint for the error that nothing was found in paths: a folder has subfolders, which Read does not read. It
// returns "" if there are no subfolders.
func HintNested(paths []string) string {
	for _, path := range paths {
		entries, err := os.ReadDir(path)
		if err == nil && slices.ContainsFunc(entries, os.DirEntry.IsDir) {
			return fmt.Sprintf(": the directories in %s are not read, name them one by one", path)
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

// parseDocument returns the objects in one YAML document. A duplicate key is an error. Integers become int64, as in client-go.
func parseDocument(text []byte) ([]*object.Object, error) {
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	if err := utiljson.Unmarshal(asJSON, &m); err != nil {
		return nil, errors.New("want an object")
	}
	if m == nil {
		return nil, nil // there are only comments
	}
	return Objects(m)
}

// Objects returns the object m, or its items if m is a List. It returns an error if an object has no kind or API version, or if an
// object that is not in a List has no name.
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

// items returns the objects in a List. They need not have names.
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
