package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/plan/plantest"
	"metascript/controller/rollout"
)

// A memoryStore is the API server for a Store.
type memoryStore map[string]*object.Object

func (m memoryStore) Do(_ context.Context, op plan.Op) (*object.Object, error) {
	if op.Verb == plan.Create && m[op.Object.GetName()] != nil {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{}, op.Object.GetName())
	}
	m[op.Object.GetName()] = op.Object
	return op.Object, nil
}

func (m memoryStore) get(_ context.Context, o *object.Object) (*object.Object, error) {
	if m[o.GetName()] == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, o.GetName())
	}
	return m[o.GetName()], nil
}

// versionsIn are those of a script whose digest is its text.
func versionsIn(m memoryStore, text string) *ScriptVersions {
	return &ScriptVersions{
		Store: &Store{"home", m, m.get}, Digest: text, Older: map[string]build.Built{},
		Script: &v1alpha1.ControllerScript{ScriptSource: v1alpha1.ScriptSource{Inline: text}},
		Load: func(_ context.Context, s *v1alpha1.ControllerScript, _ build.Parts) (build.Built, error) {
			if s.Inline == "broken" {
				return build.Built{}, errors.New("it does not compile")
			}
			return build.Built{Digest: s.Inline}, nil
		},
	}
}

func TestAScriptIsStoredOnceAndFoundByTheNextServer(t *testing.T) {
	m := memoryStore{}
	for range 2 {
		first := versionsIn(m, "first\n  line")
		for range 2 {
			if err := first.Keep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(m) != 1 {
		t.Fatalf("%d are stored, want one", len(m))
	}
	second := versionsIn(m, "second")
	for range 2 {
		hooks, err := second.Hooks(t.Context(), rollout.Revision{Name: "r", Script: "first\n  line"})
		if err != nil || hooks.Digest != "first\n  line" {
			t.Errorf("got %q, %v", hooks.Digest, err)
		}
		clear(m) // it is read once
	}
}

func TestAStoredScriptIsNotTakenAtItsWord(t *testing.T) {
	for name, c := range map[string]struct{ stored, want string }{
		"it is gone":                {"", `configmaps "metascript-script-d" not found`},
		"it is another one":         {"inline: other", "it was changed: its digest is other"},
		"it does not compile":       {"inline: broken", "it does not compile"},
		"it is none":                {"[]", "error unmarshaling JSON"},
		"it has fields of no sense": {"{inline: d, more: 1}", `unknown field "more"`},
	} {
		m := memoryStore{}
		versions := versionsIn(m, "now")
		if c.stored != "" {
			o := versions.Store.configMap("d")
			o.Object["data"] = map[string]any{scriptKey: c.stored}
			m[o.GetName()] = o
		}
		_, err := versions.Hooks(t.Context(), rollout.Revision{Name: "r", Script: "d"})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "the script of ControllerRevision r, in ConfigMap home/metascript-script-d, cannot be used: ") {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
}

func TestScriptsGoWhenNothingRefersToThem(t *testing.T) {
	old := metav1.NewTime(time.Now().Add(-2 * SweepPeriod))
	script := func(digest string, created metav1.Time) *metav1.PartialObjectMetadata {
		o := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}
		o.Name, o.Namespace, o.Labels, o.CreationTimestamp = NamePrefix+digest, "home", map[string]string{scriptLabel: "true"}, created
		return o
	}
	again := script("again", old)
	again.SetAnnotations(map[string]string{scriptTime: time.Now().UTC().Format(time.RFC3339)})
	other := script("other", old)
	other.SetLabels(nil)
	kinds := map[schema.GroupVersionResource]string{
		v1alpha1.CompositeControllers: "CompositeControllerList", v1alpha1.DecoratorControllers: "DecoratorControllerList",
	}
	elsewhere := &object.Object{Object: map[string]any{"status": map[string]any{"script": map[string]any{"lastGood": "metascript-script-good"}}}}
	elsewhere.SetAPIVersion(v1alpha1.GroupVersion.String())
	elsewhere.SetKind(v1alpha1.KindCompositeController)
	elsewhere.SetName("of-another-server")
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, elsewhere)
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	revision := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindControllerRevision},
		ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "default", Annotations: map[string]string{rollout.ScriptAnnotation: "used"}},
	}
	write := &plantest.Recorder{}
	outlines := metadatafake.NewSimpleMetadataClient(scheme, revision,
		script("unused", old), script("used", old), script("runs", old), script("young", metav1.Now()), script("good", old), again, other)
	s := &Sweeper{Namespace: "home", Client: client, Metadata: outlines, Writer: write, InUse: func(digest func(string)) { digest("runs") }}
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"delete ConfigMap home/metascript-script-unused"}, write.Recorded()); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}
