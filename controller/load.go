package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/engine"
)

// loaded says what a loop was made of. It is what status tells about the version that runs.
type loaded struct {
	uid        types.UID
	generation int64
	found      resolved
	hooks      loadedHooks
	at         time.Time
}

// is reports whether the version that runs, if one does, is the one of d with these resources.
func (l *loaded) is(d *declaration, found resolved) bool {
	return l != nil && l.uid == d.Object.UID && l.generation == d.Object.Generation && reflect.DeepEqual(l.found, found)
}

// A verdict is what came of loading a controller object: nil errors when it runs as it is written.
type verdict struct {
	asked     bool  // discovery was, about this spec
	resources error // of discovery
	script    error // of compiling, or of finding the hooks in what was compiled
	spec      error // anything else
	hooks     loadedHooks
	doubts    []string
	active    *loaded // what runs now; nil: nothing
	filled    bool    // the caches of what runs are
	trouble   error   // why not, or why they are not kept up to date
	parents   int
	held      holding // of what runs
	denied    denial  // to what runs
}

// err is the first reason why the object does not run as it is written.
func (v *verdict) err() error {
	for _, err := range []error{v.spec, v.resources, v.script} {
		if err != nil {
			return err
		}
	}
	return nil
}

// retry reports whether trying again may help although nothing that we watch changes: discovery of resources that
// no definition announces, and a script that ran out of time on a busy machine.
func (v *verdict) retry() error {
	var e *engine.Error
	if errors.As(v.script, &e) && (e.Kind == engine.KindTimeout || e.Kind == engine.KindCanceled) {
		return v.script
	}
	return v.resources
}

// load makes the loop of a controller be what its controller object says, and tells in the object's status what came
// of it. If the object cannot be loaded, what ran before goes on as a whole, spec and script together.
func (s *Server) load(ctx context.Context, name id) error {
	o := s.object(name)
	if o == nil {
		s.stop(name)
		s.told.Delete(name)
		s.seen.Delete(name)
		s.metrics.Forget(name.Kind, name.Name, name.queue())
		return s.depart(ctx, name)
	}
	s.departed.Delete(name)
	if r := s.get(name); r != nil && r.about.uid != o.GetUID() {
		s.stop(name) // that was another object, and is gone
	}
	v := &verdict{}
	d, err := declare(o)
	switch {
	case d.Settings.Paused: // an emergency brake, whatever else there may be wrong with the spec
		s.stop(name)
		v.doubts = doubtsOf(d, s.sandbox)
	case err != nil:
		v.spec = err
	default:
		s.try(ctx, d, o, v)
	}
	if ctx.Err() != nil {
		return nil
	}
	if r := s.get(name); r != nil {
		v.active, v.filled, v.parents = &r.about, r.loop.filled.Load(), r.loop.count()
		v.trouble, v.held, v.denied = r.loop.trouble(), r.loop.current.Load().holds(), r.loop.denials.sum()
		v.doubts = append(v.doubts, s.rivals(r.loop)...)
		if v.filled {
			v.doubts = append(v.doubts, r.loop.links.problems()...)
		}
	}
	if !s.leads() {
		return v.retry() // whoever leads tells
	}
	if err := s.tell(ctx, d, o, v); err != nil {
		return err
	}
	if v.active == nil && (v.err() != nil || d.Settings.Paused) {
		if err := s.tellWaiting(ctx, d); err != nil {
			return err
		}
	}
	return v.retry()
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

// try loads d, and on success starts its loop unless that very version runs already.
func (s *Server) try(ctx context.Context, d *declaration, o *object.Object, v *verdict) {
	v.doubts = doubtsOf(d, s.sandbox)
	if v.spec = refuse(d); v.spec != nil {
		return
	}
	found, err := s.discover(d)
	if v.asked, v.resources = true, err; err == nil {
		if r := s.get(d.id()); r != nil && r.about.is(d, found) {
			v.hooks, v.doubts = r.about.hooks, append(v.doubts, r.about.hooks.doubts...)
			return
		}
	}
	loader := hookLoader{
		sandbox: s.sandbox, log: s.logPrint(d.Object.Name), observe: s.metrics.Controller(d.Kind, d.Object.Name).Script,
	}
	if v.hooks, err = loader.load(ctx, d); err != nil {
		v.hooks = loadedHooks{} // as a whole or not at all
		v.blame(err)
		return
	}
	v.doubts = append(v.doubts, v.hooks.doubts...)
	if v.resources != nil {
		return
	}
	binding, err := s.bind(d, o, found, v.hooks)
	if err != nil {
		v.spec = err
		return
	}
	if binding.revisions != nil {
		binding.revisions.scripts = s.versionsOf(d, loader, v.hooks.digest)
	}
	s.start(ctx, o, binding, loaded{d.Object.UID, d.Object.Generation, found, v.hooks, time.Now()})
}

// refuse says why d is not run, whatever its hooks are.
func refuse(d *declaration) error {
	failed := []error{unsupportedSpec(d), contradiction(d)}
	if len(d.Parents) == 0 {
		failed = append(failed, errors.New("resources is empty: name a resource whose objects are to be decorated"))
	}
	for i := range d.Parents {
		_, err := d.Parents[i].selector()
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// blame files an error of loading hooks: under script when a script is at fault.
func (v *verdict) blame(err error) {
	var inScript *engine.Error
	var function *functionError
	if errors.As(err, &inScript) || errors.As(err, &function) {
		v.script = err
	} else {
		v.spec = err
	}
}

// levels are those of scripts' messages in our log.
var levels = map[engine.Level]slog.Level{
	engine.Debug: slog.LevelDebug, engine.Info: slog.LevelInfo, engine.Warn: slog.LevelWarn, engine.Err: slog.LevelError,
}

// logPrint is where a controller's scripts print.
func (s *Server) logPrint(name string) func(string, *hook.Request, engine.Message) {
	return func(hookName string, req *hook.Request, m engine.Message) {
		s.Log.Log(context.Background(), levels[m.Level], m.Text, "controller", name, "hook", hookName, "parent", object.KeyOf(req.Parent), "at", m.Pos.String())
	}
}

// tell writes the verdict into the object's status if it is not there yet, and an event about a change of Ready.
func (s *Server) tell(ctx context.Context, d *declaration, o *object.Object, v *verdict) error {
	status := statusFor(d, v)
	after := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady) // which there always is
	said := string(o.GetUID()) + after.Reason + after.Message
	if before, _ := s.told.Swap(idOf(o), said); before != said {
		s.Log.Info("controller is "+after.Reason, "controller", o.GetName(), "ready", after.Status, "message", after.Message)
		if v.err() != nil {
			s.events.Warning(o, "CreateError", "%s", after.Message)
		} else if v.trouble != nil {
			s.events.Warning(o, "SyncError", "%s", after.Message)
		}
	}
	return s.writeStatus(ctx, o, status)
}
