// Package selection finds the queries that match an object.
//
// A [Query] selects objects of one resource: by namespace, by name or by labels. An [Index] has the queries of many members, and
// returns the members with a query that matches an object, in a time that does not grow with the number of the others. The
// package is pure: it reads no cache and watches nothing.
package selection

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	apiselection "k8s.io/apimachinery/pkg/selection"
)

// A Query selects objects of a resource. All fields that are set must match; the zero value matches all objects.
type Query struct {
	Namespace  string          // "" is any, and none
	Namespaces labels.Selector // what the labels of its namespace must match; nil is any, and none
	Names      []string        // nil is any, an empty list none
	Labels     labels.Selector // nil is any

	Annotations Annotations // what its annotations must be; nil is any
}

// Annotations is a selector of annotations. It is not a label selector, since values of annotations need not be valid as
// values of labels.
type Annotations interface {
	Matches(annotations map[string]string) bool
	Required() []Requirement // that each matching object meets
}

// A Subject has the fields of an object that queries use.
type Subject struct {
	Namespace, Name string
	Labels          labels.Set
	NamespaceLabels labels.Set // nil when there is no namespace, or it is not known
	Annotations     map[string]string
}

// Matches reports whether the query selects s.
func (q *Query) Matches(s *Subject) bool {
	return (q.Namespace == "" || q.Namespace == s.Namespace) &&
		(q.Namespaces == nil || s.Namespace != "" && s.NamespaceLabels != nil && q.Namespaces.Matches(s.NamespaceLabels)) &&
		(q.Names == nil || slices.Contains(q.Names, s.Name)) &&
		(q.Labels == nil || q.Labels.Matches(s.Labels)) &&
		(q.Annotations == nil || q.Annotations.Matches(s.Annotations))
}

// A Requirement is a label or an annotation that a selector requires, with the values of which it must have one.
type Requirement struct {
	Key    string
	Values []string // in order; nil is any
}

// Required returns requirements that each object meets that a selector matches.
func Required(selector labels.Selector) []Requirement {
	if selector == nil {
		return nil
	}
	all, _ := selector.Requirements()
	var required []Requirement
	for _, r := range all {
		switch r.Operator() {
		case apiselection.In, apiselection.Equals, apiselection.DoubleEquals:
			values := slices.Sorted(slices.Values(r.ValuesUnsorted()))
			required = append(required, Requirement{r.Key(), slices.Compact(values)})
		case apiselection.Exists, apiselection.GreaterThan, apiselection.LessThan:
			required = append(required, Requirement{Key: r.Key()})
		}
	}
	return required
}
