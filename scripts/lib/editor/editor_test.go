package editor

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/scripts/lib"
)

func text(t *testing.T, name string) string {
	t.Helper()
	found, ok := Files(false)[name]
	if !ok {
		t.Fatalf("there is no file %s", name)
	}
	return found
}

// wanted returns the signatures of the library's functions: merge(target, patch), json.encode(value, indent?).
func wanted() []string {
	var all []string
	for _, f := range lib.Functions() {
		var params []string
		for _, p := range f.Params {
			if p.Optional {
				p.Name += "?"
			}
			params = append(params, p.Name)
		}
		all = append(all, f.Name+"("+strings.Join(params, ", ")+")")
	}
	slices.Sort(all)
	return all
}

func TestTypesHaveAllFunctions(t *testing.T) {
	var got []string
	group := ""
	opens, param := regexp.MustCompile(`^export namespace (\w+)`), regexp.MustCompile(`(\w+\??): [^:]*?(, |$)`)
	function := regexp.MustCompile(`^(?:  |export )function (\w+)(?:<.*>)?\((.*)\): `)
	for line := range strings.Lines(text(t, "metascript.d.ts")) {
		if m := opens.FindStringSubmatch(line); m != nil {
			group = m[1] + "."
		}
		if strings.HasPrefix(line, "}") {
			group = ""
		}
		if m := function.FindStringSubmatch(line); m != nil {
			params := strings.ReplaceAll(m[2], "{[key: string]: string}", "object")
			params = param.ReplaceAllString(params, "$1$2")
			got = append(got, group+m[1]+"("+params+")")
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(wanted(), got); diff != "" {
		t.Errorf("metascript.d.ts (-library +types):\n%s", diff)
	}
}

func TestStubsHaveAllFunctions(t *testing.T) {
	var got []string
	function := regexp.MustCompile(`(?m)^def (\w+)\((.*)\)( -> \w+)?:\n    ("""|''').+("""|''')$`)
	optional, typed := regexp.MustCompile(`(\w+): \w+ = None`), regexp.MustCompile(`: \w+`)
	for name, stubs := range Files(false) {
		if filepath.Ext(name) != ".py" {
			continue
		}
		group := strings.TrimSuffix(filepath.Base(name), ".py") + "."
		if group == "__init__." {
			group = ""
		}
		for _, m := range function.FindAllStringSubmatch(stubs, -1) {
			params := typed.ReplaceAllString(optional.ReplaceAllString(m[2], "$1?"), "")
			got = append(got, group+m[1]+"("+params+")")
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(wanted(), got); diff != "" {
		t.Errorf("metascript-stubs (-library +stubs):\n%s", diff)
	}
}

// The types and the schema have the same fields.
func TestTypesAndSchemaAgree(t *testing.T) {
	var schema struct {
		Defs map[string]struct {
			Properties map[string]any
			Required   []string
		} `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(text(t, "metascript.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	fields := regexp.MustCompile(`(?m)^  (\w+)\??: `)
	for _, name := range []string{
		"SyncRequest", "SyncResponse", "DecoratorSyncRequest", "DecoratorSyncResponse", "CustomizeRequest", "CustomizeResponse",
		"RelatedRule", "LabelSelector", "Condition", "Event",
	} {
		_, after, found := strings.Cut(text(t, "metascript.d.ts"), "export interface "+name+" {\n")
		body, _, _ := strings.Cut(after, "\n}")
		var typed []string
		for _, m := range fields.FindAllStringSubmatch(body, -1) {
			typed = append(typed, m[1])
		}
		slices.Sort(typed)
		if diff := cmp.Diff(typed, slices.Sorted(maps.Keys(schema.Defs[name].Properties))); diff != "" || !found {
			t.Errorf("%s (-types +schema):\n%s", name, diff)
		}
	}
}

// keywords are the keywords of JSON Schema that the schema uses.
var keywords = []string{"description", "type", "properties", "required", "additionalProperties", "items", "enum", "minimum", "$ref"}

func TestSchemaIsValid(t *testing.T) {
	var doc struct {
		Defs map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(text(t, "metascript.schema.json")), &doc); err != nil {
		t.Fatal(err)
	}
	for name, def := range doc.Defs {
		checkSchema(t, name, def, doc.Defs)
	}
}

func checkSchema(t *testing.T, at string, v any, defs map[string]any) {
	s, ok := v.(map[string]any)
	if !ok {
		if _, boolean := v.(bool); !boolean {
			t.Errorf("%s is not a schema: %v", at, v)
		}
		return
	}
	properties, _ := s["properties"].(map[string]any)
	for keyword, v := range s {
		if !slices.Contains(keywords, keyword) {
			t.Errorf("%s: there is no %s", at, keyword)
		}
		switch keyword {
		case "$ref":
			if name, ok := strings.CutPrefix(v.(string), "#/$defs/"); !ok || defs[name] == nil {
				t.Errorf("%s: there is no %v", at, v)
			}
		case "required":
			for _, name := range v.([]any) {
				if properties[name.(string)] == nil {
					t.Errorf("%s: %v is required, and no property", at, name)
				}
			}
		case "items", "additionalProperties":
			checkSchema(t, at+"."+keyword, v, defs)
		}
	}
	for name, v := range properties {
		checkSchema(t, at+"."+name, v, defs)
	}
}
