// Package sandbox gives the engines that run scripts, in this process and in worker processes, as the flags of the
// program describe them; and what the server reports about them: metrics, and scripts that cannot be stopped.
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

// A Sandbox is where scripts run: the engines, and the limits that hold for all scripts. [Flags.Open] returns one. It can be used
// concurrently until it is closed.
type Sandbox struct {
	build.Sandbox

	engines map[v1alpha1.Isolation]*engine.Engine // those of the embedded Sandbox, by their isolation
	workers *process.Pool                         // nil: this system cannot have worker processes, or no script needs them
}

// InProcess returns a sandbox without worker processes. It need not be closed.
func InProcess(floor v1alpha1.Isolation, ceilings engine.Limits) *Sandbox {
	runs := engine.New(engine.Options{Runtimes: runtimes.All()})
	s := &Sandbox{
		Sandbox: build.Sandbox{InProcess: runs, MinIsolation: floor, Ceilings: ceilings},
		engines: map[v1alpha1.Isolation]*engine.Engine{v1alpha1.IsolationInProcess: runs},
	}
	s.Runaways = s.runaways
	return s
}

// startWorkers adds worker processes, and the engine that uses them. There is a second engine since the limits are counted in
// another way: time is that of the worker, and the kernel bounds the memory.
func (s *Sandbox) startWorkers(o process.Options) error {
	var err error
	if s.workers, err = process.New(o); err != nil {
		return fmt.Errorf("start worker processes for scripts: %w", err)
	}
	languages := slices.Collect(maps.Keys(runtimes.All()))
	runs := engine.New(engine.Options{Runtimes: s.workers.Runtimes(languages...), Elsewhere: true})
	s.Process, s.engines[v1alpha1.IsolationProcess] = runs, runs
	return nil
}

// Close ends the worker processes. It does not stop scripts that run in this process.
func (s *Sandbox) Close() {
	if s.workers != nil {
		s.workers.Close()
	}
}
