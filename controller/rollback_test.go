package controller

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/build"
	"metascript/controller/kube"
	"metascript/controller/lease"
	"metascript/controller/object"
	"metascript/controller/spec"
	"metascript/controller/store"
	"metascript/controller/throttle"
	"metascript/engine"
	"metascript/scripts"
)

// An apiServer is a discoverer, and serves ConfigMaps of which there are none.
type apiServer struct{ err error }

// ServerResourcesForGroupVersionWithContext serves widgets.
func (a *apiServer) ServerResourcesForGroupVersionWithContext(_ context.Context, gv string) (*metav1.APIResourceList, error) {
	return &metav1.APIResourceList{GroupVersion: gv, APIResources: []metav1.APIResource{
		{Name: "widgets", Kind: "Widget", Namespaced: true}, {Name: "widgets/status", Kind: "Widget", Namespaced: true},
	}}, a.err
}

func (a *apiServer) get(_ context.Context, o *object.Object) (*object.Object, error) {
	if a.err != nil {
		return nil, a.err
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, o.GetName())
}

// A compiler is an engine whose scripts all fail to compile with err.
type compiler struct {
	err   error
	calls int
}

// Compile implements engine.Runtime.
func (c *compiler) Compile(context.Context, engine.Script, engine.Limits) (engine.Program, error) {
	c.calls++
	return nil, c.err
}

// version is a version of controller c whose script has that text. The status names a stored version.
func version(t *testing.T, text string) *build.Candidate {
	t.Helper()
	o := controllerObject("1")
	o.SetAPIVersion("metacontroller.k8s.io/v1alpha1")
	o.Map()["spec"] = map[string]any{
		"parentResource": map[string]any{"apiVersion": "example.org/v1", "resource": "widgets"},
		"script":         map[string]any{"language": "Starlark", "inline": text, "rollback": "OnError"},
	}
	o.Map()["status"] = map[string]any{"script": map[string]any{"lastGood": store.NamePrefix + "before"}}
	d, err := spec.Read(o)
	if err != nil {
		t.Fatal(err)
	}
	c := &build.Candidate{Declaration: d, Object: o}
	if err := c.Read(&build.Builder{Sandbox: build.Sandbox{}.WithDefaults()}); err != nil {
		t.Fatal(err)
	}
	return c
}

// A givenUp is a server on which a version runs that was given up.
type givenUp struct {
	*Server
	api      *apiServer
	compiler *compiler
	record   *managed
	now      *build.Candidate
	canary   *throttle.Canary
}

func newGivenUp(t *testing.T) *givenUp {
	t.Helper()
	g := &givenUp{Server: newServer(t), api: &apiServer{}, compiler: &compiler{}, now: version(t, "now")}
	g.leading.Open()
	g.resources = kube.NewResources(g.api, 0)
	g.sandbox.InProcess = g.compiler
	g.loader.versions.store.GetLive = g.api.get
	g.record, _ = g.records.open(g.now.Object)
	g.canary = throttle.NewCanary(0, nil, func() int { return 1 }, func() {})
	why := &throttle.GivenUpError{Reason: "it failed"}
	g.canary.GiveUp(why)
	run(t, g.record, g.now.Identity, g.canary)
	g.record.giveUp(g.now.Identity, why)
	return g
}

// before has a version known that was good last.
func (g *givenUp) before(t *testing.T) {
	t.Helper()
	g.record.lastKnownGood.Store(&goodVersion{Candidate: *version(t, "before")})
}

// stillGivenUp reports whether the version that runs is not accepted.
func (g *givenUp) stillGivenUp() bool {
	outcome, _ := g.canary.Outcome(time.Now())
	return g.record.givenUp(g.now.Identity) != nil && outcome == throttle.GivenUp
}

var away = &url.Error{Op: "Get", URL: "https://api", Err: errors.New("connection refused")}

