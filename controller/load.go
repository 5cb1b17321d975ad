package controller

import (
	"cmp"
	"context"
	"errors"
	"time"

	"metascript/controller/access"
	"metascript/controller/account"
	"metascript/controller/build"
	"metascript/controller/finalizers"
	"metascript/controller/guard"
	"metascript/controller/revisions"
	"metascript/controller/shadow"
	"metascript/controller/spec"
	"metascript/controller/status"
	"metascript/controller/store"
)

// A loader loads controller objects, and makes what runs match them.
type loader struct {
	*environment
	watches   *watches
	sources   *sources
	versions  *goodVersions
	activator *activator
	rollback  *rollbacker
	reporter  *reporter
	deleter   *deleter
}

func newLoader(e *environment, w *watches) *loader {
	l := &loader{environment: e, watches: w, sources: newSources(e), versions: newGoodVersions(e), deleter: &deleter{e}}
	l.activator = &activator{e, w, l.versions, &revisions.Schemas{Client: e.client.Resource(customResourceDefinitions), Watched: w.definition}}
	l.rollback = &rollbacker{e, l.versions, l.sources, l.activator}
	l.reporter = newReporter(e, w)
	return l
}

// load loads the controller object of that name. If it returns an error, the object is loaded again after a back-off.
func (l *loader) load(ctx context.Context, id spec.ID) error {
	o := l.watches.get(id)
	if o == nil {
		return l.finishDeletion(ctx, id)
	}
	m, replaced := l.records.open(o)
	if replaced != nil {
		l.activator.stop(replaced) // of an object with another UID, which was deleted
	}
	if err := l.deleter.finish(ctx, id); err != nil { // of an object of this name with another account
		l.queue.AddAfter(id, l.DeletionGrace)
	}
	d, err := spec.Read(o)
	return (&loading{loader: l, record: m, candidate: &build.Candidate{Declaration: d, Object: o}}).run(ctx, err)
}

// finishDeletion stops what runs for a deleted controller object, drops its state, and finishes its deletion.
func (l *loader) finishDeletion(ctx context.Context, id spec.ID) error {
	if m := l.records.get(id); m != nil {
		l.activator.stop(m)
	}
	l.records.forget(id)
	l.sources.forget(id)
	l.reporter.forget(id)
	l.shadows.Forget(id)
	return l.deleter.finish(ctx, id)
}

// checkFiles queues the controllers whose scripts in files have changed since they were loaded, until ctx is done. It reads
// the files again, since an edit in a directory need not change what a controller uses of it.
func (l *loader) checkFiles(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.sources.edited:
		}
		for _, m := range l.records.concernedBy(l.sources.takeChanges()) {
			if ctx.Err() == nil && l.sources.haveChanged(m, l.watches.get(m.id)) {
				l.queue.Add(m.id)
			}
		}
	}
}

// A loading is one run of the loader for a controller object that exists, with the results so far.
type loading struct {
	*loader
	record    *managed
	candidate *build.Candidate // the object as it is written
	builder   *build.Builder   // makes the candidate's hooks
	result    status.Result
	retry     error // why the object is loaded again although nothing changes; nil: the result decides
}

// run loads the object and reports the result in its status. If the object cannot be loaded, the version that ran before
// stays active, with its spec and its scripts. unreadable is why the spec cannot be read, or nil.
func (l *loading) run(ctx context.Context, unreadable error) error {
	l.rollback.readStatus(l.record, l.candidate)
	switch d := l.candidate.Declaration; {
	case d.Settings.Paused: // works in an emergency too, even if the spec is invalid
		l.activator.stop(l.record)
		l.record.guard.Pause()
		l.warn(l.sandbox.Warnings(d)...)
		l.warn(d.Warnings()...)
	case unreadable != nil:
		l.result.SpecErr = unreadable
		l.useAccount(account.Of(d.Settings.ServiceAccount))
	default:
		l.loadSpec(ctx)
	}
	if ctx.Err() != nil {
		return nil
	}
	l.observe(ctx)
	l.result.Shadow = l.shadow(ctx)
	if l.leads() { // otherwise the leader reports it
		if err := l.reporter.report(ctx, l.record, l.candidate, &l.result); err != nil {
			return err
		}
	}
	if l.retry != nil {
		return l.retry
	}
	return l.result.Retry()
}

