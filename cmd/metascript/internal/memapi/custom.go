package memapi

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"metascript/controller/kinds"
	"metascript/controller/object"
)

// customKinds returns the kinds that a CustomResourceDefinition defines, one for each version that is served.
func customKinds(o *object.Object) ([]*kind, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Map(), crd); err != nil {
		return nil, err
	}
	var found []*kind
	for _, r := range kinds.Defined(crd) {
		k := newKind(r)
		at := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == k.Version })
		rules, err := newSchemaRules(crd.Spec.Versions[at].Schema)
		if err != nil {
			return nil, err
		}
		k.generations, k.strategy = true, rules
		k.types = sync.OnceValue(func() managedfields.TypeConverter { return rules.converter(k) })
		found = append(found, k)
	}
	return found, nil
}

// schemaRules are the rules of one version of a custom resource.
type schemaRules struct {
	schema *structural.Structural
	values func() validation.SchemaValidator
	cel    func() *cel.Validator
}

func newSchemaRules(v *apiextensionsv1.CustomResourceValidation) (*schemaRules, error) {
	preserve := true
	internal := apiextensions.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve}
	if v != nil && v.OpenAPIV3Schema != nil {
		internal = apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.OpenAPIV3Schema, &internal, nil); err != nil {
			return nil, err
		}
	}
	s, err := structural.NewStructural(&internal)
	if err != nil {
		return nil, err
	}
	if err := defaulting.PruneDefaults(s); err != nil {
		return nil, err
	}
	values, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, err
	}
	return &schemaRules{
		schema: s,
		values: func() validation.SchemaValidator { return values },
		cel:    sync.OnceValue(func() *cel.Validator { return cel.NewValidator(s, true, celconfig.PerCallLimit) }),
	}, nil
}

// normalize implements strategy.
func (r *schemaRules) normalize(o *object.Object) ([]string, error) {
	unknown := pruning.PruneWithOptions(o.Map(), r.schema, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(o.Map(), r.schema)
	if err := objectmeta.Coerce(nil, o.Map(), r.schema, false, false); err != nil {
		return nil, err
	}
	defaulting.Default(o.Map(), r.schema)
	return unknown, nil
}

// validate implements rules, like the strategy of custom resources in the API server.
func (r *schemaRules) validate(o, before *object.Object, errs field.ErrorList) field.ErrorList {
	if before == nil {
		errs = append(errs, validation.ValidateCustomResource(nil, o.Map(), r.values())...)
	} else {
		errs = append(errs, validation.ValidateCustomResourceUpdate(nil, o.Map(), before.Map(), r.values())...)
	}
	errs = append(errs, objectmeta.Validate(context.Background(), nil, o.Map(), r.schema, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, r.schema, o.Map())...)
	if isBlocking(errs) {
		return append(errs, field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"))
	}
	var old any
	if before != nil {
		old = before.Map()
	}
	broken, _ := r.cel().Validate(context.Background(), nil, r.schema, o.Map(), old, celconfig.RuntimeCELCostBudget)
	return append(errs, broken...)
}

// otherKind implements strategy.
func (r *schemaRules) otherKind(k *kind, o *object.Object) error {
	var errs field.ErrorList
	if o.GetKind() != k.Kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), o.GetKind(), "must be "+k.Kind))
	}
	if o.GetAPIVersion() != k.GroupVersion().String() {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), o.GetAPIVersion(), "must be "+k.GroupVersion().String()))
	}
	return apierrors.NewInvalid(o.GroupVersionKind().GroupKind(), o.GetName(), errs)
}

// isBlocking reports whether the API server does not evaluate rules in CEL after these errors.
func isBlocking(errs field.ErrorList) bool {
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		}
	}
	return false
}

// converter returns the converter of objects for server-side apply. Without a schema that it understands, lists are replaced as a
// whole, as in the API server.
func (r *schemaRules) converter(k *kind) managedfields.TypeConverter {
	s := r.schema.ToKubeOpenAPI()
	s.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{"group": k.Group, "version": k.Version, "kind": k.Kind}})
	if s.Properties == nil {
		s.Properties = map[string]spec.Schema{}
	}
	s.Properties["apiVersion"], s.Properties["kind"] = *spec.StringProperty(), *spec.StringProperty()
	s.Properties["metadata"] = *metadataSchema()
	made, err := managedfields.NewTypeConverter(map[string]*spec.Schema{"custom": s}, false)
	if err != nil {
		return managedfields.NewDeducedTypeConverter()
	}
	return made
}

// metadataSchema is the schema of metadata. Only what differs for server-side apply from a map of any values is in it.
func metadataSchema() *spec.Schema {
	text := func() spec.Schema { return *spec.StringProperty() }
	owners := spec.ArrayProperty(&spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: map[string]spec.Schema{
		"apiVersion": text(), "kind": text(), "name": text(), "uid": text(), "controller": *spec.BoolProperty(), "blockOwnerDeletion": *spec.BoolProperty(),
	}}})
	owners.Items.Schema.AddExtension("x-kubernetes-map-type", "atomic")
	owners.AddExtension("x-kubernetes-list-type", "map")
	owners.AddExtension("x-kubernetes-list-map-keys", []any{"uid"})
	finalizers := spec.ArrayProperty(spec.StringProperty())
	finalizers.AddExtension("x-kubernetes-list-type", "set")
	managed := spec.ArrayProperty(&spec.Schema{VendorExtensible: spec.VendorExtensible{Extensions: spec.Extensions{"x-kubernetes-preserve-unknown-fields": true}}})
	managed.AddExtension("x-kubernetes-list-type", "atomic")
	return &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: map[string]spec.Schema{
		"name": text(), "generateName": text(), "namespace": text(), "selfLink": text(), "uid": text(), "resourceVersion": text(),
		"generation": *spec.Int64Property(), "creationTimestamp": text(), "deletionTimestamp": text(), "deletionGracePeriodSeconds": *spec.Int64Property(),
		"labels": *spec.MapProperty(spec.StringProperty()), "annotations": *spec.MapProperty(spec.StringProperty()),
		"ownerReferences": *owners, "finalizers": *finalizers, "managedFields": *managed,
	}}}
}
