package docs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing/fstest"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"metascript/controller/api/validation"
	"metascript/controller/build"
	"metascript/controller/object"
	"metascript/controller/offline"
	"metascript/controller/schemas"
	"metascript/engine"
	"metascript/manifests"
	"metascript/runtimes"
	"metascript/scripts"
)

// A Validator validates blocks that are not commands.
type Validator struct {
	sandbox     build.Sandbox
	controllers map[string]*validation.Validator // by kind
	parts       []part
}

// A part is a place in a controller object that a block can show without the rest.
type part struct {
	kind      string
	path      []string
	known     map[string]apiextensionsv1.JSONSchemaProps
	validator *validation.Validator // of the kind, without required fields and without rules
}

// partPaths are the paths of parts, in the order in which they are tried.
var partPaths = [][]string{{}, {"spec"}, {"spec", "hooks"}, {"spec", "script"}, {"spec", "hooks", "sync"}}

// caseFields are the fields of a test case.
var caseFields = []string{"controller", "parent", "object", "children", "attachments", "related", "finalizing", "now", "answer", "contains", "error"}

// NewValidator returns a Validator.
func NewValidator() (*Validator, error) {
	crds, err := manifests.CRDs()
	if err != nil {
		return nil, err
	}
	v := &Validator{
		sandbox:     build.Sandbox{InProcess: engine.New(engine.Options{Runtimes: runtimes.All()})},
		controllers: map[string]*validation.Validator{},
	}
	for _, crd := range crds {
		kind := crd.Spec.Names.Kind
		if v.controllers[kind], err = validation.New(crd); err != nil {
			return nil, err
		}
		schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		if kind == "ControllerRevision" {
			continue
		}
		relax(schema)
		relaxed, err := validation.New(crd)
		if err != nil {
			return nil, err
		}
		for _, path := range partPaths {
			at := *schema
			for _, name := range path {
				at = at.Properties[name]
			}
			v.parts = append(v.parts, part{kind, path, at.Properties, relaxed})
		}
	}
	return v, nil
}

