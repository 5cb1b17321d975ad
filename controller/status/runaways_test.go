package status

import (
	"strings"
	"testing"
	"time"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/spec"
	"metascript/engine"
)

// The status of a controller tells of its own scripts that run on, and of nobody else's.
func TestRunawayCondition(t *testing.T) {
	since := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	sandbox := build.Sandbox{Runaways: func() []engine.Runaway {
		return []engine.Runaway{
			{Owner: "CompositeController/a", Entry: "sync.js", Compiling: true, Since: since},
			{Owner: "CompositeController/a", Entry: "sync.js", Since: since},
			{Owner: "DecoratorController/a", Entry: "other.js", Since: since},
		}
	}}
	r := &Result{Runaways: sandbox.RunawaysOf(spec.ID{Kind: "CompositeController", Name: "a"})}
	c := scriptRunaway(r)
	want := "compiling sync.js, given up at 2026-03-04T05:06:07Z (and 1 more) runs on although its time is up"
	if c.Status != "True" || c.Reason != v1alpha1.ReasonNotStopped || !strings.HasPrefix(c.Message, want) || !strings.Contains(c.Message, "restart the server") {
		t.Errorf("got %+v, want %q", c, want)
	}
	r.Runaways = sandbox.RunawaysOf(spec.ID{Kind: "CompositeController", Name: "b"})
	if c := scriptRunaway(r); c.Status != "False" || c.Reason != v1alpha1.ReasonNoRunaway {
		t.Errorf("another controller has %+v", c)
	}
}
