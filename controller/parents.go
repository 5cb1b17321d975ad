package controller

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/selection"
)

// A parentRule is a resource whose objects are parents, and which of them.
type parentRule struct {
	kube.Resource
	selectors           []parentSelector // one of them must match
	ignoreStatusChanges bool             // all of them say so
}

// selects reports whether a controller is about o, which is of the resource.
func (r *parentRule) selects(o *object.Object) bool {
	return slices.ContainsFunc(r.selectors, func(s parentSelector) bool { return s.matches(o) })
}

// queries say which objects are selected, for an index.
func (r *parentRule) queries() []selection.Query {
	var all []selection.Query
	for _, s := range r.selectors {
		q := selection.Query{Labels: s.labels}
		if s.annotations != nil {
			q.Annotations = annotations{s.annotations}
		}
		all = append(all, q)
	}
	return all
}

// annotations are a selector of annotations, for an index.
type annotations struct{ *v1alpha1.AnnotationSelector }

// Matches implements selection.Annotations, as Required does.
func (a annotations) Matches(have map[string]string) bool {
	return annotated(have, a.AnnotationSelector)
}

func (a annotations) Required() []selection.Requirement {
	var all []selection.Requirement
	for key, value := range a.MatchAnnotations {
		all = append(all, selection.Requirement{Key: key, Values: []string{value}})
	}
	for _, r := range a.MatchExpressions {
		switch r.Operator {
		case metav1.LabelSelectorOpIn:
			all = append(all, selection.Requirement{Key: r.Key, Values: slices.Compact(slices.Sorted(slices.Values(r.Values)))})
		case metav1.LabelSelectorOpExists:
			all = append(all, selection.Requirement{Key: r.Key})
		}
	}
	return all
}

// parentRules joins the declared parents, by kind, with what discovery says of them.
func parentRules(d *declaration, found resolved) ([]*parentRule, error) {
	var rules []*parentRule
	for i, declared := range d.Parents {
		selector, err := declared.selector()
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(rules, func(r *parentRule) bool { return r.Resource == found.parents[i] })
		if at < 0 {
			at = len(rules)
			rules = append(rules, &parentRule{Resource: found.parents[i], ignoreStatusChanges: true})
		}
		rules[at].selectors = append(rules[at].selectors, selector)
		rules[at].ignoreStatusChanges = rules[at].ignoreStatusChanges && declared.IgnoreStatusChanges
	}
	return rules, nil
}

// A parentSelector says which objects of a resource are parents, by labels and by annotations.
type parentSelector struct {
	labels      labels.Selector
	annotations *v1alpha1.AnnotationSelector // nil matches all
}

func (s parentSelector) matches(o *object.Object) bool {
	return s.labels.Matches(labels.Set(o.GetLabels())) && annotated(o.GetAnnotations(), s.annotations)
}

// selector compiles the selectors of a declared parent.
func (p *parentDeclaration) selector() (parentSelector, error) {
	s := parentSelector{labels: labels.Everything(), annotations: p.Annotations}
	if p.Labels != nil {
		var err error
		if s.labels, err = metav1.LabelSelectorAsSelector(p.Labels); err != nil {
			return s, fmt.Errorf("%s.labelSelector: %w", p.Field, err)
		}
	}
	if p.Annotations == nil {
		return s, nil
	}
	for i, r := range p.Annotations.MatchExpressions {
		if err := checkRequirement(r); err != nil {
			return s, fmt.Errorf("%s.annotationSelector.matchExpressions[%d]: %w", p.Field, i, err)
		}
	}
	return s, nil
}

func checkRequirement(r metav1.LabelSelectorRequirement) error {
	switch r.Operator {
	case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
		if len(r.Values) == 0 {
			return fmt.Errorf("operator %s needs values", r.Operator)
		}
	case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			return fmt.Errorf("operator %s takes no values", r.Operator)
		}
	default:
		return fmt.Errorf("operator is %q, want In, NotIn, Exists or DoesNotExist", r.Operator)
	}
	return nil
}

// annotated reports whether annotations meet all requirements. The values of annotations are no labels, most of which
// could not be compiled into a label selector.
func annotated(have map[string]string, s *v1alpha1.AnnotationSelector) bool {
	if s == nil {
		return true
	}
	for key, want := range s.MatchAnnotations {
		if value, found := have[key]; !found || value != want {
			return false
		}
	}
	return !slices.ContainsFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return !meets(have, r) })
}

func meets(have map[string]string, r metav1.LabelSelectorRequirement) bool {
	value, found := have[r.Key]
	switch r.Operator {
	case metav1.LabelSelectorOpIn:
		return found && slices.Contains(r.Values, value)
	case metav1.LabelSelectorOpNotIn:
		return !found || !slices.Contains(r.Values, value)
	case metav1.LabelSelectorOpExists:
		return found
	}
	return !found
}
