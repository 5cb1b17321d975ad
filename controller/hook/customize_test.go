package hook

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// customizing is a question for a customize hook.
func customizing(t testing.TB) *Request {
	t.Helper()
	req := newRequest(t)
	return &Request{Shape: Customizing, Controller: req.Controller, Parent: req.Parent}
}

// ruleText tells a rule in words.
func ruleText(r RelatedRule) string {
	text := r.Resource + " in " + r.APIVersion
	if r.Namespace != "" {
		text += " of namespace " + r.Namespace
	}
	if r.Namespaces != nil {
		text += " of namespaces with " + r.Namespaces.String()
	}
	if r.Names != nil {
		text += " called " + strings.Join(r.Names, " or ")
	}
	if r.Labels != nil {
		text += " with " + r.Labels.String()
	}
	return text
}

func TestRelatedRules(t *testing.T) {
	for _, c := range []struct {
		name, rule, want string
	}{
		{"everything", `{apiVersion: v1, resource: nodes}`, "nodes in v1"},
		{"nulls are nothing", `{apiVersion: v1, resource: nodes, names: null, labelSelector: null, namespace: null, namespaceSelector: null}`, "nodes in v1"},
		{"by name", `{apiVersion: v1, resource: secrets, namespace: x, names: [b, a]}`, "secrets in v1 of namespace x called b or a"},
		{"by labels", `{apiVersion: apps/v1, resource: deployments, labelSelector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: In, values: [d]}]}}`, "deployments in apps/v1 with a=b,c in (d)"},
		{"by labels in a namespace", `{apiVersion: v1, resource: pods, namespace: x, labelSelector: {matchLabels: {a: b}}}`, "pods in v1 of namespace x with a=b"},
		{"an empty selector matches all", `{apiVersion: v1, resource: pods, labelSelector: {}}`, "pods in v1 with "},
		{"by namespaces", `{apiVersion: v1, resource: pods, namespaceSelector: {matchLabels: {team: x}}}`, "pods in v1 of namespaces with team=x"},
		{"by namespaces and labels", `{apiVersion: v1, resource: pods, namespaceSelector: {}, labelSelector: {matchLabels: {a: b}}}`, "pods in v1 of namespaces with  with a=b"},
	} {
		for _, speaker := range all {
			resp := ask(t, speakers[speaker](t, `{relatedResources: [`+c.rule+`]}`), customizing(t))
			if len(resp.Related) != 1 || ruleText(resp.Related[0]) != c.want {
				t.Errorf("%s, from a %s: got %v, want %q", c.name, speaker, resp.Related, c.want)
			}
		}
	}
}

func TestNoRelatedRules(t *testing.T) {
	for _, answer := range []string{`{}`, `{relatedResources: null}`, `{relatedResources: []}`} {
		for _, speaker := range all {
			if resp := ask(t, speakers[speaker](t, answer), customizing(t)); len(resp.Related) > 0 {
				t.Errorf("%s from a %s: got %v", answer, speaker, resp.Related)
			}
		}
	}
}

func TestEmptyNamesOfRelatedRule(t *testing.T) {
	for _, speaker := range all {
		resp := ask(t, speakers[speaker](t, `{relatedResources: [{apiVersion: v1, resource: pods, names: []}]}`), customizing(t))
		if got, want := resp.Related[0].Names != nil, slices.Contains(strict, speaker); got != want {
			t.Errorf("from a %s: names is %v", speaker, resp.Related[0].Names)
		}
	}
}

