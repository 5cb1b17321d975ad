package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"metascript/cmd/metascript/internal/scaffold"
)

// The last line of the output is a directive for the shell: ":4" means no files, ":8" files with these extensions, ":16" directories.
func TestCompletionOfValues(t *testing.T) {
	topics := docTopics(t)
	inFolder(t, devFiles)
	for args, want := range map[string]string{
		"check --isolation ":                     "InProcess Process :4",
		"controller --zap-log-level ":            "debug error info panic warn :4",
		"controller --apply-strategy ":           "dynamic-apply server-side-apply :4",
		"test -o ":                               "text json yaml :4",
		"rbac --part ":                           "all account server :4",
		"dev --kubeconfig kubeconfig --context ": "local production :4",
		"dev --context ":                         ":4",
		"dev --parent ":                          ":4",
		"run --parent ":                          "yaml yml json :8",
		"check --filename ":                      "yaml yml json :8",
		"test --junit ":                          "xml :8",
		"check --scripts-dir ":                   ":16",
		"test ":                                  ":16",
		"types ":                                 ":16",
		"docs ":                                  topics + " :4",
		"explain ScriptHeld ":                    ":4",
		"types --related Secret.v1,NetworkP":     "Secret.v1," + strings.Join(scaffold.KindNames(), " Secret.v1,") + " :6",
		"gc ":                                    ":4",
		"version --output ":                      "text json yaml :4",
		"gc --kubeconfig kubeconfig --context ":  "local production :4",
	} {
		t.Setenv("KUBECONFIG", "nosuch")
		got := metascript(t, append([]string{"__complete"}, strings.Split(args, " ")...)...)
		if text := strings.Join(strings.Fields(got.stdout), " "); text != want {
			t.Errorf("%q: got %q, want %q", args, text, want)
		}
	}
}

// docTopics returns the names of the pages of the documentation that are for users of the program.
func docTopics(t *testing.T) string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) < 9 {
		t.Fatalf("%d pages, error %v", len(pages), err)
	}
	var names []string
	for _, page := range pages {
		if name := strings.TrimSuffix(filepath.Base(page), ".md"); !slices.Contains([]string{"CHANGELOG", "CONTRIBUTING", "README"}, name) {
			names = append(names, strings.ToLower(name))
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
