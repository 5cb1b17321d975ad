package preview

import (
	"context"
	"log/slog"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"metascript/controller/binding"
	"metascript/controller/build"
	"metascript/controller/claim"
	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/kube/kubetest"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/related"
	"metascript/controller/spec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A hookFunc is a hook that calls the function.
type hookFunc func(context.Context, *hook.Request) (*hook.Response, error)

func (f hookFunc) Call(ctx context.Context, req *hook.Request) (*hook.Response, error) {
	return f(ctx, req)
}

// wants returns a hook that returns these ConfigMaps.
func wants(children ...*object.Object) hookFunc {
	return func(context.Context, *hook.Request) (*hook.Response, error) {
		set := &object.Set{}
		for _, child := range children {
			set.Put(object.Copy(child))
		}
		return &hook.Response{Children: set}, nil
	}
}

// configMap returns a desired ConfigMap with data.
func configMap(name, data string) *object.Object {
	o := objecttest.ConfigMap(name, nil)
	o.Map()["data"] = map[string]any{"key": data}
	return o
}

var (
	configMaps = object.Kind{Version: "v1", Kind: "ConfigMap"}
	secrets    = kube.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Kind: "Secret", Namespaced: true}
)

// A world is a controller with Widgets as parents and ConfigMaps as children, over caches with some objects.
type world struct {
	*binding.Binding
	related related.Caches
}

func newWorld(t testing.TB, method plan.Method, objects ...runtime.Object) *world {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{objecttest.Widgets: "WidgetList", objecttest.ConfigMaps: "ConfigMapList", secrets.GroupVersionResource: "SecretList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objecttest.ForClient(objects...)...)
	caches := informer.NewFactory(client, slog.New(slog.DiscardHandler))
	open := func(of schema.GroupVersionResource) *informer.Informer {
		return caches.Open(informer.Spec{Resource: of, Namespaced: true})
	}
	w := &world{Binding: &binding.Binding{
		ID: spec.ID{Kind: "CompositeController", Name: "c"}, Controller: object.New(map[string]any{}), Finalizer: "example.com/f",
		Parents: []*binding.ParentResource{{
			ParentRule: &spec.ParentRule{
				Resource:  kube.Resource{GroupVersionResource: objecttest.Widgets, Kind: "Widget", Namespaced: true, HasStatus: true},
				Selectors: []spec.Selector{{Labels: labels.Everything()}},
			},
			Cache: open(objecttest.Widgets),
		}},
		Rules: plan.Rules{configMaps: method}, Kinds: map[object.Kind]bool{configMaps: true},
		Match: claim.GeneratedSelector, Labels: claim.GeneratedLabels, Discover: kubetest.Served{secrets},
		Children: []claim.Cache{{Kind: configMaps, Informer: open(objecttest.ConfigMaps)}},
	}}
	w.Claimer = &claim.BySelector{Children: w.Children, Selector: w.Match, GetLive: func(context.Context, *object.Object) (*object.Object, error) {
		t.Error("a preview read an object from the API server")
		return nil, nil
	}}
	w.related.Open = func(of kube.Resource) *informer.Informer { return open(of.GroupVersionResource) }
	t.Cleanup(w.Close)
	for _, cache := range w.Caches() {
		if !cache.WaitForSync(t.Context()) {
			t.Fatal("the caches did not fill")
		}
	}
	return w
}

// preview returns the Result for the widget w.
func (w *world) preview(t *testing.T, hooks build.Hooks) *Result {
	t.Helper()
	p := New(w.Binding, hooks, &w.related, nil)
	defer p.Close()
	return p.Parent(t.Context(), w.Parent(objecttest.WidgetRef("default", "w")), State{})
}
