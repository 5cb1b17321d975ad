// Package sandbox creates the engines that run scripts, in this process and in worker processes, with the configuration in the flags of
// the program. It also has what the server reports about them: metrics, and scripts that cannot be stopped.
package sandbox

import (
	"fmt"
	"maps"
	"slices"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/engine"
	"metascript/engine/process"
	"metascript/runtimes"
)

// A Sandbox has the engines that run scripts, and the limits for all scripts. [Flags.Open] returns one. It is safe for concurrent use
// until it is closed.
type Sandbox struct {
	build.Sandbox

	engines map[v1alpha1.Isolation]*engine.Engine // the engines of the embedded Sandbox, by their isolation
	workers *process.Pool                         // nil: this system cannot have worker processes, or no script needs them
}

// InProcess returns a sandbox without worker processes. floor is the minimum isolation, ceilings are the maximum limits. It need not be
// closed.
func InProcess(floor v1alpha1.Isolation, ceilings engine.Limits) *Sandbox {
	e := engine.New(engine.Options{Runtimes: runtimes.InProcess()})
	s := &Sandbox{
		Sandbox: build.Sandbox{InProcess: e, MinIsolation: floor, Ceilings: ceilings},
		engines: map[v1alpha1.Isolation]*engine.Engine{v1alpha1.IsolationInProcess: e},
	}
	s.Runaways = s.runaways
	return s
}

// startWorkers starts worker processes, and adds an engine that uses them. It is a second engine, since it counts the CPU time of the
// workers, and the kernel limits the memory.
func (s *Sandbox) startWorkers(o process.Options) error {
	var err error
	if s.workers, err = process.New(o); err != nil {
		return fmt.Errorf("start worker processes for scripts: %w", err)
	}
	languages := slices.Collect(maps.Keys(runtimes.All()))
	e := engine.New(engine.Options{Runtimes: s.workers.Runtimes(languages...), Elsewhere: true})
	s.Process, s.engines[v1alpha1.IsolationProcess] = e, e
	return nil
}

// Close ends the worker processes. It does not stop scripts that run in this process.
func (s *Sandbox) Close() {
	if s.workers != nil {
		s.workers.Close()
	}
}
