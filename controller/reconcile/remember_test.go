package reconcile

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/build"
	"metascript/controller/call"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/queue"
	"metascript/engine"
)

// Random histories have the same writes, in the same order, and end in the same cluster, with remembering and without.
func TestHistoriesAreTheSameWithRemembering(t *testing.T) {
	for _, language := range []string{engine.Starlark, engine.JavaScript, engine.Jsonnet, webhook} {
		t.Run(language, func(t *testing.T) {
			calls, settled, failed := map[bool]int{}, 0, 0
			for seed := range uint64(12) {
				writes, ends := map[bool][]string{}, map[bool][]map[string]any{}
				for _, remembers := range []bool{false, true} {
					synctest.Test(t, func(t *testing.T) {
						w := historyOf(t, language, seed, remembers)
						writes[remembers], ends[remembers] = w.writes, w.all(t)
						calls[remembers] += w.calls
						settled += w.settled
						if remembers {
							failed += w.failed
						}
					})
				}
				if diff := cmp.Diff(writes[false], writes[true]); diff != "" {
					t.Fatalf("seed %d: writes (-without +with remembering):\n%s", seed, diff)
				}
				if !reflect.DeepEqual(ends[false], ends[true]) {
					t.Fatalf("seed %d: objects without remembering, and with:\n%v\n%v", seed, ends[false], ends[true])
				}
			}
			t.Logf("the hook was called %d times with remembering, and %d times without; %d responses had no effect, and %d calls failed", calls[true], calls[false], settled, failed)
			switch {
			case language == webhook && (calls[true] < calls[false]*99/100 || settled < (calls[true]-failed)/5):
				t.Error("a webhook has to be called as often, and most often nothing follows")
			case language != webhook && calls[true] >= calls[false]*9/10:
				t.Error("a script has to be called less often")
			}
		})
	}
}

// historyOf returns the world at the end of a random history.
func historyOf(t *testing.T, language string, seed uint64, remembers bool) *smallWorld {
	t.Helper()
	random, w := rand.New(rand.NewPCG(seed, 1)), newSmallWorldOf(t, remembers, language)
	for range 60 {
		w.act(t, random)
		if random.IntN(4) > 0 {
			w.settle(t)
		}
	}
	if w.webhook != nil {
		w.webhook.lies, w.webhook.fails = false, false
	}
	time.Sleep(time.Hour) // what was postponed is done
	w.settle(t)
	w.worker.resync()
	w.settle(t)
	return w
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
		{"the definition of the parents has changed", true, func(_ *testing.T, w *smallWorld) { w.RetryStatus(); time.Sleep(UntilServed) }, 2},
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
				w.worker.resync()
				w.settle(t)
				if got := w.calls - before; got != c.want {
					t.Errorf("the hook was called %d times, want %d", got, c.want)
				}
			})
		})
	}
}

// A resync queues few of the parents that rest. Each event of one, and whatever concerns all parents, ends its rest.
func TestRest(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*testing.T, *smallWorld)
		ends   bool // the rest of a; that of b goes on if it is not said to end too
		all    bool
	}{
		{"nothing", func(*testing.T, *smallWorld) {}, false, false},
		{"a status whose changes are ignored", func(t *testing.T, w *smallWorld) {
			parent := w.get(t, "Widget", "a")
			w.binding.Rule(parent.GroupVersionKind()).IgnoreStatusChanges = true
			parent.Map()["status"] = map[string]any{"changed": true}
			w.store(t, parent)
			synctest.Wait()
			if keys := queued(w.Reconciler); len(keys) > 0 {
				t.Errorf("%v are queued, want none", keys)
			}
		}, true, false},
		{"the child of one", func(t *testing.T, w *smallWorld) {
			child := w.get(t, "ConfigMap", "a-0")
			child.Map()["data"] = map[string]any{"script": "changed"}
			w.store(t, child)
			synctest.Wait()
			w.states.begin(object.RefOf(w.get(t, "Widget", "a")), w.current.Load()) // as the reconcile for the event does
		}, true, false},
		{"a definition", func(_ *testing.T, w *smallWorld) { w.RetryStatus(); time.Sleep(UntilServed) }, true, true},
		{"the hooks", func(t *testing.T, w *smallWorld) { w.answer(t, &hook.Response{}) }, true, true},
		{"remembering is turned off", func(_ *testing.T, w *smallWorld) { w.current.Load().Remember.TurnOff() }, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSmallWorld(t, true)
				a, b := object.RefOf(w.get(t, "Widget", "a")).String(), object.RefOf(w.get(t, "Widget", "b")).String()
				for range 3 { // one of them may be a control
					w.worker.resync()
					w.settle(t)
				}
				queuedBy := func() map[string]int {
					times := map[string]int{}
					for range 160 {
						w.worker.resync()
						for key := range queued(w.Reconciler) {
							times[key]++
						}
					}
					return times
				}
				if got := queuedBy(); got[a] > 80 || got[b] > 80 || got[a] == 0 {
					t.Errorf("resyncs of parents that rest queue them %d and %d times of 160, want one time in 16", got[a], got[b])
				}
				c.change(t, w)
				synctest.Wait()
				queued(w.Reconciler)
				got := queuedBy()
				if c.ends && got[a] != 160 || c.all && got[b] != 160 || !c.all && got[b] > 80 {
					t.Errorf("afterwards resyncs queue them %d and %d times of 160", got[a], got[b])
				}
			})
		})
	}
}

