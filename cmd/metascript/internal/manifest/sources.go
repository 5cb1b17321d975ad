package manifest

import (
	"cmp"
	"errors"
	"log/slog"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/build"
	"metascript/scripts"
)

// ScriptSources returns the sources of scripts without a cluster: the files below folders, and the ConfigMaps among documents. A
// ConfigMap without a namespace is in the namespace default, like one that kubectl creates.
func ScriptSources(folders []string, docs []Document) scripts.Sources {
	return scripts.Sources{
		Folders: scripts.NewFolders(folders, slog.New(slog.DiscardHandler)),
		ConfigMaps: func(namespace, name string) (*scripts.ConfigMap, error) {
			for _, doc := range docs {
				if doc.GetKind() == "ConfigMap" && cmp.Or(doc.GetNamespace(), metav1.NamespaceDefault) == namespace && doc.GetName() == name {
					return build.ConfigMapContent(doc.Object), nil
				}
			}
			return nil, errors.New("it is not among the files; give its file as well")
		},
	}
}
