package main

import (
	"os"
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
	metascript(t, "test", ".").expect(t, 1, []string{"cases/a.yaml: it has neither answer nor error; --update writes", expected, "1 case: 1 not as expected\n"}, []string{"error: "})
	for range 2 {
		metascript(t, "test", "--update", ".").expect(t, 0, []string{"1 case: "}, nil)
		if diff := cmp.Diff(input+expected, readText(t, "cases/a.yaml")); diff != "" {
			t.Errorf("the case (-want +got):\n%s", diff)
		}
	}
	metascript(t, "test", ".").expect(t, 0, []string{"1 case: all as expected\n"}, nil)
	writeCase(t, input+"error: no such thing\n")
	metascript(t, "test", "-update", ".").expect(t, 0, []string{"cases/a.yaml: updated\n1 case: 1 updated\n"}, nil)
	if diff := cmp.Diff(input+expected, readText(t, "cases/a.yaml")); diff != "" {
		t.Errorf("the case (-want +got):\n%s", diff)
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
		{"an error", "now: noon\n" + expected, []string{"want an answer, got:\nerror: 'now is \"noon\""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			writeCase(t, c.text)
			metascript(t, "test", ".").expect(t, 1, append(c.want, "1 case: 1 not as expected\n"), []string{"error: not every answer"})
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
		{"an unknown field", "parnet: {}\nanswer: {}\n", `cases/a.yaml: unknown field "parnet"`},
		{"input below the answer", "answer: {}\nnow: x\n", `cases/a.yaml: in the expected part, which comes last: unknown field "now"`},
		{"both", "answer: {}\nerror: x\n", "cases/a.yaml: there is an answer and an error"},
		{"two documents", "answer: {}\n---\nanswer: {}\n", "cases/a.yaml: a case is one document"},
		{"another controller", "controller: d\nanswer: {}\n", `cases/a.yaml: controller is "d", want one of those in controller.yaml: c`},
		{"a child that is none", "children: [{kind: Pod}]\nanswer: {}\n", "cases/a.yaml: children[0]: apiVersion or kind is missing"},
		{"two parents", "parent: {apiVersion: v1, kind: A, metadata: {name: a}}\nobject: {apiVersion: v1, kind: A, metadata: {name: a}}\n", "cases/a.yaml: there are 2 parents, want one"},
		{"garbage", "{", "cases/a.yaml: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			inCaseFolder(t, c.text)
			metascript(t, "test", ".").expect(t, 1, nil, []string{"error: " + c.want})
		})
	}
}

func TestTestOfFoldersWithoutCases(t *testing.T) {
	inFolder(t, caseController)
	metascript(t, "test", ".").expect(t, 1, nil, []string{"error: .: it has no directory cases"})
	if err := os.Mkdir("cases", 0o700); err != nil {
		t.Fatal(err)
	}
	metascript(t, "test", ".").expect(t, 1, nil, []string{"error: cases: there are no cases"})
	metascript(t, "test", "nosuch").expect(t, 1, nil, []string{"error: nosuch: "})
}
