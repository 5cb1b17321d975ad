package shadow

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"

	"metascript/controller/binding"
	"metascript/controller/build"
	"metascript/controller/call"
	"metascript/controller/claim"
	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/observe"
	"metascript/controller/plan"
	"metascript/controller/redact"
	"metascript/controller/related"
	"metascript/controller/spec"
	"metascript/controller/spec/spectest"
	"metascript/engine"
	"metascript/runtimes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A sink gets the comparisons.
type sink struct {
	observe.Sink
	compared chan *observe.Comparison
}

func (s *sink) Compared(c *observe.Comparison) { s.compared <- c }

// recorder records events as texts.
type recorder struct{ events chan string }

func (r *recorder) Warning(_ *object.Object, reason, format string, args ...any) {
	r.events <- reason + " " + fmt.Sprintf(format, args...)
}

// A world is a controller that runs, with a candidate.
type world struct {
	*Shadows
	t       *testing.T
	sink    *sink
	events  chan string
	changed chan struct{}
	builder *build.Builder
	in      Input
	stop    context.CancelFunc
	ctx     context.Context
	parents []*binding.ParentResource
	client  dynamic.Interface
}

// newWorld loads a CompositeController whose spec has these fields. The server does not lead, and its caches have no parents.
func newWorld(t *testing.T, fields string) *world {
	t.Helper()
	w := newEmptyWorld(t)
	w.load(fields)
	return w
}

// newWorldOf loads a CompositeController on a server that leads, whose caches have these parents.
func newWorldOf(t *testing.T, fields string, objects ...*object.Object) *world {
	t.Helper()
	w, all := newEmptyWorld(t), []runtime.Object(nil)
	for _, o := range objects {
		all = append(all, o)
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{objecttest.Widgets: "WidgetList"}, objecttest.ForClient(all...)...)
	w.client = client
	cache := informer.NewFactory(client, slog.New(slog.DiscardHandler)).Open(informer.Spec{Resource: objecttest.Widgets, Namespaced: true})
	t.Cleanup(cache.Close)
	if !cache.WaitForSync(t.Context()) {
		t.Fatal("the cache was not filled")
	}
	w.parents = []*binding.ParentResource{{
		ParentRule: &spec.ParentRule{
			Resource:  kube.Resource{GroupVersionResource: objecttest.Widgets, Kind: "Widget", Namespaced: true, HasStatus: true},
			Selectors: []spec.Selector{{Labels: labels.Everything()}},
		},
		Cache: cache,
	}}
	w.in.Leads = true
	w.load(fields)
	return w
}

func newEmptyWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, sink: &sink{compared: make(chan *observe.Comparison, 2*maxWaiting)}, events: make(chan string, 100), changed: make(chan struct{}, 1),
		builder: &build.Builder{Sandbox: build.Sandbox{InProcess: engine.New(engine.Options{Runtimes: runtimes.All()})}.WithDefaults()},
	}
	w.Shadows = New(Options{
		Related: &related.Caches{}, Events: &recorder{w.events}, Sinks: []observe.Sink{w.sink}, Log: slog.New(slog.DiscardHandler),
		Changed: func(spec.ID) {
			select {
			case w.changed <- struct{}{}:
			default:
			}
		},
	})
	w.ctx, w.stop = context.WithCancel(t.Context())
	t.Cleanup(func() {
		w.stop()
		w.Wait()
	})
	return w
}

// parents is the field of a spec that names the parents.
const parents = "parentResource: {apiVersion: example.com/v1, resource: widgets}\n"

