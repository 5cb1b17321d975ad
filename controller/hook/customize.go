package hook

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/allowed"
	"metascript/controller/selection"
	"metascript/engine"
)

// fieldRelated is the field of the response of a customize hook with the rules.
const fieldRelated = "relatedResources"

// The limits of a response of a customize hook, since it is cached for every parent.
const (
	maxRelated      = 1_000  // rules
	maxRelatedNames = 10_000 // in all of them
)

// A RelatedRule selects objects of one resource for the other hooks of a controller.
type RelatedRule struct {
	APIVersion string
	Resource   string // the plural name
	selection.Query
}

// RelatedField returns the path of the i-th rule in the response.
func RelatedField(i int) string { return fmt.Sprintf("%s[%d]", fieldRelated, i) }

// RelatedPath returns the path of a field of the i-th rule in the response.
func RelatedPath(i int, field string) engine.Path { return engine.Path{fieldRelated, i, field} }

// ruleKeys are the fields of a rule.
var ruleKeys = []string{"apiVersion", "resource", "labelSelector", "namespaceSelector", "namespace", "names"}

// decodeRelated converts the response of a customize hook. Without rules, there are no related objects.
func decodeRelated(answer map[string]any, how decodeOptions) (*Response, error) {
	resp := &Response{Shape: Customizing}
	if err := misspelled(answer); err != nil {
		resp.warn(func() error { return fmt.Errorf("%w; it is ignored, so that there are no related objects", err) })
	}
	items, ok := answer[fieldRelated].([]any)
	if !ok && answer[fieldRelated] != nil {
		return nil, within(fmt.Errorf("%s in the answer is %s, want a list of {apiVersion, resource, ...}", fieldRelated, typeName(answer[fieldRelated])), fieldRelated)
	}
	if len(items) > maxRelated {
		return nil, fmt.Errorf("%s in the answer has %d rules, and at most %d are allowed: select by labels or by namespaces", fieldRelated, len(items), maxRelated)
	}
	names := 0
	for i, item := range items {
		rule, unknown, err := decodeRule(item, how)
		if err != nil {
			return nil, within(fmt.Errorf("%s: %w", RelatedField(i), err), fieldRelated, i)
		}
		if unknown != nil {
			resp.warn(func() error {
				return within(fmt.Errorf("%s: %w", RelatedField(i), rule.ignored(unknown)), fieldRelated, i)
			})
		}
		if names += len(rule.Names); names > maxRelatedNames {
			return nil, fmt.Errorf("%s: there are more than %d names in the answer: select by labels or by namespaces", RelatedField(i), maxRelatedNames)
		}
		resp.Related = append(resp.Related, rule)
	}
	return resp, nil
}

// misspelled returns the error for a key of an answer without rules that was probably meant to be that of the rules; nil without one.
func misspelled(answer map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(answer)) {
		if answer[fieldRelated] == nil && engine.Nearest(key, []string{fieldRelated}) != "" && key != fieldRelated {
			return unknownKey(key, Customizing)
		}
	}
	return nil
}

// decodeRule reads a rule. If unknown keys are not refused, it returns the error for the first one beside the rule.
func decodeRule(item any, how decodeOptions) (rule RelatedRule, unknown, err error) {
	m, ok := item.(map[string]any)
	if !ok {
		return rule, nil, fmt.Errorf("it is %s, want an object", typeName(item))
	}
	if unknown = checkRuleKeys(m); unknown != nil && how.knownKeys {
		return rule, nil, unknown
	}
	if rule.APIVersion, err = textOf(m, "apiVersion", `"v1" or "apps/v1"`); err != nil {
		return rule, nil, err
	}
	if _, err := schema.ParseGroupVersion(rule.APIVersion); err != nil {
		return rule, nil, within(fmt.Errorf("apiVersion is %q, want one such as \"v1\" or \"apps/v1\"", rule.APIVersion), "apiVersion")
	}
	if rule.Resource, err = textOf(m, "resource", `"configmaps", the plural name`); err != nil {
		return rule, nil, err
	}
	rule.Query, err = decodeQuery(m, how)
	return rule, unknown, err
}

// checkRuleKeys returns an error for an unknown key of a rule. Most often it is misspelled, and without it the rule selects more objects.
func checkRuleKeys(m map[string]any) error {
	if err := onlyKeys(m, "", ruleKeys); err != nil {
		return err
	}
	for _, field := range []string{"labelSelector", "namespaceSelector"} {
		s, _ := m[field].(map[string]any)
		if err := checkSelectorKeys(s, field); err != nil {
			return within(err, field)
		}
	}
	return nil
}

func checkSelectorKeys(s map[string]any, field string) error {
	if err := onlyKeys(s, field+".", []string{"matchLabels", "matchExpressions"}); err != nil {
		return err
	}
	items, _ := s["matchExpressions"].([]any)
	for i, item := range items {
		m, _ := item.(map[string]any)
		if err := onlyKeys(m, fmt.Sprintf("%s.matchExpressions[%d].", field, i), []string{"key", "operator", "values"}); err != nil {
			return within(err, "matchExpressions", i)
		}
	}
	return nil
}

// ignored returns the warning about an unknown key of a rule, which Metacontroller ignores too.
func (r *RelatedRule) ignored(unknown error) error {
	q := &r.Query
	if q.Names != nil || q.Namespaces != nil || q.Labels != nil && !q.Labels.Empty() {
		return fmt.Errorf("%w; it is ignored", unknown)
	}
	return fmt.Errorf("%w; it is ignored, so that the rule selects all %s", unknown, r.Resource)
}

