package revisions

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/kube/kubetest"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan/plantest"
)

var gadgets = schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "gadgets"}

// controller returns a CompositeController of a parent resource, with children of this update method.
func controller(name string, of schema.GroupVersionResource, method string) *object.Object {
	o := object.New(map[string]any{"spec": map[string]any{
		"parentResource": map[string]any{"apiVersion": of.GroupVersion().String(), "resource": of.Resource},
		"childResources": []any{
			map[string]any{"apiVersion": "v1", "resource": "configmaps"},
			map[string]any{"apiVersion": "v1", "resource": "pods", "updateStrategy": map[string]any{"method": method}},
		},
	}})
	o.SetAPIVersion(v1alpha1.GroupVersion.String())
	o.SetKind(v1alpha1.KindCompositeController)
	o.SetName(name)
	o.SetUID(types.UID(name))
	o.SetGeneration(2)
	return o
}

// revision returns a ControllerRevision with the labels of a resource. Its controller is an object of kind; none if kind is "".
func revision(name string, of schema.GroupVersionResource, kind string) *metav1.PartialObjectMetadata {
	isController := true
	o := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindControllerRevision}}
	o.Name, o.Namespace, o.UID, o.ResourceVersion = name, "default", types.UID(name), "7"
	o.Labels = map[string]string{GroupLabel: of.Group, ResourceLabel: of.Resource}
	if kind != "" {
		o.OwnerReferences = []metav1.OwnerReference{{APIVersion: of.Group + "/v2", Kind: kind, Name: "p", UID: "p", Controller: &isController}}
	}
	return o
}

// An environment has controllers and ControllerRevisions, and a server that runs the controllers.
type environment struct {
	Sweeper
	client   *fake.FakeDynamicClient
	metadata *metadatafake.FakeMetadataClient
	deleted  plantest.Recorder
	stopped  map[string]bool // the controllers whose current spec the server does not run
}

func newEnvironment(t *testing.T, controllers ...*object.Object) *environment {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{v1alpha1.CompositeControllers: "CompositeControllerList"}
	env := &environment{client: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds), stopped: map[string]bool{}}
	for _, o := range controllers {
		if err := env.client.Tracker().Add(o.Unstructured()); err != nil {
			t.Fatal(err)
		}
	}
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	unlabelled := revision("unlabelled", objecttest.Widgets, "Widget")
	unlabelled.Labels = nil
	env.metadata = metadatafake.NewSimpleMetadataClient(scheme,
		revision("of-widget", objecttest.Widgets, "Widget"), revision("of-gadget", gadgets, "Gadget"),
		revision("of-another-kind", objecttest.Widgets, "Gadget"), revision("orphan", objecttest.Widgets, ""), unlabelled)
	env.Sweeper = Sweeper{
		Client: env.client, Metadata: env.metadata, Writer: &env.deleted,
		Resources: kubetest.Served{
			{GroupVersionResource: objecttest.Widgets, Kind: "Widget", Namespaced: true},
			{GroupVersionResource: gadgets, Kind: "Gadget", Namespaced: true},
		},
		Runs: func(o *object.Object) bool { return !env.stopped[o.GetName()] },
	}
	return env
}

// sweep returns the deletions of one Sweep.
func (env *environment) sweep(t *testing.T) []string {
	t.Helper()
	env.deleted = plantest.Recorder{}
	if err := env.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	return env.deleted.Recorded()
}

