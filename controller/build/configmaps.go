package build

import (
	"fmt"
	"slices"

	"metascript/controller/object"
	"metascript/controller/references"
	"metascript/scripts"
)

// ConfigMaps returns a function that reads ConfigMaps which watcher watches.
func ConfigMaps(watcher *references.Watcher) scripts.ConfigMaps {
	return func(namespace, name string) (*scripts.ConfigMap, error) {
		o, err := watcher.Get(configMap(namespace, name))
		if err != nil {
			return nil, fmt.Errorf("it %w", err)
		}
		return ConfigMapContent(o), nil
	}
}

// ConfigMapsOf returns the ConfigMaps that a script is read from.
func ConfigMapsOf(w *scripts.Wanted) []references.Object {
	var all []references.Object
	for _, key := range w.ConfigMapNames() {
		all = append(all, configMap(key.Namespace, key.Name))
	}
	return all
}

// ConfigMapContent returns the content of the ConfigMap o: its texts, and the keys of its binary values.
func ConfigMapContent(o *object.Object) *scripts.ConfigMap {
	content := &scripts.ConfigMap{Data: o.TextsAt("data")}
	for key := range o.TextsAt("binaryData") {
		content.Binary = append(content.Binary, key)
	}
	slices.Sort(content.Binary)
	return content
}

func configMap(namespace, name string) references.Object {
	return references.Object{Kind: references.ConfigMap, Namespace: namespace, Name: name}
}
