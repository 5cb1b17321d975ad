package allowed

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"metascript/engine"
)

// Selector returns a label selector in the form that matches labels. It is metav1.LabelSelectorAsSelector with errors that begin with the field.
func Selector(s *metav1.LabelSelector) (labels.Selector, error) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err == nil {
		return selector, nil
	}
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		at := fmt.Sprintf("matchLabels[%q]", key)
		if err := first(name("the key", key, validation.IsQualifiedName(key)), name("the value", s.MatchLabels[key], validation.IsValidLabelValue(s.MatchLabels[key]))); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
	}
	for i, r := range s.MatchExpressions {
		if err := first(Requirement(r), labelRequirement(r)); err != nil {
			return nil, fmt.Errorf("matchExpressions[%d]: %w", i, err)
		}
	}
	return nil, errors.New(Words(err.Error()))
}

// first returns the first error.
func first(one, other error) error {
	if one != nil {
		return one
	}
	return other
}

// name returns the error about a key or a value of a label; wrong is what Kubernetes says about it.
func name(what, text string, wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	words := fmt.Sprintf("%s %q is not valid: %s", what, text, Words(wrong[0]))
	if meant := Like(text, wrong[0]); meant != "" && meant != text {
		words += fmt.Sprintf("; did you mean %q?", meant)
	}
	return errors.New(words)
}

// labelRequirement returns an error if a key or a value cannot be one of a label.
func labelRequirement(r metav1.LabelSelectorRequirement) error {
	if err := name("the key", r.Key, validation.IsQualifiedName(r.Key)); err != nil {
		return err
	}
	for _, value := range r.Values {
		if err := name("the value", value, validation.IsValidLabelValue(value)); err != nil {
			return err
		}
	}
	return nil
}

// operators are the operators of selectors.
var operators = []string{
	string(metav1.LabelSelectorOpIn), string(metav1.LabelSelectorOpNotIn), string(metav1.LabelSelectorOpExists), string(metav1.LabelSelectorOpDoesNotExist),
}

// Requirement returns an error if a requirement has an unknown operator, or has values although the operator takes none, or the
// reverse.
func Requirement(r metav1.LabelSelectorRequirement) error {
	switch r.Operator {
	case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
		if len(r.Values) == 0 {
			return fmt.Errorf("operator %s needs values, such as [a, b]", r.Operator)
		}
	case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			return fmt.Errorf("operator %s takes no values: remove them, or write %s", r.Operator, withValues(r))
		}
	default:
		return fmt.Errorf("operator is %q, want %s", r.Operator, engine.OneOf(string(r.Operator), operators))
	}
	return nil
}

// withValues returns the operator with values that is nearest to one without.
func withValues(r metav1.LabelSelectorRequirement) metav1.LabelSelectorOperator {
	if r.Operator == metav1.LabelSelectorOpExists {
		return metav1.LabelSelectorOpIn
	}
	return metav1.LabelSelectorOpNotIn
}
