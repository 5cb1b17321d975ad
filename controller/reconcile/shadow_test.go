package reconcile

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"metascript/controller/build"
	"metascript/controller/call"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/observe"
	"metascript/controller/queue"
	"metascript/controller/shadow"
	"metascript/controller/spec/spectest"
	"metascript/engine"
	"metascript/runtimes"
)

// comparisons gets the comparisons of a candidate.
type comparisons struct {
	observe.Sink
	all chan *observe.Comparison
}

// Compared implements observe.ComparisonSink.
func (c *comparisons) Compared(one *observe.Comparison) { c.all <- one }

// A candidate is compared for each reconcile in which the script was called, and nothing of it is written. A reconcile that is
// remembered is not compared.
func TestReconcilesAreShadowed(t *testing.T) {
	d := spectest.Composite(t, `{parentResource: {apiVersion: example.com/v1, resource: widgets}, generateSelector: true,
		script: {language: Starlark, inline: 'def sync(parent): return {"status": {"n": 1}, "children": []}'},
		shadow: {script: {language: Starlark, inline: 'def sync(parent): return {"status": {"n": 2}, "children": []}'}}}`)
	builder := &build.Builder{Sandbox: build.Sandbox{InProcess: engine.New(engine.Options{Runtimes: runtimes.All()})}.WithDefaults()}
	built, err := builder.ReadAndBuild(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	widget := objecttest.Widget(nil)
	r, write := newTestReconciler(t, built.Sync, nil, widget)
	r.binding.Hooks = built.Hooks()
	live := call.NewVersion(built.Hooks(), nil, func() {})
	live.Loaded = &build.Loaded{Built: built, Candidate: &build.Candidate{Declaration: d, Object: object.New(map[string]any{})}}
	r.current.Store(live)
	fillCaches(t, r)

	told := &comparisons{all: make(chan *observe.Comparison, 10)}
	ctx, stop := context.WithCancel(t.Context())
	shadows := shadow.New(shadow.Options{Sinks: []observe.Sink{told}, Log: slog.New(slog.DiscardHandler)})
	defer shadows.Wait()
	defer stop()
	r.sinks = []observe.Sink{shadows}
	in := shadow.Input{Declaration: d, Object: object.New(map[string]any{}), Builder: builder, Live: live, Binding: r.binding}
	for shadows.Update(ctx, in).Digest == "" {
		time.Sleep(time.Millisecond)
	}

	key := object.RefOf(widget)
	r.worker.process(t.Context(), key, queue.ParentChanged)
	c := <-told.all
	if c.Result != observe.Differs || c.Difference != "status.n" || c.Parent != key || c.UID != widget.GetUID() || c.Controller != "c" {
		t.Errorf("%+v", c)
	}
	var status any
	for _, o := range write.Written() {
		status, _ = o.At("status", "n")
	}
	if status != int64(1) {
		t.Errorf("what is written has the status %v, want that of the script: %v", status, write.Recorded())
	}
	if len(told.all) > 0 {
		t.Error("it was compared twice")
	}
}
