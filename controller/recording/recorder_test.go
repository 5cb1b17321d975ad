package recording

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/observe"
	"metascript/controller/plan"
	"metascript/controller/queue"
	"metascript/controller/redact"
	"metascript/controller/remember"
	"metascript/controller/scrub"
	"metascript/controller/spec"
	"metascript/engine"
	"metascript/scripts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// password is the value of the Secrets of these tests.
const password = "s3cret-Passw0rd"

var (
	secretRef    = base64.StdEncoding.EncodeToString([]byte(password))
	sitesVersion = &build.Loaded{
		Generation: 3, Identity: "0123456789abcdef", Built: build.Built{Digest: "sha256:abc", Sync: sitesSync},
		Resolved: spec.Resolved{Parents: []kube.Resource{{GroupVersionResource: objecttest.Widgets, Kind: "Widget", Namespaced: true}}},
		Candidate: &build.Candidate{
			Object: object.New(map[string]any{"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "CompositeController", "metadata": map[string]any{"name": "sites"}, "status": map[string]any{"x": "y"}}),
			Parts:  build.Parts{"": scripts.Assembled{Script: engine.Script{Language: engine.Starlark, Entry: "sync.star", Files: fstest.MapFS{"sync.star": {Data: []byte("token = '" + password + "'")}}}}},
		},
	}
	sitesSync = &hook.Script{Limits: engine.Limits{Steps: 1000}}
)

// reconcileOf returns a reconcile of a parent in the namespace default, which has a Secret as its child, and returns it and a ConfigMap that
// copies it.
func reconcileOf(t testing.TB, name string) *observe.Reconcile {
	parent := objecttest.Packed(t, objecttest.ParseObject(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: `+name+`, namespace: default}, spec: {size: 1}}`))
	secret := objecttest.Packed(t, objecttest.ParseObject(t, `{apiVersion: v1, kind: Secret, metadata: {name: `+name+`, namespace: default}, data: {password: `+secretRef+`}}`))
	copied := objecttest.ParseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: `+name+`, namespace: default}, data: {copy: `+password+`, encoded: `+secretRef+`}}`)
	children, desired := &object.Set{}, &object.Set{}
	children.Put(secret)
	desired.Put(secret)
	desired.Put(copied)
	redactor := redact.New()
	redactor.Add(secret)
	text := password
	return &observe.Reconcile{
		About: observe.About{Kind: "CompositeController", Controller: "sites", Parent: object.RefOf(parent)}, Loaded: sitesVersion, Why: queue.ParentChanged | queue.Resync,
		Causes: []observe.Cause{{Reason: queue.ParentChanged, Object: object.RefOf(parent), Change: observe.Changed, Fields: []string{"spec.size"}}},
		Source: remember.Computed, Began: someTime, Redactor: redactor, Err: errors.New("it failed with " + password),
		Calls: []observe.Call{{
			Name: "sync", Hook: sitesSync, Request: &hook.Request{Parent: parent, Children: children, Now: someTime},
			Response: &hook.Response{
				Status: map[string]any{"seen": password}, Children: desired, Events: []hook.Event{{Type: "Normal", Reason: "R", Message: password}},
				Annotations: hook.Changes{"a": &text, "b": nil}, Warnings: []error{errors.New(password)},
			},
		}, {
			Name: "customize", Revision: "older", Hook: &hook.Webhook{}, Request: &hook.Request{Parent: parent, Now: someTime}, Err: &hook.RetryAfter{After: time.Second},
		}},
		Writes: []observe.Write{{Op: plan.Op{Verb: plan.Create, Object: copied, Why: "missing"}, Err: errors.New("refused: " + password)}},
	}
}

// recorded runs a Recorder until stop was called and returns what it wrote, and the error.
func recorded(t *testing.T, o Options, during func(*Recorder)) ([]byte, Progress, error) {
	t.Helper()
	r := New(o)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out bytes.Buffer
	var progress Progress
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		progress, err = r.Run(ctx, &out)
	}()
	during(r)
	stop()
	<-ended
	return out.Bytes(), progress, err
}

