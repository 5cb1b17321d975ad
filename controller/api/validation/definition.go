package validation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// definitionKind is the kind CustomResourceDefinition.
var definitionKind = apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")

// unknownField matches the text of an error about an unknown field.
var unknownField = regexp.MustCompile(`^unknown field "(.*)"$`)

// property matches a property in a path as the API server writes it.
var property = regexp.MustCompile(`properties\[([^][.]+)\]`)

// definitionObject returns what is wrong with a CustomResourceDefinition: unknown fields at any depth, which the schema of a schema
// cannot say since it refers to itself, and the errors of [Definition], with the paths in the object.
func definitionObject(obj map[string]any) field.ErrorList {
	text, err := json.Marshal(obj)
	if err != nil {
		return field.ErrorList{field.Invalid(nil, "", err.Error())}
	}
	var crd apiextensionsv1.CustomResourceDefinition
	strict, err := kjson.UnmarshalStrict(text, &crd)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return field.ErrorList{wrongDefinition(obj, wrong)}
	}
	if err != nil {
		return field.ErrorList{field.Invalid(nil, "", err.Error())}
	}
	var w walk
	for _, err := range strict {
		if match := unknownField.FindStringSubmatch(err.Error()); match != nil {
			w.report(field.NewPath(match[1]), match[1][strings.LastIndex(match[1], ".")+1:], nil, schemaFields)
		}
	}
	inStatus := func(err *field.Error) bool { return strings.HasPrefix(err.Field, "status.") } // follow from others
	errs := slices.DeleteFunc(Definition(&crd), inStatus)
	for _, err := range errs {
		if err.Detail == requiredName {
			err.Detail = fmt.Sprintf("must be spec.names.plural, a dot and spec.group: %s.%s", crd.Spec.Names.Plural, crd.Spec.Group)
		}
		for _, part := range []struct{ from, to string }{
			{"spec.validation", "spec.versions[0].schema"}, {"spec.additionalPrinterColumns", "spec.versions[0].additionalPrinterColumns"},
		} {
			if rest, ok := strings.CutPrefix(err.Field, part.from); ok {
				err.Field = part.to + rest
			}
		}
		err.Field = property.ReplaceAllString(err.Field, "properties.$1")
	}
	badType := map[string]bool{} // the schemas whose type does not exist; what is wrong with their defaults follows from it
	for _, err := range errs {
		if of, ok := strings.CutSuffix(err.Field, ".type"); ok && err.Type == field.ErrorTypeNotSupported {
			badType[of] = true
		}
	}
	errs = slices.DeleteFunc(errs, func(err *field.Error) bool {
		of, ok := strings.CutSuffix(err.Field, ".default")
		return ok && badType[of]
	})
	return append(w.errs, errs...)
}

// wrongDefinition returns the error of a field of another type. The decoder leaves indexes and the names of properties out of the path, so
// the field is searched by its name.
func wrongDefinition(obj map[string]any, wrong *json.UnmarshalTypeError) *field.Error {
	detail := fmt.Sprintf("want another type than %s", wrong.Value)
	name := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]
	if name != "required" || wrong.Value != "bool" {
		return field.TypeInvalid(field.NewPath(wrong.Field), "", detail)
	}
	path := pathOf(obj, "", name, 0)
	if path == "" {
		path = wrong.Field
	}
	return field.TypeInvalid(field.NewPath(path), "", "want a list of field names, in the schema of the object that has these fields")
}

// maxDefinitionDepth is the depth to which [pathOf] searches.
const maxDefinitionDepth = 200

// pathOf returns the path of the first field of a name that is a boolean, or "".
func pathOf(v any, at, name string, depth int) string {
	if depth > maxDefinitionDepth {
		return ""
	}
	switch v := v.(type) {
	case map[string]any:
		if _, isBool := v[name].(bool); isBool {
			return strings.TrimPrefix(at+"."+name, ".")
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if found := pathOf(v[key], at+"."+key, name, depth+1); found != "" {
				return found
			}
		}
	case []any:
		for i, item := range v {
			if found := pathOf(item, fmt.Sprintf("%s[%d]", at, i), name, depth+1); found != "" {
				return found
			}
		}
	}
	return ""
}

// schemaFields are the fields of a schema in a CustomResourceDefinition.
var schemaFields = func() []string {
	names := map[string]bool{}
	for f := range reflect.TypeFor[apiextensionsv1.JSONSchemaProps]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}()

