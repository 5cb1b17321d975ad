package controller

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/throttle"
	"metascript/engine"
	"metascript/scripts"
)

// load makes the loop of a controller be what its controller object says, and tells in the object's status what came
// of it. If the object cannot be loaded, what ran before goes on as a whole, spec and script together.
func (s *Server) load(ctx context.Context, name id) error {
	o := s.object(name)
	if o == nil {
		return s.leave(ctx, name)
	}
	s.departed.Delete(name)
	if r := s.get(name); r != nil && r.about.Load().uid != o.GetUID() {
		s.stop(name) // that was another object, and is gone
	}
	v := &verdict{}
	d, err := declare(o)
	switch {
	case d.Settings.Paused: // an emergency brake, whatever else there may be wrong with the spec
		s.stop(name)
		v.doubts = append(s.sandbox.doubts(d), d.warnings()...)
	case err != nil:
		v.spec = err
	default:
		s.try(ctx, d, o, v)
	}
	if ctx.Err() != nil {
		return nil
	}
	v.runaways = s.sandbox.runaways(name)
	if r := s.get(name); r != nil {
		s.see(ctx, r, v)
	}
	if kept, found := s.rejects.Load(name); found && kept.(*rejection).uid == o.GetUID() {
		v.givenUp = kept.(*rejection).identity
	}
	if !s.leads() {
		return v.retry() // whoever leads tells
	}
	if err := s.tell(ctx, d, o, v); err != nil {
		return err
	}
	why, way := whyWaiting(d, v)
	if err := s.unfinalized.follow(d, why, way); err != nil {
		return err
	}
	return v.retry()
}

// leave forgets a controller object that is gone.
func (s *Server) leave(ctx context.Context, name id) error {
	s.stop(name)
	s.unfinalized.end(name)
	s.told.Delete(name)
	s.seen.Delete(name)
	s.leaveSources(name)
	s.goods.Delete(name)
	s.stuck.Delete(name)
	s.rejects.Delete(name)
	s.metrics.Forget(name.Kind, name.Name, name.queue())
	return s.depart(ctx, name)
}

// see adds to the verdict how what runs is.
func (s *Server) see(ctx context.Context, r *running, v *verdict) {
	v.active, v.filled = r.about.Load(), r.loop.filled.Load()
	v.lastGood = s.settled(ctx, r)
	v.trouble, v.held, v.denied = r.loop.trouble(), r.loop.current.Load().holds(), r.loop.denials.sum()
	v.fallbacks = r.loop.current.Load().fallbacks()
	v.finalizers = r.loop.heldFinalizers()
	shares := r.loop.refreshOverlap()
	v.parents = shares.parents
	v.doubts = append(v.doubts, shares.told...)
	if v.filled {
		v.doubts = append(v.doubts, r.loop.links.problems()...)
	}
}

// discover looks up the resources that d names, and the one that keeps how far its rollouts are.
func (s *Server) discover(d *declaration) (resolved, error) {
	found, err := resolve(d, s.resources)
	if err != nil || !slices.ContainsFunc(d.Children, func(c childDeclaration) bool { return c.Method.Rolls() }) {
		return found, err
	}
	if _, err := s.resources.ByName(v1alpha1.GroupVersion.String(), v1alpha1.ControllerRevisions.Resource); err != nil {
		return resolved{}, fmt.Errorf("rolling updates: %w", err)
	}
	return found, nil
}

// try loads d, and on success has its loop be that version, unless it is already. If it cannot be loaded, the last good
// version is kept running, or run again.
func (s *Server) try(ctx context.Context, d *declaration, o *object.Object, v *verdict) {
	v.doubts = append(s.sandbox.doubts(d), d.warnings()...)
	if r := s.get(d.id()); r != nil {
		r.loop.release(removesFinalizers(o)) // before another version may take its place
	}
	if v.spec = d.validate(); v.spec != nil {
		return
	}
	c := &candidate{declaration: d, object: o}
	c.found, v.resources = s.discover(d)
	v.asked = true
	s.judge(ctx, c)
	loader := s.loader(c)
	hooks, err := s.prepare(ctx, c, loader)
	v.doubts, v.from = append(v.doubts, c.parts.doubts()...), c.parts.configMaps()
	if _, files := s.filed.Load(c.id()); files && s.Folders != nil {
		v.doubts = append(v.doubts, s.Folders.Problems()...)
	}
	v.doubts = append(append(v.doubts, s.followed.stale(c.id())...), s.unkept(c)...)
	v.untold = !s.backoffOf(c.id()).Note(c.identity, err, time.Now())
	if err != nil {
		v.blame(err)
		if v.resources == nil && v.script != nil {
			s.hold(ctx, c, v)
			s.standIn(ctx, c, loader, v)
		}
		return
	}
	v.hooks, v.doubts = hooks, append(append(v.doubts, hooks.doubts...), releaseDoubt(d, &hooks)...)
	if v.resources == nil && s.runs(c) == nil {
		v.spec = s.put(ctx, c, loader, hooks)
	}
	if s.rejected(c, c.identity) == nil {
		s.rejects.Delete(c.id()) // it was edited
	}
}

