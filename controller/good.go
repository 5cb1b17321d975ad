package controller

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// A candidate is a controller object as it is written, with what was found for it: what a loop is made of.
type candidate struct {
	*declaration
	object   *object.Object
	found    resolved
	parts    parts
	identity string // of spec and scripts together
}

// A goodVersion is the last version of a controller that was good, for when the one that is written is not. Scripts and spec go
// together: half of the one with half of the other may be worse than either.
//
// What each choice covers: a version that does not load, or is given up, leaves the one before running, which is in memory.
// The stored one covers a restart of the server while the source is broken or gone. It is named by its content, and the
// status of the controller object names it, so that a crash between writing the one and the other leaves what was there
// before, and nobody who may write ConfigMaps alone can have a script run. It is compiled and checked like any other.
type goodVersion struct {
	candidate
	stored bool
}

// A storedVersion is how a version is kept in a ConfigMap.
type storedVersion struct {
	Generation int64                 `json:"generation"`
	Spec       any                   `json:"spec"`
	Scripts    map[string]packedPart `json:"scripts"`
}

// versionKey is the key of a stored version, in binaryData.
const versionKey = "version"

// keepGood notes that the version that runs is good, and has it outlive the server. It gives the name of what is stored.
func (s *Server) keepGood(ctx context.Context, c *candidate) string {
	if !c.hasScript() {
		s.goods.Delete(c.id())
		return ""
	}
	kept, _ := s.goods.Load(c.id())
	g, known := kept.(*goodVersion)
	if !known || g.identity != c.identity {
		g = &goodVersion{candidate: *c}
		s.goods.Store(c.id(), g)
	}
	name := scriptPrefix + c.identity
	if !g.stored && s.leads() && s.Given == nil { // what is given is no more when the server is
		err := s.scripts().putVersion(ctx, c)
		if g.stored = err == nil; !g.stored && ctx.Err() == nil {
			s.warnNotKept(c.id(), err)
		}
	}
	if !g.stored {
		return ""
	}
	return name
}

// warnNotKept tells, once for each cause, that good versions are not kept: what is in the way for one controller is in the
// way for all.
func (s *Server) warnNotKept(of id, err error) {
	cause := string(apierrors.ReasonForError(err))
	if apierrors.IsNotFound(err) {
		err = fmt.Errorf("%w: create the namespace, or choose another by --namespace", err)
	}
	if _, told := s.warned.LoadOrStore(cause, true); !told {
		s.Log.Warn("good versions of scripts are not kept for a restart; trying again", "namespace", s.Namespace, "controller", of.Name, "error", err)
	}
}

// lastGood is the version of a controller that was good last: of this server, or else the stored one that its status names.
func (s *Server) lastGood(ctx context.Context, c *candidate) (*candidate, error) {
	if kept, found := s.goods.Load(c.id()); found {
		before := kept.(*goodVersion).candidate
		return &before, nil
	}
	if c.Status.Script == nil || c.Status.Script.LastGood == "" {
		return nil, errNoneGood
	}
	name := c.Status.Script.LastGood
	before, err := s.scripts().getVersion(ctx, name, c.object)
	if err != nil {
		return nil, fmt.Errorf("the version that was good last, in ConfigMap %s/%s, cannot be used: %w", s.Namespace, name, err)
	}
	s.goods.Store(c.id(), &goodVersion{*before, true})
	return before, nil
}

var errNoneGood = errors.New("no version was good before")

// hold keeps the last good version running, or has it run again, since what is written cannot be used.
func (s *Server) hold(ctx context.Context, c *candidate, v *verdict) {
	var rejected error
	if r := s.get(c.id()); r != nil {
		if rejected = s.rejected(c.id(), r.about.Load().identity); rejected == nil {
			return
		}
	}
	before, err := s.lastGood(ctx, c)
	if err == nil {
		err = s.revive(ctx, before)
	}
	if err == nil && rejected != nil {
		s.events.Warning(c.object, "ScriptRolledBack", "%s: %v", s.get(c.id()).about.Load().hooks.status.Source, rejected)
		s.metrics.Controller(c.Kind, c.Object.Name).Reloaded("rolledback")
	}
	if err != nil && !errors.Is(err, errNoneGood) && ctx.Err() == nil {
		v.doubts = append(v.doubts, err.Error())
	}
}

// revive runs a version that was good.
func (s *Server) revive(ctx context.Context, c *candidate) error {
	var err error
	if c.found, err = s.discover(c.declaration); err != nil {
		return err
	}
	loader := s.loader(c)
	hooks, err := loader.load(ctx, c.declaration, c.parts)
	if err != nil {
		return err
	}
	return s.activate(ctx, c, loader, hooks)
}

