package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"metascript/cmd/metascript/internal/place"
	"metascript/controller/object"
	"metascript/engine"
	"metascript/scripts"
)

// Steps is the name of the file with the steps of a simulation, which has no objects.
const Steps = "simulate.yaml"

// notObjects are the names of files, also written by the command init, that have no objects of a cluster: steps, and files of kustomize and
// of editors.
var notObjects = regexp.MustCompile(`^(simulate\.yaml|[Kk]ustomization(\.ya?ml)?|.*\.schema\.json|(jsconfig|tsconfig|package|package-lock)\.json)$`)

// kustomize is the group of the files of kustomize, which are no objects of a cluster and have no names.
const kustomize = "kustomize.config.k8s.io/"

// Read returns the objects in files, in their order; "-" means standard input. A folder means the YAML and JSON files in it, without
// those in its subfolders; a pattern means the files that match it. Both are without the files that have no objects of a cluster,
// such as [Steps] and kustomization.yaml. A List is replaced by its items.
func Read(paths []string, stdin io.Reader) ([]Document, error) {
	var all []Document
	paths, err := Files(paths)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if scripts.LanguageOf(path) != "" {
			return nil, fmt.Errorf("%s is a script: pass the file of the controller, such as controller.yaml", path)
		}
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

// Expand replaces patterns, as of path/filepath.Match, by the files and folders that match them. A path that exists is not a pattern.
func Expand(paths []string) ([]string, error) {
	var all []string
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil || path == "-" || !strings.ContainsAny(path, "*?[") {
			all = append(all, path)
			continue
		}
		found, err := filepath.Glob(path)
		if err != nil {
			return nil, fmt.Errorf("the pattern %s is not valid: it has a [ without a ]", path)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("no file matches the pattern %s", path)
		}
		all = append(all, slices.DeleteFunc(found, func(path string) bool { return notObjects.MatchString(filepath.Base(path)) })...)
	}
	return all, nil
}

// Files replaces patterns by what matches them, and folders by the YAML and JSON files in them, without those that have no objects. A
// path that does not exist is not replaced, so that reading it returns the error.
func Files(paths []string) ([]string, error) {
	paths, err := Expand(paths)
	if err != nil {
		return nil, err
	}
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
			ext := filepath.Ext(entry.Name())
			if !notObjects.MatchString(entry.Name()) && (ext == ".yaml" || ext == ".yml" || ext == ".json") {
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
	return ReadFile(path)
}

// ReadFile reads a file. The error that it does not exist has the name that was probably meant.
func ReadFile(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing("file", path, func(os.DirEntry) bool { return true }) // most flags accept a directory too
	}
	return text, err
}

// missing returns the error that a file or directory does not exist, with the name that was probably meant, among those that suit.
func missing(what, path string, suits func(os.DirEntry) bool) error {
	entries, _ := os.ReadDir(filepath.Dir(path)) // without entries there is no hint
	stem := func(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }
	names := map[string]string{} // by stem, since two names with the same extension are not alike
	for _, entry := range entries {
		if suits(entry) {
			names[stem(entry.Name())] = entry.Name()
		}
	}
	of := stem(filepath.Base(path))
	like, found := names[of]
	if !found {
		like = names[engine.Nearest(of, slices.Sorted(maps.Keys(names)))]
	}
	if like != "" {
		return fmt.Errorf("there is no %s %s: did you mean %s?", what, path, filepath.Join(filepath.Dir(path), like))
	}
	return fmt.Errorf("there is no %s %s", what, path)
}

// CheckDir returns an error if a path is not that of a directory.
func CheckDir(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing("directory", path, os.DirEntry.IsDir)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is a file, want the directory: %s", path, WithoutCases(filepath.Dir(path)))
	}
	return nil
}

// CheckScriptsDirs returns an error if a value of --scripts-dir is not a directory.
func CheckScriptsDirs(dirs []string) error {
	for _, dir := range dirs {
		if err := CheckDir(dir); err != nil {
			return fmt.Errorf("--scripts-dir: %w", err)
		}
	}
	return nil
}