// put has c run, and tells of scripts that are others.
func (s *Server) put(ctx context.Context, c *candidate, loader *hookLoader, hooks loadedHooks) error {
	before := s.get(c.id())
	was := ""
	if before != nil {
		was = before.about.Load().hooks.status.Digest
	}
	if err := s.activate(ctx, c, loader, hooks); err != nil || before != s.get(c.id()) {
		return err
	}
	s.metrics.Controller(c.Kind, c.Object.Name).Reloaded("loaded")
	s.Log.Info("scripts swapped", "controller", c.Object.Name, "source", hooks.status.Source, "digest", short(hooks.status.Digest), "before", short(was))
	s.events.Normal(c.object, "ScriptReloaded", "%s: %s in place of %s", hooks.status.Source, short(hooks.status.Digest), cmp.Or(short(was), "none"))
	return nil
}

// runs gives what runs if c is the version that does, or nil.
func (s *Server) runs(c *candidate) *running {
	if r := s.get(c.id()); r != nil && r.about.Load().fits(c) && r.about.Load().identity == c.identity {
		return r
	}
	return nil
}

// prepare reads and compiles the scripts of c, unless they run.
func (s *Server) prepare(ctx context.Context, c *candidate, loader *hookLoader) (loadedHooks, error) {
	err := s.followSources(ctx, c.declaration, loader)
	if err == nil {
		s.sights.Delete(c.id()) // what is about to be read may be of before the next change, or of after it
		err = c.read(loader)
		s.sights.Store(c.id(), c.sight(err))
	}
	if err == nil {
		err = s.givenUp(ctx, c)
	}
	if err != nil {
		return loadedHooks{}, err
	}
	if r := s.runs(c); r != nil {
		return r.about.Load().hooks, nil
	}
	if err := s.backoffOf(c.id()).Blocked(c.identity, time.Now()); err != nil {
		return loadedHooks{}, err
	}
	hooks, err := loader.load(ctx, c.declaration, c.parts)
	if err != nil {
		return loadedHooks{}, err // as a whole or not at all
	}
	return hooks, nil
}

// loader makes the hooks of c.
func (s *Server) loader(c *candidate) *hookLoader {
	l := &hookLoader{
		sandbox: s.sandbox, sources: scripts.Sources{Folders: s.Folders, ConfigMaps: s.followed.get},
		log: s.logPrint(c.object.GetName()), observe: s.metrics.Controller(c.Kind, c.Object.Name).Script, probeEvery: s.ProbeEvery, missing: s.MissingChildren, bodies: s.bodies, kept: s.kept,
	}
	if r := s.get(c.id()); r != nil && r.about.Load().fits(c) {
		l.before = &r.about.Load().hooks
	}
	return l
}

// activate has the loop of c be that version: in the loop that runs, if no more than the scripts are others.
func (s *Server) activate(ctx context.Context, c *candidate, loader *hookLoader, hooks loadedHooks) error {
	about := &loaded{c.object.GetUID(), c.object.GetGeneration(), c.found, hooks, c.identity, loadedAt(c.Status.Script, hooks.status.Digest, time.Now()), c}
	versions := s.versionsOf(c, loader, &about.hooks)
	if r := s.get(c.id()); r != nil && r.about.Load().fits(c) {
		r.about.Store(about)
		s.loaded(c.object)
		r.loop.swap(s.versionFor(ctx, c, r.loop, hooks, versions))
		return nil
	}
	binding, err := s.bind(c.declaration, c.object, c.found, hooks)
	if err != nil {
		return err
	}
	if binding.revisions != nil {
		binding.revisions.scripts = versions
	}
	s.start(ctx, c, binding, about)
	return nil
}

// versionFor is the next version of a loop's hooks.
func (s *Server) versionFor(ctx context.Context, c *candidate, l *loop, hooks loadedHooks, versions *scriptVersions) *version {
	var with *revisions
	if l.revisions != nil {
		copied := *l.revisions
		copied.scripts = versions
		with = &copied
	}
	next := newVersion(hooks.answering(), with, func() { s.queue.Add(c.id()) })
	next.canary = s.trialOf(ctx, c, l, l.failing())
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
			s.Observer.Printed(About{name, object.RefOf(req.Parent)}, hookName, m)
		}
		s.Log.Log(context.Background(), levels[m.Level], m.Text, "controller", name, "hook", hookName, "parent", object.KeyOf(req.Parent), "at", m.Pos.String())
	}
}

