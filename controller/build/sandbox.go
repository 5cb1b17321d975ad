package build

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/random"
	"metascript/controller/spec"
	"metascript/engine"
)

// A Sandbox says how scripts run: the engines, and the limits of the server. A controller can choose within these limits.
type Sandbox struct {
	// InProcess runs scripts in this process. It may be nil if MinIsolation is Process.
	InProcess engine.Runtime
	// Process runs scripts in worker processes. It is nil if this system cannot isolate them.
	Process engine.Runtime
	// Missing says what the system lacks for worker processes, if Process is nil.
	Missing []string

	// Random has the key of random values. It is nil if there are none.
	Random random.Source

	// Runaways returns the calls of scripts that still run although their time is over. If it is nil, there are none.
	Runaways func() []engine.Runaway

	// MinIsolation is the least isolation of all scripts. The default is InProcess.
	MinIsolation v1alpha1.Isolation
	// ProcessNamespaces are the tenants whose scripts have the isolation Process; [AllNamespaces] stands for all. Controllers
	// without an account are of no tenant.
	ProcessNamespaces []string

	// Ceilings are the maximums of what a controller may set for its scripts: Timeout, Steps, Memory and Output. The defaults
	// are 30s, 1e9, 256Mi and 16Mi. A controller cannot set Log, so scripts always have this value of it.
	Ceilings engine.Limits
}

// AllNamespaces stands for all namespaces in a list of namespaces.
const AllNamespaces = "*"

// WithDefaults returns a copy of s with the defaults for what is not set.
func (s Sandbox) WithDefaults() *Sandbox {
	if s.Runaways == nil {
		s.Runaways = func() []engine.Runaway { return nil }
	}
	c := &s.Ceilings
	c.Timeout = cmp.Or(max(c.Timeout, 0), 30*time.Second)
	c.Steps = cmp.Or(max(c.Steps, 0), 1_000_000_000)
	c.Memory = cmp.Or(max(c.Memory, 0), 256<<20)
	c.Output = cmp.Or(max(c.Output, 0), 16<<20)
	return &s
}

// An IsolationError says that this system does not have the isolation that scripts need. They do not run with less.
type IsolationError struct{ missing []string }

// Error implements error.
func (e *IsolationError) Error() string {
	const text = "isolation Process is not available on this system, and scripts do not run with less isolation"
	if len(e.missing) == 0 {
		return text
	}
	return text + "; the system lacks: " + strings.Join(e.missing, "; ")
}

// isolation returns the isolation of the scripts of d: the one that it sets, or more if the server or a language requires it. The
// compiler of TypeScript has no limits, so that it must be possible to kill it.
func (s *Sandbox) isolation(d *spec.Declaration, parts Parts) v1alpha1.Isolation {
	if d.Settings.Isolation == v1alpha1.IsolationProcess || s.requires(d) != "" {
		return v1alpha1.IsolationProcess
	}
	for _, part := range parts {
		if part.Script.Language == engine.TypeScript {
			return v1alpha1.IsolationProcess
		}
	}
	return v1alpha1.IsolationInProcess
}

// requires returns the flag of the server that requires the isolation Process for the scripts of d; "" if none does. It does not
// show the namespaces in the flag, which are those of other tenants.
func (s *Sandbox) requires(d *spec.Declaration) string {
	tenant := d.Tenant()
	switch {
	case s.MinIsolation == v1alpha1.IsolationProcess:
		return "--isolation=Process"
	case tenant == "":
	case slices.Contains(s.ProcessNamespaces, AllNamespaces), slices.Contains(s.ProcessNamespaces, tenant):
		return "--process-isolation-namespaces"
	}
	return ""
}

// engine returns what runs scripts with that isolation.
func (s *Sandbox) engine(isolation v1alpha1.Isolation) (engine.Runtime, error) {
	switch {
	case isolation == v1alpha1.IsolationInProcess:
		return s.InProcess, nil
	case s.Process == nil:
		return nil, &IsolationError{s.Missing}
	}
	return s.Process, nil
}

