package build

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/spec"
	"metascript/engine"
)

// A Sandbox says where scripts run and what they may ask for. It is the server's; an object chooses within it.
type Sandbox struct {
	InProcess engine.Runtime // runs scripts in this process; not needed when Floor is Process
	Process   engine.Runtime // runs them in worker processes; nil: it cannot be done here
	Missing   []string       // why Process is nil, in words

	Runaways func() []engine.Runaway // the evaluations that run on although their time is up; nil: it is not known

	// Floor is the isolation that every script has at least; "" is InProcess.
	Floor v1alpha1.Isolation

	// Ceilings are the most that an object may set for its scripts: Timeout, Steps, Memory and Output; by default 30s,
	// a thousand million, 256Mi and 16Mi. Log is not for objects to set, and as it is here.
	Ceilings engine.Limits
}

// WithDefaults gives the sandbox with what is not set.
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

// An IsolationError says that scripts cannot be run as isolated as is asked. They are not run with less.
type IsolationError struct{ missing []string }

func (e *IsolationError) Error() string {
	return "isolation Process cannot be had here, and scripts are not run with less; the system lacks: " + strings.Join(e.missing, "; ")
}

// Isolation is the one that the scripts of a controller have that asks for this one.
func (s *Sandbox) Isolation(asked v1alpha1.Isolation) v1alpha1.Isolation {
	if asked == v1alpha1.IsolationProcess || s.Floor == v1alpha1.IsolationProcess {
		return v1alpha1.IsolationProcess
	}
	return v1alpha1.IsolationInProcess
}

// engine gives what runs scripts so.
func (s *Sandbox) engine(isolation v1alpha1.Isolation) (engine.Runtime, error) {
	switch {
	case isolation == v1alpha1.IsolationInProcess:
		return s.InProcess, nil
	case s.Process == nil:
		return nil, &IsolationError{s.Missing}
	}
	return s.Process, nil
}

// Warnings lists what spec asks for and does not get.
func (s *Sandbox) Warnings(d *spec.Declaration) []string {
	var doubts []string
	switch {
	case d.Settings.Isolation == v1alpha1.IsolationInProcess && s.Floor == v1alpha1.IsolationProcess:
		doubts = append(doubts, "isolation InProcess is less than this server insists on: the scripts run with --isolation=Process")
	case d.Settings.Isolation == v1alpha1.IsolationProcess && !d.HasScript():
		doubts = append(doubts, "isolation Process has no effect: no hook is a script")
	}
	if d.Script != nil {
		doubts = append(doubts, s.excess("script", d.Script.ScriptSource)...)
	}
	for _, hook := range d.Hooks {
		if hook.Hook != nil && hook.Script != nil {
			doubts = append(doubts, s.excess("hooks."+hook.Name+".script", hook.Script.ScriptSource)...)
		}
	}
	return doubts
}

// excess lists the limits in source that are above the server's ceilings.
func (s *Sandbox) excess(path string, source v1alpha1.ScriptSource) []string {
	set, c := asked(source), s.Ceilings
	var all []string
	for _, limit := range bounds {
		if want, most := limit.of(&set), limit.of(&c); want > most {
			all = append(all, fmt.Sprintf("%s.%s is %s, above the server's ceiling, which counts: %s=%s", path, limit.field, limit.show(want), limit.flag, limit.show(most)))
		}
	}
	return all
}

// limits are those of a script: what it asks for, or the default, and never more than the ceilings.
func (s *Sandbox) limits(source v1alpha1.ScriptSource) engine.Limits {
	l, c := asked(source).WithDefaults(), s.Ceilings
	l.Timeout, l.Steps = min(l.Timeout, c.Timeout), min(l.Steps, c.Steps)
	l.Memory, l.Output = min(l.Memory, c.Memory), min(l.Output, c.Output)
	l.Log = c.Log
	return l
}

// maxInline is how many bytes of source an object may hold, modules included: the annotation in which kubectl apply
// keeps a copy of the object holds 256 KiB.
const maxInline = 128 << 10

// asked are the limits that an object sets itself.
func asked(source v1alpha1.ScriptSource) engine.Limits {
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

// A bound is a limit that an object may set up to a ceiling.
type bound struct {
	kind  engine.Kind // of the error of a script that hits it
	field string      // in a script's source
	flag  string      // that sets the ceiling
	of    func(*engine.Limits) int64
	show  func(int64) string
}

var bounds = []bound{
	{engine.KindTimeout, "timeout", "--max-script-timeout", func(l *engine.Limits) int64 { return int64(l.Timeout) }, func(n int64) string { return time.Duration(n).String() }},
	{engine.KindSteps, "limits.steps", "--max-script-steps", func(l *engine.Limits) int64 { return l.Steps }, func(n int64) string { return fmt.Sprint(n) }},
	{engine.KindMemory, "limits.memory", "--max-script-memory", func(l *engine.Limits) int64 { return l.Memory }, showBytes},
	{engine.KindOutput, "limits.output", "--max-script-output", func(l *engine.Limits) int64 { return l.Output }, showBytes},
}

func showBytes(n int64) string { return resource.NewQuantity(n, resource.BinarySI).String() }

// explain mends the hint of a script's error: to raise a limit that is at the server's ceiling is no advice.
func (s *Sandbox) explain(err error, l engine.Limits) error {
	var e *engine.Error
	if !errors.As(err, &e) {
		return err
	}
	for _, limit := range bounds {
		advice := ", or raise " + limit.field
		most := limit.of(&s.Ceilings)
		if e.Kind != limit.kind || !strings.HasSuffix(e.Hint, advice) || limit.of(&l) < most {
			continue
		}
		mended := *e // the one at hand may be shared
		mended.Hint = fmt.Sprintf("%s; %s is at the server's ceiling, %s=%s", strings.TrimSuffix(e.Hint, advice), limit.field, limit.flag, limit.show(most))
		return &mended
	}
	return err
}

// RunawaysOf are those of one controller.
func (s *Sandbox) RunawaysOf(name spec.ID) []engine.Runaway {
	var own []engine.Runaway
	for _, one := range s.Runaways() {
		if one.Owner == name.Owner() {
			own = append(own, one)
		}
	}
	return own
}
