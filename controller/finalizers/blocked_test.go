package finalizers

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clientset "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/kube/kubetest"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/spec"
)

var (
	widgetResource = kube.Resource{GroupVersionResource: objecttest.Widgets, Kind: "Widget", Namespaced: true}
	gadgetResource = kube.Resource{GroupVersionResource: schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "gadgets"}, Kind: "Gadget", Namespaced: true}
)

// unreachable is discovery that does not answer.
type unreachable struct{}

func (unreachable) ByName(string, string) (kube.Resource, error) {
	return kube.Resource{}, errors.New("the API server does not answer")
}

// waitingWorld is a cluster with a widget and a gadget that wait for the finalizer of controller c.
type waitingWorld struct {
	*BlockedReporter
	client *fake.FakeDynamicClient

	mu     sync.Mutex
	warned []string
}

func newWaitingWorld(t *testing.T) *waitingWorld {
	t.Helper()
	waits := objecttest.All(objecttest.Deleting, objecttest.WithFinalizers(spec.ID{Kind: v1alpha1.KindDecoratorController, Name: "c"}.Finalizer()))
	gadget := objecttest.Widget(func(o *object.Object) {
		o.SetAPIVersion("example.org/v1")
		o.SetKind("Gadget")
		o.SetName("g")
		waits(o)
	})
	kinds := map[schema.GroupVersionResource]string{objecttest.Widgets: "WidgetList", gadgetResource.GroupVersionResource: "GadgetList"}
	w := &waitingWorld{client: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objecttest.ForClient(objecttest.Widget(waits), gadget)...)}
	w.BlockedReporter = &BlockedReporter{
		caches:  informer.NewFactory(w.client, slog.New(slog.DiscardHandler)),
		blocked: map[spec.ID]*blockedParents{},
	}
	events := kube.NewEvents(clientset.NewClientset(), kube.EventBudget{})
	events.Intercept = func(parent *object.Object, _ kube.Event) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.warned = append(w.warned, parent.GetName())
		return true
	}
	w.actors = kube.NewActors(&rest.Config{}, &kube.Actor{Writer: &kube.Writer{}, Events: events})
	t.Cleanup(events.Shutdown)
	t.Cleanup(w.Close)
	return w
}

// followed gives the parents that are reported since the last call, and how often each resource was listed since the
// beginning, after c was loaded with rules about these resources and that result.
func (w *waitingWorld) followed(t *testing.T, in kube.Finder, why string, about ...kube.Resource) (warned []string, lists map[string]int) {
	t.Helper()
	d := &spec.Declaration{Kind: v1alpha1.KindDecoratorController, Object: metav1.ObjectMeta{Name: "c"}}
	for _, r := range about {
		rule := v1alpha1.ResourceRule{APIVersion: r.GroupVersion().String(), Resource: r.Resource}
		d.Parents = append(d.Parents, spec.Parent{ResourceRule: rule})
	}
	w.resources = in
	if err := w.Report(d, why, "correct it"); err != nil {
		t.Fatal(err)
	}
	if known := w.blocked[d.ID()]; known != nil {
		for _, cache := range known.caches {
			if !cache.WaitForSync(t.Context()) {
				t.Fatal("the caches did not fill")
			}
		}
	}
	lists = map[string]int{}
	for _, action := range w.client.Actions() {
		if action.GetVerb() == "list" {
			lists[action.GetResource().Resource]++
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	warned, w.warned = w.warned, nil
	slices.Sort(warned)
	return warned, lists
}

func TestWaitingParentsAreReportedOnce(t *testing.T) {
	w := newWaitingWorld(t)
	two := []kube.Resource{widgetResource, gadgetResource}
	for _, step := range []struct {
		name   string
		in     kube.Finder
		about  []kube.Resource
		warned []string
		lists  map[string]int
		open   int
	}{
		{"one kind is not served", kubetest.Served{widgetResource}, two, []string{"w"}, map[string]int{"widgets": 1}, 1},
		{"nor is it later", kubetest.Served{widgetResource}, two, nil, map[string]int{"widgets": 1}, 1},
		{"it is served", kubetest.Served(two), two, []string{"g"}, map[string]int{"widgets": 1, "gadgets": 1}, 2},
		{"nothing changed", kubetest.Served(two), two, nil, map[string]int{"widgets": 1, "gadgets": 1}, 2},
		{"two rules are about one kind", kubetest.Served(two), append(two, widgetResource), nil, map[string]int{"widgets": 1, "gadgets": 1}, 2},
		{"discovery does not answer", unreachable{}, two, nil, map[string]int{"widgets": 1, "gadgets": 1}, 2},
		{"a kind is not declared any more", kubetest.Served(two), two[1:], nil, map[string]int{"widgets": 1, "gadgets": 1}, 1},
		{"another one is declared", kubetest.Served(two), two[:1], []string{"w"}, map[string]int{"widgets": 2, "gadgets": 1}, 1},
		{"its definition is deleted", kubetest.Served{}, two[:1], nil, map[string]int{"widgets": 2, "gadgets": 1}, 0},
		{"its definition is there again", kubetest.Served(two), two[:1], []string{"w"}, map[string]int{"widgets": 3, "gadgets": 1}, 1},
	} {
		warned, lists := w.followed(t, step.in, "does not load", step.about...)
		if diff := cmp.Diff(step.warned, warned); diff != "" {
			t.Errorf("%s: reported (-want +got):\n%s", step.name, diff)
		}
		if diff := cmp.Diff(step.lists, lists); diff != "" {
			t.Errorf("%s: lists (-want +got):\n%s", step.name, diff)
		}
		if open := w.caches.Running(); open != step.open {
			t.Errorf("%s: %d caches are open, want %d", step.name, open, step.open)
		}
	}
	if w.followed(t, kubetest.Served(two), "", two...); w.caches.Running() > 0 {
		t.Error("the controller runs, and its parents are still watched for it")
	}
}
