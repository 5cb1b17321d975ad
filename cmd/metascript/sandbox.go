package main

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"metascript/controller"
	"metascript/controller/api/v1alpha1"
	"metascript/engine"
	"metascript/engine/process"
	"metascript/runtimes"
)

// sandboxFlags are the flags about how scripts run. Commands that work offline have them too, so that what a script
// does there is what it does in a server with the same ones.
type sandboxFlags struct {
	isolation              isolation
	timeout                time.Duration
	steps                  int64
	memory, output, logged resource.QuantityValue
	folders                []string // where scripts in files are
}

// isolation is a flag's value.
type isolation v1alpha1.Isolation

func (i *isolation) String() string { return string(*i) }
func (i *isolation) Type() string   { return "InProcess|Process" }
func (i *isolation) Set(text string) error {
	switch v1alpha1.Isolation(text) {
	case v1alpha1.IsolationInProcess, v1alpha1.IsolationProcess:
		*i = isolation(text)
		return nil
	}
	return fmt.Errorf("want InProcess or Process")
}

func (f *sandboxFlags) register(flags *pflag.FlagSet) {
	f.isolation = isolation(v1alpha1.IsolationInProcess)
	f.memory, f.output, f.logged = quantity(256<<20), quantity(16<<20), quantity(64<<10)
	flags.StringArrayVar(&f.folders, "scripts-dir", nil, "a folder with scripts, below which script.file is; with several, the first that has the file counts")
	flags.Var(&f.isolation, "isolation", "where scripts run at least; Process runs all in worker processes, whatever spec.isolation says")
	flags.DurationVar(&f.timeout, "max-script-timeout", 30*time.Second, "the most that script.timeout may be")
	flags.Int64Var(&f.steps, "max-script-steps", 1_000_000_000, "the most that script.limits.steps may be")
	flags.Var(&f.memory, "max-script-memory", "the most that script.limits.memory may be")
	flags.Var(&f.output, "max-script-output", "the most that script.limits.output may be")
	flags.Var(&f.logged, "script-log-limit", "how much a script may print in one call")
}

func quantity(n int64) resource.QuantityValue {
	return resource.QuantityValue{Quantity: *resource.NewQuantity(n, resource.BinarySI)}
}

// ceilings are the limits in the flags.
func (f *sandboxFlags) ceilings() (engine.Limits, error) {
	l := engine.Limits{Timeout: f.timeout, Steps: f.steps, Memory: f.memory.Value(), Output: f.output.Value(), Log: f.logged.Value()}
	for _, flag := range []struct {
		name  string
		value int64
	}{
		{"max-script-timeout", int64(l.Timeout)}, {"max-script-steps", l.Steps}, {"max-script-memory", l.Memory},
		{"max-script-output", l.Output}, {"script-log-limit", l.Log},
	} {
		if flag.value <= 0 {
			return l, fmt.Errorf("--%s must be above zero", flag.name)
		}
	}
	return l, nil
}

// A sandbox is one that is open.
type sandbox struct {
	controller.Sandbox
	engines map[v1alpha1.Isolation]*engine.Engine
	workers *process.Pool // nil: they cannot be had, or nobody needs them
}

// open gives the sandbox that the flags ask for, with worker processes if somebody may need them. Whoever insists on
// them by flag gets them or an error.
func (f *sandboxFlags) open(log *slog.Logger, workers bool) (*sandbox, error) {
	ceilings, err := f.ceilings()
	if err != nil {
		return nil, err
	}
	inProcess := engine.New(engine.Options{Runtimes: runtimes.All()})
	s := &sandbox{
		Sandbox: controller.Sandbox{InProcess: inProcess, Floor: v1alpha1.Isolation(f.isolation), Ceilings: ceilings},
		engines: map[v1alpha1.Isolation]*engine.Engine{v1alpha1.IsolationInProcess: inProcess},
	}
	s.Runaways = s.runaways
	if !workers && s.Floor != v1alpha1.IsolationProcess {
		return s, nil
	}
	if s.Missing = process.Missing(); len(s.Missing) > 0 {
		return s, f.refuse(s.Missing)
	}
	return s, s.start(process.Options{Memory: ceilings.Memory, Log: log})
}

// refuse says that what is missing cannot be done without, if the flags insist on it.
func (f *sandboxFlags) refuse(missing []string) error {
	if v1alpha1.Isolation(f.isolation) != v1alpha1.IsolationProcess {
		return nil
	}
	return fmt.Errorf("--isolation=Process cannot be had here; the system lacks: %s", strings.Join(missing, "; "))
}

// start gives s worker processes.
func (s *sandbox) start(o process.Options) error {
	var err error
	if s.workers, err = process.New(o); err != nil {
		return fmt.Errorf("start worker processes for scripts: %w", err)
	}
	languages := slices.Collect(maps.Keys(runtimes.All()))
	elsewhere := engine.New(engine.Options{Runtimes: s.workers.Runtimes(languages...), Elsewhere: true})
	s.Process, s.engines[v1alpha1.IsolationProcess] = elsewhere, elsewhere
	return nil
}

// asksForWorkers reports whether one of the controllers has isolation Process.
func asksForWorkers(docs []document) bool {
	return slices.ContainsFunc(controllers(docs), func(doc document) bool {
		isolation, _, _ := unstructured.NestedString(doc.Object.Object, "spec", "isolation")
		return isolation == string(v1alpha1.IsolationProcess)
	})
}

// close ends the worker processes.
func (s *sandbox) close() {
	if s.workers != nil {
		s.workers.Close()
	}
}
