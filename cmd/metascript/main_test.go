package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"
	"sigs.k8s.io/yaml"

	"metascript/cmd/metascript/internal/version"
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
		path := filepath.Join(dir, file.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, file.Data, 0o600); err != nil {
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
	if line := regexp.MustCompile(`^metascript \S+.* go1\.\S+ \w+/\w+\n$`); got.code != 0 || !line.MatchString(got.stdout) {
		t.Errorf("the exit code is %d, and the output %q", got.code, got.stdout)
	}
	for _, flag := range []string{"--version", "-version"} {
		if flagged := metascript(t, flag); flagged.code != 0 || flagged.stdout != got.stdout {
			t.Errorf("%s: the exit code is %d, and the output %q%s", flag, flagged.code, flagged.stdout, flagged.stderr)
		}
	}
	info := parseYAML(t, metascript(t, "version", "-o", "json").stdout)
	if info["version"] != version.Get().Version || info["go"] != runtime.Version() || info["platform"] != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("the version as JSON: %v", info)
	}
}

func TestHelpListsAllCommands(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"--help"}, {"-h"}} {
		metascript(t, args...).expect(t, 0, []string{"  check ", "  completion ", "  controller ", "  docs ", "  explain ", "  gc ", "  promote ", "  rbac ", "  run ", "  test ", "  uninstall ", "  version ", "--workers"}, nil)
	}
	for _, verb := range []string{"check", "controller", "dev", "docs", "explain", "gc", "plan", "promote", "rbac", "run", "test", "types", "uninstall", "version"} {
		metascript(t, "help", verb).expect(t, 0, []string{"metascript " + verb}, nil)
	}
}

func TestCommandsAreDescribed(t *testing.T) {
	for _, cmd := range rootCommand(false, false).Commands() {
		if cmd.Short == "" || cmd.Long == "" || cmd.Example == "" {
			t.Errorf("%s has no description, or no example", cmd.Name())
		}
	}
}

func TestRootCommandRunsTheServer(t *testing.T) {
	for _, args := range [][]string{{"controller"}, {}} {
		metascript(t, append(args, "--kubeconfig", "nosuch")...).expect(t, 1, nil, []string{"error: find a cluster: ", "nosuch"})
	}
	t.Setenv("KUBECONFIG", "nosuch")
	metascript(t, "-metrics-address=0").expect(t, 1, nil, []string{"error: find a cluster: "})
	metascript(t).expect(t, 0, []string{"Usage:", "  controller ", "Examples:"}, nil)
	var stderr bytes.Buffer
	if code := (Main{Name: dropIn, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &stderr}).Run(t.Context()); code != 1 || !strings.Contains(stderr.String(), "error: find a cluster: ") {
		t.Errorf("as metacontroller without arguments, the exit code is %d, and it prints %s", code, &stderr)
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
		{[]string{"--nosuch"}, "unknown flag --nosuch"},
		{[]string{"run", "--nosuch"}, "unknown flag --nosuch"},
		{[]string{"controller", "extra"}, `"extra"`},
		{[]string{"version", "extra"}, `"extra"`},
		{[]string{"check"}, "the flag -f is missing"},
		{[]string{"check", "-f", "a.yaml", "extra"}, `"extra"`},
		{[]string{"run"}, "the flags -f and --parent are missing"},
		{[]string{"rbac"}, "the flag -f is missing"},
		{[]string{"rbac", "-f", "a.yaml", "--check", "--part", "server"}, "--check and --part exclude each other"},
		{[]string{"rbac", "-f", "a.yaml", "--part", "servers"}, `want all, account or server; did you mean "server"?`},
		{[]string{"run", "-f", "a.yaml"}, "the flag --parent is missing"},
		{[]string{"test"}, "test needs an argument"},
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
