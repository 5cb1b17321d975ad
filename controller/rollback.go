package controller

import (
	"context"
	"errors"
	"time"

	"metascript/controller/build"
	"metascript/controller/status"
	"metascript/controller/throttle"
)

// A rollbacker goes back to the last known good version of a controller, when the one that is written does not load, or was
// given up.
type rollbacker struct {
	*environment
	versions  *versions
	sources   *sources
	activator *activator
}

// noteOutcome notes how the version that runs does, before another takes its place.
func (r *rollbacker) noteOutcome(ctx context.Context, m *managed) {
	active := m.active.Load()
	if active == nil {
		return
	}
	version := active.Current()
	switch outcome, why := version.Canary.Outcome(time.Now()); outcome {
	case throttle.Good:
		r.versions.settle(ctx, m)
	case throttle.GivenUp:
		m.reject(version.Loaded.Identity, why)
	}
}

// check reports as an error that c was given up, here or by the server before. One that was edited is not, nor is one for
// which there is none to go back to.
func (r *rollbacker) check(ctx context.Context, m *managed, c *build.Candidate) error {
	// The status says what the server before knew. What this one knows, once it leads, is newer.
	if !m.rejectionKnown && c.Status.Script != nil && m.rejected(c.Identity) == nil && c.Status.Script.GivenUp == "sha256:"+c.Identity {
		m.reject(c.Identity, &throttle.GivenUpError{Reason: status.RejectionReason(c.Status.Conditions)})
	}
	m.rejectionKnown = m.rejectionKnown || r.leads()
	why := m.rejected(c.Identity)
	if why == nil {
		return nil // one that was given up and still runs, is seen to when it is known whether c can take its place
	}
	before, err := r.versions.last(ctx, m, c)
	if mayPass(err) || err == nil && before.Identity != c.Identity {
		return why
	}
	m.clearRollback()
	return nil
}

// rollBack keeps the last known good version running, or has it run again, since what is written cannot be used. The error says
// why it cannot be used either. If that may pass, a version that was given up stays so, and is rolled back later; or else it is
// accepted, since there is none to go back to.
func (r *rollbacker) rollBack(ctx context.Context, m *managed, c *build.Candidate) error {
	var rejected error
	if active := m.active.Load(); active != nil {
		loaded := active.Current().Loaded
		if rejected = m.rejected(loaded.Identity); rejected == nil && loaded.Built.Missing == "" {
			return nil
		}
	}
	before, err := r.versions.last(ctx, m, c)
	if err == nil {
		err = r.load(ctx, m, before)
	}
	if err == nil && rejected != nil {
		r.events.Warning(c.Object, "ScriptRolledBack", "%v", rejected)
		r.counts.Controller(c.Kind, m.id.Name).Reloaded("rolledback")
	}
	if err != nil && rejected != nil && !mayPass(err) {
		m.clearRollback()
	}
	if errors.Is(err, errNoneGood) || ctx.Err() != nil {
		return nil
	}
	return err
}

// load has the last known good version run.
func (r *rollbacker) load(ctx context.Context, m *managed, c *build.Candidate) (err error) {
	if err := m.rollbackBackoff.Blocked(c.Identity, time.Now()); err != nil {
		return err
	}
	if c.Resolved, err = r.activator.discover(c.Declaration); err != nil {
		return err
	}
	loader := r.sources.loader(m, c)
	built, err := loader.Load(ctx, c.Declaration, c.Parts)
	m.rollbackBackoff.Note(c.Identity, err, time.Now())
	if err != nil {
		return err
	}
	return r.activator.activate(ctx, m, c, loader, built)
}
