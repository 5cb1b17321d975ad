package schemas

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	apischema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"metascript/controller/api/validation"
)

// compressed has the definitions of Kubernetes: a line for each, with its name, a space, and its schema. It is made by test/schemas.
//
//go:embed kubernetes.gz
var compressed []byte

// embedded decompresses the definitions of Kubernetes once.
var embedded = sync.OnceValues(decode)

func decode() (*definitions, error) {
	text, err := decompress()
	if err != nil {
		return nil, fmt.Errorf("decompress the schemas of Kubernetes: %w", err)
	}
	all := newDefinitions()
	for line := range bytes.Lines(text) {
		name, definition, _ := bytes.Cut(line, []byte(" "))
		all.text[string(name)] = definition
	}
	return all, nil
}

func decompress() ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// refPrefix begins a reference; the name of a definition follows.
const refPrefix = "#/components/schemas/"

// objectMeta is the definition of the metadata of every object.
const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

// notRequired are fields that are required in the published schemas, but not by the API server: their zero value is valid.
var notRequired = map[string][]string{
	"io.k8s.api.apps.v1.ControllerRevision":                                                    {"revision"},
	"io.k8s.api.core.v1.Event":                                                                 {"involvedObject", "metadata"},
	"io.k8s.api.core.v1.HTTPHeader":                                                            {"value"},
	"io.k8s.api.core.v1.ISCSIPersistentVolumeSource":                                           {"lun"},
	"io.k8s.api.core.v1.ISCSIVolumeSource":                                                     {"lun"},
	"io.k8s.api.core.v1.LimitRangeSpec":                                                        {"limits"},
	"io.k8s.api.core.v1.PreferredSchedulingTerm":                                               {"preference"},
	"io.k8s.api.core.v1.SleepAction":                                                           {"seconds"},
	"io.k8s.api.core.v1.Sysctl":                                                                {"value"},
	"io.k8s.api.networking.v1.HTTPIngressRuleValue":                                            {"paths"},
	"io.k8s.api.storage.v1.CSIDriver":                                                          {"spec"},
	"io.k8s.apimachinery.pkg.apis.meta.v1.Condition":                                           {"message"},
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionVersion": {"served", "storage"},
}

// definitions are OpenAPI v3 definitions that refer to one another. Each is parsed when it is first used.
type definitions struct {
	text map[string][]byte // as JSON, by name; immutable

	mu      sync.Mutex // guards the fields below
	parsed  map[string]*spec.Schema
	without map[string]*validation.Schema // without references
}

func newDefinitions() *definitions {
	return &definitions{text: map[string][]byte{}, parsed: map[string]*spec.Schema{}, without: map[string]*validation.Schema{}}
}

// nameOf returns the name of the definition of a kind. It ends with the kind.
func (d *definitions) nameOf(of schema.GroupVersionKind) (string, bool) {
	for name, text := range d.text {
		if !strings.HasSuffix(name, "."+of.Kind) {
			continue
		}
		var definition struct {
			Kinds []struct{ Group, Version, Kind string } `json:"x-kubernetes-group-version-kind"`
		}
		if json.Unmarshal(text, &definition) != nil {
			continue
		}
		for _, kind := range definition.Kinds {
			if schema.GroupVersionKind(kind) == of {
				return name, true
			}
		}
	}
	return "", false
}

// parse returns a definition. d.mu must be locked.
func (d *definitions) parse(name string) (*spec.Schema, error) {
	if s, ok := d.parsed[name]; ok {
		return s, nil
	}
	text, ok := d.text[name]
	if !ok {
		return nil, fmt.Errorf("there is no definition %s", name)
	}
	s := &spec.Schema{}
	if err := s.UnmarshalJSON(text); err != nil {
		return nil, fmt.Errorf("definition %s: %w", name, err)
	}
	s.Required = slices.DeleteFunc(s.Required, func(field string) bool { return slices.Contains(notRequired[name], field) })
	d.parsed[name] = s
	return s, nil
}

// closure adds a definition to found, and all to which it refers.
func (d *definitions) closure(found map[string]*spec.Schema, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	todo := []string{name}
	for len(todo) > 0 {
		name, todo = todo[0], todo[1:]
		if _, ok := found[name]; ok {
			continue
		}
		s, err := d.parse(name)
		if err != nil {
			return err
		}
		found[name] = s
		todo = appendRefs(todo, s)
	}
	return nil
}

