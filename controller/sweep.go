package controller

import (
	"context"
	"time"

	"metascript/controller/object"
	"metascript/controller/revisions"
	"metascript/controller/spec"
	"metascript/controller/store"
	"metascript/controller/throttle"
)

// sweep periodically deletes the stored scripts and the ControllerRevisions that are not needed any more, until ctx is done.
// The same error is logged once, since most servers have none of these objects and need no permission to list them.
func (s *Server) sweep(ctx context.Context) {
	tick := time.NewTicker(store.SweepPeriod)
	defer tick.Stop()
	stored := store.Sweeper{Namespace: s.Namespace, Watched: s.WatchNamespaces, Client: s.client, Metadata: s.outlines, Writer: s.write, InUse: s.scriptsInUse}
	unused := revisions.Sweeper{Client: s.client, Metadata: s.outlines, Watched: s.WatchNamespaces, Resources: s.resources, Writer: s.write, Runs: s.runsAsWritten}
	logged := map[string]string{}
	log := func(what string, err error) {
		if err != nil && err.Error() != logged[what] && ctx.Err() == nil {
			logged[what] = err.Error()
			s.Log.Warn(what, "namespace", s.Namespace, "error", err)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if s.leads() {
			log("ControllerRevisions that no controller needs are not removed; trying again", unused.Sweep(ctx))
			log("scripts that no revision refers to are not removed; trying again", stored.Sweep(ctx))
		}
	}
}

// runsAsWritten reports whether this server runs the current spec of a controller, with all its scripts, and will not roll
// it back to an earlier version, which may have a rolling method.
func (s *Server) runsAsWritten(o *object.Object) bool {
	m := s.records.get(spec.IDOf(o))
	if m == nil || m.uid != o.GetUID() {
		return false
	}
	r := m.active.Load()
	if r == nil {
		return false
	}
	version := r.Current()
	outcome, _ := version.Canary.Outcome(time.Now())
	return outcome == throttle.Good && version.Loaded.LatestGeneration() == o.GetGeneration() && version.Loaded.Built.Missing == ""
}

// scriptsInUse calls digest with the digest of each stored script and version that this server uses or will use.
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
