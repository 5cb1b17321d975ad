package strays

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"metascript/controller/claim"
	"metascript/controller/informer"
	"metascript/controller/object"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// An owner records the names that it gets.
type owner struct {
	kinds []claim.Cache
	noted []string
}

func (w *owner) Kinds() []claim.Cache               { return w.kinds }
func (w *owner) Cached(schema.GroupVersionResource) {}
func (w *owner) Note(o *object.Object)              { w.noted = append(w.noted, object.Describe(o)) }

// item returns the metadata of a ConfigMap.
func item(name string, change func(*metav1.PartialObjectMetadata)) runtime.Object {
	o := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	controls := true
	o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Widget", Name: "w", UID: "u1", Controller: &controls}}
	if change != nil {
		change(o)
	}
	return o
}

// newFinder returns a Finder for an owner whose cache of ConfigMaps has only those with the label.
func newFinder(t *testing.T, log *bytes.Buffer, there ...runtime.Object) (*Finder, *owner, *fake.FakeMetadataClient) {
	t.Helper()
	scheme := fake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	client := fake.NewSimpleMetadataClient(scheme, there...)
	dynamic := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{configMaps: "ConfigMapList"})
	cache := informer.NewFactory(dynamic, slog.New(slog.DiscardHandler)).Open(informer.Spec{Resource: configMaps, Namespaced: true, Label: claim.GeneratedLabel})
	t.Cleanup(cache.Close)
	w := &owner{kinds: []claim.Cache{{Kind: object.Kind{Version: "v1", Kind: "ConfigMap"}, Informer: cache}}}
	f := New()
	f.Metadata, f.Log, f.Leads = client, slog.New(slog.NewTextHandler(log, nil)), func() bool { return true }
	f.Owners = func() []Owner { return []Owner{w, &owner{}} }
	return f, w, client
}

func TestOwnedObjectsWithoutLabelAreNoted(t *testing.T) {
	f, w, _ := newFinder(t, &bytes.Buffer{},
		item("stray", nil),
		item("child", func(o *metav1.PartialObjectMetadata) { o.Labels = map[string]string{claim.GeneratedLabel: "u1"} }),
		item("foreign", func(o *metav1.PartialObjectMetadata) { o.OwnerReferences = nil }),
		item("going", func(o *metav1.PartialObjectMetadata) { o.DeletionTimestamp = &metav1.Time{} }),
	)
	f.find(t.Context())
	if diff := cmp.Diff([]string{"ConfigMap default/stray"}, w.noted); diff != "" {
		t.Errorf("noted (-want +got):\n%s", diff)
	}
}

func TestListErrorIsLogged(t *testing.T) {
	var log bytes.Buffer
	f, _, client := newFinder(t, &log)
	client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no") })
	f.find(t.Context())
	if !strings.Contains(log.String(), "children without the label controller-uid are not looked for; trying again") {
		t.Errorf("the log is %q", log.String())
	}
}

// Several controllers that begin one after the other cause one list; without a controller that begins there is one in each period.
func TestWhenStraysAreLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := 0
		f := New()
		f.Leads, f.Owners = func() bool { return true }, func() []Owner { lists++; return nil }
		ctx, cancel := context.WithTimeout(t.Context(), 2*period+period/2)
		defer cancel()
		f.Want()
		f.Want()
		f.Run(ctx)
		if lists != 3 {
			t.Errorf("they were looked for %d times, want 3", lists)
		}
	})
}
