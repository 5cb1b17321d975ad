package lib

import (
	"fmt"
	"maps"
	"slices"
)

// matchesLabels reports whether a Kubernetes label selector selects an object with these labels. An empty selector selects all
// objects, null selects none.
func matchesLabels(c *call) (any, error) {
	selector, labels := c.object(0), c.object(1)
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		if key != "matchLabels" && key != "matchExpressions" {
			err := c.errorf("a selector has no %q", short(key))
			err.Hint = "it has matchLabels and matchExpressions"
			return nil, err
		}
	}
	selects := c.args[0] != nil
	labelsMatch, err := c.matchLabels(selector["matchLabels"], labels)
	if err != nil {
		return nil, err
	}
	expressionsMatch, err := c.matchExpressions(selector["matchExpressions"], labels)
	return selects && labelsMatch && expressionsMatch, err
}

// matchLabels reports whether labels match v, the matchLabels of a selector.
func (c *call) matchLabels(v any, labels map[string]any) (bool, error) {
	wanted, ok := v.(map[string]any)
	if !ok && v != nil {
		return false, c.errorf("selector.matchLabels is %s, want an object", typeOf(v))
	}
	matches := true
	for key, value := range wanted {
		if _, ok := value.(string); !ok {
			return false, c.errorf("selector.matchLabels has a value that is %s, want a string", typeOf(value))
		}
		actual, exists := labels[key]
		matches = matches && exists && actual == value
	}
	return matches, nil
}

// matchExpressions reports whether labels match v, the matchExpressions of a selector.
func (c *call) matchExpressions(v any, labels map[string]any) (bool, error) {
	list, ok := v.([]any)
	if !ok && v != nil {
		return false, c.errorf("selector.matchExpressions is %s, want a list", typeOf(v))
	}
	matches := true
	for i, v := range list {
		at := fmt.Sprintf("selector.matchExpressions[%d]", i)
		e, err := c.expression(at, v)
		if err != nil {
			return false, err
		}
		matches = matches && e.matches(labels)
	}
	return matches, nil
}

// A requirement is an element of a selector's matchExpressions.
type requirement struct {
	key, operator string
	values        []any
}

// expression returns the requirement v; at is its path, for errors.
func (c *call) expression(at string, v any) (requirement, error) {
	fields, ok := v.(map[string]any)
	if !ok {
		return requirement{}, c.errorf("%s is %s, want an object", at, typeOf(v))
	}
	r := requirement{}
	r.key, _ = fields["key"].(string)
	r.operator, _ = fields["operator"].(string)
	r.values, ok = fields["values"].([]any)
	if !ok && fields["values"] != nil {
		return r, c.errorf("%s.values is %s, want a list", at, typeOf(fields["values"]))
	}
	for _, value := range r.values {
		if _, ok := value.(string); !ok {
			return r, c.errorf("%s.values has %s, want strings", at, typeOf(value))
		}
	}
	listed := r.operator == "In" || r.operator == "NotIn"
	switch {
	case r.key == "":
		return r, c.errorf("%s has no key", at)
	case !listed && r.operator != "Exists" && r.operator != "DoesNotExist":
		return r, c.errorf("%s has operator %q, want In, NotIn, Exists or DoesNotExist", at, short(r.operator))
	case listed && len(r.values) == 0:
		return r, c.errorf("%s has no values, which %s needs", at, r.operator)
	case !listed && len(r.values) > 0:
		return r, c.errorf("%s has values, which %s does not take", at, r.operator)
	}
	return r, nil
}

// matches reports whether labels meet the requirement.
func (r *requirement) matches(labels map[string]any) bool {
	value, exists := labels[r.key]
	switch r.operator {
	case "In":
		return exists && slices.Contains(r.values, value)
	case "NotIn":
		return !exists || !slices.Contains(r.values, value)
	case "Exists":
		return exists
	}
	return !exists
}
