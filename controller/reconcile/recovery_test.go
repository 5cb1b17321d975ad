package reconcile

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/queue"
)

// An outage is an API server that refuses writes to children, as long as cause is set.
type outage struct {
	*smallWorld
	cause func(op plan.Op) error
}

// Do implements plan.Writer.
func (o *outage) Do(ctx context.Context, op plan.Op) (*object.Object, error) {
	if o.cause != nil && op.Object.GetKind() == "ConfigMap" {
		if err := o.cause(op); err != nil {
			return nil, fmt.Errorf("%s %s: %w", op.Verb, object.Describe(op.Object), err)
		}
	}
	return o.smallWorld.Do(ctx, op)
}

// After the cause of failures is gone, all parents recover soon, each with one reconcile. While it lasts, events do not make the server
// try more often than that, and the back-offs grow.
func TestRecovery(t *testing.T) {
	const parents, lasts, step = 12, 2 * time.Minute, time.Second / 2
	configMaps := schema.GroupResource{Resource: "configmaps"}
	for name, cause := range map[string]func(op plan.Op) error{
		"kind not served": func(plan.Op) error { return &kube.NotServedError{APIVersion: "v1", Name: "configmaps"} },
		"kind gone":       func(op plan.Op) error { return apierrors.NewNotFound(configMaps, "") },
		"permission": func(op plan.Op) error {
			return apierrors.NewForbidden(configMaps, op.Object.GetName(), errors.New(`User "x" cannot create it`))
		},
		"quota": func(op plan.Op) error {
			return apierrors.NewForbidden(configMaps, op.Object.GetName(), errors.New("exceeded quota: q, requested: configmaps=1, used: configmaps=9"))
		},
		"admission webhook": func(plan.Op) error {
			return apierrors.NewInternalError(errors.New(`failed calling webhook "w.example.com": refused`))
		},
		"admission policy": func(op plan.Op) error {
			return apierrors.NewForbidden(configMaps, op.Object.GetName(), errors.New("ValidatingAdmissionPolicy 'p' with binding 'b' denied request"))
		},
		"API server": func(plan.Op) error {
			return &url.Error{Op: "Post", URL: "https://x/", Err: errors.New("connection refused")}
		},
		"webhook": nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &outage{smallWorld: newSmallWorld(t, true)}
				w.binding.Write = w
				for i := range parents {
					w.store(t, objecttest.Widget(func(o *object.Object) {
						o.SetName(fmt.Sprintf("p%02d", i))
						o.SetUID(types.UID(fmt.Sprint("uid-p", i)))
						o.Map()["spec"] = map[string]any{"count": int64(1)}
					}))
				}
				w.settle(t)
				hooks := w.Current().Sync
				broken := hookFunc(func(*hook.Request) (*hook.Response, error) {
					return nil, &hook.WebhookError{Address: "http://x", Err: errors.New("refused")}
				})
				if w.cause = cause; cause == nil {
					w.Current().Sync = broken
				}
				reconciles := 0
				w.around = func(_ object.Ref, process func()) { reconciles++; process() }
				var keys []object.Ref
				for i := range parents {
					o := w.get(t, "Widget", fmt.Sprintf("p%02d", i))
					o.Map()["spec"] = map[string]any{"count": int64(2)}
					o.SetGeneration(2)
					w.store(t, o)
					keys = append(keys, object.RefOf(o))
				}
				for ended := time.Now().Add(lasts); time.Now().Before(ended); {
					w.processAll(t)
					time.Sleep(step) // in the time of the bubble
					synctest.Wait()
				}
				if reconciles > 20*parents {
					t.Errorf("%d reconciles without an event while the cause lasts", reconciles)
				}
				for range 20 { // events
					for _, key := range keys {
						w.queue.Enqueue(key, queue.ClaimChanged)
					}
					w.processAll(t)
					synctest.Wait()
				}
				w.cause, w.Current().Sync = nil, hooks
				reconciles = 0
				gone := time.Now()
				recovered := func() bool {
					for _, key := range keys {
						if w.get(t, "ConfigMap", key.Name+"-1") == nil {
							return false
						}
					}
					return true
				}
				for !recovered() {
					if time.Since(gone) > time.Hour {
						t.Fatal("they do not recover")
					}
					w.processAll(t)
					time.Sleep(step) // in the time of the bubble
					synctest.Wait()
				}
				took := time.Since(gone)
				t.Logf("recovered after %s, with %d reconciles of %d parents", took, reconciles, parents)
				if limit := lasts/20 + 3*time.Second; took > limit {
					t.Errorf("they recovered after %s, want at most %s", took, limit)
				}
				// Each write of a child and of the status is an event, which may cause another reconcile.
				if reconciles > 3*parents {
					t.Errorf("%d reconciles until they recovered", reconciles)
				}
			})
		})
	}
}

// A quota that is raised for one object at a time lets one parent after the other recover, and causes no storm.
func TestCauseThatComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const parents = 20
		w := &outage{smallWorld: newSmallWorld(t, true)}
		w.binding.Write = w
		left, tries := 0, 0
		w.cause = func(op plan.Op) error {
			tries++
			if left > 0 {
				left--
				return nil
			}
			return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, op.Object.GetName(), errors.New("exceeded quota: q, requested: configmaps=1"))
		}
		for i := range parents {
			w.store(t, objecttest.Widget(func(o *object.Object) {
				o.SetName(fmt.Sprintf("p%02d", i))
				o.SetUID(types.UID(fmt.Sprint("uid-p", i)))
				o.Map()["spec"] = map[string]any{"count": int64(1)}
			}))
		}
		for second := range 600 {
			if second%20 == 10 && second >= 100 {
				left++
			}
			if second == 100 {
				tries = 0
			}
			w.processAll(t)
			time.Sleep(time.Second) // in the time of the bubble
			synctest.Wait()
		}
		made := 0
		for i := range parents {
			if w.get(t, "ConfigMap", fmt.Sprintf("p%02d-0", i)) != nil {
				made++
			}
		}
		t.Logf("%d of %d parents have their child after 500 s, with %d writes", made, parents, tries)
		if made < parents/2 {
			t.Errorf("only %d of %d parents have recovered", made, parents)
		}
		if tries > 500 {
			t.Errorf("%d writes in 500 s", tries)
		}
	})
}
