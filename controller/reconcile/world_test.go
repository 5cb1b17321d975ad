package reconcile

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"

	"metascript/controller/build"
	"metascript/controller/call"
	"metascript/controller/claim"
	"metascript/controller/etags"
	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/kube/kubetest"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/related"
	"metascript/controller/selection"
	"metascript/engine"
	"metascript/runtimes"
)

// A smallWorld is a Reconciler over an API server that stores what is written.
type smallWorld struct {
	*Reconciler
	client    *fake.FakeDynamicClient
	remembers bool
	language  string // of the sync hook, or webhook
	webhook   *webhookOfWorld
	version   int // the last resourceVersion
	uids      int // the last UID that somebody else has made
	writes    []string
	calls     int // of the sync hook
	failed    int // calls that returned an error
	settled   int // responses from which nothing followed

	around func(key object.Ref, process func()) // is called in place of process for each parent that is reconciled; may be nil
}

// webhook is the language of a sync hook that is a webhook with ETags.
const webhook = "webhook"

var resourcesOfSmallWorld = map[string]schema.GroupVersionResource{
	"Widget": objecttest.Widgets, "ConfigMap": objecttest.ConfigMaps, "Secret": secretObjects.GroupVersionResource,
}

// peersRule selects widgets by a label, most often also the one whose spec asks for them.
var (
	widgetObjects = kube.Resource{GroupVersionResource: objecttest.Widgets, Kind: "Widget", Namespaced: true}
	peersRule     = hook.RelatedRule{APIVersion: "example.com/v1", Resource: "widgets", Query: selection.Query{Labels: labels.SelectorFromSet(labels.Set{"peer": "yes"})}}
)

// newSmallWorld returns a world with the widgets a and b, each with one child. It must be called in a bubble of synctest.
func newSmallWorld(t *testing.T, remembers bool) *smallWorld {
	t.Helper()
	return newSmallWorldOf(t, remembers, engine.Starlark)
}

// newSmallWorldOf is the same for a script in another language, or a webhook.
func newSmallWorldOf(t *testing.T, remembers bool, language string) *smallWorld {
	t.Helper()
	w := &smallWorld{remembers: remembers, language: language}
	kinds := map[schema.GroupVersionResource]string{objecttest.Widgets: "WidgetList", objecttest.ConfigMaps: "ConfigMapList", secretObjects.GroupVersionResource: "SecretList"}
	w.client = fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds)
	w.Reconciler, _ = newTestReconcilerOver(t, w.client, w.hook("1"), nil)
	b := w.binding
	b.Write, b.Labels, b.Discover = w, claim.GeneratedLabels, kubetest.Served{secretObjects, widgetObjects}
	b.Rules[configMapKind] = plan.InPlace
	b.GetLive = func(ctx context.Context, o *object.Object) (*object.Object, error) {
		return stored(w.of(o).Get(ctx, o.GetName(), metav1.GetOptions{}))
	}
	b.Claimer.(*claim.BySelector).GetLive = b.GetLive
	b.Customize = hookFunc(func(req *hook.Request) (*hook.Response, error) {
		rules := []hook.RelatedRule{secretsRule}
		if peers, _ := req.Parent.Field("spec", "peers"); peers == true {
			rules = append(rules, peersRule)
		}
		return &hook.Response{Related: rules}, nil
	})
	b.Remembers, b.Tagged = w.levels()
	b.Scripted = language != webhook
	caches := informer.NewFactory(w.client, slog.New(slog.DiscardHandler))
	w.shared.Related.Open = func(resource kube.Resource) *informer.Informer {
		return caches.Open(informer.Spec{Resource: resource.GroupVersionResource})
	}
	reset(w.Reconciler)
	t.Cleanup(w.close)
	t.Cleanup(w.queue.ShutDown)
	w.shared.Related.Watch(related.Parent{Controller: nobody{}}, []related.Rule{{Resource: widgetObjects}})
	t.Cleanup(func() { w.shared.Related.Leave(nobody{}) })
	if err := w.watch(); err != nil {
		t.Fatal(err)
	}
	if !w.waitForSync(t.Context()) {
		t.Fatal("the caches did not fill")
	}
	w.hasSynced.Store(true)
	for _, name := range []string{"a", "b"} {
		w.store(t, objecttest.Widget(func(o *object.Object) {
			o.SetName(name)
			o.SetUID(types.UID("uid-" + name))
			o.SetLabels(map[string]string{"peer": "yes"})
			o.Map()["spec"] = map[string]any{"count": int64(1)}
		}))
		w.settle(t)
	}
	return w
}

