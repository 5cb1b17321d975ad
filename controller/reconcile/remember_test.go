package reconcile

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"

	"metascript/controller/build"
	"metascript/controller/call"
	"metascript/controller/claim"
	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/kube/kubetest"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/queue"
	"metascript/engine"
	"metascript/runtimes/starlark"
)

// A smallWorld is a Reconciler over an API server that stores what is written.
type smallWorld struct {
	*Reconciler
	client  *fake.FakeDynamicClient
	version int // the last resourceVersion
	writes  []string
	calls   int // of the sync hook
}

var resourcesOfSmallWorld = map[string]schema.GroupVersionResource{
	"Widget": objecttest.Widgets, "ConfigMap": objecttest.ConfigMaps, "Secret": secretObjects.GroupVersionResource,
}

// newSmallWorld returns a world with the widgets a and b, each with one child. It must be called in a bubble of synctest.
func newSmallWorld(t *testing.T, remembers bool) *smallWorld {
	t.Helper()
	w := &smallWorld{}
	kinds := map[schema.GroupVersionResource]string{objecttest.Widgets: "WidgetList", objecttest.ConfigMaps: "ConfigMapList", secretObjects.GroupVersionResource: "SecretList"}
	w.client = fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds)
	w.Reconciler, _ = newTestReconcilerOver(t, w.client, w.hook("1"), nil)
	b := w.binding
	b.Write, b.Labels, b.Discover = w, claim.GeneratedLabels, kubetest.Served{secretObjects}
	b.Rules[configMapKind] = plan.InPlace
	b.GetLive = func(ctx context.Context, o *object.Object) (*object.Object, error) {
		return stored(w.of(o).Get(ctx, o.GetName(), metav1.GetOptions{}))
	}
	b.Claimer.(*claim.BySelector).GetLive = b.GetLive
	b.Customize = hookFunc(func(*hook.Request) (*hook.Response, error) {
		return &hook.Response{Related: []hook.RelatedRule{secretsRule}}, nil
	})
	b.Remembers = remembers
	caches := informer.NewFactory(w.client, slog.New(slog.DiscardHandler))
	w.shared.Related.Open = func(resource kube.Resource) *informer.Informer {
		return caches.Open(informer.Spec{Resource: resource.GroupVersionResource})
	}
	reset(w.Reconciler)
	t.Cleanup(w.close)
	t.Cleanup(w.queue.ShutDown)
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
			o.Map()["spec"] = map[string]any{"count": int64(1)}
		}))
		w.settle(t)
	}
	return w
}

// smallScript is a script whose answer depends on some fields of the parent, of its children and of the related objects. Each of them
// has the map extra, of which it reads the key read.
const smallScript = `
VERSION = %q

def read(o):
    return o.get("extra", {}).get("read", 0)

def sync(parent, children, related):
    maps, secrets = children["ConfigMap.v1"], related["Secret.v1"]
    total = sum([read(o) for o in [parent] + maps.values() + secrets.values()])
    return {
        "status": {"children": len(maps), "total": total},
        "children": [{
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "%%s-%%d" %% (parent["metadata"]["name"], i)},
            "data": {"script": VERSION, "secrets": str(len(secrets)), "read": str(sum([read(o) for o in secrets.values()]))},
        } for i in range(parent["spec"]["count"])],
    }

def sum(numbers):
    n = 0
    for number in numbers:
        n += number
    return n
`

