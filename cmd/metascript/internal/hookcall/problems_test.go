package hookcall

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/place"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/schemas"
	"metascript/engine"
)

const site = `
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Site, plural: sites}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec: {type: object, required: [size], properties: {size: {type: integer}}}
          status:
            type: object
            required: [observedGeneration, phase]
            properties:
              observedGeneration: {type: integer}
              phase: {type: string, enum: [Ready, Pending]}
              conditions: {type: array, items: {type: object, required: [type, lastTransitionTime], properties: {type: {type: string}, lastTransitionTime: {type: string, format: date-time}}}}
`

// answering returns a call of a script that returns an answer, which is JSON.
func answering(t *testing.T, answer, parent, children string) *Call {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict([]byte(site), &crd); err != nil {
		t.Fatal(err)
	}
	known, err := schemas.Kubernetes().With(&crd)
	if err != nil {
		t.Fatal(err)
	}
	read := func(file, text string) []manifest.Document {
		docs, err := manifest.Parse(file, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return docs
	}
	controller := read("c.yaml", `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: c}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: sites}
  childResources: [{apiVersion: v1, resource: pods}, {apiVersion: v1, resource: secrets}, {apiVersion: apps/v1, resource: deployments}]
  script: {language: JavaScript, inline: "exports.sync = () => (`+strings.ReplaceAll(strings.ReplaceAll(answer, "\n", " "), `"`, `\"`)+`)"}
`)
	return &Call{Controller: controller[0], Parent: read("parent.yaml", parent)[0], Children: read("children.yaml", children), Schemas: known}
}

// atCarets returns texts in one line each: the word at the caret, the first line without the position, and the hint.
func atCarets(texts []string) []string {
	var all []string
	for _, text := range texts {
		lines := strings.Split(text, "\n")
		_, what, _ := strings.Cut(lines[0], ": in sync: ")
		if len(lines) < 3 {
			all = append(all, "no line: "+lines[0])
			continue
		}
		source := []rune(lines[1])[len([]rune(lines[2]))-1:]
		word := regexp.MustCompile(`^\w+|^"[^"]*"|^.`).FindString(string(source))
		line := word + " | " + what
		if len(lines) > 3 {
			line += ", " + strings.TrimSpace(strings.TrimPrefix(lines[3], "  hint:"))
		}
		all = append(all, line)
	}
	return all
}

func TestProblems(t *testing.T) {
	const (
		parent  = "{apiVersion: example.com/v1, kind: Site, metadata: {name: s}, spec: {size: 1}}"
		running = "{apiVersion: v1, kind: Pod, metadata: {name: a}}"
		pod     = `{apiVersion: "v1", kind: "Pod", metadata: {name: "a"}, spec: {containers: [{name: "c", image: "i"}]}}`
	)
	for _, c := range []struct {
		name, answer, parent, children string
		input, output                  []string
	}{
		{"a valid answer", `{children: [` + pod + `], status: {phase: "Ready", conditions: [{type: "A"}]}}`, parent, "", nil, nil},
		{"input of which a part is given", `{children: []}`, "{apiVersion: example.com/v1, kind: Site, metadata: {name: s}}",
			"{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {containerStatuses: [{name: c}]}}", nil, nil},
		{"input that is not valid", `{children: []}`, "{apiVersion: example.com/v1, kind: Site, metadata: {name: s}, spec: {size: x, sise: 1}}",
			"{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phse: Running, phase: Runing}}", []string{
				`parent.yaml:1:79: Site s: spec.sise: unknown field; did you mean "size"?`,
				`parent.yaml:1:76: Site s: spec.size: want an integer, got the string "x"`,
				`children.yaml:1:81: Pod a: status.phase: "Runing" is not one of Failed, Pending, Running, Succeeded, Unknown; did you mean "Running"?`,
				`children.yaml:1:59: Pod a: status.phse: unknown field; did you mean "phase"?`,
			}, nil},
		{"the order is that of the answer", `{children: [` + strings.Replace(pod, "containers", "container", 1) + `, {apiVersion: "apps/v1", kind: "Deployment", metadata: {name: "d"}, spec: 1}, ` + strings.Replace(pod, `"a"`, `"b"`, 1) + `]}`, parent, "", nil, []string{
			`container | children[0].spec.container (Pod "a"): unknown field, did you mean "containers"?`,
			`1 | children[1].spec (Deployment "d"): want an object, got 1`,
		}},
		{"a new child must be complete", `{children: [{apiVersion: "v1", kind: "Pod", metadata: {name: "a"}, spec: {}}]}`, parent, "", nil, []string{`{ | children[0].spec.containers (Pod "a"): missing, but required`}},
		{"one that exists is merged", `{children: [{apiVersion: "v1", kind: "Pod", metadata: {name: "a"}, spec: {}}]}`, parent, running, nil, nil},
		{"but has no unknown fields", `{children: [{apiVersion: "v1", kind: "Pod", metadata: {name: "a"}, spec: {hostName: "x"}}]}`, parent, running, nil, []string{`hostName | children[0].spec.hostName (Pod "a"): unknown field, did you mean "hostname"?`}},
		{"status", `{children: [], status: {phse: "Ready", conditions: [{status: 1}]}}`, parent, "", nil, []string{
			`status | status.conditions[0].status (Site "s"): unknown field`,
			`{ | status.conditions[0].type (Site "s"): missing, but required`,
			`phse | status.phse (Site "s"): unknown field, did you mean "phase"?`,
		}},
		{"values of Secrets are not shown", `{children: [{apiVersion: "v1", kind: "Secret", metadata: {name: "a"}, data: {a: "hunter2!"}}, {apiVersion: "v1", kind: "Pod", metadata: {name: "p"}, spec: {containers: [{name: "c", image: "i"}], activeDeadlineSeconds: "correct horse"}}]}`, parent,
			"{apiVersion: v1, kind: Secret, metadata: {name: b}, stringData: {b: correct horse}}", nil, []string{
				`"********" | children[0].data.a (Secret "a"): want base64`,
				`"*************" | children[1].spec.activeDeadlineSeconds (Pod "p"): want an integer, got the string "[redacted]"`,
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			call := answering(t, c.answer, c.parent, c.children)
			got, err := call.InputProblems()
			if err != nil {
				t.Fatal(err)
			}
			texts := place.Texts(got)
			for i, text := range texts {
				texts[i], _, _ = strings.Cut(text, "\n") // without the line of the file
			}
			if diff := cmp.Diff(strings.Join(c.input, "\n"), strings.Join(texts, "\n")); diff != "" {
				t.Errorf("input (-want +got):\n%s", diff)
			}
			answer, err := call.Do(t.Context(), sandbox.InProcess(v1alpha1.IsolationInProcess, engine.Limits{}), &strings.Builder{})
			if err != nil {
				t.Fatal(err)
			}
			if got, err = call.AnswerProblems(answer); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Join(c.output, "\n"), strings.Join(atCarets(place.Texts(got)), "\n")); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}
