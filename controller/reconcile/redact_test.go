package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/queue"
	"metascript/controller/redact"
	"metascript/controller/rollout"
	"metascript/controller/spec"
	"metascript/engine"
)

const hiddenValue = "zQx7Kp2mVw9RtB4n"

// A secretHook gives a Secret to the Redactor, as scripts and webhooks do, and then calls the function.
type secretHook func() (*hook.Response, error)

func (s secretHook) Call(ctx context.Context, _ *hook.Request) (*hook.Response, error) {
	redact.FromContext(ctx).Add(object.New(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"a": hiddenValue},
	}))
	klog.FromContext(ctx).Info("client-go says "+hiddenValue, "url", "/api/v1/"+hiddenValue)
	return s()
}

func TestTextsOfReconcileAreRedacted(t *testing.T) {
	hooks := map[string]secretHook{
		"an error":   func() (*hook.Response, error) { return nil, errors.New("not " + hiddenValue) },
		"a script's": func() (*hook.Response, error) { return nil, &engine.Error{Kind: engine.KindRaised, Msg: hiddenValue} },
		"a limit":    func() (*hook.Response, error) { return nil, &engine.Error{Kind: engine.KindSteps, Msg: hiddenValue} },
		"a panic":    func() (*hook.Response, error) { panic("in " + hiddenValue) },
		"events":     func() (*hook.Response, error) { return secretResponse(), nil },
		"not permitted": func() (*hook.Response, error) {
			return nil, apierrors.NewForbidden(schema.GroupResource{}, hiddenValue, nil)
		},
		"a child's name": func() (*hook.Response, error) { return wants(hiddenValue)(&hook.Request{}) },
	}
	for name, hook := range hooks {
		t.Run(name, func(t *testing.T) {
			r, _ := newTestReconciler(t, hook, nil, objecttest.Widget(nil))
			t.Cleanup(r.close)
			t.Cleanup(r.queue.ShutDown)
			var texts strings.Builder
			r.events.log = slog.New(redact.Handler(slog.NewTextHandler(&texts, &slog.HandlerOptions{Level: slog.LevelDebug}), r.redactors.forRecord))
			r.redactors.handler = r.events.log.Handler()
			r.events.Intercept = func(_ *object.Object, e kube.Event) bool {
				fmt.Fprintln(&texts, e)
				return true
			}
			if !r.waitForSync(t.Context()) {
				t.Fatal("the caches did not fill")
			}
			for range 3 {
				r.worker.process(t.Context(), objecttest.WidgetRef("default", "w"), queue.Retry)
			}
			fmt.Fprintln(&texts, r.states.deniedParents(), r.current.Load().Held())
			if text := texts.String(); strings.Contains(text, "zQx7") || strings.Contains(text, "RtB4") || !strings.Contains(text, redact.Mark) {
				t.Errorf("got %s", text)
			}
		})
	}
}

// secretResponse returns a response with the value in a warning and in an event.
func secretResponse() *hook.Response {
	return &hook.Response{
		Children: &object.Set{}, Warnings: []error{errors.New("odd: " + hiddenValue)},
		Events: []hook.Event{{Type: "Normal", Reason: hiddenValue, Message: "is " + hiddenValue}},
	}
}

func TestUpdatedConditionIsRedacted(t *testing.T) {
	r, _ := newTestReconciler(t, wants(), nil)
	t.Cleanup(r.close)
	t.Cleanup(r.queue.ShutDown)
	ctx, done := r.redactors.begin(t.Context(), objecttest.WidgetRef("default", "w"))
	redact.FromContext(ctx).AddTexts(hiddenValue)
	status := r.newReconciliation(objecttest.WidgetRef("default", "w")).roller.withUpdatedCondition(objecttest.Widget(nil), nil, rollout.Condition{Reason: rollout.Waiting, Message: "for " + hiddenValue})
	if text := fmt.Sprint(status); strings.Contains(text, "zQx7") || !strings.Contains(text, "for "+redact.Mark) {
		t.Errorf("got %s", text)
	}
	done()
	if r.redactors.of(objecttest.WidgetRef("default", "w")) != nil {
		t.Error("the Redactor is still there after the reconcile")
	}
}

func TestRedactorIsKeptOnlyForOwnParents(t *testing.T) {
	for _, c := range []struct {
		name, selector string
		change         func(*object.Object)
		want           bool
	}{
		{"selected", "", func(*object.Object) {}, true},
		{"no longer selected", "tenant=a", func(*object.Object) {}, false},
		{"no longer selected, with our finalizer", "tenant=a", objecttest.WithFinalizers(testFinalizer), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := newTestReconciler(t, wants(), nil, objecttest.Widget(c.change))
			fillCaches(t, r)
			key := objecttest.WidgetRef("default", "w")
			reconcile := func() {
				ctx, done := r.redactors.begin(t.Context(), key)
				redact.FromContext(ctx).AddTexts(hiddenValue)
				done()
			}
			reconcile()
			if state := r.states.find(key); state == nil || state.secrets.Load() == nil {
				t.Error("the Redactor of a parent that is selected is not kept")
			}
			selector, err := labels.Parse(c.selector)
			if err != nil {
				t.Fatal(err)
			}
			r.binding.Parents[0].Selectors = []spec.Selector{{Labels: selector}}
			reconcile()
			if kept := r.states.of(key).secrets.Load() != nil; kept != c.want {
				t.Errorf("its Redactor is kept: %t, want %t", kept, c.want)
			}
		})
	}
}

// What users have changed in the parent stays public: a text may still have it, as the value of a child before it is changed.
func TestEarlierStatesOfTheParentArePublic(t *testing.T) {
	parentWith := func(text string, version int) *object.Object {
		return objecttest.Widget(func(o *object.Object) {
			o.Map()["spec"], o.Map()["status"] = map[string]any{"x": text}, map[string]any{"n": int64(version)}
			o.SetResourceVersion(fmt.Sprint(version))
		})
	}
	var past publicPast
	past.note(parentWith("Xq7vTr9kguess", 1))
	past.note(parentWith("Xq7vTr9kguess", 2)) // only its status has changed
	for i := range 20 {
		past.note(parentWith(fmt.Sprint("other", i), 3+i))
	}
	r := redact.New()
	r.Add(objecttest.ParseObject(t, `{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: Xq7vTr9kLm2z}}`))
	r.AddPublicTexts(past.texts...)
	if got := r.Text("data.x was Xq7vTr9k and the password is Xq7vTr9kLm2z"); got != "data.x was Xq7vTr9k and the password is [redacted]" {
		t.Errorf("got %s", got)
	}
	if want := 20; len(past.texts) != want {
		t.Errorf("%q are kept", past.texts)
	}
	past.note(parentWith(strings.Repeat("x", maxPublicPast), 100))
	past.note(parentWith("the last one", 101))
	if len(past.texts) != 21 || past.size > 1000 {
		t.Errorf("%d texts of %d bytes are kept after one that is too large", len(past.texts), past.size)
	}
	for i := range 1000 {
		past.note(parentWith(fmt.Sprint(strings.Repeat("y", 100), i), 200+i))
	}
	if past.size > maxPublicPast || past.size < maxPublicPast/2 {
		t.Errorf("%d texts of %d bytes are kept", len(past.texts), past.size)
	}
}