// Cases is the name of the directory with the test cases of a controller, beside its file.
const Cases = "cases"

// WithoutCases returns the directory of the controller that a path is about: the path, or that in which it is if it is the directory
// with the cases.
func WithoutCases(dir string) string {
	path, err := filepath.Abs(dir)
	if err != nil || filepath.Base(path) != Cases {
		return dir
	}
	return filepath.Join(dir, "..")
}

// Parse reads the objects in the text of a file, which is one YAML document or several. JSON is YAML too. A duplicate key is an error.
// Integers become int64, as in client-go.
func Parse(file string, text []byte) ([]Document, error) {
	docs, err := place.Parse(file, text)
	if err != nil {
		return nil, err
	}
	var found []Document
	for _, doc := range docs {
		var m map[string]any
		if err := utiljson.Unmarshal(doc.JSON, &m); err != nil {
			return nil, doc.Errorf("", "want an object, with apiVersion and kind")
		}
		if version, _ := m["apiVersion"].(string); strings.HasPrefix(version, kustomize) {
			continue
		}
		objects, err := Objects(file, doc.Value, m)
		if err != nil {
			return nil, err
		}
		found = append(found, objects...)
	}
	return found, nil
}

// Objects returns the object m, or its items if m is a List. It returns an error if an object has no kind or API version, or if an
// object that is not in a List has no name. m is written as v in a file.
func Objects(file string, v place.Value, m map[string]any) ([]Document, error) {
	o := object.New(m)
	if err := head(v, m); err != nil {
		return nil, err
	}
	if _, isList := m["items"].([]any); !isList {
		if metadata, _ := m["metadata"].(map[string]any); metadata["name"] == nil {
			return nil, v.Errorf("metadata", "%s: metadata must be an object with a name", o.GetKind())
		}
		return []Document{{o, file, v}}, nil
	}
	items, _ := m["items"].([]any) // or else o would not be a List
	var found []Document
	for i := range items {
		at := fmt.Sprintf("items[%d]", i)
		item, isObject := items[i].(map[string]any)
		if !isObject {
			return nil, v.Errorf(at, "%s: want an object, with apiVersion and kind", at)
		}
		value, _ := v.Find(at)
		if err := head(value, item); err != nil {
			return nil, err
		}
		found = append(found, Document{object.New(item), file, value})
	}
	return found, nil
}

// head returns an error if the fields that identify an object are missing, or are not strings. They need not have values in a List.
func head(v place.Value, m map[string]any) error {
	for _, field := range []string{"apiVersion", "kind"} {
		if text, isString := m[field].(string); m[field] != nil && !isString {
			return notString(v, field, m[field])
		} else if text != "" {
			continue
		}
		keys := slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(key string) bool { return slices.Contains(topLevel, key) })
		if like := engine.Nearest(field, keys); like != "" {
			e := v.Errorf("", "unknown field %q", like)
			e.Place, e.Hint = v.AtKey(like), fmt.Sprintf("did you mean %q?", field)
			return e
		}
		e := v.Errorf("", "%s is missing", field)
		e.Hint = "each object has apiVersion and kind"
		return e
	}
	metadata, isObject := m["metadata"].(map[string]any)
	if m["metadata"] != nil && !isObject {
		e := v.Errorf("metadata", "%v: metadata must be an object with a name", m["kind"])
		e.Hint = v.Hint("metadata", false)
		return e
	}
	for _, field := range []string{"name", "namespace"} {
		if _, isString := metadata[field].(string); metadata[field] != nil && !isString {
			return notString(v, "metadata."+field, metadata[field])
		}
	}
	return nil
}

// topLevel are fields of objects that are no misspelled ones.
var topLevel = []string{"apiVersion", "kind", "metadata", "spec", "status", "data"}

// notString returns the error that a field is not a string.
func notString(v place.Value, path string, got any) error {
	e := v.Errorf(path, "%s: want a string, got %v", path, got)
	e.Hint = v.Hint(path, true)
	return e
}