// loadSpec loads the spec and activates that version, unless it runs already. If it cannot be loaded, the last good version
// stays active, or is activated again.
func (l *loading) loadSpec(ctx context.Context) {
	d := l.candidate.Declaration
	l.warn(l.sandbox.Warnings(d)...)
	l.warn(d.Warnings()...)
	l.releaseFinalizers()
	who := account.Of(d.Settings.ServiceAccount)
	l.useAccount(who)
	if l.result.SpecErr = errors.Join(d.Validate(), l.accounts.Check(who)); l.result.SpecErr != nil {
		return
	}
	l.candidate.Resolved, l.result.ResourcesErr = spec.Discover(d, l.resources)
	l.result.Discovered = true
	if l.result.SpecErr = l.candidate.Resolved.CheckNamespaces(d, l.WatchNamespaces); l.result.SpecErr != nil {
		return
	}
	built, err := l.build(ctx)
	l.noteSources(err)
	switch {
	case err == nil:
		l.promote(ctx, built)
	case guard.IsIdle(err): // nothing runs until it is known whether the version may
	case l.result.ResourcesErr == nil && d.HasScript():
		l.rollBack(ctx)
		l.startPartial(ctx)
	}
}

// useAccount records the account of the object as it is written, and stops what runs if that acts as another one. Otherwise an account
// that was taken from a controller would be used for as long as its new version does not load.
func (l *loading) useAccount(who account.Account) {
	l.record.account.Store(&who)
	if r := l.record.active.Load(); r != nil && r.Binding().Access.Account() != who {
		l.activator.stop(l.record)
	}
}

func (l *loading) warn(warnings ...string) {
	l.result.Warnings = append(l.result.Warnings, warnings...)
}

// warnUnshown is warn for warnings that name parents.
func (l *loading) warnUnshown(warnings ...string) {
	l.result.Unshown = append(l.result.Unshown, warnings...)
	l.warn(warnings...)
}

// warnOfScripts is warn for warnings that may show parts of the scripts. Whoever may read the status may not read those in ConfigMaps.
func (l *loading) warnOfScripts(warnings ...string) {
	if l.candidate.UsesConfigMaps() {
		l.warnUnshown(warnings...)
	} else {
		l.warn(warnings...)
	}
}

// warnOfMistakes warns of the mistakes in scripts that fail only when they are reached, also while the guard decides.
func (l *loading) warnOfMistakes(built *build.Built) {
	for _, mistake := range built.Mistakes() {
		l.warnOfScripts("script: " + mistake.Error())
	}
}

// releaseFinalizers makes what runs remove its finalizers if the object has the annotation for it. It comes before another
// version is activated.
func (l *loading) releaseFinalizers() {
	if r := l.record.active.Load(); r != nil {
		r.ReleaseFinalizers(finalizers.Removes(l.candidate.Object))
	}
}

// build reads and compiles the scripts. If they run already, it returns what runs.
func (l *loading) build(ctx context.Context) (build.Built, error) {
	c, m := l.candidate, l.record
	l.builder = l.sources.builder(m, c)
	err := l.sources.read(ctx, m, c, l.builder)
	l.rollback.noteOutcome(ctx, m, c)
	if err != nil {
		return build.Built{}, err
	}
	if err := l.rollback.refuseGivenUp(ctx, m, c); err != nil {
		return build.Built{}, err
	}
	if r := m.runningAs(c); r != nil {
		m.guard.Stop() // of a version that was reverted
		l.warnOfMistakes(&r.Current().Loaded.Built)
		return r.Current().Loaded.Built, nil
	}
	if err := m.loadBackoff.Blocked(c.Identity, time.Now()); err != nil {
		return build.Built{}, err
	}
	built, err := l.builder.Build(ctx, c.Declaration, c.Parts)
	l.warnOfMistakes(&built)
	if err == nil && l.result.ResourcesErr == nil {
		err = l.checkGuard(ctx, built)
	}
	if err != nil {
		return build.Built{}, err // without the hooks that were made before the error
	}
	return built, nil
}

// checkGuard returns an error if a version that can run must not run, or not yet, because of its guard.
func (l *loading) checkGuard(ctx context.Context, built build.Built) error {
	c, m := l.candidate, l.record
	v := &guard.Version{Candidate: c, Built: built, Leads: l.leads(), Unlimited: l.DryRun, Changed: func() { l.queue.Add(m.id) }}
	if r := m.active.Load(); r != nil {
		v.Before, v.Runs = r.Current().Loaded.Candidate, true
	} else if v.Limited() {
		before, err := l.versions.findLast(ctx, m, c)
		if v.Lost = err != nil && !errors.Is(err, errNoneGood); err == nil {
			v.Before = before
		}
	}
	v.Open = func(c *build.Candidate) (*guard.Side, error) {
		return l.activator.side(ctx, l.sources.builder(m, c), c)
	}
	return m.guard.Check(ctx, v, l.guards)
}

// noteSources records in the result the warnings about the sources, and err, the error of build.
func (l *loading) noteSources(err error) {
	c, m := l.candidate, l.record
	l.warnOfScripts(c.Parts.Warnings()...)
	l.result.ConfigMaps = c.Parts.ConfigMaps()
	l.warn(l.sources.warnings(m)...)
	l.warn(l.versions.notStored(m)...)
	l.result.Unreported = !m.loadBackoff.Note(c.Identity, err, time.Now()) || guard.IsPending(err)
	if err != nil {
		l.result.SetError(err)
	}
}