// load makes the controller run as its spec is now.
func (w *world) load(fields string) {
	w.t.Helper()
	d := spectest.Composite(w.t, parents+fields)
	built, err := w.builder.ReadAndBuild(w.t.Context(), d)
	if err != nil {
		w.t.Fatal(err)
	}
	kind := object.Kind{Version: "v1", Kind: "ConfigMap"}
	b := &binding.Binding{
		ID: d.ID(), Controller: object.New(map[string]any{}), Hooks: built.Hooks(), Finalizer: "f",
		Kinds: map[object.Kind]bool{kind: true, {Version: "v1", Kind: "Secret"}: true}, Rules: plan.Rules{kind: plan.InPlace}, Parents: w.parents,
		Match: claim.GeneratedSelector, Labels: claim.GeneratedLabels,
	}
	b.Claimer = &claim.BySelector{Selector: b.Match}
	o := object.New(map[string]any{"kind": "CompositeController", "metadata": map[string]any{"name": "c", "uid": "controller-uid"}})
	live := call.NewVersion(built.Hooks(), nil, func() {})
	live.Loaded = &build.Loaded{Built: built, Candidate: &build.Candidate{Declaration: d, Object: o}}
	w.in = Input{Declaration: d, Object: o, Builder: w.builder, Live: live, Binding: b, Leads: w.in.Leads}
	w.Update(w.ctx, w.in)
}

// until waits until the report is as wanted.
func (w *world) until(want func(*Report) bool) *Report {
	w.t.Helper()
	for {
		r := w.Update(w.ctx, w.in)
		if want(r) {
			return r
		}
		select {
		case <-w.changed:
		case <-time.After(30 * time.Second):
			w.t.Fatalf("the report is %+v", r)
		}
	}
}

// loaded waits until the candidate is loaded.
func (w *world) loaded() {
	w.t.Helper()
	w.until(func(r *Report) bool { return r.Digest != "" })
}

// widget is a parent.
func widget(name string) *object.Object {
	return objecttest.Widget(func(o *object.Object) {
		o.SetName(name)
		o.SetUID(types.UID("uid-" + name))
	})
}

// reconcile calls the script that runs for a parent, as a reconcile does, with these children and related objects.
func (w *world) reconcile(parent *object.Object, observed ...*object.Object) {
	w.t.Helper()
	children, related := &object.Set{}, &object.Set{}
	for kind := range w.in.Binding.Kinds {
		children.Declare(kind)
	}
	for _, o := range observed {
		if redact.IsSecret(o) {
			related.Put(o)
			continue
		}
		children.Put(o)
	}
	expect, err := w.in.Binding.Expect(parent)
	if err != nil {
		w.t.Fatal(err)
	}
	req := &hook.Request{Controller: w.in.Binding.Controller, Parent: parent, Children: children, Related: related, Expect: expect, Now: time.Unix(1e9, 0)}
	name, h := hook.Sync, w.in.Live.Sync
	if object.Deleting(parent) {
		name, h, req.Finalizing = hook.Finalize, w.in.Live.Finalize, true
	}
	redactor := redact.New()
	redactor.AddSets(children, related)
	response, failed := h.Call(redact.NewContext(w.t.Context(), redactor), req)
	w.Reconciled(&observe.Reconcile{
		About: observe.About{Kind: "CompositeController", Controller: "c", Parent: object.RefOf(parent)}, UID: parent.GetUID(),
		Script: w.in.Live.Loaded.Built.Digest, Redactor: redactor,
		Calls: []observe.Call{{Name: name, Hook: h, Request: req, Response: response, Err: failed}},
	})
}

// next returns the next comparison as one text.
func (w *world) next() string {
	w.t.Helper()
	select {
	case c := <-w.sink.compared:
		text := string(c.Result)
		if c.Difference != "" {
			text += " " + c.Difference
		}
		if len(c.Writes) > 0 {
			var all []string
			for _, write := range c.Writes {
				all = append(all, write.Text)
			}
			text += " (" + strings.Join(all, ", ") + ")"
		}
		if c.Err != nil {
			text += " " + c.Err.Error()
		}
		return text
	case <-time.After(30 * time.Second):
		w.t.Fatal("there was no comparison")
		return ""
	}
}

// script is a script in Starlark, as a field of a spec.
func script(field, body string) string {
	return fmt.Sprintf("%s: %s\n", field, objecttest.Inline("Starlark", body))
}

// shadowOf is a candidate in Starlark, with more fields of it.
func shadowOf(body, more string) string {
	return fmt.Sprintf("shadow: {script: {language: Starlark, inline: %s%s}}\n", objecttest.Quoted(body), more)
}
