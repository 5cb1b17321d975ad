package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"metascript/controller/api/v1alpha1"
)

// parsed gives the server's flags after some were given.
func parsed(t *testing.T, args ...string) *serverFlags {
	t.Helper()
	f := &serverFlags{}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.register(flags)
	if err := flags.Parse(twoDashes(args)); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestLongNamesMayHaveOneDash(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-zap-log-level=4 -workers 5 --burst 1", "--zap-log-level=4 --workers 5 --burst 1"},
		{"controller -kubeconfig=-", "controller --kubeconfig=-"},
		{"-v=1 -v 1 -v1 -h", "-v=1 -v 1 -v1 -h"},
		{"-workers -5", "--workers -5"},
		{"controller -- -workers", "controller -- -workers"},
		{"run -parent p.yaml", "run -parent p.yaml"},
		{"", ""},
	} {
		if diff := cmp.Diff(strings.Fields(c.want), strings.Fields(strings.Join(twoDashes(strings.Fields(c.args)), " "))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.args, diff)
		}
	}
}

func TestWrongFlagsAreExplained(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-zap-log-levle=4", "unknown flag: --zap-log-levle: did you mean --zap-log-level?"},
		{"controller --metrics-adress=0", "did you mean --metrics-address?"},
		{"-workers=many", `--workers "many": want a whole number`},
		{"-client-go-qps=fast", `--client-go-qps "fast": want a number`},
		{"-leader-election=maybe", `--leader-election "maybe": want true or false`},
		{"-discovery-interval=5", `--discovery-interval "5": want a duration such as 30s or 5m`},
		{"-zap-encoder=jsn", `--zap-encoder "jsn": want console or json; did you mean json?`},
		{"-zap-log-level=0", "a number above 0"},
		{"-zap-log-level=loud", "want info, debug, error, panic"},
		{"-apply-strategy=server", "want dynamic-apply or server-side-apply"},
		{"-leader-election-resource-lock=endpoints", "want leases"},
	} {
		metascript(t, strings.Fields(c.args)...).expect(t, 2, nil, []string{c.want})
	}
}

func TestValuesThatMeanNothingAreRefused(t *testing.T) {
	got := metascript(t, strings.Fields("-workers=0 -discovery-interval=0s -cache-flush-interval=-1s -fallback-probe-interval=0 -client-go-qps=-1 -events-qps=0 -events-burst=0")...)
	got.expect(t, 1, nil, []string{
		"--workers must be at least 1", "--discovery-interval must be above 0", "--cache-flush-interval must be 0 or above",
		"--fallback-probe-interval must be above 0",
		"--client-go-qps must be 0 or above", "--events-qps must be above 0", "--events-burst must be at least 1",
	})
}

