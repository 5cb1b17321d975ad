package build

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"metascript/controller/object"
	"metascript/controller/references"
	"metascript/scripts"
)

// ConfigMapsOf are the ConfigMaps that a script is read from.
func ConfigMapsOf(w *scripts.Wanted) []references.Object {
	var all []references.Object
	for _, name := range w.ConfigMapNames() {
		all = append(all, configMap(name.Namespace, name.Name))
	}
	return all
}

func configMap(namespace, name string) references.Object {
	return references.Object{Kind: references.ConfigMap, Namespace: namespace, Name: name}
}

// ConfigMaps reads scripts from the ConfigMaps that are watched.
func ConfigMaps(watched *references.Watcher) scripts.ConfigMaps {
	return func(namespace, name string) (*scripts.ConfigMap, error) {
		o, err := watched.Get(configMap(namespace, name))
		if err != nil {
			return nil, fmt.Errorf("it %w", err)
		}
		return TextOf(o), nil
	}
}

// TextOf is what a ConfigMap holds.
func TextOf(o *object.Object) *scripts.ConfigMap {
	text := &scripts.ConfigMap{}
	text.Data, _, _ = unstructured.NestedStringMap(o.Object, "data")
	binary, _, _ := unstructured.NestedMap(o.Object, "binaryData")
	for key := range binary {
		text.Binary = append(text.Binary, key)
	}
	slices.Sort(text.Binary)
	return text
}