func TestGivenUpVersionIsAcceptedWithoutPredecessor(t *testing.T) {
	for _, c := range []struct {
		name  string
		setUp func(t *testing.T, g *givenUp)
		still bool // given up
		err   bool
	}{
		{"none was good", func(_ *testing.T, g *givenUp) { g.now.Status.Script = nil }, false, false},
		{"it is not stored any more", func(*testing.T, *givenUp) {}, false, true},
		{"the API server does not answer", func(_ *testing.T, g *givenUp) { g.api.err = away }, true, true},
		{"the API server is busy", func(_ *testing.T, g *givenUp) { g.api.err = apierrors.NewTooManyRequests("later", 1) }, true, true},
		{"it may not be read", func(_ *testing.T, g *givenUp) {
			g.api.err = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "x", nil)
		}, true, true},
		{"discovery does not answer", func(t *testing.T, g *givenUp) { g.before(t); g.api.err = away }, true, true},
		{"its script runs out of time", func(t *testing.T, g *givenUp) {
			g.before(t)
			g.compiler.err = &engine.Error{Kind: engine.KindTimeout}
		}, true, true},
		{"its script is broken", func(t *testing.T, g *givenUp) {
			g.before(t)
			g.compiler.err = &engine.Error{Kind: engine.KindSyntax}
		}, false, true},
		{"its parents are not served any more", func(t *testing.T, g *givenUp) {
			g.before(t)
			g.record.lastKnownGood.Load().Parents[0].Resource = "gadgets"
		}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGivenUp(t)
			c.setUp(t, g)
			err := g.loader.rollback.rollBack(t.Context(), g.record, g.now)
			if (err != nil) != c.err || store.MayPass(err) != c.still {
				t.Errorf("the error is %v, and may pass: %t", err, store.MayPass(err))
			}
			if g.stillGivenUp() != c.still {
				t.Errorf("it is still given up: %t", !c.still)
			}
		})
	}
}

func TestGivenUpVersionIsComparedWithPredecessor(t *testing.T) {
	for _, c := range []struct {
		name  string
		setUp func(t *testing.T, g *givenUp)
		still bool
	}{
		{"there is one", func(t *testing.T, g *givenUp) { g.before(t) }, true},
		{"the API server does not answer", func(_ *testing.T, g *givenUp) { g.api.err = away }, true},
		{"it is not stored any more", func(*testing.T, *givenUp) {}, false},
		{"it is the same", func(_ *testing.T, g *givenUp) { g.record.lastKnownGood.Store(&goodVersion{Candidate: *g.now}) }, false},
	} {
		g := newGivenUp(t)
		c.setUp(t, g)
		if err := g.loader.rollback.refuseGivenUp(t.Context(), g.record, g.now); (err != nil) != c.still || g.stillGivenUp() != c.still {
			t.Errorf("%s: error %v, and it is still given up: %t", c.name, err, g.stillGivenUp())
		}
	}
}

func TestPredecessorIsLoadedWithBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGivenUp(t)
		g.before(t)
		g.compiler.err = &engine.Error{Kind: engine.KindTimeout}
		rollBack := func() {
			t.Helper()
			if err := g.loader.rollback.rollBack(t.Context(), g.record, g.now); !throttle.Transient(err) {
				t.Errorf("error %v", err)
			}
		}
		for range 4 {
			rollBack()
		}
		if g.compiler.calls != 2 {
			t.Errorf("it was compiled %d times in a row, want 2", g.compiler.calls)
		}
		time.Sleep(5 * time.Second)
		rollBack()
		if g.compiler.calls != 3 || !g.stillGivenUp() {
			t.Errorf("after a while it was compiled %d times, want 3", g.compiler.calls)
		}
		g.events.Shutdown()
		g.queue.ShutDown()
	})
}

func TestCanaryNeedsPossiblePredecessor(t *testing.T) {
	for _, c := range []struct {
		name  string
		setUp func(t *testing.T, g *givenUp)
		want  throttle.Outcome
	}{
		{"there is one", func(t *testing.T, g *givenUp) { g.before(t) }, throttle.Undecided},
		{"the API server does not answer", func(_ *testing.T, g *givenUp) { g.api.err = away }, throttle.Undecided},
		{"there is none", func(*testing.T, *givenUp) {}, throttle.Good},
		{"that is not asked for", func(t *testing.T, g *givenUp) { g.before(t); g.now.Script.Rollback = "" }, throttle.Good},
	} {
		g := newGivenUp(t)
		c.setUp(t, g)
		canary := g.loader.versions.canary(t.Context(), g.record, g.now, g.record.active.Load().Reconciler, nil)
		if got, _ := canary.Outcome(time.Now()); got != c.want {
			t.Errorf("%s: the outcome is %d, want %d", c.name, got, c.want)
		}
	}
}

