package manifest

import (
	"cmp"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/build"
	"metascript/controller/object"
	"metascript/scripts"
)

// ScriptFolders returns the folders with the files in script.file: folders, and then, so that no flag is needed for a script beside its
// controller, the folders of the controllers among documents that have a script in a file.
func ScriptFolders(folders []string, docs []Document) []string {
	all := slices.Clone(folders)
	for _, doc := range Controllers(docs) {
		if dir := filepath.Dir(doc.File); doc.File != "-" && NamesFile(doc.Object) && !slices.Contains(all, dir) {
			all = append(all, dir)
		}
	}
	return all
}

// NamesFile reports whether a controller has a script, or a library, in a file.
func NamesFile(controller *object.Object) bool { return namesFile(controller.Map()["spec"]) }

// namesFile reports whether a part of a controller's spec has a script, or a library, in a file.
func namesFile(part any) bool {
	switch part := part.(type) {
	case map[string]any:
		file, _ := part["file"].(string)
		return file != "" || slices.ContainsFunc(slices.Collect(maps.Values(part)), namesFile)
	case []any:
		return slices.ContainsFunc(part, namesFile)
	}
	return false
}

// Sources are where the scripts of controllers are read without a cluster, and where they are in files. The zero value has only the
// scripts that are in the controllers themselves.
type Sources struct {
	scripts.Sources

	dirs []string   // the scripts directories
	docs []Document // the ConfigMaps are among them
}

// ScriptSources returns the sources of scripts without a cluster: the files below the folders of [ScriptFolders], and the ConfigMaps
// among documents. A ConfigMap without a namespace is in the namespace default, like one that kubectl creates.
func ScriptSources(folders []string, docs []Document) Sources {
	s := Sources{dirs: ScriptFolders(folders, docs), docs: docs}
	s.Folders = scripts.NewFolders(s.dirs, slog.New(slog.DiscardHandler))
	s.ConfigMaps = func(namespace, name string) (*scripts.ConfigMap, error) {
		if doc, found := s.configMap(namespace, name); found {
			return build.ConfigMapContent(doc.Object), nil
		}
		return nil, errors.New("it is not in the files: pass its file too, or write it into the file of the controller")
	}
	return s
}

// configMap returns a ConfigMap among the documents.
func (s Sources) configMap(namespace, name string) (Document, bool) {
	for _, doc := range s.docs {
		if doc.GetKind() == "ConfigMap" && cmp.Or(doc.GetNamespace(), metav1.NamespaceDefault) == namespace && doc.GetName() == name {
			return doc, true
		}
	}
	return Document{}, false
}
