package validation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// A Validator judges the objects of one CustomResourceDefinition, or of one kind of Kubernetes itself. It may be used by several
// goroutines at a time.
type Validator struct {
	group, kind string
	namespaced  bool
	versions    map[string]func() (*compiled, error)
	validName   validation.ValidateNameFunc // nil: objects are not stored and need no name

	code func(obj map[string]any) field.ErrorList // the rules that are not in the schema; nil: none
}

// compiled is what one version of a resource needs for judging its objects.
type compiled struct {
	structural *schema.Structural
	openapi    apiservervalidation.SchemaCreateValidator
	rules      *cel.Validator // nil if there are none
	preserve   bool           // unknown fields are kept everywhere
	builtin    bool           // of a kind of Kubernetes itself
}

// New makes the Validator of a definition. A version's schema is compiled when an object of it first comes;
// New tells only whether it is sound enough for that.
func New(crd *apiextensionsv1.CustomResourceDefinition) (*Validator, error) {
	v := &Validator{
		group: crd.Spec.Group, kind: crd.Spec.Names.Kind,
		namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
		versions:   map[string]func() (*compiled, error){},
		validName:  validation.NameIsDNSSubdomain,
	}
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		internal, structural, err := structuralOf(version.Schema)
		if err != nil {
			return nil, fmt.Errorf("schema of %s version %s: %w", crd.Name, version.Name, err)
		}
		preserve := crd.Spec.PreserveUnknownFields
		v.versions[version.Name] = sync.OnceValues(func() (*compiled, error) {
			return compile(internal, structural, preserve)
		})
	}
	return v, nil
}

func structuralOf(s *apiextensionsv1.CustomResourceValidation) (*apiextensions.JSONSchemaProps, *schema.Structural, error) {
	if s == nil || s.OpenAPIV3Schema == nil {
		return nil, nil, fmt.Errorf("there is none")
	}
	var internal apiextensions.JSONSchemaProps
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(s.OpenAPIV3Schema, &internal, nil)
	if err != nil {
		return nil, nil, err
	}
	structural, err := schema.NewStructural(&internal)
	if err != nil {
		return nil, nil, err
	}
	return &internal, structural, schema.ValidateStructural(nil, structural).ToAggregate()
}

func compile(internal *apiextensions.JSONSchemaProps, structural *schema.Structural, preserve bool) (*compiled, error) {
	// The defaults in a schema may themselves have fields that it does not know.
	if err := defaulting.PruneDefaults(structural); err != nil {
		return nil, err
	}
	openapi, _, err := apiservervalidation.NewSchemaValidator(internal)
	if err != nil {
		return nil, err
	}
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	return &compiled{structural: structural, openapi: openapi, rules: rules, preserve: preserve}, nil
}

// Validate returns all that is wrong with obj, in the order of the fields; nil means that an API server would
// take it as it is. It leaves obj alone.
func (v *Validator) Validate(obj map[string]any) field.ErrorList {
	c, obj, errs := v.open(obj)
	if errs != nil {
		return errs
	}
	errs = c.unknown(obj)
	if err := c.normalize(obj); err != nil {
		return append(errs, err)
	}
	v.place(obj)
	errs = append(errs, v.metadata(obj)...)
	errs = append(errs, c.values(obj)...)
	if v.code != nil {
		errs = withoutRepeated(errs, v.code(obj))
	}
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	return errs
}

// withoutRepeated returns errs, and those of more that are about other fields. That a selector does not match is left out if there is no
// selector or no template.
func withoutRepeated(errs, more field.ErrorList) field.ErrorList {
	known := map[string]bool{}
	for _, err := range errs {
		known[err.Field] = true
	}
	known["spec.template.metadata.labels"] = known["spec.selector"] || known["spec.template"]
	return append(errs, slices.DeleteFunc(more, func(err *field.Error) bool { return known[err.Field] })...)
}

