package controller

import (
	"context"
	"errors"
	"strings"
	"time"

	"metascript/controller/build"
	"metascript/controller/spec"
	"metascript/controller/status"
	"metascript/controller/store"
	"metascript/controller/throttle"
)

// A rollbacker activates the last good version of a controller if the current one does not load, or was given up.
type rollbacker struct {
	*environment
	versions  *goodVersions
	sources   *sources
	activator *activator
}

// readStatus records what the server that led before has written into the status: which version it gave up; and if this server began to lead before it
// had loaded the version that the other one ran, that what runs is behind, until noteOutcome sees that it is that of the object as it is. Once this
// server has loaded the object as the leader, its own record is newer.
func (r *rollbacker) readStatus(m *managed, c *build.Candidate) {
	is := c.Status.Script
	if m.statusRead {
		return
	}
	m.statusRead = r.leads()
	if is == nil {
		return
	}
	if is.GivenUp != "" {
		m.giveUp(strings.TrimPrefix(is.GivenUp, "sha256:"), &throttle.GivenUpError{Reason: status.GivenUpReason(c.Status.Conditions)})
	}
	if active := m.active.Load(); m.statusRead && active != nil && is.LastGood != "" && is.Digest != active.Current().Loaded.Built.Status.Digest {
		m.behind = active.Current().Loaded
	}
}

// noteOutcome records the outcome of the version that runs, before another one is activated. The sources of c were read.
func (r *rollbacker) noteOutcome(ctx context.Context, m *managed, c *build.Candidate) {
	active := m.active.Load()
	if active == nil {
		return
	}
	if m.runningAs(c) != nil {
		m.behind = nil // what runs was just loaded
	}
	version := active.Current()
	switch outcome, why := version.Canary.Outcome(time.Now()); outcome {
	case throttle.Good:
		r.versions.keepIfGood(ctx, m)
	case throttle.GivenUp:
		m.giveUp(version.Loaded.Identity, why)
	}
}

// refuseGivenUp returns an error if c was given up. It accepts c if there is no other version to roll back to.
func (r *rollbacker) refuseGivenUp(ctx context.Context, m *managed, c *build.Candidate) error {
	why := m.givenUp(c.Identity)
	if why == nil {
		return nil // another version that was given up and still runs is replaced when c is activated
	}
	before, err := r.versions.findLast(ctx, m, c)
	if store.MayPass(err) || err == nil && before.Identity != c.Identity {
		return why
	}
	m.acceptGivenUp()
	return nil
}

// rollBack keeps the last good version active, or activates it again, since the current version cannot be used. The error is
// why the last good version cannot be used either. If a later try may succeed, a version that was given up stays given up,
// and is rolled back then; otherwise it is accepted, since there is none to roll back to.
func (r *rollbacker) rollBack(ctx context.Context, m *managed, c *build.Candidate) error {
	var rejected error
	if active := m.active.Load(); active != nil {
		loaded := active.Current().Loaded
		if rejected = m.givenUp(loaded.Identity); rejected == nil && loaded.Built.Missing == "" && !m.isBehind() {
			return nil
		}
	}
	before, err := r.versions.findLast(ctx, m, c)
	if err == nil {
		err = r.activateLast(ctx, m, before)
	}
	if err == nil && rejected != nil {
		if c.Settings.ServiceAccount != nil { // see status.Details
			rejected = &throttle.GivenUpError{}
		}
		r.events.Warning(c.Object, "ScriptRolledBack", "%v", rejected)
		r.counts.Controller(c.Kind, m.id.Name).Reloaded("rolledback")
	}
	if err != nil && !store.MayPass(err) { // there is none to roll back to
		m.behind = nil
		if rejected != nil {
			m.acceptGivenUp()
		}
	}
	if errors.Is(err, errNoneGood) || ctx.Err() != nil {
		return nil
	}
	return err
}

// activateLast loads and activates the last good version.
func (r *rollbacker) activateLast(ctx context.Context, m *managed, c *build.Candidate) (err error) {
	if err := m.rollbackBackoff.Blocked(c.Identity, time.Now()); err != nil {
		return err
	}
	if c.Resolved, err = spec.Discover(c.Declaration, r.resources); err != nil {
		return err
	}
	builder := r.sources.builder(m, c)
	built, err := builder.Build(ctx, c.Declaration, c.Parts)
	m.rollbackBackoff.Note(c.Identity, err, time.Now())
	if err != nil {
		return err
	}
	return r.activator.activate(ctx, m, c, builder, built)
}
