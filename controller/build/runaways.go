package build

import (
	"context"
	"strings"
	"time"

	"metascript/controller/spec"
	"metascript/engine"
)

// shadowSuffix is what the owner of the scripts of a shadow has after the owner of those that run. No name has it.
const shadowSuffix = " (shadow)"

// RunawaysOf returns the Runaways of one controller. Those of an earlier controller of the same name that was another tenant's are
// left out.
func (s *Sandbox) RunawaysOf(id spec.ID, tenant string) []engine.Runaway {
	var own []engine.Runaway
	for _, one := range s.Runaways() {
		if strings.TrimSuffix(one.Owner, shadowSuffix) == id.Owner() && one.Tenant == tenant {
			own = append(own, one)
		}
	}
	return own
}

// runawayCheck is how often WatchRunaways checks for scripts that still run after their timeout.
const runawayCheck = 2 * time.Second

// WatchRunaways calls changed with a controller when one of its scripts begins to run after its timeout, and when it ends, until ctx
// is done.
func (s *Sandbox) WatchRunaways(ctx context.Context, changed func(spec.ID)) {
	tick := time.NewTicker(runawayCheck)
	defer tick.Stop()
	before := map[spec.ID]int{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := s.countRunaways()
		for id := range now {
			if now[id] != before[id] {
				changed(id)
			}
		}
		for id := range before {
			if now[id] == 0 {
				changed(id)
			}
		}
		before = now
	}
}

// countRunaways returns how many calls run after their timeout, by controller.
func (s *Sandbox) countRunaways() map[spec.ID]int {
	count := map[spec.ID]int{}
	for _, one := range s.Runaways() {
		if kind, name, ok := strings.Cut(strings.TrimSuffix(one.Owner, shadowSuffix), "/"); ok {
			count[spec.ID{Kind: kind, Name: name}]++
		}
	}
	return count
}
