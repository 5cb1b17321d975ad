package controller

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"metascript/controller/account"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/object"
	"metascript/controller/reconcile"
	"metascript/controller/spec"
	"metascript/controller/store"
	"metascript/controller/throttle"
)

// versions remembers the last good version of each controller, which runs if the current version cannot be used.
//
// If a version does not load, or is given up, the version before it is in memory. The stored copy is for a restart of the
// server while the source is broken or missing. Its name contains the digest of its content, and the status of the
// controller object names it. So a crash between the two writes leaves the previous copy valid, and a user who can only
// write ConfigMaps cannot make the server run a script. The copy is compiled and validated like any other version.
type goodVersions struct {
	*environment
	store  *store.Store
	warned throttle.Seen // the causes of failures to store
}

func newGoodVersions(e *environment) *goodVersions {
	return &goodVersions{environment: e, store: &store.Store{Namespace: e.Namespace, Writer: e.write, GetLive: e.write.Get}}
}

// storedFor is how long the server assumes that a stored version still exists unchanged.
const storedFor = 10 * time.Minute

// storeAgain is the minimum time between a failed store and the next try, since a controller that starts is loaded several
// times.
const storeAgain = 30 * time.Second

// keepIfGood records the version that runs as the last good one, if it is good. It returns the name of the stored copy of the
// last good version, or "".
func (v *goodVersions) keepIfGood(ctx context.Context, m *managed) string {
	r := m.active.Load()
	if r == nil || !v.leads() || m.isBehind() {
		return "" // nothing has run on this server
	}
	version := r.Current()
	if outcome, _ := version.Canary.Outcome(time.Now()); outcome == throttle.Good && version.Loaded.Built.Missing == "" && m.givenUp(version.Loaded.Identity) == nil {
		v.keep(ctx, m, version.Loaded.Candidate)
	}
	return m.storedGood()
}

// keep records that c is good, and stores it if it has a script.
func (v *goodVersions) keep(ctx context.Context, m *managed, c *build.Candidate) {
	if !c.HasScript() {
		m.lastKnownGood.Store(nil)
		return
	}
	g := m.lastKnownGood.Load()
	if g == nil || g.Identity != c.Identity {
		g = &goodVersion{Candidate: *c}
		m.lastKnownGood.Store(g)
	}
	if v.Static == nil && g.toBeStored(time.Now()) { // static objects do not exist after a restart
		v.put(ctx, g)
	}
}

// toBeStored reports whether to store the version now, or to check whether it is still stored.
func (g *goodVersion) toBeStored(now time.Time) bool {
	return !neverStored(g.failed) && now.Sub(g.storedAt) > storedFor && now.Sub(g.triedAt) > storeAgain
}

// neverStored reports whether a version can never be stored because of its content; err is the error of the last try, or nil.
func neverStored(err error) bool {
	return errors.Is(err, store.ErrTooLarge) || apierrors.IsInvalid(err)
}

// put stores a version and records the result.
func (v *goodVersions) put(ctx context.Context, g *goodVersion) {
	err := v.store.PutVersion(ctx, &g.Candidate)
	switch {
	case err == nil:
		g.storedAt, g.failed = time.Now(), nil
	case neverStored(err):
		g.failed = err
	case ctx.Err() == nil:
		if apierrors.IsNotFound(err) {
			err = fmt.Errorf("%w: create the namespace, or choose another by --namespace", err)
		}
		g.triedAt, g.failed = time.Now(), err
		if cause := string(apierrors.ReasonForError(err)); v.warned.First(cause) { // which is most often the same for all controllers
			v.Log.Warn("the last good versions of scripts are not stored for a restart; trying again", "namespace", v.Namespace, "controller", g.ID().Name, "error", err)
		}
	}
}

// findLast returns the last good version of a controller: the one that this server remembers, or else the stored one that the
// status names.
func (v *goodVersions) findLast(ctx context.Context, m *managed, c *build.Candidate) (*build.Candidate, error) {
	if g := m.lastKnownGood.Load(); g != nil && v.leads() { // while another server leads, only the status is up to date
		before := g.Candidate
		return &before, sameAccount(&before, c)
	}
	if c.Status.Script == nil || c.Status.Script.LastGood == "" {
		return nil, errNoneGood
	}
	name := c.Status.Script.LastGood
	before, err := v.store.Version(ctx, name, c.Object)
	if err != nil {
		return nil, fmt.Errorf("the last good version, in ConfigMap %s/%s, cannot be used: %w", v.Namespace, name, err)
	}
	if v.leads() {
		m.lastKnownGood.Store(&goodVersion{Candidate: *before, storedAt: time.Now()})
	}
	return before, sameAccount(before, c)
}

// sameAccount returns an error if an earlier version acts as another account than the object as it is written: nothing but the
// object decides about the account.
func sameAccount(before, c *build.Candidate) error {
	if then, now := account.Of(before.Settings.ServiceAccount), account.Of(c.Settings.ServiceAccount); then != now {
		return errors.New("the last good version is not used, since spec.serviceAccount was changed after it")
	}
	return nil
}

var errNoneGood = errors.New("there is no earlier good version")

// notStored returns a warning if the last good version cannot be stored because of its content, or until somebody creates the namespace
// or grants a permission; nil otherwise.
func (v *goodVersions) notStored(m *managed) []string {
	if g := m.lastKnownGood.Load(); g != nil && (neverStored(g.failed) || apierrors.IsNotFound(g.failed) || apierrors.IsForbidden(g.failed)) {
		return []string{fmt.Sprintf("the version that runs is not stored, so that it is lost if the server restarts while its source is broken: %v", g.failed)}
	}
	return nil
}

// canary returns the Canary for c, which is about to run in r. The version counts as good from the start if the spec does
// not request rollback, if it was good before, or if there is no version to roll back to. Failures for the parents in
// excused do not count.
func (v *goodVersions) canary(ctx context.Context, m *managed, c *build.Candidate, r *reconcile.Reconciler, excused map[object.Ref]bool) *throttle.Canary {
	if c.Script == nil || c.Script.Rollback != v1alpha1.RollbackOnError {
		return throttle.NoCanary()
	}
	if before, err := v.findLast(ctx, m, c); err != nil && !store.MayPass(err) || err == nil && before.Identity == c.Identity {
		return throttle.NoCanary()
	}
	parents := func() int {
		if !r.HasSynced() {
			return math.MaxInt
		}
		return r.Binding().Count()
	}
	return throttle.NewCanary(spec.RollbackPercent(c.Script), excused, parents, func() { v.queue.Add(m.id) })
}
