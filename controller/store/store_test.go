package store

import (
	"context"
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
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
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/plan/plantest"
	"metascript/controller/rollout"
	"metascript/engine"
	"metascript/scripts"
)

// A memoryStore is an API server with ConfigMaps, for a Store.
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

// versionsIn returns the ScriptVersions of an inline script. The digest of a script is its text.
func versionsIn(m memoryStore, text string) *ScriptVersions {
	return &ScriptVersions{
		Store: &Store{"home", m, m.get}, Digest: text, Older: map[string]build.Built{},
		Current: build.ScriptVersion{Script: &v1alpha1.ControllerScript{ScriptSource: v1alpha1.ScriptSource{Inline: text}}},
		Load: func(_ context.Context, v build.ScriptVersion) (build.Built, error) {
			if v.Script.Inline == "broken" {
				return build.Built{}, errors.New("it does not compile")
			}
			return build.Built{Digest: v.Script.Inline}, nil
		},
	}
}

func TestScriptIsStoredOnceAndReadByNextServer(t *testing.T) {
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
		t.Fatalf("%d scripts are stored, want one", len(m))
	}
	second := versionsIn(m, "second")
	for range 2 {
		hooks, err := second.Hooks(t.Context(), rollout.Revision{Name: "r", Script: "first\n  line"})
		if err != nil || hooks.Digest != "first\n  line" {
			t.Errorf("got %q, %v", hooks.Digest, err)
		}
		clear(m) // it is loaded once
	}
}

