package controller

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/reconcile"
	"metascript/controller/revisions"
	"metascript/controller/spec"
	"metascript/controller/status"
	"metascript/controller/store"
	"metascript/controller/throttle"
	"metascript/engine"
	"metascript/scripts"
)

// load makes the loop of a controller be what its controller object says, and tells in the object's status what came
// of it. If the object cannot be loaded, what ran before goes on as a whole, spec and script together.
func (s *Server) load(ctx context.Context, name spec.ID) error {
	o := s.object(name)
	if o == nil {
		return s.leave(ctx, name)
	}
	s.departed.Delete(name)
	if r := s.get(name); r != nil && r.loop.Current().Loaded.UID != o.GetUID() {
		s.stop(name) // that was another object, and is gone
	}
	v := &status.Result{}
	d, err := spec.Read(o)
	switch {
	case d.Settings.Paused: // an emergency brake, whatever else there may be wrong with the spec
		s.stop(name)
		v.Warnings = append(s.sandbox.Warnings(d), d.Warnings()...)
	case err != nil:
		v.Spec = err
	default:
		s.try(ctx, d, o, v)
	}
	if ctx.Err() != nil {
		return nil
	}
	v.Runaways = s.sandbox.RunawaysOf(name)
	if r := s.get(name); r != nil {
		s.see(ctx, r, v)
	}
	if kept, found := s.rejects.Load(name); found && kept.(*rejection).uid == o.GetUID() {
		v.GivenUp = kept.(*rejection).identity
	}
	if !s.leads() {
		return v.Retry() // whoever leads tells
	}
	if err := s.tell(ctx, d, o, v); err != nil {
		return err
	}
	why, way := whyWaiting(d, v)
	if err := s.unfinalized.Report(d, why, way); err != nil {
		return err
	}
	return v.Retry()
}

// leave forgets a controller object that is gone.
func (s *Server) leave(ctx context.Context, name spec.ID) error {
	s.stop(name)
	s.unfinalized.Forget(name)
	s.told.Delete(name)
	s.seen.Delete(name)
	s.leaveSources(name)
	s.goods.Delete(name)
	s.stuck.Delete(name)
	s.rejects.Delete(name)
	s.metrics.Forget(name.Kind, name.Name, name.QueueName())
	return s.depart(ctx, name)
}

// see adds to the verdict how what runs is.
func (s *Server) see(ctx context.Context, r *running, v *status.Result) {
	v.Active, v.LastGood = r.loop.Current().Loaded, s.settled(ctx, r)
	v.Snapshot = r.loop.Snapshot()
	v.Warnings = append(v.Warnings, v.Snapshot.Warnings...)
}

// discover looks up the resources that d names, and the one that keeps how far its rollouts are.
func (s *Server) discover(d *spec.Declaration) (spec.Resolved, error) {
	found, err := spec.Resolve(d, s.resources)
	if err != nil || !slices.ContainsFunc(d.Children, func(c spec.Child) bool { return c.Method.Rolls() }) {
		return found, err
	}
	if _, err := s.resources.ByName(v1alpha1.GroupVersion.String(), v1alpha1.ControllerRevisions.Resource); err != nil {
		return spec.Resolved{}, fmt.Errorf("rolling updates: %w", err)
	}
	return found, nil
}

