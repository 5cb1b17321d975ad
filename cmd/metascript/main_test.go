package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"
	"sigs.k8s.io/yaml"
)

func TestMain(m *testing.M) {
	if isWorker(os.Args[1:]) {
		main() // it is a worker process of a test's
	}
	goleak.VerifyTestMain(m)
}

// A result is the result of running the program.
type result struct {
	code           int
	stdout, stderr string
}

func metascript(t *testing.T, args ...string) result {
	t.Helper()
	return metascriptReading(t, "", args...)
}

func metascriptReading(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Main{Args: args, Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr}.Run(t.Context())
	return result{code, stdout.String(), stderr.String()}
}

// expect checks the exit code, and that each text is in the output.
func (r result) expect(t *testing.T, code int, stdout, stderr []string) {
	t.Helper()
	if r.code != code {
		t.Errorf("the exit code is %d, want %d", r.code, code)
	}
	for name, c := range map[string]struct {
		got  string
		want []string
	}{"stdout": {r.stdout, stdout}, "stderr": {r.stderr, stderr}} {
		for _, want := range c.want {
			if !strings.Contains(c.got, want) {
				t.Errorf("%s does not contain %q:\n%s", name, want, c.got)
			}
		}
		if len(c.want) == 0 && c.got != "" {
			t.Errorf("want nothing on %s, got:\n%s", name, c.got)
		}
	}
}

// inFolder writes the files of a txtar archive into a new folder, and makes it the current one.
func inFolder(t *testing.T, archive string) {
	t.Helper()
	dir := t.TempDir()
	for _, file := range txtar.Parse([]byte(archive)).Files {
		if err := os.WriteFile(filepath.Join(dir, file.Name), file.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

// parseYAML returns the value of a YAML document.
func parseYAML(t *testing.T, text string) map[string]any {
	t.Helper()
	var data map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &data); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return data
}

func TestVersion(t *testing.T) {
	got := metascript(t, "version")
	if line := regexp.MustCompile(`^metascript \S+ go1\.\S+ \w+/\w+\n$`); got.code != 0 || !line.MatchString(got.stdout) {
		t.Errorf("the exit code is %d, and the output %q", got.code, got.stdout)
	}
}

func TestHelpListsAllCommands(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"--help"}, {"-h"}} {
		metascript(t, args...).expect(t, 0, []string{"  check ", "  completion ", "  controller ", "  gc ", "  rbac ", "  run ", "  test ", "  version ", "--workers"}, nil)
	}
	for _, verb := range []string{"check", "controller", "gc", "rbac", "run", "test", "version"} {
		metascript(t, "help", verb).expect(t, 0, []string{"metascript " + verb}, nil)
	}
}

func TestRootCommandRunsTheServer(t *testing.T) {
	for _, args := range [][]string{{"controller"}, {}} {
		metascript(t, append(args, "--kubeconfig", "nosuch")...).expect(t, 1, nil, []string{"error: find a cluster: ", "nosuch"})
	}
}

func TestCompletionForAllShells(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		metascript(t, "completion", shell).expect(t, 0, []string{"metascript"}, nil)
	}
}

func TestExitCodeOfInvalidArguments(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"nosuch"}, `unknown command "nosuch"`},
		{[]string{"--nosuch"}, "unknown flag: --nosuch"},
		{[]string{"run", "--nosuch"}, "unknown flag: --nosuch"},
		{[]string{"controller", "extra"}, `"extra"`},
		{[]string{"version", "extra"}, `"extra"`},
		{[]string{"check"}, `"filename" not set`},
		{[]string{"check", "-f", "a.yaml", "extra"}, `"extra"`},
		{[]string{"run"}, `"filename", "parent" not set`},
		{[]string{"rbac"}, `"filename" not set`},
		{[]string{"rbac", "-f", "a.yaml", "--check", "--part", "server"}, "[check part]"},
		{[]string{"rbac", "-f", "a.yaml", "--part", "servers"}, "want all or account or server; did you mean server?"},
		{[]string{"run", "-f", "a.yaml"}, `"parent" not set`},
		{[]string{"test"}, "requires at least 1 arg"},
		{[]string{"--workers", "many"}, `"many"`},
		{[]string{"--isolation", "Container"}, "want InProcess or Process"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			got := metascript(t, c.args...)
			got.expect(t, 2, nil, []string{"error: ", c.want})
			if strings.Count(got.stderr, "error: ") != 1 {
				t.Errorf("the error is printed more than once:\n%s", got.stderr)
			}
		})
	}
}

// Any package can add metrics to the default registry, so the program does not use it.
func TestDefaultRegistryIsNotUsed(t *testing.T) {
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if name := family.GetName(); strings.HasPrefix(name, "metascript_") || strings.HasPrefix(name, "workqueue_") {
			t.Errorf("%s is in the default registry", name)
		}
	}
}
