package main

import (
	"fmt"
	goruntime "runtime"
	"time"

	"metascript/engine"
)

// runawayAge is how long a script may run on although its time is up before the server is not ready any more.
const runawayAge = 5 * time.Minute

// runaways are the evaluations that run on although their time is up.
func (s *sandbox) runaways() []engine.Runaway {
	var all []engine.Runaway
	for _, e := range s.engines {
		all = append(all, e.Runaways()...)
	}
	return all
}

// overrun says why the server is to be restarted: scripts run on that cannot be stopped, one for runawayAge, or as many as
// there are processors. Nothing, when that is not so.
func (s *sandbox) overrun(now time.Time) []string {
	all := s.runaways()
	late := len(all) >= max(2, goruntime.GOMAXPROCS(0))
	for _, one := range all {
		late = late || now.Sub(one.Since) >= runawayAge
	}
	if !late {
		return nil
	}
	var why []string
	for _, one := range all {
		why = append(why, fmt.Sprintf("%s: %s, runs on and cannot be stopped: edit the script or set spec.isolation: Process, and restart the server", one.Owner, one))
	}
	return why
}