// textOf returns a field that must be a string and not empty.
func textOf(m map[string]any, field, example string) (string, error) {
	text, ok := m[field].(string)
	if !ok || text == "" {
		return "", within(fmt.Errorf("%s is %s, want a string such as %s", field, missingOr(m[field]), example), field)
	}
	return text, nil
}

func decodeQuery(m map[string]any, how decodeOptions) (q selection.Query, err error) {
	var byLabels, byNamespaces bool
	if q.Labels, byLabels, err = decodeSelector(m, "labelSelector"); err != nil {
		return q, err
	}
	if q.Namespaces, byNamespaces, err = decodeSelector(m, "namespaceSelector"); err != nil {
		return q, err
	}
	namespace, ok := m["namespace"].(string)
	if q.Namespace = namespace; !ok && m["namespace"] != nil {
		return q, within(fmt.Errorf("namespace is %s, want a string", typeName(m["namespace"])), "namespace")
	}
	if q.Names, err = decodeNames(m["names"], how); err != nil {
		return q, err
	}
	switch {
	case q.Names != nil && byLabels:
		err = within(errors.New("names and labelSelector exclude each other: use two rules"), engine.Key("labelSelector"))
	case q.Names != nil && byNamespaces:
		err = within(errors.New("names and namespaceSelector exclude each other: use two rules"), engine.Key("namespaceSelector"))
	case q.Namespace != "" && byNamespaces:
		err = within(errors.New("namespace and namespaceSelector exclude each other: a namespace has the label kubernetes.io/metadata.name"), engine.Key("namespaceSelector"))
	}
	return q, err
}

// decodeNames reads the list of names. In Metacontroller, an empty list selects all names. In the response of a script,
// where the list was most likely computed, it selects none.
func decodeNames(v any, how decodeOptions) ([]string, error) {
	items, ok := v.([]any)
	if !ok && v != nil {
		return nil, within(fmt.Errorf("names is %s, want a list of strings", typeName(v)), "names")
	}
	if v == nil || len(items) == 0 && !how.strict {
		return nil, nil
	}
	names := make([]string, 0, len(items))
	for i, item := range items {
		name, ok := item.(string)
		if !ok || how.strict && name == "" {
			return nil, within(fmt.Errorf("names[%d] is %s, want a string", i, missingOr(item)), "names", i)
		}
		names = append(names, name)
	}
	return names, nil
}

// decodeSelector reads a label selector, and reports whether there is one. An empty selector matches everything.
func decodeSelector(m map[string]any, field string) (labels.Selector, bool, error) {
	if m[field] == nil {
		return nil, false, nil
	}
	s, ok := m[field].(map[string]any)
	if !ok {
		return nil, false, within(fmt.Errorf("%s is %s, want an object with matchLabels or matchExpressions", field, typeName(m[field])), field)
	}
	if err := checkStrings(field+".matchLabels", s["matchLabels"]); err != nil {
		return nil, false, within(err, field, "matchLabels")
	}
	if err := checkExpressions(field+".matchExpressions", s["matchExpressions"]); err != nil {
		return nil, false, within(err, field, "matchExpressions")
	}
	var parsed metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(s, &parsed); err != nil {
		return nil, false, within(fmt.Errorf("%s: %w", field, err), field)
	}
	selector, err := allowed.Selector(&parsed)
	if err != nil {
		return nil, false, within(fmt.Errorf("%s.%w", field, err), append([]any{field}, wrongRequirement(&parsed)...)...)
	}
	return selector, true, nil
}

// checkExpressions checks the types in matchExpressions, so that the error names the field.
func checkExpressions(path string, v any) error {
	items, ok := v.([]any)
	if !ok && v != nil {
		return fmt.Errorf("%s is %s, want a list of {key, operator, values}", path, typeName(v))
	}
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", path, i)
		m, ok := item.(map[string]any)
		if !ok {
			return within(fmt.Errorf("%s is %s, want {key, operator, values}", at, typeName(item)), i)
		}
		values, ok := m["values"].([]any)
		if !ok && m["values"] != nil {
			return within(fmt.Errorf("%s.values is %s, want a list of strings", at, typeName(m["values"])), i, "values")
		}
		for n, value := range values {
			if _, ok := value.(string); !ok {
				return within(fmt.Errorf("%s.values[%d] is %s, want a string: put it in quotes", at, n, typeName(value)), i, "values", n)
			}
		}
	}
	return nil
}

// wrongRequirement returns the path of the operator in the first requirement that is not valid; none if all are.
func wrongRequirement(s *metav1.LabelSelector) []any {
	for i, r := range s.MatchExpressions {
		if allowed.Requirement(r) != nil {
			return []any{"matchExpressions", i, "operator"}
		}
	}
	return nil
}

// onlyKeys returns an error if m has an unknown key. path is "", or the path of m with a dot at its end.
func onlyKeys(m map[string]any, path string, known []string) error {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if slices.Contains(known, key) {
			continue
		}
		if like := engine.Nearest(key, known); like != "" {
			return within(fmt.Errorf("unknown key %s%s: did you mean %q?", path, key, like), engine.Key(key))
		}
		return within(fmt.Errorf("unknown key %s%s: it may have %s", path, key, enumerate(known)), engine.Key(key))
	}
	return nil
}
