package controller

import (
	"context"
	"time"

	"metascript/controller/store"
)

// sweep removes the stored scripts that nothing refers to, again and again, until ctx is done. An error is logged once,
// since most servers have no such scripts and need no permission to list them.
func (s *Server) sweep(ctx context.Context) {
	tick := time.NewTicker(store.SweepPeriod)
	defer tick.Stop()
	sweeper := store.Sweeper{Namespace: s.Namespace, Client: s.client, Metadata: s.outlines, Writer: s.write, InUse: s.scriptsInUse}
	logged := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if !s.leads() {
				continue
			}
			err := sweeper.Sweep(ctx)
			if err != nil && err.Error() != logged && ctx.Err() == nil {
				logged = err.Error()
				s.Log.Warn("scripts that no revision refers to are not removed; trying again", "namespace", s.Namespace, "error", err)
			}
		}
	}
}

// scriptsInUse calls digest with each stored script and version that controllers refer to, or will refer to since they run.
func (s *Server) scriptsInUse(digest func(string)) {
	for _, m := range s.records.all() {
		if g := m.lastKnownGood.Load(); g != nil {
			digest(g.Identity)
		}
		if r := m.active.Load(); r != nil {
			if revisions := r.Current().Revisions; revisions != nil && revisions.Scripts != nil {
				digest(revisions.Scripts.Digest)
			}
		}
	}
}
