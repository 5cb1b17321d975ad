package related

import (
	"fmt"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/selection"
)

// A Rule is a rule of a customize hook, with its resource as discovery has it.
type Rule struct {
	kube.Resource
	Query selection.Query
}

// SameResource reports whether two rules are about one resource.
func (r Rule) SameResource(other Rule) bool { return r.Resource == other.Resource }

// Rules looks up the resources of the rules that a customize hook answered about parent. With homeOnly, which version 1 of
// the hook asks for, a namespaced parent sees only objects of its own namespace.
func Rules(parent *object.Object, answered []hook.RelatedRule, in kube.Finder, homeOnly bool) ([]Rule, error) {
	rules := make([]Rule, 0, len(answered))
	for i, rule := range answered {
		found, err := in.ByName(rule.APIVersion, rule.Resource)
		if err == nil && homeOnly && found.Namespaced {
			rule.Query, err = atHome(parent, rule.Query)
		}
		if err != nil {
			return nil, fmt.Errorf("%s of the customize hook: %w", hook.RelatedField(i), err)
		}
		rules = append(rules, Rule{found, rule.Query})
	}
	return rules, nil
}

// atHome restricts a query to the parent's namespace, if it has one.
func atHome(parent *object.Object, q selection.Query) (selection.Query, error) {
	home := parent.GetNamespace()
	switch {
	case home == "":
	case q.Namespaces != nil:
		return q, fmt.Errorf("namespaceSelector: %s sees only its own namespace, unless the customize hook is of version v2", object.Describe(parent))
	case q.Namespace != "" && q.Namespace != home:
		return q, fmt.Errorf("namespace is %q: %s sees only its own namespace, unless the customize hook is of version v2", q.Namespace, object.Describe(parent))
	default:
		q.Namespace = home
	}
	return q, nil
}

// Select returns the objects that find returns for the rules, a group for each kind, by name within each.
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