func TestStoredScriptIsValidated(t *testing.T) {
	for name, c := range map[string]struct{ stored, want string }{
		"deleted":             {"", `configmaps "metascript-script-d" not found`},
		"another script":      {"inline: other", "it was changed: its digest is other"},
		"it does not compile": {"inline: broken", "it does not compile"},
		"not a script":        {"[]", "error unmarshaling JSON"},
		"an unknown field":    {"{inline: d, more: 1}", `unknown field "more"`},
	} {
		m := memoryStore{}
		versions := versionsIn(m, "now")
		if c.stored != "" {
			o := versions.Store.configMap(NamePrefix + "d")
			o.Map()["data"] = map[string]any{scriptKey: c.stored}
			m[o.GetName()] = o
		}
		_, err := versions.Hooks(t.Context(), rollout.Revision{Name: "r", Script: "d"})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "the script of ControllerRevision r, in ConfigMap home/metascript-script-d, cannot be used: ") {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
}

// stored returns the ConfigMap of a version.
func stored(t *testing.T, v build.ScriptVersion) *object.Object {
	t.Helper()
	m := memoryStore{}
	if err := (&Store{"home", m, m.get}).putScript(t.Context(), "d", v, Owner{UID: "u"}); err != nil {
		t.Fatal(err)
	}
	return m[NamePrefix+"d"]
}

const (
	catset = "def sync(parent): return {'children': []}\n"

	// the content of the ConfigMap before scripts of single hooks were part of a version
	catsetStored = "H4sIAAAAAAAA/0zMsQ6CMBRG4d2nMP9MlBhZOjoISNREDSDbpVYkQjG9ZWgI72466Xry5UyAmNCRbkZqFASulkxH5o0ASlvjIMBOyxVbMgjAw2ikd8+2U0tJlpVd/wPf2T9/UaCK8z5NTlHdHwcZ711VRGF2GxrZ5+GjPIxpwvq+eX3q+OKqYqvP7a4uyzDDPM+LbwAAAP//fQWMS6MAAAA="
)

func assembled(text string) scripts.Assembled {
	return scripts.Assembled{
		Script: engine.Script{Language: "Starlark", Entry: "sync.star", Files: fstest.MapFS{"sync.star": {Data: []byte(text)}}}, Source: "file catset/sync.star",
	}
}

// restored returns the parts in binaryData; nil if there are none.
func restored(t *testing.T, text any) map[string]archivedPart {
	t.Helper()
	var parts map[string]archivedPart
	if archived, _ := text.(string); archived != "" {
		if err := restoreText(archived, &parts); err != nil {
			t.Fatal(err)
		}
	}
	return parts
}

func TestStoredFormOfSpecScriptIsCompatible(t *testing.T) {
	file := &v1alpha1.ControllerScript{ScriptSource: v1alpha1.ScriptSource{File: "catset/sync.star"}}
	for name, c := range map[string]struct {
		version build.ScriptVersion
		data    string
		files   string
	}{
		"inline": {
			build.ScriptVersion{Script: &v1alpha1.ControllerScript{ScriptSource: v1alpha1.ScriptSource{Language: "Starlark", Inline: "x"}}, Parts: build.Parts{"": assembled("x")}},
			"inline: x\nlanguage: Starlark\n", "",
		},
		"a file": {
			build.ScriptVersion{Script: file, Parts: build.Parts{"": assembled(catset)}},
			"file: catset/sync.star\n", catsetStored,
		},
	} {
		o := stored(t, c.version)
		if diff := cmp.Diff(map[string]any{"script": c.data}, o.Map()["data"]); diff != "" {
			t.Errorf("%s: data (-want +got):\n%s", name, diff)
		}
		binary, _ := o.Map()["binaryData"].(map[string]any)
		if diff := cmp.Diff(restored(t, c.files), restored(t, binary["files"])); diff != "" {
			t.Errorf("%s: files (-want +got):\n%s", name, diff)
		}
	}
	o := object.New(map[string]any{"data": map[string]any{"script": "file: catset/sync.star\n"}, "binaryData": map[string]any{"files": catsetStored}})
	found, err := decodeScript(o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := fs.ReadFile(found.Parts[""].Files, "sync.star")
	if err != nil || string(text) != catset || len(found.Parts) != 1 || found.Hooks != nil || !reflect.DeepEqual(found.Script, file) {
		t.Errorf("the stored version is read as %+v, %q, %v", found, text, err)
	}
}

func TestScriptsOfSingleHooksAreStored(t *testing.T) {
	own := &v1alpha1.ControllerScript{ScriptSource: v1alpha1.ScriptSource{Language: "Starlark", Inline: "x"}}
	inline := v1alpha1.Hook{Version: "v2", Script: &v1alpha1.HookScript{ScriptSource: v1alpha1.ScriptSource{Inline: "y"}, Function: "f"}}
	inFile := v1alpha1.Hook{Script: &v1alpha1.HookScript{ScriptSource: v1alpha1.ScriptSource{File: "y.star"}}}
	for name, c := range map[string]struct {
		version build.ScriptVersion
		texts   map[string]string // of the parts, by name
	}{
		"inline, with spec.script":    {build.ScriptVersion{Script: own, Hooks: map[string]v1alpha1.Hook{"sync": inline}, Parts: build.Parts{"": assembled("x"), "sync": assembled("y")}}, nil},
		"inline, without spec.script": {build.ScriptVersion{Hooks: map[string]v1alpha1.Hook{"sync": inline}, Parts: build.Parts{"sync": assembled("y")}}, nil},
		"in a file": {
			build.ScriptVersion{Script: own, Hooks: map[string]v1alpha1.Hook{"sync": inline, "finalize": inFile}, Parts: build.Parts{"": assembled("x"), "sync": assembled("y"), "finalize": assembled("z")}},
			map[string]string{"": "x", "sync": "y", "finalize": "z"},
		},
	} {
		found, err := decodeScript(stored(t, c.version))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var texts map[string]string
		for part, read := range found.Parts {
			text, err := fs.ReadFile(read.Files, read.Entry)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if texts == nil {
				texts = map[string]string{}
			}
			texts[part] = string(text)
		}
		if diff := cmp.Diff(c.texts, texts); diff != "" {
			t.Errorf("%s: texts (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.version.Hooks, found.Hooks); diff != "" || !reflect.DeepEqual(found.Script, c.version.Script) {
			t.Errorf("%s: spec.script is %+v, hooks (-want +got):\n%s", name, found.Script, diff)
		}
	}
}

func TestStoredHookWithoutScriptIsAnError(t *testing.T) {
	for hooks, want := range map[string]string{
		"{sync: {version: v1}}":    "its hook sync has no script",
		"{sync: {script: {x: 1}}}": `unknown field "x"`,
	} {
		o := object.New(map[string]any{"data": map[string]any{hooksKey: hooks}})
		if _, err := decodeScript(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", hooks, err, want)
		}
	}
}

func TestSweepDeletesUnusedScripts(t *testing.T) {
	old := metav1.NewTime(time.Now().Add(-2 * SweepPeriod))
	script := func(digest string, created metav1.Time) *metav1.PartialObjectMetadata {
		o := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}
		o.Name, o.Namespace, o.Labels, o.CreationTimestamp = NamePrefix+digest, "home", map[string]string{ScriptLabel: "true"}, created
		return o
	}
	restoredNow := script("again", old)
	restoredNow.SetAnnotations(map[string]string{scriptTime: time.Now().UTC().Format(time.RFC3339)})
	other := script("other", old)
	other.SetLabels(nil)
	kinds := map[schema.GroupVersionResource]string{
		v1alpha1.CompositeControllers: "CompositeControllerList", v1alpha1.DecoratorControllers: "DecoratorControllerList",
	}
	ofOtherServer := object.New(map[string]any{"status": map[string]any{"script": map[string]any{"lastGood": "metascript-script-good"}}})
	ofOtherServer.SetAPIVersion(v1alpha1.GroupVersion.String())
	ofOtherServer.SetKind(v1alpha1.KindCompositeController)
	ofOtherServer.SetName("of-another-server")
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objecttest.ForClient(ofOtherServer)...)
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
		script("unused", old), script("used", old), script("runs", old), script("young", metav1.Now()), script("good", old), restoredNow, other)
	s := &Sweeper{Namespace: "home", Client: client, Metadata: outlines, Writer: write, InUse: func(digest func(string)) { digest("runs") }}
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"delete ConfigMap home/metascript-script-unused"}, write.Recorded()); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}

