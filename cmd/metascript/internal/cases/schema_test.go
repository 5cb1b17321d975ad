package cases

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/schemas"
	"metascript/engine"
	"metascript/runtimes"
	"metascript/scripts/lib/editor"
)

// examples is the folder of the examples.
var examples = filepath.Join("..", "..", "..", "..", "examples")

// The requests and the answers of the scripts of the examples match the schema.
func TestExamplesMatchTheSchema(t *testing.T) {
	suites, err := ReadSuites([]string{examples})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	check := func(name string, value map[string]any) {
		seen[name]++
		if problems := schemaOf(t, name).Validate(value).Errors; len(problems) > 0 {
			t.Errorf("the value is not a %s: %v\n%v", name, problems, value)
		}
	}
	in := sandbox.InProcess(v1alpha1.IsolationInProcess, engine.Limits{})
	in.Process = engine.New(engine.Options{Runtimes: runtimes.All()}) // the test has no worker processes
	in.InProcess = engine.New(engine.Options{Runtimes: recording(check)})
	for _, s := range suites {
		for _, file := range s.files {
			c, err := readCase(file)
			if err != nil {
				t.Fatal(err)
			}
			call, err := c.call(s)
			if err != nil {
				t.Fatal(err)
			}
			call.Sources = manifest.ScriptSources([]string{s.dir}, s.objects)
			if call.Schemas, err = schemas.Kubernetes().With(s.definitions...); err != nil {
				t.Fatal(err)
			}
			if _, err := call.Do(t.Context(), in, io.Discard); (err != nil) != (c.want.Error != "") {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	for _, name := range []string{"SyncRequest", "SyncResponse", "DecoratorSyncRequest", "DecoratorSyncResponse", "CustomizeRequest", "CustomizeResponse"} {
		if seen[name] == 0 {
			t.Errorf("no example has a %s", name)
		}
	}
}

// What is invalid for the server is invalid for the schema too.
func TestSchemaRejects(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"SyncResponse", `{"childs": []}`},
		{"SyncResponse", `{"children": [{"kind": "Pod"}]}`},
		{"SyncResponse", `{"children": {}, "status": 1}`},
		{"SyncResponse", `{"events": [{"type": "Bad", "reason": "a", "message": "b"}]}`},
		{"SyncRequest", `{"parent": {}}`},
		{"DecoratorSyncResponse", `{"labels": {"a": 1}}`},
		{"CustomizeResponse", `{"relatedResources": [{"apiVersion": "v1", "resource": "pods", "nmaes": []}]}`},
	} {
		var value map[string]any
		if err := json.Unmarshal([]byte(c.text), &value); err != nil {
			t.Fatal(err)
		}
		if schemaOf(t, c.name).Validate(value).IsValid() {
			t.Errorf("%s is accepted as a %s", c.text, c.name)
		}
	}
}

var validators sync.Map // by name

// schemaOf returns a definition of the schema.
func schemaOf(t *testing.T, name string) *validate.SchemaValidator {
	t.Helper()
	if v, ok := validators.Load(name); ok {
		return v.(*validate.SchemaValidator)
	}
	var doc map[string]any
	if err := json.Unmarshal([]byte(editor.Files(false)["metascript.schema.json"]), &doc); err != nil {
		t.Fatal(err)
	}
	defs := doc["$defs"].(map[string]any)
	text, err := json.Marshal(expanded(defs[name], defs))
	if err != nil {
		t.Fatal(err)
	}
	var schema spec.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	v := validate.NewSchemaValidator(&schema, nil, "", strfmt.Default)
	validators.Store(name, v)
	return v
}

// expanded replaces references by the definitions.
func expanded(v any, defs map[string]any) any {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			return expanded(defs[strings.TrimPrefix(ref, "#/$defs/")], defs)
		}
		out := map[string]any{}
		for key, field := range v {
			out[key] = expanded(field, defs)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = expanded(v[i], defs)
		}
		return out
	}
	return v
}

// recording returns runtimes whose programs record their requests and answers.
func recording(show func(name string, value map[string]any)) map[string]engine.Runtime {
	all := runtimes.All()
	for name, r := range maps.Clone(all) {
		all[name] = recorder{r, show}
	}
	return all
}

type recorder struct {
	engine.Runtime
	show func(name string, value map[string]any)
}

func (r recorder) Compile(ctx context.Context, s engine.Script, l engine.Limits) (engine.Program, error) {
	p, err := r.Runtime.Compile(ctx, s, l)
	if err != nil {
		return nil, err
	}
	return recorded{p, r.show}, nil
}

type recorded struct {
	engine.Program
	show func(name string, value map[string]any)
}

func (p recorded) Ported() bool {
	ported, ok := p.Program.(engine.Ported)
	return ok && ported.Ported()
}

func (p recorded) Call(ctx context.Context, fn string, arg map[string]any, env engine.Env) (map[string]any, error) {
	name := "Sync"
	switch {
	case fn == "customize":
		name = "Customize"
	case arg["object"] != nil:
		name = "DecoratorSync"
	}
	p.show(name+"Request", arg)
	answer, err := p.Program.Call(ctx, fn, arg, env)
	if err == nil {
		p.show(name+"Response", answer)
	}
	return answer, err
}
