package lib_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// differences are the calls, as JSON, whose results differ on purpose from those of Python and of the package semver of npm. library.md
// has the rules.
var differences = map[string]*regexp.Regexp{
	"a prerelease is before its release in a constraint too": regexp.MustCompile(`^\["semver.satisfies",\["\d+\.\d+\.\d+-`),
	"a version has no spaces around it":                      regexp.MustCompile(`^\["semver.valid",\[" 1.2.3 "`),
	"base64 can have line breaks":                            regexp.MustCompile(`^\["base64.decode",\["YWJj\\n"`),
}

// The functions have the results that the files in testdata/references have, but for the differences above.
func TestReferences(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"library.jsonl", "semver.jsonl"} {
		text, err := os.ReadFile(filepath.Join("testdata", "references", name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			fields, err := call("json.decode", string(line))
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			sameResult(t, fields.(arr), seen)
		}
	}
	for what := range differences {
		if !seen[what] {
			t.Errorf("no call differs because %s", what)
		}
	}
}

// sameResult compares the result of a call. fields has the function, its arguments, and the result, which is missing if the call fails.
func sameResult(t *testing.T, fields arr, seen map[string]bool) {
	t.Helper()
	got, err := call(fields[0].(string), fields[1].(arr)...)
	if fails := len(fields) == 2; err != nil == fails && (fails || cmp.Equal(asFloats(got), asFloats(fields[2]))) {
		return
	}
	made, _ := json.Marshal(fields[:2])
	for what, calls := range differences {
		if calls.Match(made) {
			seen[what] = true
			return
		}
	}
	t.Errorf("%s: got %s, want %s", made, fmt.Sprint(got, " ", err), fmt.Sprint(fields[2:]...))
}
