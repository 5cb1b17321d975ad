package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const caseController = controllerFile + parentFile

// input is a case without an expected part.
const input = `# What a Widget gets.
now: 2026-01-02T15:04:05Z # a comment that stays
children:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}}
`

const expected = `answer:
  children:
  - apiVersion: v1
    kind: ConfigMap
    metadata:
      labels:
        controller-uid: 00000000-0000-0000-0000-000000000000
      name: w-part
      namespace: default
  events:
  - message: so it was
    reason: Asked
    type: Normal
  resyncAfterSeconds: 1.5
  status:
    now: "2026-01-02T15:04:05Z"
    seen:
    - one
`

func inCaseFolder(t *testing.T, text string) {
	t.Helper()
	inFolder(t, caseController)
	if err := os.Mkdir("cases", 0o700); err != nil {
		t.Fatal(err)
	}
	writeCase(t, text)
}

func writeCase(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile("cases/a.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTestUpdatesTheExpectedPart(t *testing.T) {
	inCaseFolder(t, input)
	metascript(t, "test", ".").expect(t, 1, []string{"cases/a.yaml: it has no answer, contains or error; --update writes", expected, "1 case: not as expected\n"}, []string{"error: "})
	for range 2 {
		metascript(t, "test", "--update", ".").expect(t, 0, []string{"1 case: "}, nil)
		if diff := cmp.Diff(input+expected, readText(t, "cases/a.yaml")); diff != "" {
			t.Errorf("the case (-want +got):\n%s", diff)
		}
	}
	metascript(t, "test", ".").expect(t, 0, []string{"1 case: all as expected\n"}, nil)
	writeCase(t, input+"error: no such thing\n")
	metascript(t, "test", "-update", ".").expect(t, 0, []string{"cases/a.yaml: updated\n1 case: updated\n"}, nil)
	if diff := cmp.Diff(input+expected, readText(t, "cases/a.yaml")); diff != "" {
		t.Errorf("the case (-want +got):\n%s", diff)
	}
}

// An error is never written into a case: neither one of a script that does not load, nor one of a function, and a text that an author
// wrote stays.
func TestTestUpdateWritesNoError(t *testing.T) {
	for _, c := range []struct{ name, script, text, want string }{
		{"does not compile", "def sync(:", input + expected, "not updated: want an answer, got:\nerror: "},
		{"the function fails", "def sync(parent): fail(\"as asked\")", input + expected, "not updated: want an answer, got:\nerror: "},
		{"no expected part", "def sync(parent): fail(\"as asked\")", input, "not updated: it has no answer, contains or error; if this error is expected"},
		{"another error is expected", "def sync(parent): fail(\"as asked\")", input + "error: no such thing\n", `not updated: want an error with "no such thing", got:`},
		{"a file that does not exist", "", input + expected, "not updated: want an answer, got:\nerror: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			inCaseFolder(t, c.text)
			source := "{language: Starlark, inline: '" + c.script + "'}"
			if c.script == "" {
				source = "{file: nosuch.star}"
			}
			above, _, _ := strings.Cut(readText(t, "controller.yaml"), "  script:\n")
			if err := os.WriteFile("controller.yaml", []byte(above+"  script: "+source+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			metascript(t, "test", "--update", ".").expect(t, 1, []string{"cases/a.yaml: " + c.want, "1 case: not as expected\n"}, []string{"error: not every answer"})
			if got := readText(t, "cases/a.yaml"); got != c.text {
				t.Errorf("the case is now:\n%s", got)
			}
		})
	}
}

func TestTestPrintsADifference(t *testing.T) {
	short := "answer: {children: [], finalized: true} # as people write it\n"
	inCaseFolder(t, "finalizing: true\n"+short)
	metascript(t, "test", ".").expect(t, 0, []string{"all as expected"}, nil)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"in a value", input + strings.Replace(expected, "w-part", "w-whole", 1), []string{"cases/a.yaml: the answer differs\n--- expected\n+++ answer\n", "-      name: w-whole\n+      name: w-part\n"}},
		{"a field too much", "finalizing: true\nanswer: {children: [], finalized: true, status: {}}\n", []string{"-  status: {}\n"}},
		{"an error that does not come", input + "error: not this\n", []string{`want an error with "not this", got:` + "\nanswer:\n"}},
		{"an error", "related: [{apiVersion: v1, kind: Pod, metadata: {name: p}}]\n" + expected, []string{"want an answer, got:\nerror: CompositeController c has no customize hook"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			writeCase(t, c.text)
			metascript(t, "test", ".").expect(t, 1, append(c.want, "1 case: not as expected\n"), []string{"error: not every answer"})
			if got := readText(t, "cases/a.yaml"); got != c.text {
				t.Errorf("the case is now:\n%s", got)
			}
		})
	}
}