// relax removes required fields and rules from a schema.
func relax(s *apiextensionsv1.JSONSchemaProps) {
	s.Required, s.XValidations = nil, nil
	for name, property := range s.Properties {
		relax(&property)
		s.Properties[name] = property
	}
	if s.Items != nil {
		relax(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		relax(s.AdditionalProperties.Schema)
	}
}

// Validate returns what is wrong with a block that is not a command.
func (v *Validator) Validate(ctx context.Context, b *Block) error {
	err := v.validate(ctx, b)
	if err != nil {
		return fmt.Errorf("%s: %w", b, err)
	}
	return nil
}

func (v *Validator) validate(ctx context.Context, b *Block) error {
	switch b.Language {
	case "sh", "text":
		return nil // they are run
	case "yaml":
		return v.yaml(ctx, b.Text)
	case "python":
		return compile(ctx, engine.Starlark, "sync.star", b.Text)
	case "js":
		return compile(ctx, engine.JavaScript, "sync.js", b.Text)
	case "ts":
		return compile(ctx, engine.TypeScript, "sync.ts", b.Text)
	case "jsonnet":
		return compile(ctx, engine.Jsonnet, "sync.jsonnet", b.Text)
	case "jsonc": // JSON with the comments of JavaScript is an expression of JavaScript
		return compile(ctx, engine.JavaScript, "sync.js", "exports.sync = () => (\n"+b.Text+"\n)")
	case "json":
		var value any
		return json.Unmarshal([]byte(b.Text), &value)
	default:
		return fmt.Errorf("the language %q is none of those in test/docs/doc.go", b.Language)
	}
}

// compile compiles a script.
func compile(ctx context.Context, language, entry, text string) error {
	s := engine.Script{Language: language, Entry: entry, Files: fstest.MapFS{entry: {Data: []byte(text)}}}
	_, err := runtimes.All()[language].Compile(ctx, s, engine.Limits{})
	return err
}

// yaml validates all documents of a text.
func (v *Validator) yaml(ctx context.Context, text string) error {
	reader := utilyaml.NewDocumentDecoder(io.NopCloser(strings.NewReader(text)))
	document := make([]byte, len(text)+1)
	for {
		n, err := reader.Read(document)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var data map[string]any
		if err == nil {
			err = yaml.UnmarshalStrict(document[:n], &data)
		}
		if err == nil {
			err = v.document(ctx, data, document[:n])
		}
		if err != nil {
			return err
		}
	}
}

// document validates a document: an object, a test case, or a part of a controller object.
func (v *Validator) document(ctx context.Context, data map[string]any, text []byte) error {
	o := object.New(data)
	group := o.GroupVersionKind().Group
	switch {
	case o.GetAPIVersion() == "" || o.GetKind() == "":
		return v.part(data)
	case group == "metacontroller.k8s.io":
		return v.controller(ctx, o)
	case scheme.Scheme.Recognizes(o.GroupVersionKind()) || group == apiextensionsv1.GroupName:
		_, _, err := decoder().Decode(text, nil, nil)
		return err
	case o.GetName() == "" && group != "kustomize.config.k8s.io":
		return fmt.Errorf("the %s has no name", o.GetKind())
	default:
		return nil
	}
}

// controller validates a controller object, and compiles its scripts if they are in it.
func (v *Validator) controller(ctx context.Context, o *object.Object) error {
	validator := v.controllers[o.GetKind()]
	if validator == nil {
		return fmt.Errorf("there is no kind %s", o.GetKind())
	}
	if errs := validator.Validate(o.Map()); errs != nil {
		return errs.ToAggregate()
	}
	if inline, _, _ := unstructured.NestedString(o.Map(), "spec", "script", "inline"); inline == "" {
		return nil
	}
	_, warnings, err := offline.Check(ctx, o, v.sandbox, scripts.Sources{})
	if err == nil && len(warnings) > 0 {
		err = errors.New(strings.Join(warnings, "; "))
	}
	return errors.Join(append(offline.CheckScripts(ctx, o, v.sandbox, scripts.Sources{}, schemas.Kubernetes()), err)...)
}

// part validates what has neither apiVersion nor kind: as the first part of a controller object that has all its keys.
func (v *Validator) part(data map[string]any) error {
	switch {
	case subset(data, caseFields):
		return nil
	case data["rules"] != nil && len(data) == 1: // of a Role or ClusterRole
		text, err := yaml.Marshal(data)
		if err != nil {
			return err
		}
		return yaml.UnmarshalStrict(text, &rbacv1.Role{})
	}
	for _, p := range v.parts {
		if !subset(data, slices.Collect(maps.Keys(p.known))) {
			continue
		}
		whole := data
		for _, name := range slices.Backward(p.path) {
			whole = map[string]any{name: whole}
		}
		whole["apiVersion"], whole["kind"], whole["metadata"] = "metacontroller.k8s.io/v1alpha1", p.kind, map[string]any{"name": "part"}
		return p.validator.Validate(whole).ToAggregate()
	}
	return fmt.Errorf("this is neither an object, nor a test case, nor a part of a controller object: %v", slices.Sorted(maps.Keys(data)))
}

// subset reports whether all keys are among names.
func subset(data map[string]any, names []string) bool {
	for key := range data {
		if !slices.Contains(names, key) {
			return false
		}
	}
	return true
}

// decoder returns a strict decoder for the kinds of Kubernetes.
func decoder() runtime.Decoder {
	all := runtime.NewScheme()
	_ = scheme.AddToScheme(all) // they fail only for kinds that are registered twice
	_ = apiextensionsv1.AddToScheme(all)
	return serializer.NewCodecFactory(all, serializer.EnableStrict).UniversalDeserializer()
}