// A ControllerRevision, which users of parents may edit, can name any digest. The error is the same whether another controller has
// stored the version or none has: it must not tell.
func TestVersionsAreUsedByTheirOwners(t *testing.T) {
	server, other := Owner{UID: "s"}, Owner{UID: "o"}
	a, b := Owner{"a", true}, Owner{"b", true}
	v := func(inline string) build.ScriptVersion {
		return build.ScriptVersion{Script: &v1alpha1.ControllerScript{ScriptSource: v1alpha1.ScriptSource{Inline: inline}}}
	}
	for name, c := range map[string]struct {
		storedBy []Owner
		want     map[Owner]string // what each finds; the others find nothing
	}{
		"nobody":                       {nil, nil},
		"a controller without account": {[]Owner{server}, map[Owner]string{server: "s", other: "s"}},
		"a controller with an account": {[]Owner{a}, map[Owner]string{a: "a"}},
		"all, with other settings":     {[]Owner{server, a, b}, map[Owner]string{server: "s", other: "s", a: "a", b: "b"}},
		"one that has an account now":  {[]Owner{{UID: "a"}}, map[Owner]string{server: "a", other: "a", a: "a"}},
		"one that has none any more":   {[]Owner{{"s", true}}, map[Owner]string{server: "s"}},
	} {
		m := memoryStore{}
		s := &Store{"home", m, m.get}
		for _, by := range c.storedBy {
			if err := s.putScript(t.Context(), "d", v(string(by.UID)), by); err != nil {
				t.Fatal(err)
			}
		}
		for _, of := range []Owner{server, other, a, b} {
			got, err := s.script(t.Context(), "d", of)
			if want := c.want[of]; want != "" && (err != nil || got.Script.Inline != want) {
				t.Errorf("stored by %s: %+v finds %+v, %v, want that of %s", name, of, got.Script, err, want)
			} else if want == "" && err == nil {
				t.Errorf("stored by %s: %+v finds %+v", name, of, got.Script)
			}
			if c.want[of] == "" && of.HasAccount && !errors.Is(err, errNotOfController) {
				t.Errorf("stored by %s: the error for %+v is %v", name, of, err)
			}
		}
		if _, err := s.script(t.Context(), "d.a", b); !errors.Is(err, errNotOfController) {
			t.Errorf("stored by %s: a digest with a dot: %v", name, err)
		}
	}
}
