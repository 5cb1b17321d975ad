package layout

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The actions of workflows are those of GitHub, at a commit. A tag can be moved.
var pinned = regexp.MustCompile(`^actions/(checkout|setup-go)@[0-9a-f]{40}$`)

// What a workflow does works on any machine: its commands are targets of the Makefile, except for logins and uploads.
func TestWorkflowsOnlyRunTargets(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, targets, _ := strings.Cut(string(makefile), "\n.PHONY: ")
	targets, _, _ = strings.Cut(targets, "\n")
	paths, err := filepath.Glob("../../.github/workflows/*")
	if err != nil || len(paths) < 2 {
		t.Fatalf("%d workflows, error %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var workflow struct {
			Permissions *map[string]string
			Jobs        map[string]struct {
				Steps []struct{ Uses, Run string }
			}
		}
		if err := yaml.Unmarshal(text, &workflow); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if workflow.Permissions == nil {
			t.Errorf("%s: without permissions, a token may do everything", path)
		}
		made := 0
		for name, job := range workflow.Jobs {
			for _, step := range job.Steps {
				if step.Uses != "" && !pinned.MatchString(step.Uses) {
					t.Errorf("%s: %s uses %s", path, name, step.Uses)
				}
				for line := range strings.Lines(strings.ReplaceAll(step.Run, "\\\n", "")) {
					words := strings.Fields(line)
					switch command := words[0]; {
					case command == ".ci/run", command == "make" && slices.Contains(strings.Fields(targets), words[1]):
						made++
					case command == "cd", command == "gh", strings.Contains(line, " crane auth login "):
					default:
						t.Errorf("%s: %s runs %q, which is no target of the Makefile", path, name, strings.TrimSpace(line))
					}
				}
			}
		}
		if made == 0 {
			t.Errorf("%s runs no target of the Makefile", path)
		}
	}
}