func TestInvalidCustomizeResponses(t *testing.T) {
	for _, c := range []struct {
		answer, want string
		who          []string
	}{
		{`{relatedResource: []}`, `unknown key "relatedResource" in the answer: did you mean "relatedResources"?`, strict},
		{`{children: []}`, `unknown key "children" in the answer: it may have relatedResources`, strict},
		{`{relatedResources: {}}`, `relatedResources in the answer is an object, want a list of {apiVersion, resource, ...}`, all},
		{`{relatedResources: [pods]}`, `relatedResources[0]: it is a string, want an object`, all},
		{`{relatedResources: [{apiVersion: v1, resource: pods}, {apiVersion: v1, kind: Pod}]}`, `relatedResources[1]: unknown key kind: it may have apiVersion, resource, labelSelector, namespaceSelector, namespace and names`, strict},
		{`{relatedResources: [{apiVersion: v1, resource: pods, labelselector: {}}]}`, `relatedResources[0]: unknown key labelselector: did you mean "labelSelector"?`, strict},
		{`{relatedResources: [{resource: pods}]}`, `relatedResources[0]: apiVersion is missing, want a string such as "v1" or "apps/v1"`, all},
		{`{relatedResources: [{apiVersion: a/b/c, resource: pods}]}`, `relatedResources[0]: apiVersion is "a/b/c", want one such as "v1" or "apps/v1"`, all},
		{`{relatedResources: [{apiVersion: v1, resource: 5}]}`, `relatedResources[0]: resource is a number, want a string such as "configmaps", the plural name`, all},
		{`{relatedResources: [{apiVersion: v1, resource: pods, names: web}]}`, `relatedResources[0]: names is a string, want a list of strings`, all},
		{`{relatedResources: [{apiVersion: v1, resource: pods, names: [a, 1]}]}`, `relatedResources[0]: names[1] is a number, want a string`, all},
		{`{relatedResources: [{apiVersion: v1, resource: pods, names: [""]}]}`, `relatedResources[0]: names[0] is empty, want a string`, strict},
		{`{relatedResources: [{apiVersion: v1, resource: pods, namespace: [x]}]}`, `relatedResources[0]: namespace is a list, want a string`, all},
		{`{relatedResources: [{apiVersion: v1, resource: pods, names: [a], labelSelector: {}}]}`, `relatedResources[0]: names and labelSelector exclude each other: use two rules`, all},
		{`{relatedResources: [{apiVersion: v1, resource: pods, names: [a], namespaceSelector: {}}]}`, `relatedResources[0]: names and namespaceSelector exclude each other: use two rules`, all},
		{`{relatedResources: [{apiVersion: v1, resource: pods, namespace: x, namespaceSelector: {}}]}`, `relatedResources[0]: namespace and namespaceSelector exclude each other: a namespace has the label kubernetes.io/metadata.name`, all},
		{`{relatedResources: [{apiVersion: v1, resource: pods, labelSelector: app}]}`, `relatedResources[0]: labelSelector is a string, want an object with matchLabels or matchExpressions`, all},
		{`{relatedResources: [{apiVersion: v1, resource: pods, labelSelector: {app: web}}]}`, `relatedResources[0]: unknown key labelSelector.app: it may have matchLabels and matchExpressions`, strict},
		{`{relatedResources: [{apiVersion: v1, resource: pods, labelSelector: {matchLabels: {a: 1}}}]}`, `relatedResources[0]: labelSelector.matchLabels["a"] is a number, want a string: put it in quotes`, all},
		{`{relatedResources: [{apiVersion: v1, resource: pods, labelSelector: {matchExpressions: {}}}]}`, `relatedResources[0]: labelSelector.matchExpressions is an object, want a list of {key, operator, values}`, all},
		{`{relatedResources: [{apiVersion: v1, resource: pods, labelSelector: {matchExpressions: [{key: a, operator: In, values: [1]}]}}]}`, `relatedResources[0]: labelSelector.matchExpressions[0].values[0] is a number, want a string: put it in quotes`, all},
		{`{relatedResources: [{apiVersion: v1, resource: pods, namespaceSelector: {matchExpressions: [{key: a, operatr: In}]}}]}`, `relatedResources[0]: unknown key namespaceSelector.matchExpressions[0].operatr: did you mean "operator"?`, strict},
		{`{relatedResources: [{apiVersion: v1, resource: pods, labelSelector: {matchExpressions: [{key: a, operator: Is, values: [b]}]}}]}`, `relatedResources[0]: labelSelector.matchExpressions[0]: operator is "Is", want In, NotIn, Exists or DoesNotExist`, all},
		{`{relatedResources: [` + strings.Repeat(`{apiVersion: v1, resource: pods}, `, 1001) + `]}`, `relatedResources in the answer has 1001 rules, and at most 1000 are allowed: select by labels or by namespaces`, all},
		{`{relatedResources: [{apiVersion: v1, resource: pods, names: [` + strings.Repeat(`a, `, 10_001) + `]}]}`, `relatedResources[0]: there are more than 10000 names in the answer: select by labels or by namespaces`, all},
	} {
		for _, speaker := range c.who {
			h := speakers[speaker](t, c.answer)
			_, err := h.Call(t.Context(), customizing(t))
			if diff := cmp.Diff(c.want, fault(t, h, err)); diff != "" {
				t.Errorf("%.100s from a %s (-want +got):\n%s", c.answer, speaker, diff)
			}
		}
	}
}

func TestUnknownKeysOfRulesAreWarnings(t *testing.T) {
	for _, c := range []struct{ answer, want string }{
		{`{relatedResources: [{apiVersion: v1, resource: secrets, name: [a]}]}`, `relatedResources[0]: unknown key name: did you mean "names"?; it is ignored, so that the rule selects all secrets`},
		{`{relatedResources: [{apiVersion: v1, resource: secrets, name: a, namespace: x}]}`, `relatedResources[0]: unknown key name: did you mean "names"?; it is ignored, so that the rule selects all secrets`},
		{`{relatedResources: [{apiVersion: v1, resource: pods, labelSelector: {app: web}}]}`, `relatedResources[0]: unknown key labelSelector.app: it may have matchLabels and matchExpressions; it is ignored, so that the rule selects all pods`},
		{`{relatedResources: [{apiVersion: v1, resource: pods, names: [a], kind: Pod}]}`, `relatedResources[0]: unknown key kind: it may have apiVersion, resource, labelSelector, namespaceSelector, namespace and names; it is ignored`},
		{`{relatedResources: [{apiVersion: v1, resource: pods, labelSelector: {matchExpressions: [{key: a, operator: Exists, value: b}]}}]}`, `relatedResources[0]: unknown key labelSelector.matchExpressions[0].value: did you mean "values"?; it is ignored`},
		{`{relatedResource: []}`, `unknown key "relatedResource" in the answer: did you mean "relatedResources"?; it is ignored, so that there are no related objects`},
	} {
		for _, speaker := range loose {
			resp := ask(t, speakers[speaker](t, c.answer), customizing(t))
			if diff := cmp.Diff([]string{c.want}, warnings(resp)); diff != "" {
				t.Errorf("%s from a %s (-want +got):\n%s", c.answer, speaker, diff)
			}
		}
	}
}
