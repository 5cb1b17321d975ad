package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"metascript/manifests"
)

//go:embed examples.yaml
var exampleText string

// elsewhere are the fields whose own fields are not in the table of their parent, with the heading of the table that has them; "" if
// Kubernetes documents them, or they have no effect.
var elsewhere = map[string]string{
	"spec.script":                                        "script",
	"spec.shadow.script":                                 "script",
	"spec.hooks":                                         "hooks",
	"spec.hooks.sync":                                    "a-hook",
	"spec.hooks.finalize":                                "a-hook",
	"spec.hooks.customize":                               "a-hook",
	"spec.hooks.preUpdateChild":                          "",
	"spec.hooks.postUpdateChild":                         "",
	"spec.hooks.sync.script":                             "the-script-of-a-hook",
	"spec.hooks.sync.webhook":                            "a-webhook",
	"spec.endpointConfigs":                               "endpointconfigs",
	"spec.endpointConfigs.authorization":                 "a-webhook",
	"spec.endpointConfigs.basicAuth":                     "a-webhook",
	"spec.endpointConfigs.caBundle":                      "a-webhook",
	"spec.endpointConfigs.clientTLS":                     "a-webhook",
	"spec.parentResource.labelSelector":                  "",
	"spec.resources.labelSelector":                       "",
	"spec.resources.annotationSelector.matchExpressions": "",
	"status.conditions":                                  "conditions",
}

// A schemas has the schemas of the kinds, and an example for each field.
type schemas struct {
	kinds    map[string]apiextensionsv1.JSONSchemaProps
	examples []map[string]any
}

func readSchemas() (*schemas, error) {
	crds, err := manifests.CRDs()
	if err != nil {
		return nil, err
	}
	all := &schemas{kinds: map[string]apiextensionsv1.JSONSchemaProps{}}
	for _, crd := range crds {
		all.kinds[crd.Spec.Names.Kind] = *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	}
	for text := range strings.SplitSeq(exampleText, "\n---\n") {
		var data map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &data); err != nil {
			return nil, fmt.Errorf("examples.yaml: %w", err)
		}
		all.examples = append(all.examples, data)
	}
	return all, nil
}

// fields returns the table of the fields below a path, except those that are also below the path except; "" excepts none.
func (s *schemas) fields(kind, path, except string) (string, error) {
	at, err := s.at(kind, path)
	if err != nil {
		return "", err
	}
	if except != "" {
		others, err := s.at(kind, except)
		if err != nil {
			return "", err
		}
		own := maps.Clone(at.Properties)
		maps.DeleteFunc(own, func(name string, _ apiextensionsv1.JSONSchemaProps) bool {
			_, known := others.Properties[name]
			return known
		})
		at.Properties = own
	}
	return "| field | type | default | meaning | example |\n|---|---|---|---|---|\n" + s.rows(kind, path, "", at), nil
}

// at returns the schema at a path; of a list, the schema of its items.
func (s *schemas) at(kind, path string) (apiextensionsv1.JSONSchemaProps, error) {
	at, found := s.kinds[kind]
	for name := range strings.SplitSeq(path, ".") {
		if found {
			at, found = at.Properties[name]
			at = item(at)
		}
	}
	if !found {
		return at, fmt.Errorf("there is no field %s of %s", path, kind)
	}
	return at, nil
}