// Warnings returns a warning for each setting of d that has no effect, or less effect than it says, in this sandbox.
func (s *Sandbox) Warnings(d *spec.Declaration) []string {
	var warnings []string
	switch required := s.requires(d); {
	case d.Settings.Isolation == v1alpha1.IsolationInProcess && required != "":
		warnings = append(warnings, "isolation InProcess is less than this server requires: the scripts run with isolation Process, because of "+required)
	case d.Settings.Isolation == v1alpha1.IsolationProcess && !d.HasScript() && d.Settings.Shadow == nil:
		warnings = append(warnings, "isolation Process has no effect: no hook is a script")
	}
	if d.Script != nil {
		warnings = append(warnings, s.aboveCeilings("script", d.Script.ScriptSource)...)
	}
	if d.Settings.Shadow != nil {
		warnings = append(warnings, s.aboveCeilings("shadow.script", d.Settings.Shadow.Script.ScriptSource)...)
	}
	for _, h := range d.Hooks {
		if h.Hook != nil && h.Script != nil {
			warnings = append(warnings, s.aboveCeilings(SpecPath(h.Name), h.Script.ScriptSource)...)
		}
	}
	return warnings
}

// aboveCeilings returns a warning for each limit in source that is above the ceiling. path is where source is in the spec.
func (s *Sandbox) aboveCeilings(path string, source v1alpha1.ScriptSource) []string {
	wanted, ceilings := limitsOf(source), s.Ceilings
	var warnings []string
	for _, limit := range settableLimits {
		if value, ceiling := limit.of(&wanted), limit.of(&ceilings); value > ceiling {
			warnings = append(warnings, fmt.Sprintf("%s.%s is %s, above the server's maximum, which is used: %s=%s", path, limit.field, limit.show(value), limit.flag, limit.show(ceiling)))
		}
	}
	return warnings
}

// limits returns the limits of a script: those that it sets, or the defaults, but not more than the ceilings.
func (s *Sandbox) limits(source v1alpha1.ScriptSource) engine.Limits {
	l, c := limitsOf(source).WithDefaults(), s.Ceilings
	l.Timeout, l.Steps = min(l.Timeout, c.Timeout), min(l.Steps, c.Steps)
	l.Memory, l.Output = min(l.Memory, c.Memory), min(l.Output, c.Output)
	l.Log = c.Log
	return l
}

// maxInline is the limit in bytes for the source in an object, with its modules. kubectl apply stores a copy of the object in
// an annotation, and all annotations together may have 256 KiB.
const maxInline = 128 << 10

// limitsOf returns the limits that a script sets itself.
func limitsOf(source v1alpha1.ScriptSource) engine.Limits {
	l := engine.Limits{Source: maxInline}
	if source.Timeout != nil {
		l.Timeout = source.Timeout.Duration
	}
	if source.Limits != nil {
		if source.Limits.Steps != nil {
			l.Steps = *source.Limits.Steps
		}
		l.Memory = bytesOf(source.Limits.Memory)
		l.Output = bytesOf(source.Limits.Output)
	}
	return l
}

func bytesOf(q *resource.Quantity) int64 {
	if q == nil {
		return 0
	}
	return q.Value()
}

// A settableLimit is a limit that a controller may set, up to a ceiling.
type settableLimit struct {
	kind  engine.Kind                // of the error of a script that exceeds it
	field string                     // in the source of a script
	flag  string                     // sets the ceiling
	of    func(*engine.Limits) int64 // returns its value
	show  func(int64) string         // formats a value
}

var settableLimits = []settableLimit{
	{engine.KindTimeout, "timeout", "--max-script-timeout", func(l *engine.Limits) int64 { return int64(l.Timeout) }, func(n int64) string { return time.Duration(n).String() }},
	{engine.KindSteps, "limits.steps", "--max-script-steps", func(l *engine.Limits) int64 { return l.Steps }, func(n int64) string { return fmt.Sprint(n) }},
	{engine.KindMemory, "limits.memory", "--max-script-memory", func(l *engine.Limits) int64 { return l.Memory }, showBytes},
	{engine.KindOutput, "limits.output", "--max-script-output", func(l *engine.Limits) int64 { return l.Output }, showBytes},
}

func showBytes(n int64) string { return resource.NewQuantity(n, resource.BinarySI).String() }

// explain corrects the hint of a script's error: if a limit is at the ceiling, the script's author cannot raise it. l are the
// limits of the script.
func (s *Sandbox) explain(err error, l engine.Limits) error {
	var e *engine.Error
	if !errors.As(err, &e) {
		return err
	}
	for _, limit := range settableLimits {
		advice := ", or raise " + limit.field
		ceiling := limit.of(&s.Ceilings)
		if e.Kind != limit.kind || !strings.HasSuffix(e.Hint, advice) || limit.of(&l) < ceiling {
			continue
		}
		corrected := *e // a copy, since e may be shared
		corrected.Hint = fmt.Sprintf("%s; %s is at the server's maximum, %s=%s", strings.TrimSuffix(e.Hint, advice), limit.field, limit.flag, limit.show(ceiling))
		return &corrected
	}
	return err
}