// settle keeps the version that runs if it is good. It gives the name of what is stored of the last one that was.
func (s *Server) settle(ctx context.Context, of id, r *running) string {
	if came, _ := r.loop.current.Load().trial.outcome(); came == good && r.about.Load().hooks.lacks == "" {
		return s.keepGood(ctx, r.about.Load().of)
	}
	if kept, found := s.goods.Load(of); found {
		return scriptPrefix + kept.(*goodVersion).identity
	}
	return ""
}

// trialOf is how the next version of a loop is judged: not at all if that is not asked for, if it was good before, or if
// there is none to go back to.
func (s *Server) trialOf(ctx context.Context, c *candidate, l *loop, excused map[object.Ref]bool) *trial {
	if c.Script == nil || c.Script.Rollback != v1alpha1.RollbackOnError {
		return unjudged()
	}
	if before, err := s.lastGood(ctx, c); err != nil || before.identity == c.identity {
		return unjudged()
	}
	parents := func() int {
		if !l.filled.Load() {
			return math.MaxInt
		}
		return l.count()
	}
	return newTrial(percentOf(c.Script), excused, parents, func() { s.queue.Add(c.id()) })
}

// defaultPercent is rollbackPercent when it is not set.
const defaultPercent = 20

func percentOf(script *v1alpha1.ControllerScript) int {
	if script.RollbackPercent == nil {
		return defaultPercent
	}
	return int(*script.RollbackPercent)
}

// putVersion stores a version, unless it is there.
func (s *scriptStore) putVersion(ctx context.Context, c *candidate) error {
	o := s.configMap(c.identity)
	if _, err := s.live(ctx, o); !apierrors.IsNotFound(err) {
		return err
	}
	scripts, err := c.parts.packed()
	if err != nil {
		return err
	}
	text, err := pack(storedVersion{c.object.GetGeneration(), c.object.Object["spec"], scripts})
	if err != nil {
		return err
	}
	o.Object["binaryData"] = map[string]any{versionKey: text}
	_, err = s.write.Do(ctx, plan.Op{Verb: plan.Create, Object: o, Why: "the last good version of " + c.id().String()})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// getVersion reads the stored version of that name of a controller object. It is what its name says, or an error.
func (s *scriptStore) getVersion(ctx context.Context, name string, of *object.Object) (*candidate, error) {
	stored, err := s.live(ctx, s.configMap(strings.TrimPrefix(name, scriptPrefix)))
	if err != nil {
		return nil, err
	}
	text, _, _ := unstructured.NestedString(stored.Object, "binaryData", versionKey)
	var version storedVersion
	if err := unpack(text, &version); err != nil {
		return nil, err
	}
	c := &candidate{object: object.Copy(of), parts: unpacked(version.Scripts)}
	c.object.Object["spec"] = version.Spec
	c.object.SetGeneration(version.Generation)
	if c.identity, err = identity(version.Spec, c.parts); err != nil {
		return nil, err
	}
	if scriptPrefix+c.identity != name {
		return nil, errors.New("it was changed: its content does not have that name")
	}
	c.declaration, err = declare(c.object)
	return c, err
}

// versionsInUse are the names of the stored versions that controllers may fall back on.
func (s *Server) versionsInUse() []string {
	var names []string
	s.goods.Range(func(_, kept any) bool {
		names = append(names, scriptPrefix+kept.(*goodVersion).identity)
		return true
	})
	for _, controllers := range s.controllers {
		for _, o := range controllers.List() {
			name, _, _ := unstructured.NestedString(o.Object, "status", "script", "lastGood")
			names = append(names, name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// A rejection is the version of a controller that was given up, and why.
type rejection struct {
	identity string
	why      error
}

// rejected is why a version of a controller was given up; nil: it was not.
func (s *Server) rejected(of id, identity string) error {
	kept, found := s.rejects.Load(of)
	if r, _ := kept.(rejection); found && r.identity == identity {
		return r.why
	}
	return nil
}

// givenUp reports as an error that c was given up, here or by the server before. One that was edited is not.
func (s *Server) givenUp(c *candidate) error {
	if s.runs(c) {
		if came, why := s.get(c.id()).loop.current.Load().trial.outcome(); came == givenUp {
			s.rejects.Store(c.id(), rejection{c.identity, why})
		}
	} else if script := c.Status.Script; script != nil && script.GivenUp == "sha256:"+c.identity && s.rejected(c.id(), c.identity) == nil {
		s.rejects.Store(c.id(), rejection{c.identity, &givenUpError{}})
	}
	why := s.rejected(c.id(), c.identity)
	if why == nil {
		s.rejects.Delete(c.id())
	}
	return why
}