// The error of a script has its position, and the lines that the script printed are below it.
func TestTestOfAnErrorInAScript(t *testing.T) {
	parent := "parent: {apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {fail: true}}\n"
	inCaseFolder(t, parent+"error: 'sync.star:3:30: in sync: as asked'\n")
	text := strings.Replace(readText(t, "controller.yaml"), "          return {\n              \"status\"", "          if \"spec\" in parent: fail(\"as asked\")\n          return {\n              \"status\"", 1)
	if err := os.WriteFile("controller.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	metascript(t, "test", ".").expect(t, 0, []string{"all as expected"}, nil)
	writeCase(t, parent+"answer: {}\n")
	metascript(t, "test", ".").expect(t, 1, []string{"sync.star:3:30: in sync: as asked", "asked about w"}, []string{"error: "})
}

func TestTestOfInvalidCases(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"an unknown field", "parnet: {}\nanswer: {}\n", "cases/a.yaml:1:1: unknown field \"parnet\"\n    parnet: {}\n    ^\n  hint: did you mean \"parent\"?\n"},
		{"input below the answer", "answer: {}\nnow: x\n", "cases/a.yaml:2:1: now is below answer, which must be the last field"},
		{"both", "answer: {}\nerror: x\n", "cases/a.yaml:2:1: there are several of answer, contains and error"},
		{"two documents", "answer: {}\n---\nanswer: {}\n", "cases/a.yaml:3:1: a case is one document"},
		{"another controller", "controller: d\nanswer: {}\n", `cases/a.yaml:1:13: controller is "d", want one of those in controller.yaml: c`},
		{"a child that is none", "children: [{kind: Pod}]\nanswer: {}\n", "cases/a.yaml:1:12: children[0]: apiVersion is missing"},
		{"two parents", "parent: {apiVersion: v1, kind: A, metadata: {name: a}}\nobject: {apiVersion: v1, kind: A, metadata: {name: a}}\n", "cases/a.yaml:2:1: there are 2 parents, want one"},
		{"garbage", "{", "cases/a.yaml:1:1: the { is not closed"},
		{"a time that is none", "now: noon\nanswer: {}\n", `cases/a.yaml:1:6: now is "noon": want a time such as 2026-01-02T15:04:05Z`},
	} {
		t.Run(c.name, func(t *testing.T) {
			inCaseFolder(t, c.text)
			if err := os.WriteFile("cases/b.yaml", []byte("error: nothing\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			metascript(t, "test", ".").expect(t, 1, []string{c.want, "cases/b.yaml: want an error", "2 cases: 1 not as expected, 1 cannot be run\n"}, []string{"error: not every answer"})
		})
	}
}

func TestTestOfFoldersWithoutCases(t *testing.T) {
	inFolder(t, caseController)
	metascript(t, "test", ".").expect(t, 1, nil, []string{"error: . has no directory cases"})
	if err := os.Mkdir("cases", 0o700); err != nil {
		t.Fatal(err)
	}
	metascript(t, "test", ".").expect(t, 1, []string{"cases: there are no cases\n1 directory cannot be read\n"}, []string{"error: not every case can be run"})
	metascript(t, "test", "nosuch").expect(t, 1, nil, []string{"error: there is no directory nosuch"})
}

// A case with a part of the answer is not updated.
func TestTestOfAPartOfTheAnswer(t *testing.T) {
	inCaseFolder(t, input+"contains: {status: {seen: [one]}, children: [{kind: ConfigMap, metadata: {name: w-part}}]}\n")
	metascript(t, "test", ".").expect(t, 0, []string{"1 case: all as expected\n"}, nil)
	differing := input + "contains: {status: {seen: [two]}, finalized: null}\n"
	writeCase(t, differing)
	want := "the answer does not contain what is expected\nstatus.seen[0]: want \"two\", got \"one\"\n"
	metascript(t, "test", ".").expect(t, 1, []string{"cases/a.yaml: " + want}, []string{"error: "})
	metascript(t, "test", "--update", ".").expect(t, 1, []string{"cases/a.yaml: not updated: " + want}, []string{"error: "})
	if got := readText(t, "cases/a.yaml"); got != differing {
		t.Errorf("the case is now:\n%s", got)
	}
}

func TestTestRunsSelectedCases(t *testing.T) {
	inCaseFolder(t, input+expected)
	for name, text := range map[string]string{"fails.yaml": input + "error: x\n", "finalizing.yaml": "finalizing: true\nanswer: {children: [], finalized: true}\n"} {
		if err := os.WriteFile("cases/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := metascript(t, "test", "-run", "/(a|finalizing)$", "-v", ".")
	got.expect(t, 0, []string{"cases/a.yaml: ok (0.", "asked about w\ncases/finalizing.yaml: ok", "2 cases: all as expected\n"}, nil)
	metascript(t, "test", "--run", "nosuch", ".").expect(t, 1, nil, []string{"error: no case matches nosuch"})
	metascript(t, "test", "--run", "(", ".").expect(t, 1, nil, []string{`error: --run "(" is not a regular expression`})
}

// Programs read the results as JSON or YAML, and CI systems as JUnit's XML.
func TestTestForPrograms(t *testing.T) {
	inCaseFolder(t, input+expected)
	if err := os.WriteFile("cases/fails.yaml", []byte(input+"error: <x>\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"json", "yaml"} {
		got := metascript(t, "test", "-o", format, "--junit", "report.xml", ".")
		got.expect(t, 1, []string{"cases"}, []string{"error: not every answer"})
		results := parseYAML(t, got.stdout)
		cases := results["cases"].([]any)
		first, second := cases[0].(map[string]any), cases[1].(map[string]any)
		if results["run"] != 2.0 || results["failed"] != 1.0 || results["updated"] != 0.0 || first["case"] != "a" || first["result"] != "passed" ||
			first["file"] != "cases/a.yaml" || second["result"] != "failed" || !strings.HasPrefix(second["difference"].(string), "want an error with \"<x>\"") {
			t.Errorf("results: %v", results)
		}
	}
	var report struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suites   []struct {
			Tests int `xml:"tests,attr"`
			Cases []struct {
				Name    string `xml:"name,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
					Text    string `xml:",chardata"`
				} `xml:"failure"`
				Printed string `xml:"system-out"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(readText(t, "report.xml")), &report); err != nil {
		t.Fatal(err)
	}
	cases := report.Suites[0].Cases
	if report.Tests != 2 || report.Failures != 1 || report.Suites[0].Tests != 2 || cases[0].Name != "a" || cases[0].Failure != nil ||
		!strings.Contains(cases[0].Printed, "asked about w") || cases[1].Failure.Message != `want an error with "<x>", got:` || !strings.Contains(cases[1].Failure.Text, "answer:\n") {
		t.Errorf("the report is %+v", report)
	}
}

// A directory that cannot be read has one result, and so has each case of the others. Diagnostics have the places.
func TestTestForProgramsOfADirectoryThatCannotBeRead(t *testing.T) {
	const controller = "apiVersion: metacontroller.k8s.io/v1alpha1\nkind: DecoratorController\nmetadata: {name: c}\nspec:\n" +
		"  resources: [{apiVersion: v1, resource: namespaces}]\n  script: {language: Starlark, inline: \"def sync(object): return {'attachments': []}\"}\n"
	const parent = "object: {apiVersion: v1, kind: Namespace, metadata: {name: a}}\n"
	inFolder(t, "-- a/controller.yaml --\n"+strings.Replace(controller, "{name: c}", "{name: c", 1)+"-- a/cases/one.yaml --\n"+parent+
		"-- b/controller.yaml --\n"+controller+"-- b/cases/two.yaml --\n"+parent+"answer: {attachments: [], status: {}}\n-- b/cases/three.yaml --\n"+parent+"contains: {attachments: []}\n")
	got := metascript(t, "test", "-o", "json", "--junit", "report.xml", ".")
	got.expect(t, 1, []string{"cases"}, []string{"error: not every answer is the expected one"})
	var all []string
	for _, one := range parseYAML(t, got.stdout)["cases"].([]any) {
		one := one.(map[string]any)
		text := fmt.Sprint(one["suite"], " ", one["case"], " ", one["file"], " ", one["result"])
		if diagnostics, ok := one["diagnostics"].([]any); ok {
			d := diagnostics[0].(map[string]any)
			text += fmt.Sprint(": ", d["severity"], " ", d["file"], ":", d["line"], ":", d["column"], ": ", d["message"])
		}
		all = append(all, text)
	}
	want := []string{
		"a controller a/controller.yaml failed: error a/controller.yaml:3:11: the { is not closed",
		"b three b/cases/three.yaml passed",
		"b two b/cases/two.yaml failed: error b/cases/two.yaml:2:1: the answer differs",
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	report := readText(t, "report.xml")
	for _, text := range []string{`tests="3" failures="2"`, `<testcase name="controller" classname="a" file="a/controller.yaml"`, `<failure message="a/controller.yaml:3:11: the { is not closed">`, `<testcase name="three" classname="b"`} {
		if !strings.Contains(report, text) {
			t.Errorf("the report does not contain %s:\n%s", text, report)
		}
	}
	metascript(t, "test", "--run", "b/three", ".").expect(t, 0, []string{"1 case: all as expected\n"}, nil)
}

// What "run" warns of, "test" does too, also with --update. It fails no case.
func TestTestPrintsWarningsAboutAnswers(t *testing.T) {
	inCaseFolder(t, "now: 2026-01-02T15:04:05Z\n")
	controller := strings.Replace(readText(t, "controller.yaml"), `+ "-part"}`, `+ "-part", "labels": {"of": "svc-%s" % parent.get("nme")}}`, 1)
	if err := os.WriteFile("controller.yaml", []byte(controller), 0o600); err != nil {
		t.Fatal(err)
	}
	warning := `warning: cases/a.yaml: controller.yaml:17:146: sync.star:5:140: in sync: children[0] (ConfigMap "w-part"): metadata.labels.of is "svc-None", and "None" is neither in the request nor in the script: a value that is None was put into the text
    me": parent["metadata"]["name"] + "-part", "labels": {"of": "svc-%s" % parent.get("nme")}}}],
                                                                ^
  hint: is the field spelled correctly? test the value first, or use another one in its place
`
	metascript(t, "test", "--update", ".").expect(t, 0, []string{warning + "cases/a.yaml: updated\n1 case: updated\n"}, nil)
	metascript(t, "test", "--junit", "report.xml", ".").expect(t, 0, []string{warning + "1 case: all as expected\n"}, nil)
	if report := readText(t, "report.xml"); !strings.Contains(report, "<system-out>warning: cases/a.yaml: controller.yaml:17:146: sync.star:5:140: in sync: children[0]") || strings.Contains(report, "<failure") {
		t.Errorf("the report is:\n%s", report)
	}
	got := parseYAML(t, metascript(t, "test", "-o", "yaml", ".").stdout)["cases"].([]any)[0].(map[string]any)
	if texts, _ := got["warnings"].([]any); got["result"] != "passed" || len(texts) != 1 || "warning: "+texts[0].(string)+"\n" != warning {
		t.Errorf("the result is %v", got)
	}
}

// A kind without a definition is known if a child of any case has it.
func TestTestKnowsTheKindsOfAllCases(t *testing.T) {
	inFolder(t, strings.Replace(caseController, "{apiVersion: example.com/v1, resource: parts}", "{apiVersion: db.example.com/v1, resource: redis}", 1))
	if err := os.Mkdir("cases", 0o700); err != nil {
		t.Fatal(err)
	}
	parent := "parent: {apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}\n"
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join("cases", name), []byte(parent+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("none.yaml", "answer: {}\n")
	metascript(t, "test", ".").expect(t, 1, []string{`what kind is resource "redis" in`}, []string{"error: "})
	write("one.yaml", "children: [{apiVersion: db.example.com/v1, kind: Redis, metadata: {name: r}}]\nanswer: {}\n")
	got := metascript(t, "test", ".")
	if strings.Contains(got.stdout, "what kind") {
		t.Errorf("the kind is not known:\n%s", got.stdout)
	}
}
