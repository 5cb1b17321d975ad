package sandbox

import (
	"fmt"
	"runtime"
	"time"

	"metascript/engine"
)

// runawayAge is how long a script may still run after its time is up before the server is not ready. Some end by themselves,
// and a restart would stop the work of all other controllers for a while.
const runawayAge = 5 * time.Minute

// runaways are the evaluations that still run although their time is up. A worker process is killed instead, so they are in this
// process.
func (s *Sandbox) runaways() []engine.Runaway {
	var all []engine.Runaway
	for _, e := range s.engines {
		all = append(all, e.Runaways()...)
	}
	return all
}

// RestartReasons says why the server has to be restarted: scripts still run that cannot be stopped, one of them for
// runawayAge, or as many as there are processors. Otherwise there are no reasons.
func (s *Sandbox) RestartReasons(now time.Time) []string {
	all := s.runaways()
	restart := len(all) >= max(2, runtime.GOMAXPROCS(0))
	for _, one := range all {
		restart = restart || now.Sub(one.Since) >= runawayAge
	}
	if !restart {
		return nil
	}
	var reasons []string
	for _, one := range all {
		reasons = append(reasons, fmt.Sprintf("%s: %s, runs on and cannot be stopped: edit the script or set spec.isolation: Process, and restart the server", one.Owner, one))
	}
	return reasons
}
