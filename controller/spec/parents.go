package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	operator "k8s.io/apimachinery/pkg/selection"

	"metascript/controller/allowed"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/selection"
)

// A ParentRule is a resource whose objects can be parents, and the selectors of the parents.
type ParentRule struct {
	kube.Resource
	Selectors           []Selector // an object is a parent if one of them matches it
	IgnoreStatusChanges bool       // true if all declared rules for the resource set it
}

// Selects reports whether o, an object of the resource, is a parent.
func (r *ParentRule) Selects(o *object.Object) bool {
	return slices.ContainsFunc(r.Selectors, func(s Selector) bool { return s.Matches(o) })
}

// Unlike returns why the rule does not select o, for people: what it lacks for the first selector. It returns "" if the rule selects o.
func (r *ParentRule) Unlike(o *object.Object) string {
	if r.Selects(o) {
		return ""
	}
	return r.Selectors[0].unlike(o)
}

// Queries returns the selectors as queries.
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

// An annotationQuery is a selector of annotations for a query.
type annotationQuery struct{ *v1alpha1.AnnotationSelector }

// Matches implements selection.Annotations.
func (a annotationQuery) Matches(have map[string]string) bool {
	return HasAnnotations(have, a.AnnotationSelector)
}

// Required implements selection.Annotations.
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

// ParentRules returns one rule for each parent resource of d. found are the resources that discovery found.
func ParentRules(d *Declaration, found Resolved) ([]*ParentRule, error) {
	var rules []*ParentRule
	for i, declared := range d.Parents {
		selector, err := declared.selector()
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

// A Selector selects objects by labels and by annotations; both must match.
type Selector struct {
	Labels      labels.Selector
	Annotations *v1alpha1.AnnotationSelector // nil matches all
}

// Matches reports whether the selector selects o.
func (s Selector) Matches(o *object.Object) bool {
	return s.Labels.Matches(object.LabelsOf(o)) && HasAnnotations(o.GetAnnotations(), s.Annotations)
}

// unlike returns the first requirement that o does not have.
func (s Selector) unlike(o *object.Object) string {
	required, _ := s.Labels.Requirements()
	for i := range required {
		r := &required[i]
		switch op := r.Operator(); {
		case r.Matches(object.LabelsOf(o)):
		case op == operator.Equals, op == operator.Exists:
			return "it has no label " + r.String()
		default:
			return fmt.Sprintf("its labels do not match %q", r)
		}
	}
	have := o.GetAnnotations()
	for _, key := range slices.Sorted(maps.Keys(s.Annotations.MatchAnnotations)) {
		if want := s.Annotations.MatchAnnotations[key]; have[key] != want {
			return fmt.Sprintf("it has no annotation %s: %q", key, want)
		}
	}
	for _, r := range s.Annotations.MatchExpressions {
		switch {
		case matches(have, r):
		case r.Operator == metav1.LabelSelectorOpExists:
			return "it has no annotation " + r.Key
		case len(r.Values) == 0:
			return "it has an annotation " + r.Key
		default:
			return fmt.Sprintf("its annotation %s is not %s %s", r.Key, r.Operator, strings.Join(r.Values, ", "))
		}
	}
	return "it does not match the annotationSelector"
}

// selector compiles the selectors of a declared parent.
func (p *Parent) selector() (Selector, error) {
	s := Selector{Labels: labels.Everything(), Annotations: p.Annotations}
	if p.Labels != nil {
		var err error
		if s.Labels, err = allowed.Selector(p.Labels); err != nil {
			return s, fmt.Errorf("%s.labelSelector.%w", p.Field, err)
		}
	}
	if p.Annotations == nil {
		return s, nil
	}
	for i, r := range p.Annotations.MatchExpressions {
		if err := allowed.Requirement(r); err != nil {
			return s, fmt.Errorf("%s.annotationSelector.matchExpressions[%d]: %w", p.Field, i, err)
		}
	}
	return s, nil
}

// HasAnnotations reports whether annotations match a selector. This is not a label selector, since most values of
// annotations are not valid as values of labels.
func HasAnnotations(have map[string]string, s *v1alpha1.AnnotationSelector) bool {
	if s == nil {
		return true
	}
	for key, want := range s.MatchAnnotations {
		if value, found := have[key]; !found || value != want {
			return false
		}
	}
	return !slices.ContainsFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return !matches(have, r) })
}

// matches reports whether annotations match one requirement.
func matches(have map[string]string, r metav1.LabelSelectorRequirement) bool {
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