// rows returns the rows of the fields of a schema. prefix is the path of the schema in the table.
func (s *schemas) rows(kind, path, prefix string, of apiextensionsv1.JSONSchemaProps) string {
	var rows strings.Builder
	for _, name := range slices.Sorted(maps.Keys(of.Properties)) {
		field, full := of.Properties[name], path+"."+name
		heading, other := elsewhere[full]
		inner := item(field).Properties != nil && !other
		meaning, standard, example := describe(name, field), defaultOf(field), ""
		if slices.Contains(of.Required, name) {
			standard = "required"
		}
		if heading != "" {
			meaning += fmt.Sprintf(" See [below](#%s).", heading)
		} else if !inner {
			example = s.example(kind, full)
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %s | %s |\n", prefix+name, typeOf(field), standard, meaning, example)
		if inner {
			list := ""
			if field.Items != nil {
				list = "[]"
			}
			rows.WriteString(s.rows(kind, full, prefix+name+list+".", item(field)))
		}
	}
	return rows.String()
}

// item returns the schema of the items of a list, and of everything else the schema itself.
func item(of apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	if of.Items != nil {
		return *of.Items.Schema
	}
	return of
}

// defaultSentence matches the sentence about the default in a description; another sentence can also say what a field defaults to.
var (
	defaultSentence = regexp.MustCompile(`(?:^|\. )Defaults to (.+?)\.(?: |$)`)
	otherSentence   = regexp.MustCompile(`it defaults to (.+?)(?:, which .*)?\.(?: |$)`)
	// lists are the words between several defaults.
	lists = strings.NewReplacer(", to ", ", or ", " or to ", " or ", "and to ", "and ", "and there to ", "and there ")
)

// defaultOf returns the default of a field, from its description.
func defaultOf(field apiextensionsv1.JSONSchemaProps) string {
	text := strings.Join(strings.Fields(field.Description), " ")
	for _, sentence := range []*regexp.Regexp{defaultSentence, otherSentence} {
		if m := sentence.FindStringSubmatch(text); m != nil {
			return lists.Replace(m[1])
		}
	}
	return ""
}

// describe returns the description of a field without its name and without the sentence about the default.
func describe(name string, field apiextensionsv1.JSONSchemaProps) string {
	text := strings.Join(strings.Fields(field.Description), " ")
	if m := defaultSentence.FindString(text); m != "" {
		text = strings.TrimSpace(strings.Replace(text, strings.TrimPrefix(m, ". "), "", 1))
	}
	text = strings.TrimPrefix(text, name+" ")
	for _, verb := range []string{"is ", "are "} {
		for _, next := range []string{"the ", "a ", "an ", "how ", "where ", "more ", "connection "} {
			if strings.HasPrefix(text, verb+next) {
				text = strings.TrimPrefix(text, verb)
			}
		}
	}
	return strings.ReplaceAll(text, "|", `\|`)
}

// typeOf describes the type of a field.
func typeOf(field apiextensionsv1.JSONSchemaProps) string {
	switch {
	case field.Items != nil:
		return "list of " + plural(*field.Items.Schema)
	case field.AdditionalProperties != nil:
		return "map of " + plural(*field.AdditionalProperties.Schema)
	case field.XIntOrString && strings.Contains(field.Description, "percentage"):
		return "integer or percentage"
	case field.XIntOrString:
		return "quantity"
	case len(field.Enum) > 0:
		var values []string
		for _, value := range field.Enum {
			values = append(values, "`"+strings.Trim(string(value.Raw), `"`)+"`")
		}
		return strings.Join(values, ", ")
	case strings.Contains(field.Description, "as a duration"):
		return "duration"
	case field.Format == "date-time":
		return "time"
	default:
		return field.Type
	}
}

func plural(of apiextensionsv1.JSONSchemaProps) string { return of.Type + "s" }

// example returns the first value of a field in the examples.
func (s *schemas) example(kind, path string) string {
	for _, data := range s.examples {
		if data["kind"] != kind {
			continue
		}
		if value := valueAt(data, strings.Split(path, ".")); value != nil {
			return "`" + strings.ReplaceAll(inline(value), "|", `\|`) + "`"
		}
	}
	return ""
}

// inline returns a value as YAML in one line.
func inline(value any) string {
	if text, ok := value.(string); ok {
		var plain any
		if err := yaml.Unmarshal([]byte(text), &plain); err == nil && plain == value {
			return text
		}
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // it was decoded from YAML
	}
	return strings.TrimSpace(text.String())
}

// valueAt returns the first value at a path; lists are searched.
func valueAt(data any, path []string) any {
	if list, ok := data.([]any); ok && len(path) > 0 {
		for _, one := range list {
			if value := valueAt(one, path); value != nil {
				return value
			}
		}
		return nil
	}
	if len(path) == 0 {
		return data
	}
	m, _ := data.(map[string]any)
	return valueAt(m[path[0]], path[1:])
}
