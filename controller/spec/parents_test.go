package spec

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
)

// parseDecorator returns what the DecoratorController d of generation 7 declares whose spec is that YAML. Package spectest cannot be
// imported here.
func parseDecorator(t *testing.T, spec string) *Declaration {
	t.Helper()
	dc := &v1alpha1.DecoratorController{}
	if err := yaml.UnmarshalStrict([]byte(spec), &dc.Spec); err != nil {
		t.Fatalf("%v in\n%s", err, spec)
	}
	dc.Name, dc.UID, dc.Generation = "d", "decorator-uid", 7
	return Decorator(dc)
}

// aboutWidgets returns the rules of a DecoratorController whose resources are all widgets, with these selectors.
func aboutWidgets(t *testing.T, selectors ...string) ([]*ParentRule, error) {
	t.Helper()
	var resources []string
	var found Resolved
	for _, s := range selectors {
		resources = append(resources, "{apiVersion: example.com/v1, resource: widgets"+s+"}")
		found.Parents = append(found.Parents, kube.Resource{GroupVersionResource: objecttest.Widgets, Kind: "Widget", Namespaced: true})
	}
	return ParentRules(parseDecorator(t, "resources: ["+strings.Join(resources, ", ")+"]"), found)
}

func TestBothSelectorsMustMatch(t *testing.T) {
	const on = ", labelSelector: {matchLabels: {l: \"1\"}}"
	object := func(label, annotation string) *object.Object {
		return objecttest.Widget(func(o *object.Object) {
			o.SetLabels(map[string]string{"l": label})
			o.SetAnnotations(map[string]string{"a": annotation})
		})
	}
	for _, c := range []struct {
		name, selector, label, annotation string
		want                              bool
	}{
		{"nothing is asked", "", "", "", true},
		{"labels alone", on, "1", "", true},
		{"other labels", on, "2", "", false},
		{"both", on + ", annotationSelector: {matchAnnotations: {a: two words}}", "1", "two words", true},
		{"labels but not annotations", on + ", annotationSelector: {matchAnnotations: {a: two words}}", "1", "three", false},
		{"annotations but not labels", on + ", annotationSelector: {matchAnnotations: {a: two words}}", "2", "two words", false},
		{"In", ", annotationSelector: {matchExpressions: [{key: a, operator: In, values: [x, two words]}]}", "", "two words", true},
		{"not In", ", annotationSelector: {matchExpressions: [{key: a, operator: In, values: [x]}]}", "", "y", false},
		{"NotIn", ", annotationSelector: {matchExpressions: [{key: a, operator: NotIn, values: [x]}]}", "", "y", true},
		{"NotIn of what is missing", ", annotationSelector: {matchExpressions: [{key: b, operator: NotIn, values: [x]}]}", "", "y", true},
		{"not NotIn", ", annotationSelector: {matchExpressions: [{key: a, operator: NotIn, values: [x]}]}", "", "x", false},
		{"Exists", ", annotationSelector: {matchExpressions: [{key: a, operator: Exists}]}", "", "", true},
		{"not Exists", ", annotationSelector: {matchExpressions: [{key: b, operator: Exists}]}", "", "", false},
		{"DoesNotExist", ", annotationSelector: {matchExpressions: [{key: b, operator: DoesNotExist}]}", "", "", true},
		{"not DoesNotExist", ", annotationSelector: {matchExpressions: [{key: a, operator: DoesNotExist}]}", "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules, err := aboutWidgets(t, c.selector)
			if err != nil {
				t.Fatal(err)
			}
			if got := rules[0].Selects(object(c.label, c.annotation)); got != c.want {
				t.Errorf("it is selected: %t, want %t", got, c.want)
			}
		})
	}
}

func TestRulesForOneResourceAreMerged(t *testing.T) {
	rules, err := aboutWidgets(t, ", labelSelector: {matchLabels: {l: a}}, ignoreStatusChanges: true", ", labelSelector: {matchLabels: {l: b}}")
	if err != nil || len(rules) != 1 {
		t.Fatalf("there are %d rules, error %v, want one", len(rules), err)
	}
	for label, want := range map[string]bool{"a": true, "b": true, "c": false} {
		if got := rules[0].Selects(objecttest.Widget(func(o *object.Object) { o.SetLabels(map[string]string{"l": label}) })); got != want {
			t.Errorf("label %s: it is selected: %t, want %t", label, got, want)
		}
	}
	if rules[0].IgnoreStatusChanges {
		t.Error("changes of the status are ignored, although one of the rules does not say so")
	}
}

func TestInvalidSelectorsAreErrors(t *testing.T) {
	for selector, want := range map[string]string{
		", labelSelector: {matchLabels: {l: two words}}":                                        `resources[0].labelSelector.matchLabels["l"]: the value "two words" is not valid: `,
		", annotationSelector: {matchExpressions: [{key: a, operator: Is}]}":                    `resources[0].annotationSelector.matchExpressions[0]: operator is "Is", want In, NotIn, Exists or DoesNotExist`,
		", annotationSelector: {matchExpressions: [{key: a, operator: In}]}":                    "operator In needs values",
		", annotationSelector: {matchExpressions: [{key: a, operator: Exists, values: [yes]}]}": "operator Exists takes no values",
	} {
		selector = strings.ReplaceAll(selector, "[yes]", `["yes"]`)
		if _, err := aboutWidgets(t, selector); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", selector, err, want)
		}
	}
}

func TestDecoratorWithoutResourcesHasWarning(t *testing.T) {
	d := parseDecorator(t, "{resources: [], script: "+objecttest.Inline("Starlark", objecttest.Starlark("sync"))+"}")
	if err := d.Validate(); err != nil {
		t.Errorf("got error %v", err)
	}
	if got := strings.Join(d.Warnings(), ""); !strings.Contains(got, "resources is empty") {
		t.Errorf("the warnings are %q", got)
	}
}
