package logging

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// parsed returns the flags after parsing a command line.
func parsed(t *testing.T, args ...string) *Flags {
	t.Helper()
	f := &Flags{}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.Register(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestLevel(t *testing.T) {
	for _, c := range []struct {
		args string
		want slog.Level
	}{
		{"", slog.LevelInfo},
		{"-v=1", slog.LevelDebug},
		{"--zap-log-level=1", slog.LevelDebug},
		{"--zap-log-level=6", -6},
		{"--zap-log-level=debug", slog.LevelDebug},
		{"--zap-log-level=error", slog.LevelError},
		{"--zap-log-level=panic", panicLevel},
		{"--zap-log-level=error -v=1", slog.LevelDebug},
		{"--zap-devel", slog.LevelDebug},
		{"--zap-devel --zap-log-level=info", slog.LevelInfo},
	} {
		if got := parsed(t, strings.Fields(c.args)...).chosen(); got != c.want {
			t.Errorf("%q: level %s, want %s", c.args, got, c.want)
		}
	}
}

func TestJSONFormat(t *testing.T) {
	var out bytes.Buffer
	f := parsed(t, "--zap-encoder=json", "--zap-time-encoding=epoch", "--zap-stacktrace-level=error")
	log := f.Open(&out).With("controller", "c")
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
	if trace, _ := second["stacktrace"].(string); !strings.Contains(trace, "TestJSONFormat") {
		t.Errorf("an error has the stack trace %q", trace)
	}
}

func TestDefaultsOfMetacontroller(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string // encoder, times, stack traces from
	}{
		{"", []string{"json", "rfc3339", "error"}},
		{"--zap-devel", []string{"console", "rfc3339", "never"}},
		{"--zap-devel --zap-encoder=json", []string{"json", "rfc3339", "never"}},
		{"--zap-encoder=console --zap-time-encoding=epoch --zap-stacktrace-level=panic", []string{"console", "epoch", "panic"}},
	} {
		f := parsed(t, strings.Fields(c.args)...)
		f.DefaultToMetacontroller()
		if diff := cmp.Diff(c.want, []string{f.encoder.String(), f.times.String(), f.stack.String()}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.args, diff)
		}
	}
}

func TestNamesOfLevelsAreThoseOfZap(t *testing.T) {
	for level, want := range map[slog.Level]string{
		slog.LevelInfo: "info", slog.LevelWarn: "warn", slog.LevelError: "error", panicLevel: "panic",
		slog.LevelDebug: "debug", -1: "debug", -2: "Level(-2)", -6: "Level(-6)",
	} {
		if got := zapLevel(slog.AnyValue(level)); got != want {
			t.Errorf("the name of level %d is %s, want %s", level, got, want)
		}
	}
}

func TestLinesOfErrors(t *testing.T) {
	const failure = "sync.star:1:2: no\n  x.y\n   ^\x1b[2K\nlevel=INFO msg=forged"
	for encoder, want := range map[string]string{
		"console": "level=WARN msg=failed parent=\"a\\nb\" error=\"sync.star:1:2: no\" times=1\n    |   x.y\n    |    ^\x1b[2K\n    | level=INFO msg=forged\n",
		"json":    `"level":"warn","msg":"failed","parent":"a\nb","error":"sync.star:1:2: no\n  x.y\n   ^\u001b[2K\nlevel=INFO msg=forged","times":1}` + "\n",
	} {
		var out bytes.Buffer
		parsed(t, "--zap-encoder="+encoder).Open(&out).With("parent", "a\nb").Warn("failed", "error", failure, "times", 1)
		if got := out.String(); !strings.HasSuffix(got, want) {
			t.Errorf("%s: got %q, want %q at its end", encoder, got, want)
		}
		out.Reset()
		parsed(t, "--zap-encoder="+encoder).Open(&out).Warn("failed", "error", errors.Join(errors.New("one"), errors.New("two")))
		if got := out.String(); strings.Contains(got, "\n    | two\n") != (encoder == "console") {
			t.Errorf("%s: an error is logged as %q", encoder, got)
		}
	}
}