// hook returns a hook that calls smallScript of a version.
func (w *smallWorld) hook(version string) hookFunc {
	files := fstest.MapFS{"sync.star": {Data: fmt.Appendf(nil, smallScript, version)}}
	program, err := starlark.New().Compile(context.Background(), engine.Script{Language: engine.Starlark, Entry: "sync.star", Files: files}, engine.Limits{})
	if err != nil {
		panic(engine.DetailOf(err))
	}
	script := &hook.Script{Program: program, Function: hook.Sync}
	return func(req *hook.Request) (*hook.Response, error) {
		w.calls++
		return script.Call(context.Background(), req)
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
		w.worker.process(t.Context(), key, w.queue.Take(key))
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

// swap replaces the script.
func (w *smallWorld) swap(script string) {
	hooks := build.Hooks{Sync: w.hook(script), Customize: w.binding.Customize, Remembers: w.binding.Remembers}
	w.Swap(call.NewVersion(hooks, nil, func() {}))
}

// act does something random in the world.
func (w *smallWorld) act(t *testing.T, random *rand.Rand) {
	t.Helper()
	name := []string{"a", "b"}[random.IntN(2)]
	child := w.get(t, "ConfigMap", name+"-0")
	switch parent := w.get(t, "Widget", name); random.IntN(16) {
	case 0:
		parent.Map()["spec"] = map[string]any{"count": random.Int64N(4)}
		parent.SetGeneration(parent.GetGeneration() + 1)
		w.store(t, parent)
	case 1:
		parent.Map()["status"] = map[string]any{"children": int64(99)}
		w.store(t, parent)
	case 2:
		if child != nil {
			child.Map()["data"] = map[string]any{"script": "changed"}
			w.store(t, child)
		}
	case 3:
		if child != nil {
			_ = w.of(child).Delete(t.Context(), child.GetName(), metav1.DeleteOptions{})
		}
	case 4:
		if child != nil {
			child.SetOwnerReferences(nil)
			w.store(t, child)
		}
	case 5:
		orphan := objecttest.Matching(fmt.Sprint(name, "-orphan"), parent)
		w.store(t, orphan)
	case 6:
		w.store(t, secretOf("default", fmt.Sprint("s", random.IntN(3)), nil))
	case 7:
		_ = w.client.Resource(secretObjects.GroupVersionResource).Namespace("default").Delete(t.Context(), fmt.Sprint("s", random.IntN(3)), metav1.DeleteOptions{})
	case 8:
		w.swap(fmt.Sprint(random.IntN(3)))
	case 10, 11, 12:
		w.changeExtra(t, random, []*object.Object{parent, child, w.get(t, "ConfigMap", name+"-1"), w.get(t, "Secret", "s1")}[random.IntN(4)])
	case 13:
		parent.SetAnnotations(map[string]string{"note": fmt.Sprint(random.IntN(9))})
		w.store(t, parent)
	case 9:
		time.Sleep(time.Duration(random.IntN(20)) * time.Minute) // in the time of the bubble
	default:
		w.handler.resync()
	}
}

// changeExtra changes something of which smallScript reads less than half.
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
	extra[[]string{"read", "unread", "unread2"}[random.IntN(3)]] = random.Int64N(3)
	w.store(t, o)
}

// Random histories have the same writes, in the same order, and end in the same cluster, with remembering and without.
func TestHistoriesAreTheSameWithRemembering(t *testing.T) {
	calls := map[bool]int{}
	for seed := range uint64(30) {
		writes, ends := map[bool][]string{}, map[bool][]map[string]any{}
		for _, remembers := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				random, w := rand.New(rand.NewPCG(seed, 1)), newSmallWorld(t, remembers)
				for range 60 {
					w.act(t, random)
					if random.IntN(4) > 0 {
						w.settle(t)
					}
				}
				time.Sleep(time.Hour) // what was postponed is done
				w.settle(t)
				w.handler.resync()
				w.settle(t)
				writes[remembers], ends[remembers] = w.writes, w.all(t)
				calls[remembers] += w.calls
			})
		}
		if diff := cmp.Diff(writes[false], writes[true]); diff != "" {
			t.Fatalf("seed %d: writes (-without +with remembering):\n%s", seed, diff)
		}
		if diff := cmp.Diff(ends[false], ends[true]); diff != "" {
			t.Fatalf("seed %d: objects (-without +with remembering):\n%s", seed, diff)
		}
	}
	if calls[true] >= calls[false]*9/10 {
		t.Errorf("the hook was called %d times with remembering, and %d times without", calls[true], calls[false])
	}
}

