package claim

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"metascript/controller/allowed"
	"metascript/controller/object"
)

// GeneratedLabel is the label by which a generated selector selects a parent's children.
const GeneratedLabel = "controller-uid"

// GeneratedSelector returns a selector for the objects with the UID of parent in the label GeneratedLabel.
func GeneratedSelector(parent *object.Object) (labels.Selector, error) {
	return labels.SelectorFromSet(GeneratedLabels(parent)), nil
}

// GeneratedLabels returns the labels that GeneratedSelector matches.
func GeneratedLabels(parent *object.Object) map[string]string {
	return map[string]string{GeneratedLabel: string(parent.GetUID())}
}

// SpecSelector returns the selector in the spec of parent. An empty selector would match everything and is an error.
func SpecSelector(parent *object.Object) (labels.Selector, error) {
	v, _ := parent.Field("spec", "selector")
	m, _ := v.(map[string]any)
	if len(m) == 0 {
		return nil, fmt.Errorf("%s: spec.selector is missing or empty: give it one that matches its children's labels, or set generateSelector on the controller", object.Describe(parent))
	}
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &selector); err != nil {
		return nil, fmt.Errorf("%s: spec.selector: %w", object.Describe(parent), err)
	}
	compiled, err := allowed.Selector(&selector)
	if err != nil {
		return nil, fmt.Errorf("%s: spec.selector.%w", object.Describe(parent), err)
	}
	if compiled.Empty() {
		return nil, fmt.Errorf("%s: spec.selector matches everything: give it matchLabels or matchExpressions", object.Describe(parent))
	}
	return compiled, nil
}
