package sandbox

import (
	"fmt"
	"runtime"
	"time"

	"metascript/engine"
)

// runawayAge is how long a script may still run after its timeout before the server is not ready. Some scripts end by themselves, and
// a restart would interrupt all other controllers.
const runawayAge = 5 * time.Minute

// runaways returns the evaluations that still run after their timeout. All of them run in this process: a worker process would have been
// killed.
func (s *Sandbox) runaways() []engine.Runaway {
	var all []engine.Runaway
	for _, e := range s.engines {
		all = append(all, e.Runaways()...)
	}
	return all
}

// RestartReasons returns why the server has to be restarted: scripts that cannot be stopped still run, one of them for runawayAge, or as
// many as there are CPUs. Otherwise it returns nil.
func (s *Sandbox) RestartReasons(now time.Time) []string {
	all := s.runaways()
	restart := len(all) >= max(2, runtime.GOMAXPROCS(0))
	for _, runaway := range all {
		restart = restart || now.Sub(runaway.Since) >= runawayAge
	}
	if !restart {
		return nil
	}
	var reasons []string
	for _, runaway := range all {
		reasons = append(reasons, fmt.Sprintf("%s: %s, still runs and cannot be stopped: edit the script or set spec.isolation: Process, and restart the server", runaway.Owner, runaway))
	}
	return reasons
}
