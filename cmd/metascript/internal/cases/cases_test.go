package cases

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/cmd/metascript/internal/style"
)

func TestDifference(t *testing.T) {
	answer := func(n int64) map[string]any { return map[string]any{"status": map[string]any{"n": n}} }
	for _, c := range []struct {
		name      string
		want, got outcome
		text      string
	}{
		{"equal", outcome{Answer: answer(1)}, outcome{Answer: answer(1)}, ""},
		{"a part of the error", outcome{Error: "missing key"}, outcome{Error: "sync.star:1:2: missing key name"}, ""},
		{"nothing is expected", outcome{}, outcome{Answer: answer(1)}, "it has no answer, contains or error; --update writes the actual answer:\nanswer:\n  status:\n    \"n\": 1\n"},
		{"nothing is expected of an error", outcome{}, outcome{Error: "timed out"}, "it has no answer, contains or error; if this error is expected, write a part of it as error:\nerror: timed out\n"},
		{"another error", outcome{Error: "missing key"}, outcome{Error: "timed out"}, "want an error with \"missing key\", got:\nerror: timed out\n"},
		{"an answer, not an error", outcome{Error: "missing key"}, outcome{Answer: answer(1)}, "want an error with \"missing key\", got:\nanswer:\n  status:\n    \"n\": 1\n"},
		{"an error, not an answer", outcome{Answer: answer(1)}, outcome{Error: "timed out"}, "want an answer, got:\nerror: timed out\n"},
		{"contained", outcome{Contains: map[string]any{}}, outcome{Answer: answer(1)}, ""},
		{"not contained", outcome{Contains: answer(2)}, outcome{Answer: answer(1)}, "the answer does not contain what is expected\nstatus.n: want 2, got 1\n"},
		{"an error, and not contained", outcome{Contains: answer(2)}, outcome{Error: "timed out"}, "want an answer, got:\nerror: timed out\n"},
		{"another answer", outcome{Answer: answer(1)}, outcome{Answer: answer(2)},
			"the answer differs\n--- expected\n+++ answer\n@@ -1,3 +1,3 @@\n answer:\n   status:\n-    \"n\": 1\n+    \"n\": 2\n"},
	} {
		if diff := cmp.Diff(c.text, c.want.difference(c.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestSummary(t *testing.T) {
	for want, r := range map[string]Results{
		"1 case: all as expected":               {Run: 1},
		"2 cases: all as expected":              {Run: 2},
		"2 cases: 1 updated":                    {Run: 2, Updated: 1},
		"3 cases: 2 not as expected":            {Run: 3, Failed: 2},
		"0 cases: all as expected":              {},
		"3 cases: 1 not as expected, 1 updated": {Run: 3, Failed: 1, Updated: 1},
		"3 cases: 2 not valid":                  {Run: 3, Invalid: 2},
		"1 case: not as expected":               {Run: 1, Failed: 1},
		"1 case: cannot be run":                 {Run: 1, Failed: 1, unusable: 1},
		"3 cases: 1 cannot be run":              {Run: 3, Failed: 1, unusable: 1},
		"1 directory cannot be read":            {Run: 1, Failed: 1, unusable: 1, suites: 1},

		"2 cases: all as expected; 2 directories cannot be read": {Run: 4, Failed: 2, unusable: 2, suites: 2},

		"3 cases: 1 not as expected, 2 not valid": {Run: 3, Failed: 1, Invalid: 2},
	} {
		if got := r.Summary(style.Styler{}); got != want {
			t.Errorf("%+v: %s, want %s", r, got, want)
		}
	}
}

// Integers remain integers, also those that a float64 cannot represent.
func TestUpdateKeepsThePartAboveTheExpectedOne(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	const above = "# What it is about.\nnow: 2026-01-02T15:04:05Z # a comment"
	if err := os.WriteFile(file, []byte(above+"\nanswer: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := readCase(file)
	if err != nil {
		t.Fatal(err)
	}
	got := outcome{Answer: map[string]any{"n": int64(1) << 60}}
	if err := c.update(got); err != nil {
		t.Fatal(err)
	}
	if c, err = readCase(file); err != nil || c.want.difference(got) != "" || !strings.HasPrefix(c.above, above) {
		t.Errorf("the case is read as %+v, error %v", c, err)
	}
}

func TestReadSuitesReplacesAFolderByItsSubfoldersWithCases(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "cases"), 0o700); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{
			"controller.yaml": "{apiVersion: metacontroller.k8s.io/v1alpha1, kind: DecoratorController, metadata: {name: " + name + "}, spec: {isolation: Process}}",
			"cases/one.yaml":  "answer: {}\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "none"), 0o700); err != nil {
		t.Fatal(err)
	}
	for want, dirs := range map[string][]string{"a b": {dir}, "b": {filepath.Join(dir, "b")}} {
		suites, err := ReadSuites(dirs)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range suites {
			names = append(names, s.controllers[0].GetName())
		}
		if got := strings.Join(names, " "); got != want || !NeedWorkers(suites) {
			t.Errorf("%v: got %s, want %s", dirs, got, want)
		}
	}
}
