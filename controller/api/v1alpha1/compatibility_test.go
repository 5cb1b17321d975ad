package v1alpha1_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"metascript/controller/api/v1alpha1"
	"metascript/manifests"
)

// corpus holds objects that Metacontroller 4.17 accepts, likely ones and doubtful ones.
func corpus(t *testing.T) []map[string]any {
	t.Helper()
	files, err := filepath.Glob("testdata/metacontroller/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
			all = append(all, decode(t, string(document)))
		}
	}
	if len(all) < 15 {
		t.Fatalf("the corpus has only %d objects", len(all))
	}
	return all
}

func title(obj map[string]any) string {
	u := unstructured.Unstructured{Object: obj}
	return u.GetKind() + " " + u.GetName() + u.GetGenerateName()
}

func TestMetacontrollerObjectsAreAccepted(t *testing.T) {
	for _, obj := range corpus(t) {
		t.Run(title(obj), func(t *testing.T) {
			kind, _ := obj["kind"].(string)
			for _, err := range validator(t, kind).Validate(obj) {
				t.Error(err)
			}
		})
	}
}

// An object is stored with Metacontroller's defaults and no others, so that it means what it meant and a hook
// gets the same controller.
func TestMetacontrollerObjectsMeanTheSame(t *testing.T) {
	for _, obj := range corpus(t) {
		t.Run(title(obj), func(t *testing.T) {
			kind, _ := obj["kind"].(string)
			stored, err := validator(t, kind).Default(obj)
			if err != nil {
				t.Fatal(err)
			}
			want := normal(t, obj)
			metacontrollerDefaults(want)
			if diff := cmp.Diff(want, stored); diff != "" {
				t.Errorf("stored with other differences than Metacontroller's defaults (-want +got):\n%s", diff)
			}
		})
	}
}

// normal is a copy with numbers as JSON has them and without nulls.
func normal(t *testing.T, obj map[string]any) map[string]any {
	t.Helper()
	text, err := yaml.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	var u unstructured.Unstructured
	if err := yaml.Unmarshal(text, &u); err != nil {
		t.Fatal(err)
	}
	dropNulls(u.Object)
	return u.Object
}

func dropNulls(m map[string]any) {
	for key, value := range m {
		if value == nil {
			delete(m, key)
		}
		if inner, ok := value.(map[string]any); ok {
			dropNulls(inner)
		}
	}
}

// metacontrollerDefaults sets what Metacontroller's schema sets.
func metacontrollerDefaults(obj map[string]any) {
	spec, _ := obj["spec"].(map[string]any)
	hooks, _ := spec["hooks"].(map[string]any)
	for _, hook := range hooks {
		hook := hook.(map[string]any)
		fill(hook, "version", "v1")
		if webhook, ok := hook["webhook"].(map[string]any); ok {
			connectionDefaults(webhook)
		}
	}
	configs, _ := spec["endpointConfigs"].([]any)
	for _, config := range configs {
		connectionDefaults(config.(map[string]any))
	}
}

func connectionDefaults(connection map[string]any) {
	bundle, _ := connection["caBundle"].(map[string]any)
	for _, source := range []string{"secretRef", "configMapRef"} {
		if ref, ok := bundle[source].(map[string]any); ok {
			fill(ref, "key", "ca.crt")
		}
	}
	for field, value := range map[string]string{
		"clientTLS.certKey": "tls.crt", "clientTLS.privateKeyKey": "tls.key",
		"authorization.type":    "Bearer",
		"basicAuth.usernameKey": "username", "basicAuth.passwordKey": "password",
	} {
		parent, key, _ := strings.Cut(field, ".")
		if m, ok := connection[parent].(map[string]any); ok {
			fill(m, key, value)
		}
	}
}

func fill(m map[string]any, key, value string) {
	if _, ok := m[key]; !ok {
		m[key] = value
	}
}

// Every field of a stored object has its place in the Go types.
func TestMetacontrollerObjectsDecode(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, obj := range corpus(t) {
		t.Run(title(obj), func(t *testing.T) {
			u := unstructured.Unstructured{Object: normal(t, obj)}
			typed, err := scheme.New(u.GroupVersionKind())
			if err != nil {
				t.Fatal(err)
			}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, typed, true); err != nil {
				t.Error(err)
			}
		})
	}
}

// The fields that Metacontroller does not have, and whose bounds are therefore ours to choose.
var newFields = []string{"script", "fallback", "isolation", "applyStrategy", "maxConcurrentSyncs", "paused", "scriptRevisions", "shadow", "status", "missingChildren", "maxResponseSize", "serviceAccount", "ownerReference", "adoptionPolicy"}

// Fields of Metacontroller's have the bounds that they have there and no others; and what rules stand on
// objects with old and new fields look at nothing before they have seen a new one.
func TestOldFieldsHaveNoNewBounds(t *testing.T) {
	crds, err := manifests.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, crd := range crds {
		got = append(got, bounds(t, crd.Spec.Names.Kind, crd.Spec.Versions[0].Schema.OpenAPIV3Schema)...)
	}
	slices.Sort(got)
	golden, err := os.ReadFile("testdata/metacontroller-bounds.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), strings.Join(got, "\n")+"\n"); diff != "" {
		t.Errorf("bounds on Metacontroller's fields (-theirs +ours):\n%s", diff)
	}
}

func bounds(t *testing.T, path string, s *apiextensionsv1.JSONSchemaProps) []string {
	for _, rule := range s.XValidations {
		if !strings.HasPrefix(rule.Rule, "has(self.script) || !has(self.hooks) ||") && !strings.HasPrefix(rule.Rule, "!has(self.fallback) ||") {
			t.Errorf("%s: rule %q looks at old fields", path, rule.Rule)
		}
	}
	bare := apiextensionsv1.JSONSchemaProps{
		Maximum: s.Maximum, ExclusiveMaximum: s.ExclusiveMaximum, Minimum: s.Minimum, ExclusiveMinimum: s.ExclusiveMinimum,
		MaxLength: s.MaxLength, MinLength: s.MinLength, Pattern: s.Pattern, MaxItems: s.MaxItems, MinItems: s.MinItems,
		UniqueItems: s.UniqueItems, MultipleOf: s.MultipleOf, MaxProperties: s.MaxProperties, MinProperties: s.MinProperties,
		Required: s.Required, Enum: s.Enum, Format: s.Format, XListType: s.XListType, XListMapKeys: s.XListMapKeys,
		AllOf: s.AllOf, OneOf: s.OneOf, AnyOf: s.AnyOf, Not: s.Not, Default: s.Default, XMapType: s.XMapType,
		XPreserveUnknownFields: s.XPreserveUnknownFields,
	}
	text, err := yaml.Marshal(bare)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	var set map[string]any
	if err := yaml.Unmarshal(text, &set); err != nil {
		t.Fatal(err)
	}
	for name, value := range set {
		all = append(all, fmt.Sprintf("%s %s %v", path, name, value))
	}
	for name, property := range s.Properties {
		if !slices.Contains(newFields, name) {
			all = append(all, bounds(t, path+"."+name, &property)...)
		}
	}
	if s.Items != nil {
		all = append(all, bounds(t, path+"[]", s.Items.Schema)...)
	}
	return all
}