// tell writes the verdict into the object's status if it is not there yet, and an event about a change of Ready.
func (s *Server) tell(ctx context.Context, d *declaration, o *object.Object, v *verdict) error {
	status := statusFor(d, v)
	after := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady) // which there always is
	if v.finalizers.parents > 0 && !meta.IsStatusConditionTrue(d.Status.Conditions, v1alpha1.ConditionFinalizersHeld) {
		s.Log.Warn("finalizers are held", "controller", o.GetName(), "parents", v.finalizers.parents)
		s.events.Warning(o, "FinalizersHeld", "%s", v.finalizers.message(d.id()))
	}
	said := string(o.GetUID()) + after.Reason + after.Message
	if v.untold {
		return s.writeStatus(ctx, o, status)
	}
	if before, _ := s.told.Swap(idOf(o), said); before != said {
		s.Log.Info("controller is "+after.Reason, "controller", o.GetName(), "ready", after.Status, "message", after.Message)
		switch {
		case v.replaced(d):
			s.events.Warning(o, "ScriptRejected", "%s", after.Message)
			s.metrics.Controller(d.Kind, d.Object.Name).Reloaded("rejected")
		case throttle.IsGivenUp(v.err()): // which was told when it was
		case lacksStatus(v.err()):
			s.events.Warning(o, "SyncError", "[%s] Sync error - ignoring, %s", o.GetName(), after.Message)
		case v.err() != nil:
			s.events.Warning(o, "CreateError", "Cannot create new controller: %s", after.Message)
		case v.trouble != nil:
			s.events.Warning(o, "SyncError", "[%s] Sync error - %s", o.GetName(), after.Message)
		}
	}
	return s.writeStatus(ctx, o, status)
}

// backoffOf is what delays loading a controller.
func (s *Server) backoffOf(of id) *throttle.LoadBackoff {
	known, _ := s.stuck.LoadOrStore(of, &throttle.LoadBackoff{})
	return known.(*throttle.LoadBackoff)
}

// standIn has a controller of which nothing can run, since its scripts do not load, begin with those that do and with the
// webhooks that stand beside the others, if there are some. Half a spec with the half of another would not do; this is one
// spec, and a hook without an answer is an error.
func (s *Server) standIn(ctx context.Context, c *candidate, loader *hookLoader, v *verdict) {
	r := s.get(c.id())
	if r != nil && r.about.Load().hooks.lacks == "" || !c.hasFallback() {
		return
	}
	with, in := *loader, *c
	with.lacking = &lacking{parts: map[string]error{}}
	hooks, err := with.loadRest(ctx, &in)
	if err != nil || hooks.lacks == "" || s.runs(&in) != nil {
		return // what keeps it from being loaded is told already, or was gone a moment later
	}
	v.spec = s.activate(ctx, &in, loader, hooks)
}

// scripts is the server's store.
func (s *Server) scripts() *scriptStore { return &scriptStore{s.Namespace, s.write, s.write.Get} }

// versionsOf are the versions of c's script, or nil when its edits do not roll out. Older ones have the webhooks of the one
// that runs.
func (s *Server) versionsOf(c *candidate, loader *hookLoader, now *loadedHooks) *scriptVersions {
	if !c.ScriptRevisions || now.digest == "" {
		return nil
	}
	older := *loader
	older.before = now
	return &scriptVersions{
		dryRun: s.DryRun, store: s.scripts(), digest: now.digest, script: c.Script, part: parts{"": c.parts[""]}, older: map[string]loadedHooks{},
		load: func(ctx context.Context, script *v1alpha1.ControllerScript, part parts) (loadedHooks, error) {
			then := *c.declaration
			then.Script = script
			gathered := maps.Clone(c.parts)
			if len(part) > 0 {
				gathered[""] = part[""]
				return older.load(ctx, &then, gathered)
			}
			own, err := older.sources.Assemble(older.wants(&then)[""], false)
			if err != nil {
				return loadedHooks{}, fmt.Errorf("%s: %w", where(""), err)
			}
			gathered[""] = own
			return older.load(ctx, &then, gathered)
		},
	}
}

// whyWaiting says why the finalize hook of a controller cannot be asked, and what to do; "": it can.
func whyWaiting(d *declaration, v *verdict) (why, way string) {
	switch {
	case v.active == nil && d.Settings.Paused:
		return "is paused", "end the pause"
	case v.active == nil && v.err() != nil:
		return "does not load", "correct the controller"
	case v.active != nil && !v.filled && v.trouble != nil:
		return "cannot start before its caches are filled", "see the condition Ready of the controller"
	}
	return "", ""
}

// releaseDoubt is about the annotation where it has no effect: it would have one once the hook is lost.
func releaseDoubt(d *declaration, hooks *loadedHooks) []string {
	if hooks.finalize == nil || d.Object.Annotations[removeFinalizers] != "true" {
		return nil
	}
	return []string{fmt.Sprintf("the annotation %s has no effect while there is a finalize hook: take it off, so that finalizers are held if the hook is lost", removeFinalizers)}
}