// nobody keeps the cache of widgets as related objects open, since a cache that is filled again takes a random time.
type nobody struct{}

// EnqueueParent implements related.Controller.
func (nobody) EnqueueParent(object.Ref, *object.Object, *object.Object) {}

// levels returns what is remembered of the sync hook.
func (w *smallWorld) levels() (remembers, tagged bool) {
	return w.remembers && w.language != webhook, w.remembers && w.language == webhook
}

// programOf compiles the script of a language in testdata/world.
func programOf(language, version string) engine.Program {
	name := "sync" + map[string]string{engine.Starlark: ".star", engine.JavaScript: ".js", engine.Jsonnet: ".jsonnet"}[language]
	text, err := os.ReadFile("testdata/world/" + name)
	if err != nil {
		panic(err)
	}
	text = regexp.MustCompile(`(VERSION = .)1`).ReplaceAll(text, []byte("${1}"+version))
	script := engine.Script{Language: language, Entry: name, Files: fstest.MapFS{name: {Data: text}}}
	program, err := runtimes.All()[language].Compile(context.Background(), script, engine.Limits{})
	if err != nil {
		panic(engine.DetailOf(err))
	}
	return program
}

// hook returns a hook that calls the script of a version, or a webhook that does.
func (w *smallWorld) hook(version string) hookFunc {
	var called hook.Hook
	if w.language == webhook {
		w.webhook = &webhookOfWorld{program: programOf(engine.Starlark, version)}
		called = &hook.Webhook{URL: "http://webhook/", Cache: etags.New(0, 0), Client: hook.Client{Wrap: func(http.RoundTripper) http.RoundTripper { return w.webhook }}}
	} else {
		called = &hook.Script{Program: programOf(w.language, version), Function: hook.Sync}
	}
	return func(req *hook.Request) (*hook.Response, error) {
		w.calls++
		response, err := called.Call(context.Background(), req)
		switch {
		case err != nil:
			w.failed++
		case response.Settled:
			w.settled++
		}
		return response, err
	}
}

// A webhookOfWorld is the server of a webhook. It answers what a script does, with an ETag.
type webhookOfWorld struct {
	program engine.Program
	lies    bool // it says that its answer is the one before, whatever it is
	fails   bool
	hides   bool // it sends no ETag
}

