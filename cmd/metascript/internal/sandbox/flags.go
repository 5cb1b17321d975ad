package sandbox

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"metascript/cmd/metascript/internal/flagvalue"
	"metascript/controller/allowed"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/engine"
	"metascript/engine/process"
)

// Flags are the flags about scripts. The commands that work offline have them too, so that a script does the same there as in a
// server with the same flags.
type Flags struct {
	Folders []string // the scripts directories

	isolation              flagvalue.Choice
	isolated               []string // the namespaces of --process-isolation-namespaces
	timeout                time.Duration
	steps                  int64
	memory, output, logged resource.QuantityValue
}

// Register adds the flags to a set.
func (f *Flags) Register(flags *pflag.FlagSet) {
	f.isolation = flagvalue.OneOf(string(v1alpha1.IsolationInProcess), string(v1alpha1.IsolationProcess))
	f.memory, f.output, f.logged = flagvalue.Bytes(256<<20), flagvalue.Bytes(16<<20), flagvalue.Bytes(64<<10)
	flags.StringArrayVar(&f.Folders, "scripts-dir", nil, "directory for the files in script.file; the flag can be repeated, and the first directory that has a file is used")
	flags.Var(&f.isolation, "isolation", "minimum isolation of scripts: "+f.isolation.Words()+"; Process runs all scripts in worker processes, also if spec.isolation is InProcess")
	flags.StringSliceVar(&f.isolated, processNamespaces, nil, "namespaces, or * for all; the scripts of controllers whose account is in one of them run in worker processes, also if spec.isolation is InProcess")
	flags.DurationVar(&f.timeout, "max-script-timeout", 30*time.Second, "maximum of script.timeout")
	flags.Int64Var(&f.steps, "max-script-steps", 1_000_000_000, "maximum of script.limits.steps")
	flags.Var(&f.memory, "max-script-memory", "maximum of script.limits.memory")
	flags.Var(&f.output, "max-script-output", "maximum of script.limits.output")
	flags.Var(&f.logged, "script-log-limit", "maximum size of the text that a script can print in one call")
}

// processNamespaces is the name of a flag.
const processNamespaces = "process-isolation-namespaces"

// checkNamespaces returns an error for a namespace in the flags that cannot exist: scripts would run with less isolation than was
// meant.
func (f *Flags) checkNamespaces() error {
	for _, namespace := range f.isolated {
		if wrong := validation.IsDNS1123Label(namespace); namespace != build.AllNamespaces && len(wrong) > 0 {
			text := fmt.Sprintf("--%s %q: want the name of a namespace, or %s", processNamespaces, namespace, build.AllNamespaces)
			if like := allowed.Like(namespace, wrong[0]); like != "" {
				text += fmt.Sprintf("; did you mean %q?", like)
			}
			return errors.New(text)
		}
	}
	return nil
}

// ceilings returns the limits in the flags. Zero is an error, since it would mean the default of the engine.
func (f *Flags) ceilings() (engine.Limits, error) {
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

// Open returns a sandbox with the configuration in the flags. It has worker processes if workers is set, which means that a script may
// need them, or if the flags require them. If this system cannot have worker processes, it returns an error only if the flags require
// them.
//
// The caller must close the sandbox.
func (f *Flags) Open(log *slog.Logger, workers bool) (*Sandbox, error) {
	ceilings, err := f.ceilings()
	if err = errors.Join(err, f.checkNamespaces()); err != nil {
		return nil, err
	}
	s := InProcess(v1alpha1.Isolation(f.isolation.String()), ceilings)
	s.ProcessNamespaces = f.isolated
	if !workers && s.MinIsolation != v1alpha1.IsolationProcess && len(f.isolated) == 0 {
		return s, nil
	}
	if s.Missing = process.Missing(); len(s.Missing) > 0 {
		return s, f.requireWorkers(s.Missing)
	}
	return s, s.startWorkers(process.Options{Memory: ceilings.Memory, Log: log})
}

// requireWorkers returns an error if the flags require worker processes. missing is what this system lacks for them.
func (f *Flags) requireWorkers(missing []string) error {
	if f.isolation.String() != string(v1alpha1.IsolationProcess) {
		return nil
	}
	return fmt.Errorf("--isolation=Process is not available on this system, which lacks: %s", strings.Join(missing, "; "))
}
