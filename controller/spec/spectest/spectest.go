// Package spectest reads declarations for tests.
package spectest

import (
	"testing"

	"sigs.k8s.io/yaml"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/spec"
)

// Composite returns what the CompositeController c of generation 7 declares whose spec is that YAML.
func Composite(t testing.TB, text string) *spec.Declaration {
	t.Helper()
	cc := &v1alpha1.CompositeController{}
	if err := yaml.UnmarshalStrict([]byte(text), &cc.Spec); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	cc.Name, cc.UID, cc.Generation = "c", "controller-uid", 7
	return spec.Composite(cc)
}

// Decorator returns what the DecoratorController d of generation 7 declares whose spec is that YAML.
func Decorator(t testing.TB, text string) *spec.Declaration {
	t.Helper()
	dc := &v1alpha1.DecoratorController{}
	if err := yaml.UnmarshalStrict([]byte(text), &dc.Spec); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	dc.Name, dc.UID, dc.Generation = "d", "decorator-uid", 7
	return spec.Decorator(dc)
}