// RoundTrip implements http.RoundTripper.
func (s *webhookOfWorld) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := func(code int, etag string, body []byte) (*http.Response, error) {
		return &http.Response{StatusCode: code, Status: strconv.Itoa(code), Header: http.Header{"Etag": {etag}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
	}
	before := r.Header.Get("If-None-Match")
	switch text, err := io.ReadAll(r.Body); {
	case err != nil:
		return nil, err
	case s.fails:
		return answer(http.StatusInternalServerError, "", nil)
	case s.lies && before != "":
		return answer(http.StatusNotModified, before, nil)
	default:
		var request map[string]any
		if err := utiljson.Unmarshal(text, &request); err != nil {
			return nil, err
		}
		response, err := s.program.Call(r.Context(), hook.Sync, request, engine.Env{})
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(response)
		etag := fmt.Sprintf("%q", fmt.Sprint(len(body), crc32.ChecksumIEEE(body)))
		switch {
		case err != nil:
			return nil, err
		case s.hides:
			return answer(http.StatusOK, "", body)
		case etag == before:
			return answer(http.StatusNotModified, etag, nil)
		}
		return answer(http.StatusOK, etag, body)
	}
}

// of returns the client for the objects of the kind of o in its namespace.
func (w *smallWorld) of(o *object.Object) dynamic.ResourceInterface {
	return w.client.Resource(resourcesOfSmallWorld[o.GetKind()]).Namespace(o.GetNamespace())
}

// Do implements plan.Writer.
func (w *smallWorld) Do(ctx context.Context, op plan.Op) (*object.Object, error) {
	w.writes = append(w.writes, op.String())
	w.version++
	o := object.New(runtime.DeepCopyJSON(op.Object.Map()))
	o.SetResourceVersion(fmt.Sprint(w.version))
	switch op.Verb {
	case plan.Delete:
		return o, w.of(o).Delete(ctx, o.GetName(), metav1.DeleteOptions{})
	case plan.Create:
		o.SetUID(types.UID(fmt.Sprint("uid-", w.version)))
		return stored(w.of(o).Create(ctx, o.Unstructured(), metav1.CreateOptions{}))
	}
	return stored(w.of(o).Update(ctx, o.Unstructured(), metav1.UpdateOptions{}))
}

// stored returns what the API server returned as an object.
func stored(o *unstructured.Unstructured, err error) (*object.Object, error) {
	if err != nil {
		return nil, err
	}
	return object.New(o.Object), nil
}

// store creates or updates an object, as somebody else does.
func (w *smallWorld) store(t *testing.T, o *object.Object) {
	t.Helper()
	w.version++
	o.SetResourceVersion(fmt.Sprint(w.version))
	_, err := w.of(o).Update(t.Context(), o.Unstructured(), metav1.UpdateOptions{})
	if err != nil {
		_, err = w.of(o).Create(t.Context(), o.Unstructured(), metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// settle reconciles until nothing is queued for some seconds. Keys that wait together are processed by name, so that the order does not
// depend on that of events of different caches.
func (w *smallWorld) settle(t *testing.T) {
	t.Helper()
	synctest.Wait()
	for rounds, quiet := 0, 0; quiet < 5; rounds++ {
		if rounds > 1000 {
			t.Fatal("the reconciles do not end")
		}
		if quiet++; w.queue.Len() == 0 {
			time.Sleep(time.Second) // in the time of the bubble
		} else {
			quiet = 0
			w.processAll(t)
		}
		synctest.Wait()
	}
}

// processAll reconciles the parents that are queued.
func (w *smallWorld) processAll(t *testing.T) {
	t.Helper()
	var keys []object.Ref
	for w.queue.Len() > 0 {
		key, _ := w.queue.Get()
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b object.Ref) int { return strings.Compare(a.Name, b.Name) })
	for _, key := range keys {
		process := func() { w.worker.process(t.Context(), key, w.queue.Take(key)) }
		if w.around != nil {
			w.around(key, process)
		} else {
			process()
		}
		w.queue.Done(key)
		synctest.Wait()
	}
}

// all returns the stored objects.
func (w *smallWorld) all(t *testing.T) (all []map[string]any) {
	t.Helper()
	for _, kind := range []string{"Widget", "ConfigMap", "Secret"} {
		list, err := w.client.Resource(resourcesOfSmallWorld[kind]).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			all = append(all, o.Object)
		}
	}
	return all
}

// get returns a copy of a stored object; nil if there is none.
func (w *smallWorld) get(t *testing.T, kind, name string) *object.Object {
	t.Helper()
	found, err := w.client.Resource(resourcesOfSmallWorld[kind]).Namespace("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return object.New(found.DeepCopy().Object)
}

// swap replaces the script. A webhook answers differently from now on, of which the server knows nothing.
func (w *smallWorld) swap(script string) {
	if w.language == webhook {
		w.webhook.program = programOf(engine.Starlark, script)
		return
	}
	hooks := build.Hooks{Sync: w.hook(script), Customize: w.binding.Customize, Scripted: true, Remembers: w.binding.Remembers}
	w.Swap(call.NewVersion(hooks, nil, func() {}))
}

// again returns o as another object with the same content.
func (w *smallWorld) again(o *object.Object) *object.Object {
	w.uids++
	o.SetUID(types.UID(fmt.Sprint("other-", w.uids)))
	return o
}

// delete deletes an object, as somebody else does.
func (w *smallWorld) delete(t *testing.T, o *object.Object) {
	t.Helper()
	if err := w.of(o).Delete(t.Context(), o.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// act does something random in the world.
func (w *smallWorld) act(t *testing.T, random *rand.Rand) {
	t.Helper()
	name := []string{"a", "b"}[random.IntN(2)]
	child, other, secret := w.get(t, "ConfigMap", name+"-0"), w.get(t, "ConfigMap", name+"-1"), w.get(t, "Secret", fmt.Sprint("s", random.IntN(3)))
	switch parent := w.get(t, "Widget", name); random.IntN(30) {
	case 0:
		parent.Map()["spec"] = map[string]any{"count": random.Int64N(4), "peers": random.IntN(2) == 0}
		parent.SetGeneration(parent.GetGeneration() + 1)
		w.store(t, parent)
	case 1:
		parent.Map()["status"] = map[string]any{"children": int64(99)}
		w.store(t, parent)
	case 2:
		parent.SetAnnotations(map[string]string{"note": fmt.Sprint(random.IntN(9))})
		w.store(t, parent)
	case 3:
		parent.SetAnnotations(map[string]string{"metacontroller.k8s.io/paused": "true"})
		w.store(t, parent)
	case 4:
		w.recreate(t, parent)
	case 5:
		w.store(t, objecttest.Matching(name+"-orphan", parent))
	case 6:
		w.store(t, secretOf("default", fmt.Sprint("s", random.IntN(3)), nil))
	case 7:
		if secret != nil {
			w.delete(t, secret)
		}
	case 8:
		if secret != nil {
			w.delete(t, secret)
			w.store(t, w.again(secret))
		}
	case 9, 10:
		w.swap(fmt.Sprint(random.IntN(6)))
	case 11:
		time.Sleep(time.Duration(random.IntN(20)) * time.Minute) // in the time of the bubble
	case 12, 13, 14, 15, 16:
		w.changeExtra(t, random, []*object.Object{parent, child, other, secret}[random.IntN(4)])
	case 17:
		if s := w.webhook; s != nil {
			s.lies, s.fails, s.hides = random.IntN(4) == 0, random.IntN(4) == 0, random.IntN(4) == 0
		}
	case 18, 19, 20, 21, 22:
		if child != nil {
			w.changeChild(t, random, child)
		}
	case 23:
		parent.SetLabels(map[string]string{"peer": []string{"yes", "no"}[random.IntN(2)]})
		w.store(t, parent)
	default:
		w.worker.resync()
	}
}

// recreate deletes a parent with its children, and makes it again.
func (w *smallWorld) recreate(t *testing.T, parent *object.Object) {
	t.Helper()
	for i := range 4 {
		if child := w.get(t, "ConfigMap", fmt.Sprint(parent.GetName(), "-", i)); child != nil {
			w.delete(t, child)
		}
	}
	w.delete(t, parent)
	w.store(t, w.again(parent))
}

// changeChild does something random with a child.
func (w *smallWorld) changeChild(t *testing.T, random *rand.Rand, child *object.Object) {
	t.Helper()
	switch random.IntN(6) {
	case 0:
		child.Map()["data"] = map[string]any{"script": "changed"}
		w.store(t, child)
	case 1:
		w.delete(t, child)
	case 2:
		child.SetOwnerReferences(nil)
		w.store(t, child)
	case 3:
		w.delete(t, child)
		w.store(t, w.again(child))
	case 4:
		child.SetLabels(map[string]string{"another": "label"})
		w.store(t, child)
	case 5:
		child.Map()["status"] = map[string]any{"n": random.Int64N(3)}
		w.store(t, child)
	}
}

// changeExtra changes something of which each version of the script reads a part.
func (w *smallWorld) changeExtra(t *testing.T, random *rand.Rand, o *object.Object) {
	t.Helper()
	if o == nil {
		return
	}
	extra, _ := o.Map()["extra"].(map[string]any)
	if extra == nil {
		extra = map[string]any{}
		o.Map()["extra"] = extra
	}
	switch key := []string{"read", "unread", "unread2"}[random.IntN(3)]; random.IntN(7) {
	case 0:
		delete(o.Map(), "extra")
	case 1:
		delete(extra, key)
	case 2:
		list, _ := extra["list"].([]any)
		extra["list"] = append(list, random.Int64N(3))
	case 3:
		delete(extra, "list")
	case 4:
		extra[key] = "text" // of which a script makes no number
	default:
		extra[key] = random.Int64N(3)
	}
	w.store(t, o)
}