// try loads d, and on success has its loop be that version, unless it is already. If it cannot be loaded, the last good
// version is kept running, or run again.
func (s *Server) try(ctx context.Context, d *spec.Declaration, o *object.Object, v *status.Result) {
	v.Warnings = append(s.sandbox.Warnings(d), d.Warnings()...)
	if r := s.get(d.ID()); r != nil {
		r.loop.ReleaseFinalizers(reconcile.RemovesFinalizers(o)) // before another version may take its place
	}
	if v.Spec = d.Validate(); v.Spec != nil {
		return
	}
	c := &build.Candidate{Declaration: d, Object: o}
	c.Resolved, v.Resources = s.discover(d)
	v.Discovered = true
	s.judge(ctx, c)
	loader := s.loader(c)
	hooks, err := s.prepare(ctx, c, loader)
	v.Warnings, v.ConfigMaps = append(v.Warnings, c.Parts.Warnings()...), c.Parts.ConfigMaps()
	if _, files := s.filed.Load(c.ID()); files && s.Folders != nil {
		v.Warnings = append(v.Warnings, s.Folders.Problems()...)
	}
	v.Warnings = append(append(v.Warnings, s.references.Stale(c.ID())...), s.unkept(c)...)
	v.Unreported = !s.backoffOf(c.ID()).Note(c.Identity, err, time.Now())
	if err != nil {
		v.SetError(err)
		if v.Resources == nil && v.Script != nil {
			s.hold(ctx, c, v)
			s.standIn(ctx, c, loader, v)
		}
		return
	}
	v.Built, v.Warnings = hooks, append(append(v.Warnings, hooks.Warnings...), releaseDoubt(d, &hooks)...)
	if v.Resources == nil && s.runs(c) == nil {
		v.Spec = s.put(ctx, c, loader, hooks)
	}
	if s.rejected(c, c.Identity) == nil {
		s.rejects.Delete(c.ID()) // it was edited
	}
}

// put has c run, and tells of scripts that are others.
func (s *Server) put(ctx context.Context, c *build.Candidate, loader *build.Loader, hooks build.Built) error {
	before := s.get(c.ID())
	was := ""
	if before != nil {
		was = before.loop.Current().Loaded.Built.Status.Digest
	}
	if err := s.activate(ctx, c, loader, hooks); err != nil || before != s.get(c.ID()) {
		return err
	}
	s.metrics.Controller(c.Kind, c.ID().Name).Reloaded("loaded")
	s.Log.Info("scripts swapped", "controller", c.ID().Name, "source", hooks.Status.Source, "digest", build.ShortDigest(hooks.Status.Digest), "before", build.ShortDigest(was))
	s.events.Normal(c.Object, "ScriptReloaded", "%s: %s in place of %s", hooks.Status.Source, build.ShortDigest(hooks.Status.Digest), cmp.Or(build.ShortDigest(was), "none"))
	return nil
}

// runs gives what runs if c is the version that does, or nil.
func (s *Server) runs(c *build.Candidate) *running {
	if r := s.get(c.ID()); r != nil && r.loop.Current().Loaded.SameBinding(c) && r.loop.Current().Loaded.Identity == c.Identity {
		return r
	}
	return nil
}

// prepare reads and compiles the scripts of c, unless they run.
func (s *Server) prepare(ctx context.Context, c *build.Candidate, loader *build.Loader) (build.Built, error) {
	err := s.followSources(ctx, c.Declaration, loader)
	if err == nil {
		s.sights.Delete(c.ID()) // what is about to be read may be of before the next change, or of after it
		err = c.Read(loader)
		s.sights.Store(c.ID(), c.Fingerprint(err))
	}
	if err == nil {
		err = s.givenUp(ctx, c)
	}
	if err != nil {
		return build.Built{}, err
	}
	if r := s.runs(c); r != nil {
		return r.loop.Current().Loaded.Built, nil
	}
	if err := s.backoffOf(c.ID()).Blocked(c.Identity, time.Now()); err != nil {
		return build.Built{}, err
	}
	hooks, err := loader.Load(ctx, c.Declaration, c.Parts)
	if err != nil {
		return build.Built{}, err // as a whole or not at all
	}
	return hooks, nil
}