// appendRefs appends the names of the definitions to which s refers.
func appendRefs(names []string, s *spec.Schema) []string {
	if name := refOf(s); name != "" {
		return append(names, name)
	}
	for _, property := range s.Properties {
		names = appendRefs(names, &property)
	}
	if s.Items != nil && s.Items.Schema != nil {
		names = appendRefs(names, s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		names = appendRefs(names, s.AdditionalProperties.Schema)
	}
	return names
}

// refOf returns the name of the definition to which s refers, or "". A reference is the only item of allOf if it has a description
// or a default of its own.
func refOf(s *spec.Schema) string {
	if s.Ref.String() != "" {
		return strings.TrimPrefix(s.Ref.String(), refPrefix)
	}
	if len(s.AllOf) == 1 {
		return refOf(&s.AllOf[0])
	}
	return ""
}

// resolved returns a definition without references.
func (d *definitions) resolved(name string) (*validation.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.resolve(name)
}

// anything is the schema of a value about which nothing is known.
func anything() *validation.Schema {
	return &validation.Schema{
		Structural: &apischema.Structural{Extensions: apischema.Extensions{XPreserveUnknownFields: true}},
		OpenAPI:    &spec.Schema{},
	}
}

// resolve returns a definition without references. A definition that refers to itself would have no end: there, anything is valid.
// d.mu must be locked.
func (d *definitions) resolve(name string) (*validation.Schema, error) {
	if s, ok := d.without[name]; ok {
		return s, nil
	}
	d.without[name] = anything() // as long as it is being resolved
	s, err := d.parse(name)
	if err == nil {
		d.without[name], err = d.expand(s)
	}
	if err != nil {
		delete(d.without, name)
		return nil, err
	}
	return d.without[name], nil
}

// expand converts a schema. The schemas of definitions are shared and not copied, so that its size is that of the definitions, and not
// that of the tree which they describe.
func (d *definitions) expand(s *spec.Schema) (*validation.Schema, error) {
	if name := refOf(s); name != "" {
		of, err := d.resolve(name)
		if err != nil || s.Default == nil {
			return of, err
		}
		structural := *of.Structural
		structural.Default.Object = s.Default
		return &validation.Schema{Structural: &structural, OpenAPI: of.OpenAPI}, nil
	}
	switch {
	case s.Format == "int-or-string", isSet(s, "x-kubernetes-int-or-string"):
		both := anything()
		both.OpenAPI.Type = spec.StringOrArray{"integer", "string"}
		return both, nil
	case len(s.OneOf) > 0 && len(s.Type) == 0: // only a quantity
		both := anything()
		both.OpenAPI.Type, both.OpenAPI.Format = spec.StringOrArray{"number", "string"}, validation.FormatQuantity
		return both, nil
	case len(s.Type) == 0, s.Type.Contains("object") && s.Properties == nil && s.AdditionalProperties == nil:
		return anything(), nil
	}
	out := &validation.Schema{
		Structural: &apischema.Structural{
			Generic:    apischema.Generic{Type: s.Type[0], Nullable: s.Nullable},
			Extensions: apischema.Extensions{XPreserveUnknownFields: isSet(s, "x-kubernetes-preserve-unknown-fields"), XEmbeddedResource: isSet(s, "x-kubernetes-embedded-resource")},
		},
		OpenAPI: &spec.Schema{SchemaProps: spec.SchemaProps{
			Type: s.Type, Format: s.Format, Enum: s.Enum, Required: s.Required, Minimum: s.Minimum, Maximum: s.Maximum,
			MinLength: s.MinLength, MaxLength: s.MaxLength, MinItems: s.MinItems, MaxItems: s.MaxItems, Pattern: s.Pattern, Nullable: s.Nullable,
		}},
	}
	out.Structural.Default.Object = s.Default
	if s.Format == "date-time" { // the API server writes null for the zero time, also into required fields
		out.Structural.Nullable, out.OpenAPI.Nullable = true, true
	}
	if s.Format == "int32" && s.Maximum == nil && s.Minimum == nil {
		least, most := float64(math.MinInt32), float64(math.MaxInt32)
		out.OpenAPI.Minimum, out.OpenAPI.Maximum = &least, &most
	}
	return out, d.expandBelow(s, out)
}

// isSet reports whether a schema has an extension that is true. Those of Kubernetes have none, but custom resources may.
func isSet(s *spec.Schema, extension string) bool {
	set, _ := s.Extensions.GetBool(extension)
	return set
}

// expandBelow converts the fields and items of s for out.
func (d *definitions) expandBelow(s *spec.Schema, out *validation.Schema) error {
	if len(s.Properties) > 0 {
		out.Structural.Properties = make(map[string]apischema.Structural, len(s.Properties))
		out.OpenAPI.Properties = make(map[string]spec.Schema, len(s.Properties))
	}
	for name, property := range s.Properties {
		of, err := d.expand(&property)
		if err != nil {
			return err
		}
		out.Structural.Properties[name], out.OpenAPI.Properties[name] = *of.Structural, *of.OpenAPI
	}
	if s.Items != nil && s.Items.Schema != nil {
		of, err := d.expand(s.Items.Schema)
		if err != nil {
			return err
		}
		items := *of.OpenAPI
		items.Nullable = true // the API server reads null as the zero value
		out.Structural.Items, out.OpenAPI.Items = of.Structural, &spec.SchemaOrArray{Schema: &items}
	}
	if s.AdditionalProperties == nil {
		return nil
	}
	of := anything()
	if s.AdditionalProperties.Schema != nil {
		var err error
		if of, err = d.expand(s.AdditionalProperties.Schema); err != nil {
			return err
		}
	}
	out.Structural.AdditionalProperties = &apischema.StructuralOrBool{Structural: of.Structural, Bool: true}
	out.OpenAPI.AdditionalProperties = &spec.SchemaOrBool{Schema: of.OpenAPI, Allows: true}
	return nil
}