// hasNoValue fails the test if a recording has the password.
func hasNoValue(t *testing.T, recording []byte) {
	t.Helper()
	text := plain(t, recording)
	for _, form := range []string{password, secretRef, strings.TrimRight(secretRef, "=")} {
		if strings.Contains(text, form) {
			t.Errorf("the recording has %s:\n%s", form, text)
		}
	}
}

func TestRecorderWritesReconciles(t *testing.T) {
	out, progress, err := recorded(t, Options{Program: "v1"}, func(r *Recorder) {
		for _, name := range []string{"a", "b", "a"} {
			r.Reconciled(reconcileOf(t, name))
		}
		r.Remembered(observe.About{Controller: "sites"}, queue.Resync, remember.NothingChanged)
	})
	if err != nil || progress.Reconciles != 3 || progress.Calls != 6 || progress.Objects != 6 || progress.Redacted != 4 || progress.Remembered != 1 || progress.Why != WhyStopped || progress.Bytes != int64(len(out)) {
		t.Errorf("the recording is %+v, error %v", progress, err)
	}
	hasNoValue(t, out)
	f, err := Open(saved(t, out), 0)
	if err != nil || len(f.Problems) > 0 || len(f.Controllers) != 1 {
		t.Fatalf("the file is %+v, error %v", f, err)
	}
	c := f.Controllers[0]
	if c.ID != "CompositeController/sites@3-0123456789ab" || !c.Redacted || !strings.Contains(c.Scripts[""].Files["sync.star"], scrub.Prefix) || len(c.Parents) != 1 || strings.Contains(string(c.Object), "status") {
		t.Errorf("the controller is %+v", c)
	}
	err = f.Each(func(r *Recorded) error {
		sync, customize := r.Calls[0], r.Calls[1]
		if fmt.Sprint(r.Why) != "[parent resync]" || r.Causes[0].Fields[0] != "spec.size" || !strings.HasPrefix(r.Error, "it failed with "+scrub.Prefix) || r.Controller != c.ID {
			t.Errorf("the reconcile is %+v", r.Reconcile)
		}
		if !sync.Redacted || sync.OlderScript || sync.Webhook || sync.Limits.Steps != 1000 || !sync.Now.Equal(someTime) || len(sync.Children) != 1 || sync.Related != nil {
			t.Errorf("the call is %+v", sync)
		}
		if !customize.OlderScript || !customize.Webhook || customize.RetryAfter != time.Second || customize.Answer != nil {
			t.Errorf("the call of customize is %+v", customize)
		}
		copied, found := r.Object(sync.Answer.Children[1])
		secret, also := r.Object(sync.Answer.Children[0])
		if !found || !also || copied.TextAt("data", "encoded") != secret.TextAt("data", "password") || fmt.Sprint(copied.Redacted) != "[data.copy data.encoded]" || sync.Answer.Annotations["b"] != nil {
			t.Errorf("the answer is %+v, with %v and %v", sync.Answer, copied, secret)
		}
		if string(sync.Answer.Status) != `{"seen":"`+copied.TextAt("data", "copy")+`"}` || r.Writes[0].Error == "" || r.Writes[0].After != "" {
			t.Errorf("the answer is %+v, the write %+v", sync.Answer, r.Writes[0])
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestRecorderFilters(t *testing.T) {
	for want, filter := range map[int]Filter{
		3: {Controllers: []string{"other", "sites"}, Namespace: "default"},
		2: {Parent: "a"},
		0: {Controllers: []string{"other"}},
	} {
		_, progress, err := recorded(t, Options{Filter: filter}, func(r *Recorder) {
			for _, name := range []string{"a", "b", "a"} {
				r.Reconciled(reconcileOf(t, name))
			}
		})
		if err != nil || progress.Reconciles != want {
			t.Errorf("%+v: %+v, error %v", filter, progress, err)
		}
	}
}

// A Secret of which a cache or another reconcile has the value is known before anything is written.
func TestRecorderKnowsSecretsBefore(t *testing.T) {
	copying := func() *observe.Reconcile {
		r := reconcileOf(t, "a")
		r.Redactor, r.Calls[0].Request.Children = redact.New(), &object.Set{}
		desired := &object.Set{}
		desired.Put(objecttest.ParseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {copy: `+password+`}}`))
		r.Calls[0].Response.Children = desired
		return r
	}
	secret := reconcileOf(t, "a").Calls[0].Request.Children.Group(secretKind)[0]
	for name, c := range map[string]struct {
		options Options
		before  func(r *Recorder)
	}{
		"in a cache":                   {Options{Secrets: func() []*object.Object { return []*object.Object{secret} }}, func(*Recorder) {}},
		"in a later reconcile":         {Options{}, func(r *Recorder) { r.Reconciled(reconcileOf(t, "b")) }},
		"a credential of the redactor": {Options{}, func(r *Recorder) { d := copying(); d.Redactor.AddTexts(password); r.Reconciled(d) }},
	} {
		out, _, err := recorded(t, c.options, func(r *Recorder) {
			r.Reconciled(copying())
			c.before(r)
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		hasNoValue(t, out)
	}
	synctest.Test(t, func(t *testing.T) {
		_, progress, err := recorded(t, Options{}, func(r *Recorder) {
			r.Reconciled(copying())
			time.Sleep(time.Minute) // it is written
			r.Reconciled(reconcileOf(t, "a"))
			time.Sleep(time.Minute)
		})
		if !errors.Is(err, ErrKnownTooLate) || progress.Why != WhyLate || progress.Reconciles != 1 {
			t.Errorf("the recording is %+v, error %v", progress, err)
		}
	})
}

func TestRecorderEndsAtItsLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, progress, err := recorded(t, Options{Filter: Filter{For: time.Minute}}, func(r *Recorder) {
			r.Reconciled(reconcileOf(t, "a"))
			time.Sleep(time.Hour)
			r.Reconciled(reconcileOf(t, "a"))
		})
		if err != nil || progress.Why != WhyTime || progress.Reconciles != 1 {
			t.Errorf("the recording is %+v, error %v", progress, err)
		}
		var flushed int
		out, progress, err := recorded(t, Options{Filter: Filter{Bytes: 5000}, Flushed: func(Progress) { flushed++ }}, func(r *Recorder) {
			for i := range 1000 {
				r.Reconciled(reconcileOf(t, fmt.Sprint("parent", i)))
				time.Sleep(time.Second)
			}
		})
		if err != nil || progress.Why != WhyBytes || progress.Reconciles < 5 || len(out) > 6000 || flushed == 0 {
			t.Errorf("the recording is %+v with %d bytes, error %v", progress, len(out), err)
		}
		if f, err := Open(saved(t, out), 0); err != nil || f.End == nil || f.End.Why != WhyBytes {
			t.Errorf("the file is %+v, error %v", f, err)
		}
	})
}

// A writer that blocks does not block the workers, and one that fails ends the recording.
func TestRecorderOverAWriterThatBlocksOrFails(t *testing.T) {
	r := New(Options{Queue: 100 << 10})
	in, out := io.Pipe()
	ended := make(chan struct{})
	var progress Progress
	var err error
	go func() {
		defer close(ended)
		progress, err = r.Run(t.Context(), out)
	}()
	var workers sync.WaitGroup
	for worker := range 4 {
		workers.Go(func() {
			for i := range 100 {
				r.Reconciled(reconcileOf(t, fmt.Sprint(worker, "-", i)))
			}
		})
	}
	workers.Wait()
	in.CloseWithError(errFull)
	<-ended
	if !errors.Is(err, errFull) {
		t.Errorf("the recording is %+v, error %v", progress, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dropped == 0 || r.queue != nil || !r.ended {
		t.Errorf("%d reconciles were dropped", r.dropped)
	}
}

// A Secret that no recorded reconcile has read, and that may not be read, has no effect: it is not replaced, and does not end the recording.
// One that may be read is replaced, and does not end it either.
func TestOtherSecretsHaveNoEffect(t *testing.T) {
	secret := reconcileOf(t, "a").Calls[0].Request.Children.Group(secretKind)[0]
	other := func(r *Recorder) {
		unseen := reconcileOf(t, "not-recorded")
		unseen.Redactor.Add(secret)
		r.Reconciled(unseen)
	}
	plain := func() *observe.Reconcile {
		r := reconcileOf(t, "a")
		r.Redactor, r.Calls[0].Request.Children, r.Writes = redact.New(), &object.Set{}, nil
		r.Calls[0].Response.Children = &object.Set{}
		r.Calls[0].Response.Children.Put(objecttest.ParseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {copy: `+password+`}}`))
		return r
	}
	synctest.Test(t, func(t *testing.T) {
		for _, may := range []bool{false, true} {
			var cached atomic.Pointer[[]*object.Object]
			cached.Store(&[]*object.Object{})
			out, progress, err := recorded(t, Options{
				Filter: Filter{Parent: "a"}, Secrets: func() []*object.Object { return *cached.Load() },
				May: func(kind object.Kind, _ string) bool { return may || kind != secretKind },
			}, func(r *Recorder) {
				other(r)
				r.Reconciled(plain())
				time.Sleep(time.Minute) // it is written
				cached.Store(&[]*object.Object{secret})
				r.Reconciled(plain())
				time.Sleep(time.Minute)
			})
			if err != nil || progress.Reconciles != 2 || (progress.Redacted > 0) != may {
				t.Errorf("may be read %t: the recording is %+v, error %v", may, progress, err)
			}
			if f, err := Open(saved(t, out), 0); err != nil || f.End == nil {
				t.Errorf("the file is %+v, error %v", f, err)
			}
		}
	})
}

func TestEndNamesParentsWithoutReconcile(t *testing.T) {
	about := func(controller, name string) observe.About {
		return observe.About{Kind: "CompositeController", Controller: controller, Parent: objecttest.WidgetRef("default", name)}
	}
	parents := func() []observe.About {
		return []observe.About{about("sites", "b"), about("sites", "seen"), about("sites", password), about("other", "x"), about("sites", "a")}
	}
	text, progress, err := recorded(t, Options{Hold: time.Millisecond, Filter: Filter{Controllers: []string{"sites"}}, Parents: parents}, func(r *Recorder) {
		r.Reconciled(reconcileOf(t, "seen"))
	})
	if err != nil {
		t.Fatal(err)
	}
	hasNoValue(t, text)
	of := progress.Unrecorded.Of("CompositeController", "sites")
	if of.Count != 3 || len(of.Parents) != 3 || of.Parents[0].Name != "a" || of.Parents[1].Name != "b" || of.Parents[0].Kind != "Widget" {
		t.Errorf("got %+v", of)
	}
	if other := progress.Unrecorded.Of("CompositeController", "other"); other.Count != 0 {
		t.Errorf("of another controller: %+v", other)
	}
	none := func(object.Kind, string) bool { return false }
	if _, progress, err = recorded(t, Options{Parents: parents, May: none}, func(*Recorder) {}); err != nil || len(*progress.Unrecorded) != 0 {
		t.Errorf("without the right to list them: %+v, %v", progress.Unrecorded, err)
	}
	if _, progress, err = recorded(t, Options{}, func(*Recorder) {}); err != nil || progress.Unrecorded.Of("CompositeController", "sites").Count != 0 {
		t.Errorf("if it is not known: %+v, %v", progress.Unrecorded, err)
	}
}
