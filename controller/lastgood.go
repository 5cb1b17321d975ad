package controller

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/object"
	"metascript/controller/reconcile"
	"metascript/controller/spec"
	"metascript/controller/store"
	"metascript/controller/throttle"
)

// The versions are those of controllers that were good last, for when the one that is written is not.
//
// A version that does not load, or is given up, leaves the one before running, which is in memory. The stored one covers a
// restart of the server while the source is broken or gone. It is named by its content, and the status of the controller
// object names it, so that a crash between writing the one and the other leaves what was there before, and nobody who may
// write ConfigMaps alone can have a script run. It is compiled and checked like any other.
type versions struct {
	*environment
	store *store.Store
	warn  warnings
}

func newVersions(e *environment) *versions {
	return &versions{environment: e, store: &store.Store{Namespace: e.Namespace, Writer: e.write, GetLive: e.write.Get}}
}

// storedFor is how long it is trusted that what is stored is still there, and as it was.
const storedFor = 10 * time.Minute

// storeAgain is how long after it failed a version is stored again at the earliest, since a controller that starts is looked
// at several times.
const storeAgain = 30 * time.Second

// settle keeps the version that runs if it is good. It returns the name of what is stored of the last one that was.
func (v *versions) settle(ctx context.Context, m *managed) string {
	r := m.active.Load()
	if r == nil || !v.leads() {
		return "" // nothing has been tried here
	}
	version := r.Current()
	if outcome, _ := version.Canary.Outcome(time.Now()); outcome == throttle.Good && version.Loaded.Built.Missing == "" {
		v.keep(ctx, m, version.Loaded.Candidate)
	}
	return m.storedGood()
}

// keep notes that c is good, and has it outlive the server.
func (v *versions) keep(ctx context.Context, m *managed, c *build.Candidate) {
	if !c.HasScript() {
		m.lastKnownGood.Store(nil)
		return
	}
	g := m.lastKnownGood.Load()
	if g == nil || g.Identity != c.Identity {
		g = &goodVersion{Candidate: *c}
		m.lastKnownGood.Store(g)
	}
	if v.Static == nil && g.toBeStored(time.Now()) { // what is given is no more when the server is
		v.put(ctx, g)
	}
}

// toBeStored reports whether it is time to store the version, or to look whether it still is.
func (g *goodVersion) toBeStored(now time.Time) bool {
	return g.notStored == nil && now.Sub(g.storedAt) > storedFor && now.Sub(g.triedAt) > storeAgain
}

// put stores a version.
func (v *versions) put(ctx context.Context, g *goodVersion) {
	err := v.store.PutVersion(ctx, &g.Candidate)
	switch {
	case err == nil:
		g.storedAt = time.Now()
	case errors.Is(err, store.ErrTooLarge) || apierrors.IsInvalid(err):
		g.notStored = err
	case ctx.Err() == nil:
		g.triedAt = time.Now()
		v.warnNotStored(g.ID(), err)
	}
}

// warnNotStored logs, once for each cause, that good versions are not stored: what is in the way for one controller is in the
// way for all.
func (v *versions) warnNotStored(of spec.ID, err error) {
	cause := string(apierrors.ReasonForError(err))
	if apierrors.IsNotFound(err) {
		err = fmt.Errorf("%w: create the namespace, or choose another by --namespace", err)
	}
	if v.warn.first(cause) {
		v.Log.Warn("good versions of scripts are not kept for a restart; trying again", "namespace", v.Namespace, "controller", of.Name, "error", err)
	}
}

// warnings are the causes that were logged.
type warnings struct {
	mu     sync.Mutex
	causes map[string]bool // guarded by mu
}

// first reports whether a cause comes for the first time.
func (w *warnings) first(cause string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.causes == nil {
		w.causes = map[string]bool{}
	}
	known := w.causes[cause]
	w.causes[cause] = true
	return !known
}

// last returns the version of a controller that was good last: of this server, or else the stored one that its status names.
func (v *versions) last(ctx context.Context, m *managed, c *build.Candidate) (*build.Candidate, error) {
	if g := m.lastKnownGood.Load(); g != nil && v.leads() { // while another leads, it knows better
		before := g.Candidate
		return &before, nil
	}
	if c.Status.Script == nil || c.Status.Script.LastGood == "" {
		return nil, errNoneGood
	}
	name := c.Status.Script.LastGood
	before, err := v.store.Version(ctx, name, c.Object)
	if err != nil {
		return nil, fmt.Errorf("the version that was good last, in ConfigMap %s/%s, cannot be used: %w", v.Namespace, name, err)
	}
	if v.leads() {
		m.lastKnownGood.Store(&goodVersion{Candidate: *before, storedAt: time.Now()})
	}
	return before, nil
}

var errNoneGood = errors.New("no version was good before")

// mayPass reports whether err, of finding or loading the last known good version, may be gone when that is tried again: the API
// server could not be asked or refused to answer, or a script ran out of time. That there is no such version, or that it does not
// load, does not pass.
func mayPass(err error) bool {
	var answer apierrors.APIStatus
	var network net.Error
	switch {
	case apierrors.IsNotFound(err):
		return false
	case errors.As(err, &answer), errors.As(err, &network):
		return true
	}
	return throttle.Transient(err)
}

// notStored says why the last known good version will not outlive the server, if that is the version's own fault.
func (v *versions) notStored(m *managed) []string {
	if g := m.lastKnownGood.Load(); g != nil && g.notStored != nil {
		return []string{fmt.Sprintf("the version that runs is not kept for a restart of the server while its source is broken: %v", g.notStored)}
	}
	return nil
}

// canary decides about c, which is to run in r: that it is good, if nothing else is asked for, if it was good before, or if
// there is no version to go back to. The version may fail for the parents in excused.
func (v *versions) canary(ctx context.Context, m *managed, c *build.Candidate, r *reconcile.Reconciler, excused map[object.Ref]bool) *throttle.Canary {
	if c.Script == nil || c.Script.Rollback != v1alpha1.RollbackOnError {
		return throttle.NoCanary()
	}
	if before, err := v.last(ctx, m, c); err != nil && !mayPass(err) || err == nil && before.Identity == c.Identity {
		return throttle.NoCanary()
	}
	parents := func() int {
		if !r.HasSynced() {
			return math.MaxInt
		}
		return r.Binding().Count()
	}
	return throttle.NewCanary(percentOf(c.Script), excused, parents, func() { v.queue.Add(m.id) })
}

// defaultPercent is rollbackPercent when it is not set.
const defaultPercent = 20

func percentOf(script *v1alpha1.ControllerScript) int {
	if script.RollbackPercent == nil {
		return defaultPercent
	}
	return int(*script.RollbackPercent)
}
