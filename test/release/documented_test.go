package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

// documented matches the commands of cosign and sha256sum in the documentation. A line that ends with a backslash is continued.
var documented = regexp.MustCompile(`(?m)^    ((?:cosign verify|sha256sum )(?:.*\\\n)*.*)$`)

// The commands in docs/release.md verify a release with cosign itself, and refuse it with another key.
func TestDocumentedCommands(t *testing.T) {
	image := newRegistry(t, registry.WithReferrersSupport(true)) + ":" + released.Version
	dir := copied(t)
	key, _ := newKey(t)
	run(t, publish(key, "--dist", dir, "files"))
	run(t, publish(key, "--image", built+"/image", "--to", image, "image"))

	bin, err := filepath.Abs(built)
	check(t, err)
	command := func(line string) *exec.Cmd {
		cmd := exec.Command("bash", "-c", line)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		return cmd
	}
	var lines []string
	for _, match := range documented.FindAllStringSubmatch(string(read(t, repository+"/docs/release.md")), -1) {
		line := strings.ReplaceAll(match[1], "registry.example.com/metascript:VERSION", image)
		lines = append(lines, strings.ReplaceAll(line, "VERSION", released.Version))
	}
	if len(lines) != 6 {
		t.Fatalf("there are %d commands, want 6:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	for _, line := range lines {
		run(t, command(line))
	}
	otherKey, _ := newKey(t)
	run(t, publish(otherKey, "--dist", dir, "files"))
	other := read(t, filepath.Join(dir, "cosign.pub"))
	run(t, publish(key, "--dist", dir, "files"))
	check(t, os.WriteFile(filepath.Join(dir, "cosign.pub"), other, 0o644))
	for _, line := range lines {
		if out, err := command(line).CombinedOutput(); err == nil && strings.HasPrefix(line, "cosign") {
			t.Errorf("another key: %s:\n%s", line, out)
		}
	}
}
