package schemas

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The module k8s.io/api has an object of each kind, with all fields, as the API server of a release has stored it. Its strings have no
// meaning, so only the fields and their types are valid.
func TestObjectsOfARelease(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "testdata/v1.36.0/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, file := range files {
		if strings.Contains(file, "after_roundtrip") {
			continue // not as in a release
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		obj := object(t, string(text))
		if obj["apiVersion"] == nil {
			continue // part of an object
		}
		k, err := Kubernetes().Kind(kindOf(obj))
		if err != nil {
			continue // not served by default
		}
		checked++
		for _, p := range k.Validate(obj) {
			if p.Cause == Unknown || p.Cause == WrongType || p.Cause == Missing {
				t.Errorf("%s: %s", filepath.Base(file), p)
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d objects of %d files were checked", checked, len(files))
	}
}