// loader makes the hooks of c.
func (s *Server) loader(c *build.Candidate) *build.Loader {
	l := &build.Loader{
		Sandbox: s.sandbox, Sources: scripts.Sources{Folders: s.Folders, ConfigMaps: build.ConfigMaps(s.references)},
		Log: s.logPrint(c.Object.GetName()), Observe: s.metrics.Controller(c.Kind, c.ID().Name).Script, ProbeEvery: s.ProbeEvery, MissingChildren: s.MissingChildren, InFlight: s.bodies, Cached: s.kept,
	}
	if r := s.get(c.ID()); r != nil && r.loop.Current().Loaded.SameBinding(c) {
		l.Before = &r.loop.Current().Loaded.Built
	}
	return l
}

// activate has the loop of c be that version: in the loop that runs, if no more than the scripts are others.
func (s *Server) activate(ctx context.Context, c *build.Candidate, loader *build.Loader, hooks build.Built) error {
	about := &build.Version{
		UID: c.Object.GetUID(), Generation: c.Object.GetGeneration(), Resolved: c.Resolved, Built: hooks, Identity: c.Identity,
		LoadedAt: build.LoadedAt(c.Status.Script, hooks.Status.Digest, time.Now()), Candidate: c,
	}
	versions := s.versionsOf(c, loader, &about.Built)
	if r := s.get(c.ID()); r != nil && r.loop.Current().Loaded.SameBinding(c) {
		s.loaded(c.Object)
		r.loop.Swap(s.versionFor(ctx, c, r.loop, about, versions))
		return nil
	}
	binding, err := s.bind(c.Declaration, c.Object, c.Resolved, hooks)
	if err != nil {
		return err
	}
	if binding.Revisions != nil {
		binding.Revisions.Scripts = versions
	}
	s.start(ctx, c, binding, about)
	return nil
}

// versionFor is the next version of a loop's hooks.
func (s *Server) versionFor(ctx context.Context, c *build.Candidate, l *reconcile.Reconciler, loaded *build.Version, versions *store.ScriptVersions) *reconcile.Version {
	var with *revisions.Revisions
	if l.Revisions != nil {
		copied := *l.Revisions
		copied.Scripts = versions
		with = &copied
	}
	next := reconcile.NewVersion(loaded.Built.Hooks(), with, func() { s.queue.Add(c.ID()) })
	next.Loaded = loaded
	next.Canary = s.trialOf(ctx, c, l, l.Failing())
	return next
}

// levels are those of scripts' messages in our log.
var levels = map[engine.Level]slog.Level{
	engine.Debug: slog.LevelDebug, engine.Info: slog.LevelInfo, engine.Warn: slog.LevelWarn, engine.Err: slog.LevelError,
}

// logPrint is where a controller's scripts print.
func (s *Server) logPrint(name string) func(string, *hook.Request, engine.Message) {
	return func(hookName string, req *hook.Request, m engine.Message) {
		if s.Observer != nil {
			s.Observer.Printed(reconcile.About{Controller: name, Parent: object.RefOf(req.Parent)}, hookName, m)
		}
		s.Log.Log(context.Background(), levels[m.Level], m.Text, "controller", name, "hook", hookName, "parent", object.KeyOf(req.Parent), "at", m.Pos.String())
	}
}

// tell writes the verdict into the object's status if it is not there yet, and an event about a change of Ready.
func (s *Server) tell(ctx context.Context, d *spec.Declaration, o *object.Object, v *status.Result) error {
	status := status.Of(d, v)
	after := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady) // which there always is
	if v.Finalizers.Parents > 0 && !meta.IsStatusConditionTrue(d.Status.Conditions, v1alpha1.ConditionFinalizersHeld) {
		s.Log.Warn("finalizers are held", "controller", o.GetName(), "parents", v.Finalizers.Parents)
		s.events.Warning(o, "FinalizersHeld", "%s", v.Finalizers.Message(d.ID()))
	}
	said := string(o.GetUID()) + after.Reason + after.Message
	if v.Unreported {
		return s.writeStatus(ctx, o, status)
	}
	if before, _ := s.told.Swap(spec.IDOf(o), said); before != said {
		s.Log.Info("controller is "+after.Reason, "controller", o.GetName(), "ready", after.Status, "message", after.Message)
		switch {
		case v.PreviousScriptRuns(d):
			s.events.Warning(o, "ScriptRejected", "%s", after.Message)
			s.metrics.Controller(d.Kind, d.Object.Name).Reloaded("rejected")
		case throttle.IsGivenUp(v.Err()): // which was told when it was
		case spec.LacksStatus(v.Err()):
			s.events.Warning(o, "SyncError", "[%s] Sync error - ignoring, %s", o.GetName(), after.Message)
		case v.Err() != nil:
			s.events.Warning(o, "CreateError", "Cannot create new controller: %s", after.Message)
		case v.Trouble != nil:
			s.events.Warning(o, "SyncError", "[%s] Sync error - %s", o.GetName(), after.Message)
		}
	}
	return s.writeStatus(ctx, o, status)
}