func TestSweepDeletesRevisionsIfNoControllerRolls(t *testing.T) {
	unreadable := controller("c", gadgets, "InPlace")
	unreadable.Map()["spec"] = map[string]any{"parentResource": "gadgets"}
	malformed := controller("c", gadgets, "InPlace")
	malformed.Map()["spec"].(map[string]any)["parentResource"] = map[string]any{"apiVersion": "a/b/c", "resource": "gadgets"}
	inPlace := func(name string) *object.Object { return controller(name, objecttest.Widgets, "InPlace") }
	ofWidget := "delete ControllerRevision default/of-widget"
	for _, c := range []struct {
		name        string
		controllers []*object.Object
		change      func(env *environment)
		want        []string
	}{
		{"no controller has the resource", nil, nil, nil},
		{"one controller, which does not roll", []*object.Object{inPlace("a")}, nil, []string{ofWidget}},
		{"one that rolls in place", []*object.Object{controller("a", objecttest.Widgets, "RollingInPlace")}, nil, nil},
		{"one that recreates", []*object.Object{controller("a", objecttest.Widgets, "RollingRecreate")}, nil, nil},
		{"one of two rolls", []*object.Object{inPlace("a"), controller("b", objecttest.Widgets, "RollingRecreate")}, nil, nil},
		{"none of two rolls", []*object.Object{inPlace("a"), inPlace("b")}, nil, []string{ofWidget}},
		{"one of another resource rolls", []*object.Object{inPlace("a"), controller("b", gadgets, "RollingRecreate")}, nil, []string{ofWidget}},
		{"the current spec of one does not run", []*object.Object{inPlace("a"), inPlace("b")}, func(env *environment) { env.stopped["b"] = true }, nil},
		{"one cannot be read", []*object.Object{inPlace("a"), unreadable}, nil, nil},
		{"one has no resource", []*object.Object{inPlace("a"), malformed}, nil, nil},
		{"the resource is not served", []*object.Object{inPlace("a")}, func(env *environment) { env.Resources = kubetest.Served{} }, nil},
	} {
		env := newEnvironment(t, c.controllers...)
		if c.change != nil {
			c.change(env)
		}
		if diff := cmp.Diff(c.want, env.sweep(t)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestSweepDeletesNothingIfControllerChanges(t *testing.T) {
	for name, edited := range map[string]*object.Object{
		"rolls now":     controller("a", objecttest.Widgets, "RollingInPlace"),
		"does not roll": controller("a", objecttest.Widgets, "Recreate"),
	} {
		edited.SetGeneration(3)
		env := newEnvironment(t, controller("a", objecttest.Widgets, "InPlace"))
		env.metadata.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			return false, nil, env.client.Tracker().Update(v1alpha1.CompositeControllers, edited.Unstructured(), "")
		})
		if got := env.sweep(t); got != nil {
			t.Errorf("%s, edited while the revisions were listed: deleted %v", name, got)
		}
	}
}

func TestSweepDeletesListedVersion(t *testing.T) {
	env := newEnvironment(t, controller("a", objecttest.Widgets, "InPlace"))
	env.sweep(t)
	if len(env.deleted.Written()) != 1 {
		t.Fatalf("%d deletions, want 1", len(env.deleted.Written()))
	}
	if o := env.deleted.Written()[0]; o.GetUID() != "of-widget" || o.GetResourceVersion() != "7" {
		t.Errorf("it deletes UID %s at resourceVersion %s", o.GetUID(), o.GetResourceVersion())
	}
}

func TestRevisionsAreListedAgainOnlyIfControllersChange(t *testing.T) {
	env := newEnvironment(t, controller("a", objecttest.Widgets, "InPlace"))
	lists := func() (n int) {
		env.sweep(t)
		for _, action := range env.metadata.Actions() {
			if action.GetVerb() == "list" {
				n++
			}
		}
		env.metadata.ClearActions()
		return n
	}
	if got := lists(); got != 1 {
		t.Errorf("listed %d times, want 1", got)
	}
	if err := env.metadata.Tracker().Delete(v1alpha1.ControllerRevisions, "default", "of-widget"); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 0, 0} {
		if got := lists(); got != want {
			t.Errorf("sweep %d: listed %d times, want %d", i, got, want)
		}
	}
	if err := env.client.Tracker().Add(controller("b", objecttest.Widgets, "InPlace").Unstructured()); err != nil {
		t.Fatal(err)
	}
	if got := lists(); got != 1 {
		t.Errorf("after another controller was created: listed %d times, want 1", got)
	}
}

func TestErrorsOfSweep(t *testing.T) {
	refused := errors.New("refused")
	refuse := func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, refused }
	for _, c := range []struct {
		set  func(env *environment)
		want string
	}{
		{func(env *environment) { env.client.PrependReactor("list", "*", refuse) }, "list CompositeControllers: refused"},
		{func(env *environment) { env.metadata.PrependReactor("list", "*", refuse) }, "list ControllerRevisions of widgets.example.com: refused"},
	} {
		env := newEnvironment(t, controller("a", objecttest.Widgets, "InPlace"))
		c.set(env)
		if err := env.Sweep(t.Context()); err == nil || fmt.Sprint(err) != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}
