package validation

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// A schemaWalk visits the schemas in the schema of a CustomResourceDefinition. Its fields are about the schema that it visits.
type schemaWalk struct {
	rules    bool    // its rules in CEL are compiled; not those in not, allOf, oneOf and anyOf
	root     bool    // it is that of the object
	elements *uint64 // how many values it can be about in one object; nil if that has no limit
	costs    *costs  // of the rules in the whole schema
}

// costs are the estimated costs of rules.
type costs struct {
	total uint64
	most  []ruleCost // the four that cost most, of those that cost one percent of the maximum
}

type ruleCost struct {
	path *field.Path
	cost uint64
}

func (c *costs) add(path *field.Path, cost uint64) {
	c.total += min(cost, math.MaxUint64-c.total)
	if cost >= maxTotalCost/100 {
		c.most = append(c.most, ruleCost{path, cost})
		slices.SortStableFunc(c.most, func(a, b ruleCost) int { return cmp.Compare(b.cost, a.cost) })
		c.most = c.most[:min(len(c.most), 4)]
	}
}

// errors returns errors if the total is above the maximum.
func (c *costs) errors(root *field.Path) field.ErrorList {
	if c.total <= maxTotalCost {
		return nil
	}
	var errs field.ErrorList
	for _, rule := range c.most {
		errs = append(errs, field.Forbidden(rule.path, "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"))
	}
	return append(errs, field.Forbidden(root, tooExpensive("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema", c.total, maxTotalCost)))
}

// types are the types of a schema.
var types = []string{"array", "boolean", "integer", "number", "object", "string"}

func contains(list []string, one string) bool { return slices.Contains(list, one) }

// schema returns what is wrong with s and the schemas in it. If a schema or one in it has errors, its rules are not compiled.
func (w schemaWalk) schema(path *field.Path, s *apiextensions.JSONSchemaProps) field.ErrorList {
	if s == nil {
		return nil
	}
	errs := keywords(path, s)
	inner := schemaWalk{rules: w.rules, costs: w.costs, elements: times(w.elements, elementsOf(s))}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		if w.root && contains(typeAndMetadata, name) && property.Default != nil {
			errs = append(errs, field.Forbidden(path.Child("properties").Key(name).Child("default"), "must not be set in top-level "+name))
		}
		errs = append(errs, inner.schema(path.Child("properties").Key(name), &property)...)
	}
	if s.AdditionalProperties != nil {
		errs = append(errs, inner.schema(path.Child("additionalProperties"), s.AdditionalProperties.Schema)...)
	}
	if s.Items != nil {
		errs = append(errs, inner.schema(path.Child("items"), s.Items.Schema)...)
	}
	errs = append(errs, schemaWalk{}.schema(path.Child("not"), s.Not)...)
	for i, list := range [][]apiextensions.JSONSchemaProps{s.AllOf, s.OneOf, s.AnyOf} {
		name := []string{"allOf", "oneOf", "anyOf"}[i]
		for i := range list {
			errs = append(errs, schemaWalk{}.schema(path.Child(name).Index(i), &list[i])...)
		}
	}
	if w.rules && len(errs) == 0 {
		return w.compile(path.Child("x-kubernetes-validations"), s)
	}
	return errs
}

// keywords returns what is wrong with the keywords of a schema.
func keywords(path *field.Path, s *apiextensions.JSONSchemaProps) field.ErrorList {
	var errs field.ErrorList
	if s.Type != "" && !contains(types, s.Type) {
		errs = append(errs, field.NotSupported(path.Child("type"), s.Type, types))
	}
	for _, word := range []struct {
		name string
		has  bool
	}{
		{"id", s.ID != ""}, {"additionalItems", s.AdditionalItems != nil}, {"patternProperties", len(s.PatternProperties) != 0},
		{"definitions", len(s.Definitions) != 0}, {"dependencies", s.Dependencies != nil}, {"$ref", s.Ref != nil},
	} {
		if word.has {
			errs = append(errs, field.Forbidden(path.Child(word.name), word.name+" is not supported"))
		}
	}
	if s.Items != nil && len(s.Items.JSONSchemas) > 0 {
		errs = append(errs, field.Forbidden(path.Child("items"), "items must be a schema object and not an array"))
	}
	if s.UniqueItems {
		errs = append(errs, field.Forbidden(path.Child("uniqueItems"), "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"))
	}
	if s.AdditionalProperties != nil && len(s.Properties) > 0 && (!s.AdditionalProperties.Allows || s.AdditionalProperties.Schema != nil) {
		errs = append(errs, field.Forbidden(path.Child("additionalProperties"), "additionalProperties and properties are mutual exclusive"))
	}
	if s.XPreserveUnknownFields != nil && !*s.XPreserveUnknownFields {
		errs = append(errs, field.Invalid(path.Child("x-kubernetes-preserve-unknown-fields"), false, "must be true or undefined"))
	}
	errs = append(errs, collection(path, s, "x-kubernetes-map-type", "object", s.XMapType, []string{"atomic", "granular"})...)
	errs = append(errs, collection(path, s, "x-kubernetes-list-type", "array", s.XListType, []string{"atomic", "set", "map"})...)
	return append(errs, listKeys(path, s)...)
}

