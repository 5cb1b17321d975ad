package controller

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/object"
	"metascript/controller/reconcile"
	"metascript/controller/spec"
	"metascript/controller/status"
	"metascript/controller/store"
	"metascript/controller/throttle"
)

// A goodVersion is the last version of a controller that was good, for when the one that is written is not. Scripts and spec go
// together: half of the one with half of the other may be worse than either.
//
// What each choice covers: a version that does not load, or is given up, leaves the one before running, which is in memory.
// The stored one covers a restart of the server while the source is broken or gone. It is named by its content, and the
// status of the controller object names it, so that a crash between writing the one and the other leaves what was there
// before, and nobody who may write ConfigMaps alone can have a script run. It is compiled and checked like any other.
type goodVersion struct {
	build.Candidate
	stored time.Time // when it was seen to be; zero: it is not
	tried  time.Time // when that was to be done last, and failed
	cannot error     // why it never will be
}

// storedFor is how long it is trusted that what is stored is still there, and as it was.
const storedFor = 10 * time.Minute

// storeAgain is how long after it failed a version is stored again at the earliest, since a controller that starts is looked
// at several times.
const storeAgain = 30 * time.Second

// keepGood notes that the version that runs is good, and has it outlive the server. It gives the name of what is stored.
func (s *Server) keepGood(ctx context.Context, c *build.Candidate) string {
	if !c.HasScript() {
		s.goods.Delete(c.ID())
		return ""
	}
	g := s.good(c)
	if g == nil || g.Identity != c.Identity {
		g = &goodVersion{Candidate: *c}
		s.goods.Store(c.ID(), g)
	}
	if time.Since(g.stored) > storedFor && time.Since(g.tried) > storeAgain && g.cannot == nil && s.Given == nil { // what is given is no more when the server is
		err := s.scripts().PutVersion(ctx, c)
		switch {
		case err == nil:
			g.stored = time.Now()
		case errors.Is(err, store.ErrTooLarge) || apierrors.IsInvalid(err):
			g.cannot = err
		case ctx.Err() == nil:
			g.tried = time.Now()
			s.warnNotKept(c.ID(), err)
		}
	}
	if g.stored.IsZero() {
		return ""
	}
	return store.NamePrefix + c.Identity
}

// good is the last good version of the very object that c is of, as far as this server knows it, or nil.
func (s *Server) good(c *build.Candidate) *goodVersion {
	kept, _ := s.goods.Load(c.ID())
	if g, _ := kept.(*goodVersion); g != nil && g.Object.GetUID() == c.Object.GetUID() {
		return g
	}
	return nil
}

// warnNotKept tells, once for each cause, that good versions are not kept: what is in the way for one controller is in the
// way for all.
func (s *Server) warnNotKept(of spec.ID, err error) {
	cause := string(apierrors.ReasonForError(err))
	if apierrors.IsNotFound(err) {
		err = fmt.Errorf("%w: create the namespace, or choose another by --namespace", err)
	}
	if _, told := s.warned.LoadOrStore(cause, true); !told {
		s.Log.Warn("good versions of scripts are not kept for a restart; trying again", "namespace", s.Namespace, "controller", of.Name, "error", err)
	}
}

// lastGood is the version of a controller that was good last: of this server, or else the stored one that its status names.
func (s *Server) lastGood(ctx context.Context, c *build.Candidate) (*build.Candidate, error) {
	if g := s.good(c); g != nil && s.leads() { // while another leads, it knows better
		before := g.Candidate
		return &before, nil
	}
	if c.Status.Script == nil || c.Status.Script.LastGood == "" {
		return nil, errNoneGood
	}
	name := c.Status.Script.LastGood
	before, err := s.scripts().Version(ctx, name, c.Object)
	if err != nil {
		return nil, fmt.Errorf("the version that was good last, in ConfigMap %s/%s, cannot be used: %w", s.Namespace, name, err)
	}
	if s.leads() {
		s.goods.Store(c.ID(), &goodVersion{Candidate: *before, stored: time.Now()})
	}
	return before, nil
}

var errNoneGood = errors.New("no version was good before")

// hold keeps the last good version running, or has it run again, since what is written cannot be used.
func (s *Server) hold(ctx context.Context, c *build.Candidate, v *status.Result) {
	var rejected error
	if r := s.get(c.ID()); r != nil {
		about := r.loop.Current().Loaded
		if rejected = s.rejected(c, about.Identity); rejected == nil && about.Built.Missing == "" {
			return
		}
	}
	before, err := s.lastGood(ctx, c)
	if err == nil {
		err = s.revive(ctx, before)
	}
	if err == nil && rejected != nil {
		s.events.Warning(c.Object, "ScriptRolledBack", "%v", rejected)
		s.metrics.Controller(c.Kind, c.ID().Name).Reloaded("rolledback")
	}
	if err != nil && rejected != nil {
		s.pardon(c)
	}
	if err != nil && !errors.Is(err, errNoneGood) && ctx.Err() == nil {
		v.Warnings = append(v.Warnings, err.Error())
	}
}

// revive runs a version that was good.
func (s *Server) revive(ctx context.Context, c *build.Candidate) error {
	var err error
	if c.Resolved, err = s.discover(c.Declaration); err != nil {
		return err
	}
	loader := s.loader(c)
	hooks, err := loader.Load(ctx, c.Declaration, c.Parts)
	if err != nil {
		return err
	}
	return s.activate(ctx, c, loader, hooks)
}

