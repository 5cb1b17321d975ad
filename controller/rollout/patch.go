package rollout

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"metascript/controller/object"
)

// DefaultPaths are the revisioned fields of a parent whose controller does not say.
var DefaultPaths = []string{"spec"}

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
	if err != nil || !found {
		return err
	}
	return unstructured.SetNestedField(into, value, fields...)
}
