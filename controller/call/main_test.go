package call

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/labels"

	"metascript/controller/binding"
	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/kube/kubetest"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/related"
	"metascript/controller/spec"
	"metascript/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tooManySteps is the error of a script that the breaker counts.
var tooManySteps = &engine.Error{Kind: engine.KindSteps, Msg: "ran more than 10 steps"}

// A hookFunc is a hook.
type hookFunc func(req *hook.Request) (*hook.Response, error)

func (f hookFunc) Call(_ context.Context, req *hook.Request) (*hook.Response, error) { return f(req) }

// A countedHook is a hook that counts its calls. It is safe for concurrent use, except its fields.
type countedHook struct {
	response hook.Response
	err      error

	mu       sync.Mutex // guards requests
	requests []hook.Request
}

func (h *countedHook) Call(_ context.Context, req *hook.Request) (*hook.Response, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = append(h.requests, *req)
	if h.err != nil {
		return nil, h.err
	}
	response := h.response
	return &response, nil
}

// calls returns how often the hook was called since the last time.
func (h *countedHook) calls() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.requests)
	h.requests = nil
	return n
}

// events records events as text.
type events []string

func (e *events) Warning(o *object.Object, reason, format string, args ...any) {
	e.HookEvent(o, "Warning", reason, fmt.Sprintf(format, args...))
}

func (e *events) HookEvent(o *object.Object, kind, reason, message string) {
	*e = append(*e, fmt.Sprintf("%s %s %s: %s", object.Describe(o), kind, reason, message))
}

// A controller ignores events of related objects.
type controller struct{}

func (*controller) EnqueueParent(object.Ref, *object.Object, *object.Object) {}

// newCaller returns a Caller for Widgets with a new version of these hooks, and the events that it records.
func newCaller(hooks build.Hooks) (*Caller, *events) {
	recorded := &events{}
	widgets := &binding.ParentResource{ParentRule: &spec.ParentRule{
		Resource:  kube.Resource{GroupVersionResource: objecttest.Widgets, Kind: "Widget", Namespaced: true},
		Selectors: []spec.Selector{{Labels: labels.Everything()}},
	}}
	return &Caller{
		Binding: &binding.Binding{
			Controller: &object.Object{}, Finalizer: "example.com/f", Parents: []*binding.ParentResource{widgets}, Discover: kubetest.Served{},
		},
		Version: NewVersion(hooks, nil, func() {}), Events: recorded, Log: slog.New(slog.DiscardHandler),
		Customized: NewCustomizeCache(), Caches: &related.Caches{}, Controller: &controller{},
	}, recorded
}

// call calls the hooks for a Widget without children.
func (c *Caller) call(t *testing.T, change func(*object.Object)) (*hook.Response, error) {
	t.Helper()
	return c.CallHook(t.Context(), objecttest.Widget(change), &object.Set{})
}