// backoffOf is what delays loading a controller.
func (s *Server) backoffOf(of spec.ID) *throttle.LoadBackoff {
	known, _ := s.stuck.LoadOrStore(of, &throttle.LoadBackoff{})
	return known.(*throttle.LoadBackoff)
}

// standIn has a controller of which nothing can run, since its scripts do not load, begin with those that do and with the
// webhooks that stand beside the others, if there are some. Half a spec with the half of another would not do; this is one
// spec, and a hook without an answer is an error.
func (s *Server) standIn(ctx context.Context, c *build.Candidate, loader *build.Loader, v *status.Result) {
	r := s.get(c.ID())
	if r != nil && r.loop.Current().Loaded.Built.Missing == "" || !c.HasFallback() {
		return
	}
	with, in := *loader, *c
	with.Partial = &build.MissingParts{Parts: map[string]error{}}
	hooks, err := with.LoadPartial(ctx, &in)
	if err != nil || hooks.Missing == "" || s.runs(&in) != nil {
		return // what keeps it from being loaded is told already, or was gone a moment later
	}
	v.Spec = s.activate(ctx, &in, loader, hooks)
}

// scripts is the server's store.
func (s *Server) scripts() *store.Store {
	return &store.Store{Namespace: s.Namespace, Writer: s.write, Live: s.write.Get}
}

// versionsOf are the versions of c's scripts, or nil if edits of them do not roll out. Older ones have the webhooks of the one
// that runs.
func (s *Server) versionsOf(c *build.Candidate, loader *build.Loader, now *build.Built) *store.ScriptVersions {
	if !c.ScriptRevisions || now.Digest == "" {
		return nil
	}
	older := *loader
	older.Before = now
	return &store.ScriptVersions{
		DryRun: s.DryRun, Store: s.scripts(), Digest: now.Digest, Current: c.ScriptVersion(), Older: map[string]build.Built{},
		Load: func(ctx context.Context, then build.ScriptVersion) (build.Built, error) {
			return older.LoadVersion(ctx, c, then)
		},
	}
}

// whyWaiting says why the finalize hook of a controller cannot be asked, and what to do; "": it can.
func whyWaiting(d *spec.Declaration, v *status.Result) (why, way string) {
	switch {
	case v.Active == nil && d.Settings.Paused:
		return "is paused", "end the pause"
	case v.Active == nil && v.Err() != nil:
		return "does not load", "correct the controller"
	case v.Active != nil && !v.Filled && v.Trouble != nil:
		return "cannot start before its caches are filled", "see the condition Ready of the controller"
	}
	return "", ""
}

// releaseDoubt is about the annotation where it has no effect: it would have one once the hook is lost.
func releaseDoubt(d *spec.Declaration, hooks *build.Built) []string {
	if hooks.Finalize == nil || d.Object.Annotations[reconcile.RemoveFinalizers] != "true" {
		return nil
	}
	return []string{fmt.Sprintf("the annotation %s has no effect while there is a finalize hook: take it off, so that finalizers are held if the hook is lost", reconcile.RemoveFinalizers)}
}