// Definition returns why an API server would not create a CustomResourceDefinition, with its paths and its words. It has the rules of
// package k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation, except for those about conversion webhooks, selectable
// fields, the scale subresource, and groups of Kubernetes. That package is not used: it imports gRPC and the exporters of OpenTelemetry.
// The rules about schemas, defaults and CEL come from the packages that it uses.
//
// The API server moves what is the same in all versions: an error about the schema of the only version is at spec.validation.
func Definition(crd *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	crd = crd.DeepCopy()
	apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
	var d apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, &d, nil); err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec"), "", err.Error())}
	}
	validName := func(name string, prefix bool) []string {
		problems := validation.NameIsDNSSubdomain(name, prefix)
		if name != d.Spec.Names.Plural+"."+d.Spec.Group {
			problems = append(problems, requiredName)
		}
		return problems
	}
	path := field.NewPath("spec")
	errs := validation.ValidateObjectMeta(&d.ObjectMeta, false, validName, field.NewPath("metadata"))
	errs = append(errs, definitionSpec(path, &d.Spec)...)
	for i := range d.Spec.Versions {
		v := &d.Spec.Versions[i]
		at := path.Child("versions").Index(i)
		hasStatus := v.Subresources != nil && v.Subresources.Status != nil || d.Spec.Subresources != nil && d.Spec.Subresources.Status != nil
		errs = append(errs, definitionSchema(at.Child("schema"), v.Schema, hasStatus)...)
		errs = append(errs, definitionColumns(at.Child("additionalPrinterColumns"), v.AdditionalPrinterColumns)...)
		if (v.Schema == nil || v.Schema.OpenAPIV3Schema == nil) && (d.Spec.Validation == nil || d.Spec.Validation.OpenAPIV3Schema == nil) {
			errs = append(errs, field.Required(at.Child("schema", "openAPIV3Schema"), ""))
		}
	}
	hasStatus := d.Spec.Subresources != nil && d.Spec.Subresources.Status != nil
	errs = append(errs, definitionSchema(path.Child("validation"), d.Spec.Validation, hasStatus)...)
	errs = append(errs, definitionColumns(path.Child("additionalPrinterColumns"), d.Spec.AdditionalPrinterColumns)...)
	return append(errs, storedVersions(&d)...)
}

// storedVersions returns what is wrong with the versions in the status, which the API server sets for a new definition.
func storedVersions(d *apiextensions.CustomResourceDefinition) field.ErrorList {
	var errs field.ErrorList
	stored, path := d.Status.StoredVersions, field.NewPath("status", "storedVersions")
	if len(stored) == 0 {
		errs = append(errs, field.Invalid(path, stored, "must have at least one stored version"))
	}
	for _, v := range d.Spec.Versions {
		if v.Storage && !contains(stored, v.Name) {
			errs = append(errs, field.Invalid(path, stored, "must have the storage version "+v.Name))
		}
	}
	return errs
}

// requiredName is the detail of an error about the name of a definition.
const requiredName = `must be spec.names.plural+"."+spec.group`

// definitionSpec returns what is wrong with the group, the scope, the names and the list of versions.
func definitionSpec(path *field.Path, spec *apiextensions.CustomResourceDefinitionSpec) field.ErrorList {
	var errs field.ErrorList
	switch problems := utilvalidation.IsDNS1123Subdomain(spec.Group); {
	case spec.Group == "":
		errs = append(errs, field.Required(path.Child("group"), ""))
	case len(problems) > 0:
		errs = append(errs, field.Invalid(path.Child("group"), spec.Group, strings.Join(problems, ",")))
	case !strings.Contains(spec.Group, "."):
		errs = append(errs, field.Invalid(path.Child("group"), spec.Group, "should be a domain with at least one dot"))
	}
	switch spec.Scope {
	case apiextensions.ClusterScoped, apiextensions.NamespaceScoped:
	case "":
		errs = append(errs, field.Required(path.Child("scope"), ""))
	default:
		errs = append(errs, field.NotSupported(path.Child("scope"), string(spec.Scope), []string{string(apiextensions.ClusterScoped), string(apiextensions.NamespaceScoped)}))
	}
	stored, names, unique := 0, map[string]bool{}, true
	for i, v := range spec.Versions {
		if v.Storage {
			stored++
		}
		unique, names[v.Name] = unique && !names[v.Name], true
		errs = append(errs, label(path.Child("versions").Index(i).Child("name"), v.Name, "")...)
	}
	if !unique {
		errs = append(errs, field.Invalid(path.Child("versions"), spec.Versions, "must contain unique version names"))
	}
	if stored != 1 {
		errs = append(errs, field.Invalid(path.Child("versions"), spec.Versions, "must have exactly one version marked as storage version"))
	}
	return append(errs, definitionNames(path.Child("names"), &spec.Names)...)
}