// promote activates the candidate, unless it runs already.
func (l *loading) promote(ctx context.Context, built build.Built) {
	c, m := l.candidate, l.record
	l.result.Built = built
	l.warnOfScripts(built.Warnings...)
	l.warn(finalizers.ReleaseWarnings(c.Object, built.Finalize != nil)...)
	if l.result.ResourcesErr == nil && m.runningAs(c) == nil {
		l.result.SpecErr = l.replace(ctx, built)
	} else if r := m.runningAs(c); r != nil {
		r.Current().Loaded.Covers(c.Object.GetGeneration())
	}
	m.clearIfEdited(c.Identity)
}

// replace activates the candidate. It logs a change and records an event if only the scripts changed.
func (l *loading) replace(ctx context.Context, built build.Built) error {
	c, before, digest := l.candidate, l.record.active.Load(), ""
	if before != nil {
		digest = before.Current().Loaded.Built.Status.Digest
	}
	if err := l.activator.activate(ctx, l.record, c, l.builder, built); err != nil || before != l.record.active.Load() {
		return err
	}
	l.counts.Controller(c.Kind, c.ID().Name).Reloaded("loaded")
	l.Log.Info("scripts swapped", "controller", c.ID().Name, "source", built.Status.Source, "digest", build.ShortDigest(built.Status.Digest), "before", build.ShortDigest(digest))
	l.events.Normal(c.Object, "ScriptReloaded", "%s: %s in place of %s", built.Status.Source, build.ShortDigest(built.Status.Digest), cmp.Or(build.ShortDigest(digest), "none"))
	return nil
}

// rollBack activates the last good version in place of the candidate.
func (l *loading) rollBack(ctx context.Context) {
	err := l.rollback.rollBack(ctx, l.record, l.candidate)
	if err != nil {
		l.warnOfScripts(err.Error())
	}
	if store.MayPass(err) {
		l.retry = err
	}
}

// startPartial starts a controller without the scripts that do not load, if nothing can run otherwise: with the scripts that
// load and the webhooks of hooks that have both. It does not combine two versions of the spec. A call of a hook without
// script and webhook fails.
func (l *loading) startPartial(ctx context.Context) {
	if !l.record.runsPartial() || !l.candidate.HasFallback() {
		return
	}
	c := *l.candidate
	built, err := l.builder.BuildPartial(ctx, &c)
	if err != nil || built.Missing == "" || l.record.runningAs(&c) != nil {
		return // the error is in the result already, or has gone since
	}
	l.result.SpecErr = l.activator.activate(ctx, l.record, &c, l.builder, built)
}

// shadow updates the candidate for the script of the object, and returns what came of comparing it.
func (l *loading) shadow(ctx context.Context) *shadow.Report {
	in := shadow.Input{Declaration: l.candidate.Declaration, Object: l.candidate.Object, Builder: l.builder, Leads: l.leads()}
	if l.builder != nil { // the spec was loaded
		if r := l.record.runningAs(l.candidate); r != nil {
			in.Live, in.Binding = r.Current(), r.Binding()
		}
	}
	return l.shadows.Update(ctx, in)
}

// retryDenied makes what runs try again what was denied, if what its account may do may have changed. Without a watch of roles
// that is not known, so that it is done in each period too.
func (l *loading) retryDenied(r *running) {
	if r.Binding().Access == nil {
		return
	}
	changed := l.accounts.Reviewer.ChangedAt(r.Binding().Access.Account())
	if m := l.record; m.deniedRetried.Before(changed.Add(access.Settling)) || time.Since(m.deniedRetried) > refresh {
		m.deniedRetried = time.Now()
		r.RetryDenied()
	}
}

// observe adds the state of what runs to the result.
func (l *loading) observe(ctx context.Context) {
	l.result.APIServer = l.connection.State()
	l.result.Runaways = l.sandbox.RunawaysOf(l.record.id, l.candidate.Tenant())
	if r := l.record.active.Load(); r != nil {
		r.SetMetadata(l.candidate.Object)
		l.result.Active, l.result.LastGood = r.Current().Loaded, l.versions.keepIfGood(ctx, l.record)
		l.result.GuardPassed = l.record.guard.PassedAs(l.result.Active.Identity)
		l.result.Snapshot = r.Snapshot()
		l.result.Failing = l.record.failures.Update(l.result.Failing, r.Current(), time.Now())
		l.result.NotStored = l.record.notStored.Update(l.result.NotStored, r.Current(), time.Now())
		l.warnUnshown(l.result.Snapshot.Warnings...)
		l.result.AccessLimited, l.result.AccessErr = r.Binding().Access.Problem(ctx)
		l.retryDenied(r)
	}
	l.result.GivenUp = l.record.givenUpIdentity()
}