func TestVersionThatThePreviousLeaderReplacedIsNotKept(t *testing.T) {
	const first, second = "sha256:first", "sha256:second"
	for _, c := range []struct {
		name   string
		change func(g *givenUp)
		kept   bool
	}{
		{"the previous leader ran another one", func(*givenUp) {}, false},
		{"it is that of the object as it is", func(g *givenUp) { g.now.Identity = "first" }, true},
		{"the previous leader ran it too", func(g *givenUp) { g.now.Status.Script.Digest = first }, true},
		{"there was no previous leader", func(g *givenUp) { g.now.Status.Script = nil }, true},
		{"the previous leader kept none", func(g *givenUp) { g.now.Status.Script.LastGood = "" }, true},
		{"this server does not lead", func(g *givenUp) { g.leading = lease.NewGate() }, false},
		{"this server has written the status since", func(g *givenUp) {
			g.loader.rollback.readStatus(g.record, g.now)
			g.now.Status.Script.Digest = first
		}, false},
		{"the previous leader gave it up", func(g *givenUp) {
			g.now.Identity, g.now.Status.Script.GivenUp = "first", "sha256:first"
		}, false},
	} {
		g := newGivenUp(t)
		g.now.Status.Script.Digest = second
		run(t, g.record, "first", throttle.NoCanary())
		loaded := g.record.active.Load().Current().Loaded
		loaded.Candidate, loaded.Built.Status.Digest = version(t, "first"), first
		loaded.Candidate.Identity = "first"
		c.change(g)
		g.loader.rollback.readStatus(g.record, g.now)
		g.loader.rollback.noteOutcome(t.Context(), g.record, g.now)
		g.loader.versions.keepIfGood(t.Context(), g.record)
		good := g.record.lastKnownGood.Load()
		if kept := good != nil && good.Identity == "first"; kept != c.kept {
			t.Errorf("%s: it is kept: %t", c.name, kept)
		}
	}
}

// A version that the previous leader replaced does not stay, also before it is known whether it is good: unless there is no other one.
func TestVersionThatThePreviousLeaderReplacedIsRolledBack(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(g *givenUp)
		stays  bool
	}{
		{"there is a stored one", func(*givenUp) {}, false},
		{"the stored one cannot be read now", func(g *givenUp) { g.api.err = away }, true},
		{"the stored one is gone", func(g *givenUp) { g.record.lastKnownGood.Store(nil) }, true},
		{"it runs as the object is written", func(g *givenUp) { g.now.Identity = "first" }, true},
		{"it ran as the object was written before an edit", func(g *givenUp) {
			now := g.now.Identity
			g.now.Identity = "first"
			g.loader.rollback.noteOutcome(t.Context(), g.record, g.now)
			g.now.Identity = now
		}, true},
	} {
		g := newGivenUp(t)
		g.now.Status.Script.Digest = "sha256:second"
		run(t, g.record, "first", throttle.NewCanary(0, nil, func() int { return 1 }, func() {}))
		g.loader.rollback.readStatus(g.record, g.now)
		g.before(t) // as refuseGivenUp finds it
		g.compiler.err = &engine.Error{Kind: engine.KindTimeout}
		c.change(g)
		g.loader.rollback.noteOutcome(t.Context(), g.record, g.now)
		err := g.loader.rollback.rollBack(t.Context(), g.record, g.now)
		if stays := g.compiler.calls == 0; stays != c.stays {
			t.Errorf("%s: it stays: %t, error %v", c.name, stays, err)
		}
		if got, want := g.record.isBehind(), store.MayPass(err); got != want {
			t.Errorf("%s: it is behind: %t after the error %v", c.name, got, err)
		}
	}
}

func TestDefiniteErrorsAreNotTransient(t *testing.T) {
	if store.MayPass(nil) || store.MayPass(&scripts.Error{Reason: scripts.NotFound}) {
		t.Error("MayPass is true for no error or for a definite one")
	}
}