func TestFlagsBecomeOptions(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "metacontroller")
	f := parsed(t, strings.Fields("-workers=3 -cache-flush-interval=0 -fallback-probe-interval=1m -apply-strategy=server-side-apply -apply-strategy-ssa-field-manager=me -client-go-qps=5 -client-go-burst=10 -leader-election -events-burst=7")...)
	options, err := f.options(testConfig())
	if err != nil {
		t.Fatal(err)
	}
	type said struct {
		Workers, Burst, EventsBurst   int
		QPS                           float32
		Flush, Probe                  time.Duration
		Strategy                      v1alpha1.ApplyStrategy
		Manager, Agent, Namespace, ID string
	}
	got := said{
		Workers: options.Workers, Burst: options.Config.Burst, EventsBurst: options.Events.Burst, QPS: options.Config.QPS,
		Flush: options.FlushInterval, Probe: options.ProbeEvery, Strategy: options.ApplyStrategy, Manager: options.FieldManager,
		Agent: options.Config.UserAgent, Namespace: options.Election.Namespace, ID: options.Election.Name,
	}
	want := said{3, 10, 7, 5, 0, time.Minute, v1alpha1.ServerSideApply, "me", "metacontroller", "metacontroller", "metacontroller"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

func TestByDefaultThereAreNoLimitsAndNoElection(t *testing.T) {
	options, err := parsed(t).options(testConfig())
	if err != nil {
		t.Fatal(err)
	}
	if options.Config.QPS >= 0 || options.Election != nil || options.FlushInterval != 30*time.Minute {
		t.Errorf("QPS %v, election %v, flush interval %s", options.Config.QPS, options.Election, options.FlushInterval)
	}
}

func TestLeaderElectionNeedsANamespace(t *testing.T) {
	if _, err := parsed(t, "-leader-election").election.election(""); err == nil || !strings.Contains(err.Error(), "--leader-election-namespace") {
		t.Errorf("the error is %v", err)
	}
}

func TestTheLevelOfTheLog(t *testing.T) {
	for _, c := range []struct {
		args string
		want slog.Level
	}{
		{"", slog.LevelInfo},
		{"-v=1", slog.LevelDebug},
		{"-zap-log-level=1", slog.LevelDebug},
		{"-zap-log-level=6", -6},
		{"-zap-log-level=debug", slog.LevelDebug},
		{"-zap-log-level=error", slog.LevelError},
		{"-zap-log-level=panic", panicLevel},
		{"-zap-log-level=error -v=1", slog.LevelDebug},
		{"-zap-devel", slog.LevelDebug},
		{"-zap-devel -zap-log-level=info", slog.LevelInfo},
	} {
		if got := parsed(t, strings.Fields(c.args)...).log.chosen(); got != c.want {
			t.Errorf("%q: level %s, want %s", c.args, got, c.want)
		}
	}
}

func TestTheLogAsJSON(t *testing.T) {
	var out bytes.Buffer
	f := parsed(t, "-zap-encoder=json", "-zap-time-encoding=epoch", "-zap-stacktrace-level=error")
	log := f.log.open(&out).With("controller", "c")
	log.Info("started", "took", 2*time.Second)
	log.Error("failed")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("the log is %s", out.String())
	}
	var first, second map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(lines[1]), &second); err != nil {
		t.Fatal(err)
	}
	if ts, ok := first["ts"].(float64); !ok || ts < 1e9 {
		t.Errorf("ts is %v, want seconds since 1970", first["ts"])
	}
	delete(first, "ts")
	if diff := cmp.Diff(map[string]any{"level": "info", "msg": "started", "controller": "c", "took": "2s"}, first); diff != "" {
		t.Errorf("a line (-want +got):\n%s", diff)
	}
	if trace, _ := second["stacktrace"].(string); !strings.Contains(trace, "TestTheLogAsJSON") {
		t.Errorf("an error has the stack trace %q", trace)
	}
}

func TestTheLogOfADropIn(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string // encoder, times, stack traces from
	}{
		{"", []string{"json", "rfc3339", "error"}},
		{"-zap-devel", []string{"console", "rfc3339", "never"}},
		{"-zap-devel -zap-encoder=json", []string{"json", "rfc3339", "never"}},
		{"-zap-encoder=console -zap-time-encoding=epoch -zap-stacktrace-level=panic", []string{"console", "epoch", "panic"}},
	} {
		f := parsed(t, strings.Fields(c.args)...).log
		f.likeMetacontroller()
		if diff := cmp.Diff(c.want, []string{f.encoder.value, f.times.value, f.stack.value}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.args, diff)
		}
	}
}

func TestLevelsAreSpelledAsInZap(t *testing.T) {
	for level, want := range map[slog.Level]string{
		slog.LevelInfo: "info", slog.LevelWarn: "warn", slog.LevelError: "error", panicLevel: "panic",
		slog.LevelDebug: "debug", -1: "debug", -2: "Level(-2)", -6: "Level(-6)",
	} {
		if got := zapLevel(slog.AnyValue(level)); got != want {
			t.Errorf("level %d is spelled %s, want %s", level, got, want)
		}
	}
}

func TestAVariableThatNamesNoFile(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "nosuch")
	t.Setenv("KUBECONFIG", missing)
	metascript(t, "controller").expect(t, 1, nil, []string{"the variable KUBECONFIG names " + missing + ", and there is no such file"})
}

func testConfig() *rest.Config { return &rest.Config{Host: "https://cluster.example.com"} }

func TestTheDocsHaveEveryFlag(t *testing.T) {
	text := readText(t, filepath.Join(root, "docs", "server.md"))
	_, section, _ := strings.Cut(text, "\n## Flags\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var documented, registered []string
	for _, found := range regexp.MustCompile("`--([a-z-]+)`").FindAllStringSubmatch(section, -1) {
		documented = append(documented, found[1])
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	new(serverFlags).register(flags)
	flags.VisitAll(func(f *pflag.Flag) { registered = append(registered, f.Name) })
	slices.Sort(documented)
	if diff := cmp.Diff(registered, documented); diff != "" {
		t.Errorf("flags (-registered +in docs/server.md):\n%s", diff)
	}
}
