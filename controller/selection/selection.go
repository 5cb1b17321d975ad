// Package selection finds out who looks for an object without asking everybody.
//
// A [Query] says which objects of one resource somebody looks for: by namespace, by name or by labels. An [Index]
// holds the queries of many and gives those that match an object, in a time that does not grow with the number of the
// others. Everything here is pure: no cache is read and nothing is watched.
package selection

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	apiselection "k8s.io/apimachinery/pkg/selection"
)

// A Query says which objects of a resource somebody looks for. All that is set must hold; the zero value matches all.
type Query struct {
	Namespace  string          // "" is any, and none
	Namespaces labels.Selector // what the labels of its namespace must match; nil is any, and none
	Names      []string        // nil is any, an empty list none
	Labels     labels.Selector // nil is any

	Annotations Annotations // what its annotations must be; nil is any
}

// Annotations are a selector of annotations, whose values are no labels. Equal ones need not be comparable.
type Annotations interface {
	Matches(annotations map[string]string) bool
	Required() []Requirement // without which nothing matches
}

// A Subject is as much of an object as queries look at.
type Subject struct {
	Namespace, Name string
	Labels          labels.Set
	NamespaceLabels labels.Set // nil when there is no namespace, or it is not known
	Annotations     map[string]string
}

// Matches reports whether the query is about s.
func (q *Query) Matches(s *Subject) bool {
	return (q.Namespace == "" || q.Namespace == s.Namespace) &&
		(q.Namespaces == nil || s.Namespace != "" && s.NamespaceLabels != nil && q.Namespaces.Matches(s.NamespaceLabels)) &&
		(q.Names == nil || slices.Contains(q.Names, s.Name)) &&
		(q.Labels == nil || q.Labels.Matches(s.Labels)) &&
		(q.Annotations == nil || q.Annotations.Matches(s.Annotations))
}

// A Requirement is a label, or an annotation, that a selector requires, and the values one of which it must have.
type Requirement struct {
	Key    string
	Values []string // in order; nil is any
}

// Required gives the labels without which nothing matches a selector, with their values.
func Required(selector labels.Selector) []Requirement {
	if selector == nil {
		return nil
	}
	all, _ := selector.Requirements()
	var required []Requirement
	for _, r := range all {
		switch r.Operator() {
		case apiselection.In, apiselection.Equals, apiselection.DoubleEquals:
			required = append(required, Requirement{r.Key(), r.ValuesUnsorted()})
			slices.Sort(required[len(required)-1].Values)
		case apiselection.Exists, apiselection.GreaterThan, apiselection.LessThan:
			required = append(required, Requirement{Key: r.Key()})
		}
	}
	return required
}
