package rollout

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"metascript/controller/object"
	"metascript/engine/tree"
)

// DefaultPaths are the revisioned fields of a parent if the controller does not set them.
var DefaultPaths = []string{"spec"}

// Paths returns the declared field paths that can be revisioned, or DefaultPaths if there are none, and warnings about the
// others. The status, and the metadata that the API server sets, cannot be revisioned: they change during a rollout, and
// each change would create a revision.
func Paths(declared []string) (paths, warnings []string) {
	for _, path := range declared {
		fields := strings.Split(path, ".")
		switch {
		case slices.Contains(fields, ""):
			warnings = append(warnings, fmt.Sprintf("%q is not a field path, such as spec.template: it is ignored", path))
		case fields[0] == "status":
			warnings = append(warnings, path+" is ignored: a status changes with every step of a rollout")
		case path == "metadata":
			warnings = append(warnings, "metadata means only its labels and annotations: its other fields change with every write")
			paths = append(paths, "metadata.labels", "metadata.annotations")
		case fields[0] == "metadata" && fields[1] != "labels" && fields[1] != "annotations":
			warnings = append(warnings, path+" is ignored: only changes of labels and annotations in metadata create revisions")
		default:
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return DefaultPaths, warnings
	}
	return paths, warnings
}

// Patch returns the fields of parent at paths, such as "spec.template". A field that does not exist is left out. The patch
// shares nothing with parent.
func Patch(parent *object.Object, paths []string) (map[string]any, error) {
	patch := map[string]any{}
	for _, path := range paths {
		if err := transfer(patch, parent.Value(), path); err != nil {
			return nil, fmt.Errorf("%s: revisionHistory.fieldPaths names %s: %w", object.Describe(parent), path, err)
		}
	}
	return patch, nil
}

// Apply returns a copy of parent with the fields at paths as in patch, and without those that patch does not have.
func Apply(parent *object.Object, patch map[string]any, paths []string) (*object.Object, error) {
	then := object.Copy(parent)
	for _, path := range paths {
		unstructured.RemoveNestedField(then.Map(), strings.Split(path, ".")...)
	}
	for _, path := range paths {
		if err := transfer(then.Map(), patch, path); err != nil {
			return nil, fmt.Errorf("%s in %s: %w", path, object.Describe(parent), err)
		}
	}
	return then, nil
}

// transfer copies the field at path from one object to another.
func transfer(into map[string]any, from any, path string) error {
	fields, value := strings.Split(path, "."), from
	for _, field := range fields {
		if value == nil {
			return nil
		}
		m, ok := tree.MapOf(value)
		if !ok {
			return errors.New("a field on this path is not an object")
		}
		if value, ok = m.Get(field); !ok {
			return nil
		}
	}
	return unstructured.SetNestedField(into, tree.Native(value), fields...)
}
