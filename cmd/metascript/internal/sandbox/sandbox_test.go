package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"go.uber.org/goleak"

	"metascript/cmd/metascript/internal/flagvalue"
	"metascript/controller/api/v1alpha1"
	"metascript/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// opened returns the sandbox for a command line, with worker processes only if the flags need them.
func opened(t *testing.T, args ...string) *Sandbox {
	t.Helper()
	var f Flags
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.Register(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	s, err := f.Open(nil, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// metricsOf returns the metrics of a sandbox, each with its name, its labels and its value.
func metricsOf(t *testing.T, s *Sandbox) []string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s.Collector())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			text := family.GetName()
			for _, label := range metric.GetLabel() {
				text += " " + label.GetValue()
			}
			all = append(all, fmt.Sprintf("%s %v", text, metric.GetGauge().GetValue()+metric.GetCounter().GetValue()))
		}
	}
	return all
}

func TestSlotsAreCounted(t *testing.T) {
	metrics := metricsOf(t, opened(t))
	for _, want := range []string{"metascript_script_slots_busy InProcess fast 0", "metascript_scripts_waiting InProcess slow 0"} {
		if !slices.Contains(metrics, want) {
			t.Errorf("the metrics lack %s:\n%s", want, strings.Join(metrics, "\n"))
		}
	}
	for _, metric := range metrics {
		if strings.HasPrefix(metric, "metascript_worker_processes") {
			t.Errorf("there are no worker processes, but a metric about them: %s", metric)
		}
	}
}

func TestFlagsBecomeCeilings(t *testing.T) {
	got := opened(t, "--max-script-timeout=1m", "--max-script-steps=5", "--max-script-memory=1Mi", "--max-script-output=2Ki", "--script-log-limit=3").Ceilings
	want := engine.Limits{Timeout: time.Minute, Steps: 5, Memory: 1 << 20, Output: 2 << 10, Log: 3}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestNamespacesOfProcessIsolation(t *testing.T) {
	s := opened(t, "--process-isolation-namespaces=a,b", "--process-isolation-namespaces=*")
	if !slices.Equal(s.ProcessNamespaces, []string{"a", "b", "*"}) || s.Process == nil && len(s.Missing) == 0 {
		t.Errorf("namespaces %q, worker processes %v", s.ProcessNamespaces, s.Process != nil)
	}
	for _, wrong := range []string{"a,B", "a b", "a*"} {
		f := Flags{isolated: strings.Split(wrong, ",")}
		if err := f.checkNamespaces(); err == nil || !strings.Contains(err.Error(), "want the name of a namespace, or *") {
			t.Errorf("%s: got error %v", wrong, err)
		}
	}
}

func TestRequiredWorkersOnASystemWithoutThem(t *testing.T) {
	missing := []string{"seccomp: not permitted", "RLIMIT_AS: it does not hold"}
	flags := Flags{isolation: flagvalue.OneOf("Process")}
	if err := flags.requireWorkers(missing); err == nil || !strings.Contains(err.Error(), "--isolation=Process is not available on this system, which lacks: seccomp: not permitted; RLIMIT_AS: it does not hold") {
		t.Errorf("got error %v, want all that is missing", err)
	}
	if err := (&Flags{isolation: flagvalue.OneOf("InProcess")}).requireWorkers(missing); err != nil {
		t.Errorf("error without --isolation=Process: %v", err)
	}
}

// endless is a runtime whose scripts do not stop until it is closed. They use a CPU, since an engine counts only CPU time.
type endless struct{ closed atomic.Bool }

func (e *endless) Compile(context.Context, engine.Script, engine.Limits) (engine.Program, error) {
	for !e.closed.Load() {
	}
	return nil, errors.New("closed")
}

// A script that cannot be stopped is in the metrics at once. After some minutes the server is not ready because of it.
func TestRunawaysAreReported(t *testing.T) {
	sandbox := opened(t)
	running := &endless{}
	defer running.closed.Store(true)
	busy := engine.New(engine.Options{Runtimes: map[string]engine.Runtime{engine.Starlark: running}})
	sandbox.engines[v1alpha1.IsolationInProcess] = busy
	script := engine.Script{
		Language: engine.Starlark, Entry: "sync.star", Owner: "CompositeController/a", Files: fstest.MapFS{"sync.star": {Data: []byte("x")}},
	}
	if _, err := busy.Compile(t.Context(), script, engine.Limits{Timeout: time.Millisecond}); err == nil {
		t.Fatal("the compilation ended")
	}
	metrics := metricsOf(t, sandbox)
	for _, want := range []string{"metascript_scripts_runaway InProcess 1", "metascript_script_runaways_total InProcess 1"} {
		if !slices.Contains(metrics, want) {
			t.Errorf("the metrics lack %s:\n%s", want, strings.Join(metrics, "\n"))
		}
	}
	if why := sandbox.RestartReasons(time.Now()); why != nil {
		t.Errorf("there are reasons for a restart too early: %q", why)
	}
	why := strings.Join(sandbox.RestartReasons(time.Now().Add(runawayAge)), "\n")
	for _, want := range []string{"CompositeController/a: compiling sync.star, given up at ", "still runs and cannot be stopped: edit the script or set spec.isolation: Process, and restart the server"} {
		if !strings.Contains(why, want) {
			t.Errorf("%q lacks %q", why, want)
		}
	}
	if all := sandbox.Runaways(); len(all) != 1 || all[0].Owner != "CompositeController/a" {
		t.Errorf("runaways: %v", all)
	}
}
