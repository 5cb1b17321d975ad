package rollout

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"metascript/controller/object"
)

// DefaultPaths are the revisioned fields of a parent whose controller does not say.
var DefaultPaths = []string{"spec"}

// Paths gives those of the declared field paths that can be revisioned, and says of the others why not. The status tells
// how far a rollout is, and what the API server keeps in the metadata changes with every write: each would make a
// revision of the one before. Where none is left, they are the default.
func Paths(declared []string) (paths, doubts []string) {
	for _, path := range declared {
		fields := strings.Split(path, ".")
		switch {
		case slices.Contains(fields, ""):
			doubts = append(doubts, fmt.Sprintf("%q is no path of a field, such as spec.template: it is left out", path))
		case fields[0] == "status":
			doubts = append(doubts, path+" is left out: a status changes with every step of a rollout")
		case path == "metadata":
			doubts = append(doubts, "metadata stands for its labels and annotations: the rest changes with every write")
			paths = append(paths, "metadata.labels", "metadata.annotations")
		case fields[0] == "metadata" && fields[1] != "labels" && fields[1] != "annotations":
			doubts = append(doubts, path+" is left out: of the metadata only labels and annotations make revisions")
		default:
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return DefaultPaths, doubts
	}
	return paths, doubts
}

// Patch takes the fields at paths, such as "spec.template", out of parent. What is not there is not in the patch
// either. The patch shares nothing with parent.
func Patch(parent *object.Object, paths []string) (map[string]any, error) {
	patch := map[string]any{}
	for _, path := range paths {
		if err := transfer(patch, parent.Object, path); err != nil {
			return nil, fmt.Errorf("%s: revisionHistory.fieldPaths names %s: %w", object.Describe(parent), path, err)
		}
	}
	return patch, nil
}

// Apply is parent with the fields at paths as patch has them, and without those that it has not.
func Apply(parent *object.Object, patch map[string]any, paths []string) (*object.Object, error) {
	then := object.Copy(parent)
	for _, path := range paths {
		unstructured.RemoveNestedField(then.Object, strings.Split(path, ".")...)
	}
	for _, path := range paths {
		if err := transfer(then.Object, patch, path); err != nil {
			return nil, fmt.Errorf("%s in %s: %w", path, object.Describe(parent), err)
		}
	}
	return then, nil
}

// transfer copies the field at path from one object to another.
func transfer(into, from map[string]any, path string) error {
	fields := strings.Split(path, ".")
	value, found, err := unstructured.NestedFieldCopy(from, fields...)
	if err != nil {
		return errors.New("what it goes through is no object") // err has values of the parent in it
	}
	if !found {
		return nil
	}
	return unstructured.SetNestedField(into, value, fields...)
}