// A control that begins in a resync is one.
func TestControlOfParentThatRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSmallWorld(t, true)
		for range 3 {
			w.worker.resync()
			w.settle(t)
		}
		before := w.calls
		for range 1000 { // 2000 reconciles that need not be done
			w.worker.resync()
			w.settle(t)
		}
		if got := w.calls - before; got < 2 || got > 40 {
			t.Errorf("%d of 2000 resyncs called the hook, want about one in 256", got)
		}
	})
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

// What a call that fails has read is not remembered, however it ends: the hook is called until it answers.
func TestFailedCallsAreNotRemembered(t *testing.T) {
	for name, fail := range map[string]func() (*hook.Response, error){
		"an error": func() (*hook.Response, error) { return nil, &engine.Error{Kind: engine.KindRaised, Msg: "no"} },
		"a panic":  func() (*hook.Response, error) { panic("no") },
		"a limit":  func() (*hook.Response, error) { return nil, &engine.Error{Kind: engine.KindTimeout, Msg: "too long"} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSmallWorld(t, true)
				inner, fails, failed := w.hook("2"), true, 0
				sync := hookFunc(func(req *hook.Request) (*hook.Response, error) {
					response, err := inner(req) // which has read the objects
					if fails && req.Parent.GetName() == "a" {
						failed++
						return fail()
					}
					return response, err
				})
				hooks := build.Hooks{Sync: sync, Customize: w.binding.Customize, Remembers: true}
				w.Swap(call.NewVersion(hooks, nil, func() {}))
				w.settle(t)
				before := failed
				w.worker.resync()
				w.settle(t)
				if before == 0 || failed == before {
					t.Errorf("the hook has failed %d times, and %d times after a resync", before, failed)
				}
				fails = false
				time.Sleep(time.Hour)
				w.worker.resync()
				w.settle(t)
				if got := w.get(t, "ConfigMap", "a-0").Map()["data"].(map[string]any)["script"]; got != "2" {
					t.Errorf("in the end the child is of version %v of the script", got)
				}
			})
		})
	}
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
			w.worker.resync()
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
		w.worker.resync()
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

// A parent may be one of its own related objects. Then what the script reads of it as one counts too.
func TestParentAmongItsRelatedObjects(t *testing.T) {
	for _, c := range []struct {
		name    string
		ignored bool // changes of the status are ignored, so that only a resync can find them
		change  func(*object.Object)
		called  bool
	}{
		{"an annotation", false, func(o *object.Object) { o.SetAnnotations(map[string]string{"note": "7"}) }, true},
		{"it leaves", false, func(o *object.Object) { o.SetLabels(map[string]string{"peer": "no"}) }, true},
		{"its status", false, func(o *object.Object) { o.Map()["status"].(map[string]any)["children"] = int64(5) }, true},
		{"its status, of which changes are ignored", true, func(o *object.Object) { o.Map()["status"].(map[string]any)["children"] = int64(5) }, true},
		{"what is not read", false, func(o *object.Object) { o.Map()["unread"] = int64(7) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSmallWorld(t, true)
				w.delete(t, w.get(t, "Widget", "b"))
				w.settle(t)
				a := w.get(t, "Widget", "a")
				w.binding.Rule(a.GroupVersionKind()).IgnoreStatusChanges = c.ignored
				a.Map()["spec"] = map[string]any{"count": int64(2), "peers": true}
				a.SetGeneration(2)
				w.store(t, a)
				w.settle(t)
				delete(a.Map(), "status") // the next reconcile writes only the status, and has read none
				w.store(t, a)
				w.settle(t)
				for range 2 {
					w.worker.resync()
					w.settle(t)
				}
				a = w.get(t, "Widget", "a")
				if got, _ := a.Field("status", "peers"); got != int64(3) { // one peer, with two children
					t.Errorf("the status says %v of the peers, want 3: the script was not called after the status was written", got)
				}
				c.change(a)
				before := w.calls
				w.store(t, a)
				w.settle(t)
				w.worker.resync()
				w.settle(t)
				if called := w.calls > before; called != c.called {
					t.Errorf("the script was called: %t", called)
				}
			})
		})
	}
}

// Where recorded reads were of no use for long, some reconciles count as reading whole objects. One whose reads are of use ends this.
func TestReadsAreRecordedWhileOfUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSmallWorld(t, true)
		version := w.current.Load()
		for range 5000 {
			version.Remember.Records()
		}
		unread := func(value string) (called bool) {
			child := w.get(t, "ConfigMap", "a-0")
			child.Map()["status"] = map[string]any{"unread": value}
			before := w.calls
			w.store(t, child)
			w.settle(t)
			return w.calls > before
		}
		if unread("x") {
			t.Fatal("the script was called after a change that it does not read")
		}
		for n := range 500 {
			if !version.Remember.Records() {
				t.Fatalf("reconcile %d does not record", n)
			}
		}
	})
}