func TestResyncIsRemembered(t *testing.T) {
	for _, c := range []struct {
		name      string
		remembers bool
		before    func(*testing.T, *smallWorld)
		want      int // calls of the hook in a resync of two parents
	}{
		{"nothing changed", true, func(*testing.T, *smallWorld) {}, 0},
		{"remembering is off", false, func(*testing.T, *smallWorld) {}, 2},
		{"it is turned off for the version", true, func(_ *testing.T, w *smallWorld) { w.current.Load().Remember.TurnOff() }, 2},
		{"the definition of the parents has changed", true, func(_ *testing.T, w *smallWorld) { w.RetryStatus() }, 2},
		{"a definition of another group has changed", true, func(_ *testing.T, w *smallWorld) { w.Rediscover("other.example.com") }, 0},
		{"roles have changed", true, func(_ *testing.T, w *smallWorld) { w.RetryDenied() }, 2},
		{"the hooks were outdated", true, func(_ *testing.T, w *smallWorld) { w.states.outdate() }, 2},
		{"a child whose event was lost", true, func(t *testing.T, w *smallWorld) {
			lost := w.get(t, "ConfigMap", "a-0")
			lost.SetLabels(map[string]string{"controller-uid": "uid-a", "lost": "true"})
			w.store(t, lost)
			synctest.Wait()
			queued(w.Reconciler)
		}, 1},
		{"a fight", true, func(t *testing.T, w *smallWorld) {
			for range 2 {
				child := w.get(t, "ConfigMap", "a-0")
				child.Map()["data"] = map[string]any{"script": "changed"}
				w.store(t, child)
				w.settle(t)
			}
		}, 1},
		{"the hook asked to be called again", true, func(t *testing.T, w *smallWorld) { w.answer(t, &hook.Response{ResyncAfter: time.Hour}) }, 2},
		{"the hook warned", true, func(t *testing.T, w *smallWorld) {
			w.answer(t, &hook.Response{Warnings: []error{fmt.Errorf("a mistake")}})
		}, 2},
		{"the hook recorded an event", true, func(t *testing.T, w *smallWorld) {
			w.answer(t, &hook.Response{Events: []hook.Event{{Type: "Normal", Reason: "R", Message: "m"}}})
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSmallWorld(t, c.remembers)
				c.before(t, w)
				before := w.calls
				w.handler.resync()
				w.settle(t)
				if got := w.calls - before; got != c.want {
					t.Errorf("the hook was called %d times, want %d", got, c.want)
				}
			})
		})
	}
}

// answer gives all parents another script, which returns this response without children.
func (w *smallWorld) answer(t *testing.T, response *hook.Response) {
	t.Helper()
	sync := hookFunc(func(*hook.Request) (*hook.Response, error) {
		w.calls++
		answer := *response
		answer.Children = &object.Set{}
		return &answer, nil
	})
	w.Swap(call.NewVersion(build.Hooks{Sync: sync, Remembers: true}, nil, func() {}))
	w.settle(t)
}

// An event that comes while a reconcile runs is not part of what that reconcile remembers.
func TestEventDuringReconcileIsNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSmallWorld(t, true)
		inner := w.hook("1")
		changed := false
		sync := hookFunc(func(req *hook.Request) (*hook.Response, error) {
			if !changed && req.Parent.GetName() == "a" {
				changed = true
				w.store(t, secretOf("default", "s", nil))
				synctest.Wait()
			}
			return inner(req)
		})
		hooks := build.Hooks{Sync: sync, Customize: w.binding.Customize, Remembers: true}
		w.Swap(call.NewVersion(hooks, nil, func() {}))
		w.settle(t)
		if got := w.get(t, "ConfigMap", "a-0").Map()["data"].(map[string]any)["secrets"]; got != "1" {
			t.Errorf("the child was made of %v secrets, want 1", got)
		}
	})
}

// A control finds a hook that answers something else although nothing changed.
func TestControlTurnsRememberingOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSmallWorld(t, true)
		inner, other := w.hook("1"), false
		sync := hookFunc(func(req *hook.Request) (*hook.Response, error) {
			response, err := inner(req)
			if other {
				response.Status["children"] = int64(-1)
			}
			return response, err
		})
		w.Swap(call.NewVersion(build.Hooks{Sync: sync, Customize: w.binding.Customize, Remembers: true}, nil, func() {}))
		w.settle(t)
		before := w.calls
		for range 100 {
			w.handler.resync()
			w.settle(t)
			if w.calls > before { // a control, which found nothing
				break
			}
		}
		other = true
		for n := 0; w.current.Load().Remember.On(); n++ {
			if n > 10_000 {
				t.Fatal("no control has turned it off")
			}
			w.queue.Enqueue(objecttest.WidgetRef("default", "a"), queue.Resync)
			w.settle(t)
		}
		before = w.calls
		w.handler.resync()
		w.settle(t)
		if got := w.calls - before; got < 2 {
			t.Errorf("after that the hook was called %d times for two parents", got)
		}
	})
}