// collection returns what is wrong with x-kubernetes-map-type or x-kubernetes-list-type, which only schemas of a type have.
func collection(path *field.Path, s *apiextensions.JSONSchemaProps, name, of string, value *string, allowed []string) field.ErrorList {
	if value == nil {
		return nil
	}
	var errs field.ErrorList
	detail := fmt.Sprintf("must be %s if %s is specified", of, name)
	switch s.Type {
	case of:
	case "":
		errs = append(errs, field.Required(path.Child("type"), detail))
	default:
		errs = append(errs, field.Invalid(path.Child("type"), s.Type, detail))
	}
	if !contains(allowed, *value) {
		errs = append(errs, field.NotSupported(path.Child(name), *value, allowed))
	}
	return errs
}

// listKeys returns what is wrong with a list whose items have keys.
func listKeys(path *field.Path, s *apiextensions.JSONSchemaProps) field.ErrorList {
	var errs field.ErrorList
	if s.XListType == nil || *s.XListType != "map" {
		if len(s.XListMapKeys) == 0 {
			return nil
		}
		at, detail := path.Child("x-kubernetes-list-type"), "must be map if x-kubernetes-list-map-keys is non-empty"
		if s.XListType == nil {
			return field.ErrorList{field.Required(at, detail)}
		}
		return field.ErrorList{field.Invalid(at, *s.XListType, detail)}
	}
	if len(s.XListMapKeys) == 0 {
		errs = append(errs, field.Required(path.Child("x-kubernetes-list-map-keys"), "must not be empty if x-kubernetes-list-type is map"))
	}
	if s.Items == nil || s.Items.Schema == nil {
		return append(errs, field.Required(path.Child("items"), "must have a schema if x-kubernetes-list-type is map"))
	}
	items := s.Items.Schema
	if items.Type != "object" {
		return append(errs, field.Invalid(path.Child("items", "type"), items.Type, "must be object if parent array's x-kubernetes-list-type is map"))
	}
	for _, key := range s.XListMapKeys {
		property, has := items.Properties[key]
		at := path.Child("items", "properties").Key(key)
		switch {
		case !has:
			errs = append(errs, field.Invalid(path.Child("x-kubernetes-list-map-keys"), s.XListMapKeys, "entries must all be names of item properties"))
		case property.Type == "array" || property.Type == "object":
			errs = append(errs, field.Invalid(at.Child("type"), items.Type, "must be a scalar type if parent array's x-kubernetes-list-type is map"))
		case !contains(items.Required, key) && property.Default == nil:
			errs = append(errs, field.Required(at.Child("default"), "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"))
		}
	}
	return errs
}

// The maxima of the estimated costs of one rule, and of all rules of a schema.
const (
	maxCost      = 10_000_000
	maxTotalCost = 100_000_000
)

// compile compiles the rules of a schema, and estimates what they cost.
func (w schemaWalk) compile(path *field.Path, s *apiextensions.JSONSchemaProps) field.ErrorList {
	if len(s.XValidations) == 0 {
		return nil
	}
	var errs field.ErrorList
	for i, rule := range s.XValidations {
		if strings.TrimSpace(rule.Rule) == "" {
			errs = append(errs, field.Required(path.Index(i).Child("rule"), "rule is not specified"))
		}
	}
	structural, err := schema.NewStructural(s)
	if err != nil || errs != nil {
		return errs // the error is reported for the whole schema
	}
	results, err := cel.Compile(structural, model.SchemaDeclType(structural, w.root || s.XEmbeddedResource), celconfig.PerCallLimit,
		environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), cel.NewExpressionsEnvLoader())
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	for i, result := range results {
		elements := result.MaxCardinality
		if w.elements != nil {
			elements = *w.elements
		}
		cost := *times(&result.MaxCost, &elements)
		if cost > maxCost {
			errs = append(errs, field.Forbidden(path.Index(i).Child("rule"), tooExpensive("estimated rule cost", cost, maxCost)))
		}
		w.costs.add(path.Index(i).Child("rule"), cost)
		switch rule := s.XValidations[i]; {
		case result.Error != nil && result.Error.Type == apiservercel.ErrorTypeRequired:
			errs = append(errs, field.Required(path.Index(i).Child("rule"), result.Error.Detail))
		case result.Error != nil:
			errs = append(errs, field.Invalid(path.Index(i).Child("rule"), rule, result.Error.Detail))
		case result.MessageExpressionError != nil:
			errs = append(errs, field.Invalid(path.Index(i).Child("messageExpression"), rule, result.MessageExpressionError.Detail))
		}
	}
	return errs
}

func tooExpensive(what string, cost, limit uint64) string {
	times := float64(cost) / float64(limit)
	factor := fmt.Sprintf("%.1fx", times)
	switch {
	case times > 100:
		factor = "more than 100x"
	case times < 1.5:
		factor = fmt.Sprintf("%fx", times)
	}
	return fmt.Sprintf("%s exceeds budget by factor of %s (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)", what, factor)
}

// elementsOf returns how many values of the schemas in s a value of s can have; nil if there is no limit.
func elementsOf(s *apiextensions.JSONSchemaProps) *uint64 {
	most, one := (*int64)(nil), uint64(1)
	switch {
	case s.Type == "array":
		most = s.MaxItems
	case s.Type == "object" && s.AdditionalProperties != nil:
		most = s.MaxProperties
	default:
		return &one
	}
	if most == nil {
		return nil
	}
	n := uint64(max(*most, 0))
	return &n
}

// times multiplies two numbers, of which nil has no limit.
func times(a, b *uint64) *uint64 {
	if a == nil || b == nil {
		return nil
	}
	product := *a * *b
	if *a != 0 && *b > math.MaxUint64 / *a {
		product = math.MaxUint64
	}
	return &product
}