// definitionNames returns what is wrong with the names of the kind.
func definitionNames(path *field.Path, names *apiextensions.CustomResourceDefinitionNames) field.ErrorList {
	var errs field.ErrorList
	for _, one := range []struct{ field, value, detail string }{
		{"plural", names.Plural, ""}, {"singular", names.Singular, ""}, {"kind", names.Kind, mixedCase}, {"listKind", names.ListKind, mixedCase},
	} {
		if one.value == "" {
			errs = append(errs, field.Required(path.Child(one.field), ""))
			continue
		}
		errs = append(errs, label(path.Child(one.field), one.value, one.detail)...)
	}
	for i, name := range names.ShortNames {
		errs = append(errs, label(path.Child("shortNames").Index(i), name, "")...)
	}
	for i, name := range names.Categories {
		errs = append(errs, label(path.Child("categories").Index(i), name, "")...)
	}
	if names.Kind != "" && names.Kind == names.ListKind {
		errs = append(errs, field.Invalid(path.Child("listKind"), names.ListKind, "kind and listKind may not be the same"))
	}
	return errs
}

// mixedCase begins the detail of an error about a name that may have capital letters.
const mixedCase = "may have mixed case, but should otherwise match: "

// label returns an error if a name is not a DNS label. A detail allows capital letters, and begins that of the error.
func label(path *field.Path, name, detail string) field.ErrorList {
	of := name
	if detail != "" {
		of = strings.ToLower(name)
	}
	if problems := utilvalidation.IsDNS1035Label(of); len(problems) > 0 {
		return field.ErrorList{field.Invalid(path, name, detail+strings.Join(problems, ","))}
	}
	return nil
}

// columnTypes are the types of columns.
var columnTypes = []string{"boolean", "date", "integer", "number", "string"}

// definitionColumns returns what is wrong with additional columns of kubectl.
func definitionColumns(path *field.Path, columns []apiextensions.CustomResourceColumnDefinition) field.ErrorList {
	var errs field.ErrorList
	for i, column := range columns {
		at, types := path.Index(i), "must be one of "+strings.Join(columnTypes, ",")
		if column.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		}
		switch {
		case column.Type == "":
			errs = append(errs, field.Required(at.Child("type"), types))
		case !contains(columnTypes, column.Type):
			errs = append(errs, field.Invalid(at.Child("type"), column.Type, types))
		}
		switch {
		case column.JSONPath == "":
			errs = append(errs, field.Required(at.Child("JSONPath"), ""))
		case column.JSONPath[0] != '.':
			errs = append(errs, field.Invalid(at.Child("JSONPath"), column.JSONPath, "must be a simple json path starting with ."))
		}
	}
	return errs
}

// definitionSchema returns what is wrong with the schema of a version.
func definitionSchema(path *field.Path, v *apiextensions.CustomResourceValidation, hasStatus bool) field.ErrorList {
	if v == nil || v.OpenAPIV3Schema == nil {
		return nil
	}
	var errs, unreadable field.ErrorList
	root := path.Child("openAPIV3Schema")
	if hasStatus && v.OpenAPIV3Schema.Type != "object" {
		errs = append(errs, field.Invalid(path.Child("openAPIV3Schema.type"), v.OpenAPIV3Schema.Type, `only "object" is allowed as the type at the root of the schema if the status subresource is enabled`))
	}
	if v.OpenAPIV3Schema.Nullable {
		errs = append(errs, field.Forbidden(path.Child("openAPIV3Schema.nullable"), "nullable cannot be true at the root"))
	}
	one := uint64(1)
	walk := schemaWalk{elements: &one, root: true, costs: &costs{}}
	structural, err := schema.NewStructural(v.OpenAPIV3Schema)
	if err != nil {
		unreadable = append(unreadable, field.Invalid(root, "", err.Error()))
	} else if found := schema.ValidateStructural(root, structural); len(found) > 0 {
		errs = append(errs, found...)
	} else if found, err := defaulting.ValidateDefaults(context.Background(), root, structural, true, true); err != nil {
		errs = append(errs, field.Invalid(root, "", err.Error()))
	} else if len(found) > 0 {
		errs = append(errs, found...)
	} else {
		walk.rules = true
	}
	errs = append(errs, walk.schema(root, v.OpenAPIV3Schema)...)
	errs = append(errs, walk.costs.errors(root)...)
	if len(errs) == 0 {
		errs = unreadable
	}
	if len(errs) == 0 {
		if _, _, err := apiservervalidation.NewSchemaValidator(v.OpenAPIV3Schema); err != nil {
			errs = append(errs, field.Invalid(path, "", fmt.Sprintf("error building validator: %v", err)))
		}
	}
	return errs
}
