package related

import (
	"fmt"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/selection"
	"metascript/engine"
)

// A Rule is a rule of a customize hook, with the resource that discovery found for it.
type Rule struct {
	kube.Resource
	Query selection.Query
}

// Resources returns the resources whose objects are needed to select those of the rule.
func (r Rule) Resources() []kube.Resource {
	if r.Query.Namespaces == nil {
		return []kube.Resource{r.Resource}
	}
	return []kube.Resource{r.Resource, Namespaces}
}

// SameResource reports whether two rules have the same resource.
func (r Rule) SameResource(other Rule) bool { return r.Resource == other.Resource }

// A RuleError is the error of a rule that a customize hook returned.
type RuleError struct {
	Index int    // of the rule
	Field string // that is wrong
	error
}

// Error implements error.
func (e *RuleError) Error() string {
	return fmt.Sprintf("%s of the customize hook: %v", hook.RelatedField(e.Index), e.error)
}

// Unwrap returns the error without the name of the rule.
func (e *RuleError) Unwrap() error { return e.error }

// Path returns the path of the field in the response.
func (e *RuleError) Path() engine.Path { return hook.RelatedPath(e.Index, e.Field) }

// A Scope limits the objects that rules can select.
type Scope struct {
	SameNamespace bool                 // a namespaced parent sees only objects of its own namespace, as for version v1 of the hook
	Watched       selection.Namespaces // that the server watches
}

// Rules looks up the resources of the rules that a customize hook returned for parent. The error is a [*RuleError].
func Rules(parent *object.Object, returned []hook.RelatedRule, in kube.Finder, within Scope) ([]Rule, error) {
	rules := make([]Rule, 0, len(returned))
	for i, rule := range returned {
		found, err := in.ByName(rule.APIVersion, rule.Resource)
		field := "resource"
		if err == nil && within.SameNamespace && found.Namespaced {
			rule.Query, field, err = inNamespaceOf(parent, rule.Query)
		}
		if err == nil && within.Watched != nil && found.Namespaced {
			field, err = watched(rule.Query, within.Watched)
		}
		if err != nil {
			return nil, &RuleError{i, field, err}
		}
		rules = append(rules, Rule{found, rule.Query})
	}
	return rules, nil
}

// inNamespaceOf restricts a query to the namespace of parent, if it has one. field is the field of the rule that an error is about.
func inNamespaceOf(parent *object.Object, q selection.Query) (restricted selection.Query, field string, err error) {
	namespace := parent.GetNamespace()
	switch {
	case namespace == "":
	case q.Namespaces != nil:
		return q, "namespaceSelector", fmt.Errorf("namespaceSelector: %s sees only its own namespace, unless the customize hook is of version v2", object.Describe(parent))
	case q.Namespace != "" && q.Namespace != namespace:
		return q, "namespace", fmt.Errorf("namespace is %q: %s sees only its own namespace, unless the customize hook is of version v2", q.Namespace, object.Describe(parent))
	default:
		q.Namespace = namespace
	}
	return q, "", nil
}

// watched returns an error if a query selects objects that are not watched, since the hook would not get them. field is the field of the
// rule that the error is about.
func watched(q selection.Query, in selection.Namespaces) (field string, err error) {
	switch {
	case q.Namespaces != nil:
		return "namespaceSelector", fmt.Errorf("namespaceSelector: %s", in)
	case q.Namespace == "":
		return "resource", fmt.Errorf("without a namespace the rule selects objects of all namespaces, and %s", in)
	case !in.Has(q.Namespace):
		return "namespace", fmt.Errorf("namespace is %q, and %s", q.Namespace, in)
	}
	return "", nil
}

// Select returns the objects that find returns for the rules: a group for each kind, ordered by namespace and name within
// each.
func Select(rules []Rule, find func(Rule) []*object.Object) *object.Set {
	set, found := &object.Set{}, map[object.Kind][]*object.Object{}
	for _, rule := range rules {
		kind := rule.ObjectKind()
		set.Declare(kind)
		found[kind] = append(found[kind], find(rule)...)
	}
	for _, kind := range set.Kinds() {
		for _, o := range object.Sorted(found[kind]) {
			set.Put(o)
		}
	}
	return set
}
