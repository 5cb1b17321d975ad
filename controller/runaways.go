package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/api/v1alpha1"
	"metascript/engine"
)

// runawayCheck is how often the server looks whether scripts have begun to run on, or have ended.
const runawayCheck = 2 * time.Second

// watchRunaways has the status of a controller say that its script runs on although its time is up, and that it does not
// any more.
func (s *Server) watchRunaways(ctx context.Context) {
	tick := time.NewTicker(runawayCheck)
	defer tick.Stop()
	before := map[id]int{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := s.countRunaways()
		for name := range now {
			if now[name] != before[name] {
				s.queue.Add(name)
			}
		}
		for name := range before {
			if now[name] == 0 {
				s.queue.Add(name)
			}
		}
		before = now
	}
}

// countRunaways counts what runs on, by the controller object.
func (s *Server) countRunaways() map[id]int {
	count := map[id]int{}
	for _, one := range s.sandbox.Runaways() {
		if kind, name, ok := strings.Cut(one.Owner, "/"); ok {
			count[id{Kind: kind, Name: name}]++
		}
	}
	return count
}

// runaways are those of one controller.
func (s *Sandbox) runaways(name id) []engine.Runaway {
	var own []engine.Runaway
	for _, one := range s.Runaways() {
		if one.Owner == name.owner() {
			own = append(own, one)
		}
	}
	return own
}

// runawayCondition tells of what runs on, and what to do.
func runawayCondition(v *verdict) metav1.Condition {
	if len(v.runaways) == 0 {
		return metav1.Condition{}
	}
	more := ""
	if n := len(v.runaways) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return condition(metav1.ConditionTrue, v1alpha1.ReasonNotStopped, fmt.Sprintf(
		"%s%s runs on although its time is up, keeps a processor of the server busy, and cannot be stopped: its text is refused; edit the script, and restart the server to end what runs; spec.isolation: Process ends such scripts", v.runaways[0], more))
}
