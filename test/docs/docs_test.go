package docs

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the root directory of the repository.
const root = "../.."

// maxNotRun is how many blocks may be neither run nor validated. Find a way to run a new block before you raise it.
const maxNotRun = 14

// testedElsewhere are the languages of blocks on a page that another test runs line by line.
var testedElsewhere = map[string][]string{
	"docs/library.md": {"python", "js", "jsonnet"}, // runtimes/library_test.go
}

func pages(t *testing.T) []*Page {
	t.Helper()
	found, err := Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestBlocksAreValid(t *testing.T) {
	v, err := NewValidator()
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages(t) {
		for _, b := range page.Blocks {
			if b.NotRun != "" || slices.Contains(testedElsewhere[page.Name], b.Language) {
				continue
			}
			if err := v.Validate(t.Context(), b); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestFewBlocksAreNotRun(t *testing.T) {
	n := 0
	for _, page := range pages(t) {
		for _, b := range page.Blocks {
			if b.NotRun != "" {
				t.Logf("%s: not run: %s", b, b.NotRun)
				n++
			}
		}
	}
	if n > maxNotRun {
		t.Errorf("%d blocks are not run, more than %d", n, maxNotRun)
	}
}

// The commands of a page before the first one that needs a cluster.
func TestCommandsWithoutCluster(t *testing.T) {
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "metascript"), "./cmd/metascript")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, page := range pages(t) {
		commands := page.Commands()
		if at := slices.IndexFunc(commands, (*Block).NeedsCluster); at >= 0 {
			commands = commands[:at]
		}
		if len(commands) == 0 {
			continue
		}
		t.Run(strings.ReplaceAll(page.Name, "/", "-"), func(t *testing.T) {
			t.Parallel()
			s, err := NewSession(t.TempDir(), root, bin)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for _, b := range commands {
				if err := s.Run(t.Context(), b); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
