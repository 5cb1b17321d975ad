package spec

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
type ParentRule struct {
	kube.Resource
	Selectors           []Selector // one of them must match
	IgnoreStatusChanges bool       // all of them say so
}

// selects reports whether a controller is about o, which is of the resource.
func (r *ParentRule) Selects(o *object.Object) bool {
	return slices.ContainsFunc(r.Selectors, func(s Selector) bool { return s.Matches(o) })
}

// queries say which objects are selected, for an index.
func (r *ParentRule) Queries() []selection.Query {
	var all []selection.Query
	for _, s := range r.Selectors {
		q := selection.Query{Labels: s.Labels}
		if s.Annotations != nil {
			q.Annotations = annotationQuery{s.Annotations}
		}
		all = append(all, q)
	}
	return all
}

// annotations are a selector of annotations, for an index.
type annotationQuery struct{ *v1alpha1.AnnotationSelector }

// Matches implements selection.Annotations, as Required does.
func (a annotationQuery) Matches(have map[string]string) bool {
	return HasAnnotations(have, a.AnnotationSelector)
}

func (a annotationQuery) Required() []selection.Requirement {
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
func ParentRules(d *Declaration, found Resolved) ([]*ParentRule, error) {
	var rules []*ParentRule
	for i, declared := range d.Parents {
		selector, err := declared.Selector()
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(rules, func(r *ParentRule) bool { return r.Resource == found.Parents[i] })
		if at < 0 {
			at = len(rules)
			rules = append(rules, &ParentRule{Resource: found.Parents[i], IgnoreStatusChanges: true})
		}
		rules[at].Selectors = append(rules[at].Selectors, selector)
		rules[at].IgnoreStatusChanges = rules[at].IgnoreStatusChanges && declared.IgnoreStatusChanges
	}
	return rules, nil
}

// A parentSelector says which objects of a resource are parents, by labels and by annotations.
type Selector struct {
	Labels      labels.Selector
	Annotations *v1alpha1.AnnotationSelector // nil matches all
}

func (s Selector) Matches(o *object.Object) bool {
	return s.Labels.Matches(labels.Set(o.GetLabels())) && HasAnnotations(o.GetAnnotations(), s.Annotations)
}

// selector compiles the selectors of a declared parent.
func (p *Parent) Selector() (Selector, error) {
	s := Selector{Labels: labels.Everything(), Annotations: p.Annotations}
	if p.Labels != nil {
		var err error
		if s.Labels, err = metav1.LabelSelectorAsSelector(p.Labels); err != nil {
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
func HasAnnotations(have map[string]string, s *v1alpha1.AnnotationSelector) bool {
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