// settled keeps the version that runs if it is good. It gives the name of what is stored of the last one that was.
func (s *Server) settled(ctx context.Context, r *running) string {
	about := r.loop.Current().Loaded
	if !s.leads() {
		return "" // nothing has been tried here
	}
	if came, _ := r.loop.Current().Canary.Outcome(time.Now()); came == throttle.Good && about.Built.Missing == "" {
		return s.keepGood(ctx, about.Candidate)
	}
	if g := s.good(about.Candidate); g != nil && !g.stored.IsZero() {
		return store.NamePrefix + g.Identity
	}
	return ""
}

// unkept says why a good version will not outlive the server, if that is the version's own fault.
func (s *Server) unkept(c *build.Candidate) []string {
	if g := s.good(c); g != nil && g.cannot != nil {
		return []string{fmt.Sprintf("the version that runs is not kept for a restart of the server while its source is broken: %v", g.cannot)}
	}
	return nil
}

// trialOf is how the next version of a loop is judged: not at all if that is not asked for, if it was good before, or if
// there is none to go back to.
func (s *Server) trialOf(ctx context.Context, c *build.Candidate, l *reconcile.Reconciler, excused map[object.Ref]bool) *throttle.Canary {
	if c.Script == nil || c.Script.Rollback != v1alpha1.RollbackOnError {
		return throttle.NoCanary()
	}
	if before, err := s.lastGood(ctx, c); err != nil || before.Identity == c.Identity {
		return throttle.NoCanary()
	}
	parents := func() int {
		if !l.Filled() {
			return math.MaxInt
		}
		return l.Binding().Count()
	}
	return throttle.NewCanary(percentOf(c.Script), excused, parents, func() { s.queue.Add(c.ID()) })
}

// defaultPercent is rollbackPercent when it is not set.
const defaultPercent = 20

func percentOf(script *v1alpha1.ControllerScript) int {
	if script.RollbackPercent == nil {
		return defaultPercent
	}
	return int(*script.RollbackPercent)
}

// A rejection is the version of a controller object that was given up, and why.
type rejection struct {
	uid      types.UID
	identity string
	why      error
}

// rejected is why a version of c's controller was given up; nil: it was not.
func (s *Server) rejected(c *build.Candidate, identity string) error {
	kept, _ := s.rejects.Load(c.ID())
	if r, _ := kept.(*rejection); r != nil && r.uid == c.Object.GetUID() && r.identity == identity {
		return r.why
	}
	return nil
}

// pardon lets a version run that was given up, since there is none to go back to.
func (s *Server) pardon(c *build.Candidate) {
	s.rejects.Delete(c.ID())
	if r := s.get(c.ID()); r != nil {
		r.loop.Current().Canary.Accept()
	}
}

// judge notes how the version that runs does, before another takes its place.
func (s *Server) judge(ctx context.Context, c *build.Candidate) {
	r := s.get(c.ID())
	if r == nil {
		return
	}
	about := r.loop.Current().Loaded
	switch came, why := r.loop.Current().Canary.Outcome(time.Now()); came {
	case throttle.Good:
		s.settled(ctx, r)
	case throttle.GivenUp:
		s.rejects.Store(c.ID(), &rejection{about.UID, about.Identity, why})
	}
}

// givenUp reports as an error that c was given up, here or by the server before. One that was edited is not, nor is one for
// which there is none to go back to.
func (s *Server) givenUp(ctx context.Context, c *build.Candidate) error {
	reject := func(why error) {
		s.rejects.Store(c.ID(), &rejection{c.Object.GetUID(), c.Identity, why})
	}
	// The status tells what the server before knew. What this one knows, once it leads, is newer.
	if _, known := s.judged.Load(c.Object.GetUID()); !known && c.Status.Script != nil && s.rejected(c, c.Identity) == nil && c.Status.Script.GivenUp == "sha256:"+c.Identity {
		reject(&throttle.GivenUpError{Reason: toldBefore(c.Status.Conditions)})
	}
	if s.leads() {
		s.judged.Store(c.Object.GetUID(), true)
	}
	why := s.rejected(c, c.Identity)
	if why == nil {
		return nil // one that was given up and still runs, is seen to when it is known whether c can take its place
	}
	if before, err := s.lastGood(ctx, c); err != nil || before.Identity == c.Identity {
		s.pardon(c)
		return nil
	}
	return why
}

// givenUpBy is the version that the status of a controller object says was given up.
func givenUpBy(o *object.Object) string {
	version, _, _ := unstructured.NestedString(o.Object, "status", "script", "givenUp")
	return version
}

// toldBefore is why a version was given up, as the condition has it that the server before wrote.
func toldBefore(conditions []metav1.Condition) string {
	told := meta.FindStatusCondition(conditions, v1alpha1.ConditionScriptReady)
	if told == nil || told.Reason != v1alpha1.ReasonRolledBack {
		return ""
	}
	_, reason, _ := strings.Cut(told.Message, throttle.NotTriedAgain+": ")
	if end := strings.LastIndex(reason, "\n"); end >= 0 {
		reason = reason[:end] // what keeps running
	}
	return reason
}