// Default returns obj as an API server would store it: with defaults, and without fields that the schema does
// not know and nulls that it does not allow. It leaves obj alone, and does not say whether it is valid.
func (v *Validator) Default(obj map[string]any) (map[string]any, error) {
	c, obj, errs := v.open(obj)
	if errs != nil {
		return nil, errs.ToAggregate()
	}
	if err := c.normalize(obj); err != nil {
		return nil, err
	}
	return obj, nil
}

// open finds what judges obj, and copies obj by way of JSON. An API server gets it as JSON too, so a number
// from a YAML decoder, or a Go int, becomes what it is there.
func (v *Validator) open(obj map[string]any) (*compiled, map[string]any, field.ErrorList) {
	u := unstructured.Unstructured{Object: obj}
	gvk := u.GroupVersionKind()
	var errs field.ErrorList
	if gvk.Kind != v.kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), gvk.Kind, "must be "+v.kind))
	}
	load, ok := v.versions[gvk.Version]
	if gvk.Group != v.group || !ok {
		errs = append(errs, field.NotSupported(field.NewPath("apiVersion"), u.GetAPIVersion(), v.apiVersions()))
	}
	if errs != nil {
		return nil, nil, errs
	}
	c, err := load()
	if err != nil {
		return nil, nil, field.ErrorList{field.InternalError(nil, err)}
	}
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, nil, field.ErrorList{field.Invalid(nil, "", err.Error())}
	}
	var copied map[string]any
	if err := utiljson.Unmarshal(text, &copied); err != nil {
		return nil, nil, field.ErrorList{field.Invalid(nil, "", err.Error())}
	}
	return c, copied, nil
}

func (v *Validator) apiVersions() []string {
	var all []string
	for version := range v.versions {
		all = append(all, v.group+"/"+version)
	}
	slices.Sort(all)
	return all
}

// normalize does to obj what happens between decoding and validation.
func (c *compiled) normalize(obj map[string]any) *field.Error {
	if _, _, err := objectmeta.GetObjectMeta(obj, false); err != nil {
		return field.Invalid(field.NewPath("metadata"), "", err.Error())
	}
	if !c.preserve {
		pruning.Prune(obj, c.structural, true)
		defaulting.PruneNonNullableNullsWithoutDefaults(obj, c.structural)
	}
	if err := objectmeta.Coerce(nil, obj, c.structural, false, false); err != nil {
		return err
	}
	defaulting.Default(obj, c.structural)
	return nil
}

// place gives obj the name and namespace that kubectl and the API server would give it.
func (v *Validator) place(obj map[string]any) {
	u := unstructured.Unstructured{Object: obj}
	if u.GetName() == "" && u.GetGenerateName() != "" {
		u.SetName(u.GetGenerateName() + "x")
	}
	switch {
	case !v.namespaced:
		u.SetNamespace("")
	case u.GetNamespace() == "":
		u.SetNamespace(metav1.NamespaceDefault)
	}
}

func (v *Validator) metadata(obj map[string]any) field.ErrorList {
	if v.validName == nil {
		return nil
	}
	u := &unstructured.Unstructured{Object: obj}
	return validation.ValidateObjectMetaAccessor(u, v.namespaced, v.validName, field.NewPath("metadata"))
}

// values judges a normalized object by the schema and, if that leaves a chance, by the rules.
func (c *compiled) values(obj map[string]any) field.ErrorList {
	ctx := context.Background()
	errs := apiservervalidation.ValidateCustomResource(nil, obj, c.openapi)
	if c.builtin {
		return slices.DeleteFunc(errs, isUnsetEnum)
	}
	errs = append(errs, objectmeta.Validate(ctx, nil, obj, c.structural, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, c.structural, obj)...)
	if c.rules == nil || slices.ContainsFunc(errs, blocksRules) {
		return errs
	}
	failed, _ := c.rules.Validate(ctx, nil, c.structural, obj, nil, celconfig.RuntimeCELCostBudget)
	return append(errs, failed...)
}

// blocksRules tells whether a violation of the schema keeps an API server from evaluating rules.
func blocksRules(err *field.Error) bool {
	switch err.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
		return true
	}
	return false
}