// Whether the script is called after somebody has changed an object.
func TestChangeIsRemembered(t *testing.T) {
	extra := func(key string, value any) func(*object.Object) {
		return func(o *object.Object) { o.Map()["extra"].(map[string]any)[key] = value }
	}
	metadata := func(field string, value any) func(*object.Object) {
		return func(o *object.Object) { o.Map()["metadata"].(map[string]any)[field] = value }
	}
	field := func(field string, value any) func(*object.Object) {
		return func(o *object.Object) { o.Map()[field] = value }
	}
	for _, c := range []struct {
		name     string
		kind, of string
		change   func(*object.Object)
		called   bool
		more     bool // check that the next changes are found too
	}{
		{"a child, in what is not read", "ConfigMap", "a-0", extra("unread", int64(1)), false, true},
		{"a child, in another field", "ConfigMap", "a-0", field("status", map[string]any{"x": int64(1)}), false, true},
		{"a child, in what is read", "ConfigMap", "a-0", extra("read", int64(1)), true, false},
		{"a child, in what is read, with the same answer", "ConfigMap", "a-0", func(o *object.Object) { delete(o.Map(), "extra") }, true, false},
		{"a child, in a field that is desired", "ConfigMap", "a-0", field("data", map[string]any{"script": "x"}), true, false},
		{"a child, in metadata", "ConfigMap", "a-0", metadata("annotations", map[string]any{"x": "y"}), true, false},
		{"the generation of a child", "ConfigMap", "a-0", metadata("generation", int64(7)), false, true},
		{"a related object, in what is not read", "Secret", "s", extra("unread", int64(1)), false, true},
		{"a related object, in metadata", "Secret", "s", metadata("annotations", map[string]any{"x": "y"}), false, true},
		{"a related object, in what is read", "Secret", "s", extra("read", int64(1)), true, false},
		{"a new related object", "Secret", "another", func(*object.Object) {}, true, false},
		{"a parent, in what is not read", "Widget", "a", extra("unread", int64(1)), false, true},
		{"an annotation of a parent", "Widget", "a", metadata("annotations", map[string]any{"x": "y"}), false, true},
		{"a parent, in what is read", "Widget", "a", extra("read", int64(1)), true, false},
		{"the generation of a parent", "Widget", "a", metadata("generation", int64(7)), true, false},
		{"the status of a parent", "Widget", "a", field("status", map[string]any{"x": int64(1)}), true, false},
		{"a parent that is paused", "Widget", "a", metadata("annotations", map[string]any{"metacontroller.k8s.io/paused": "true"}), false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSmallWorld(t, true)
				w.store(t, secretOf("default", "s", nil))
				w.settle(t)
				for _, o := range []*object.Object{w.get(t, "Widget", "a"), w.get(t, "ConfigMap", "a-0"), w.get(t, "Secret", "s")} {
					o.Map()["extra"] = map[string]any{"read": int64(0)}
					w.store(t, o)
					w.settle(t)
				}
				called := func(change func(*object.Object)) bool {
					o := w.get(t, c.kind, c.of)
					if o == nil {
						o = secretOf("default", c.of, nil)
					}
					change(o)
					before := w.calls
					w.store(t, o)
					w.settle(t)
					return w.calls > before
				}
				if called(c.change) != c.called {
					t.Errorf("the script was called: %t", !c.called)
				}
				if c.more && called(extra("unread", "text")) {
					t.Error("the script was called after another change that it does not read")
				}
				if c.more && !called(extra("read", int64(5))) {
					t.Error("the script was not called after a change that it reads")
				}
			})
		})
	}
}
