package history

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/observe"
	"metascript/controller/plan"
	"metascript/controller/queue"
	"metascript/controller/redact"
	"metascript/controller/remember"
	"metascript/controller/spec"
	"metascript/engine/packed"
)

var composite = spec.ID{Kind: "CompositeController", Name: "c"}

func about(name string) observe.About {
	return observe.About{Kind: "CompositeController", Controller: "c", Parent: objecttest.WidgetRef("ns", name)}
}

func reconcile(name string, at int) *observe.Reconcile {
	return &observe.Reconcile{About: about(name), Why: queue.ParentChanged, Began: time.Unix(int64(at), 0), Took: time.Millisecond, Source: remember.Computed, Redactor: redact.New()}
}

// of returns the times of the entries of a parent, and the counts of those that need not be done.
func of(h *History, name string) string {
	ref := objecttest.WidgetRef("ns", name)
	var texts []string
	for _, e := range h.Of(ref.Kind.GroupKind(), ref.Key)[composite] {
		if e.Count > 0 {
			texts = append(texts, fmt.Sprintf("x%d", e.Count))
		} else {
			texts = append(texts, fmt.Sprint(e.Time.Unix()))
		}
	}
	return strings.Join(texts, " ")
}

func TestControllersOfOneNameHaveTheirOwnEntries(t *testing.T) {
	h, decorator := New(1<<20), reconcile("a", 2)
	decorator.Kind = "DecoratorController"
	h.Reconciled(reconcile("a", 1))
	h.Reconciled(decorator)
	ref := objecttest.WidgetRef("ns", "a")
	found := h.Of(ref.Kind.GroupKind(), ref.Key)[spec.ID{Kind: "DecoratorController", Name: "c"}]
	if of(h, "a") != "1" || len(found) != 1 || found[0].Time.Unix() != 2 {
		t.Errorf("the composite controller has %q, the decorator controller %v", of(h, "a"), found)
	}
}

func TestLastEntriesAreKept(t *testing.T) {
	h := New(1 << 20)
	for i := range PerParent + 3 {
		h.Reconciled(reconcile("a", i))
	}
	got := strings.Fields(of(h, "a"))
	if len(got) != PerParent || got[0] != "3" || got[PerParent-1] != fmt.Sprint(PerParent+2) {
		t.Errorf("got %v", got)
	}
}

func TestRememberedReconcilesAreOneEntry(t *testing.T) {
	h := New(1 << 20)
	h.Reconciled(reconcile("a", 1))
	for range 100 {
		h.Remembered(about("a"), queue.Resync, remember.NothingChanged)
	}
	h.Remembered(about("a"), queue.ChildChanged, remember.NothingReadChanged)
	h.Reconciled(reconcile("a", 2))
	if got, want := of(h, "a"), "1 x100 x1 2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The oldest entries of all parents are dropped first, and never more than the budget is used.
func TestBudget(t *testing.T) {
	const budget = 20_000
	h := New(budget)
	for i := range 1000 {
		h.Reconciled(reconcile(fmt.Sprint(i%10), i))
		h.Remembered(about("rest"), queue.Resync, remember.NothingChanged)
		if used := h.Used(); used > budget {
			t.Fatalf("after %d: %d bytes are used", i, used)
		}
	}
	first := 1000
	for i := range 10 {
		var at int
		if _, err := fmt.Sscan(of(h, fmt.Sprint(i)), &at); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		first = min(first, at)
	}
	for i := first; i < 1000; i++ {
		if got := of(h, fmt.Sprint(i%10)); !strings.Contains(" "+got+" ", fmt.Sprintf(" %d ", i)) {
			t.Errorf("%d is dropped, and the older %d is not: %s", i, first, got)
		}
	}
	if got := of(h, "rest"); got != "x1000" {
		t.Errorf("what is repeated all the time is %s", got)
	}
}

// A full history needs no more memory than its budget, and 3 % for what is not counted.
func TestCostIsCounted(t *testing.T) {
	const budget = 8 << 20
	for parents, size := range map[int]int{20_000: 0, 4_000: 100, 200: 700, 1: 3_000} {
		before := heap()
		h := New(budget)
		for i := range 100_000 / (1 + size/20) {
			r := reconcile(fmt.Sprint(i%parents), i)
			r.Err = errors.New(strings.Repeat("x", size*(i%7)/3))
			h.Reconciled(r)
		}
		if took := heap() - before; took > budget*103/100 {
			t.Errorf("%d parents, errors of %d bytes: %d bytes are used, %d counted, and the budget is %d", parents, size, took, h.Used(), budget)
		} else {
			t.Logf("%d parents, errors of %d bytes: %d bytes are used, %d counted", parents, size, took, h.Used())
		}
		runtime.KeepAlive(h)
	}
}

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestParentLargerThanTheBudget(t *testing.T) {
	h := New(1000)
	for i := range 5 {
		r := reconcile("a", i)
		r.Err = errors.New(strings.Repeat("x", 10_000))
		h.Reconciled(r)
	}
	if got := of(h, "a"); len(strings.Fields(got)) > 1 || h.Used() > 1000 {
		t.Errorf("got %q, %d bytes used", got, h.Used())
	}
	h = New(100)
	h.Reconciled(reconcile("a", 1))
	if h.Used() != 0 || len(h.parents) != 0 {
		t.Errorf("%d bytes are used, of %d parents", h.Used(), len(h.parents))
	}
}

func TestOff(t *testing.T) {
	h := New(0)
	if h != nil || h.Used() != 0 || h.Of(objecttest.WidgetRef("", "a").Kind.GroupKind(), object.Key{}) != nil || h.Names(objecttest.WidgetRef("", "a").Kind.GroupKind(), "") != nil {
		t.Error("a history without a budget is not nil, or has something")
	}
}

func TestConcurrentUse(t *testing.T) {
	h := New(50_000)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for i := range 500 {
				h.Reconciled(reconcile(fmt.Sprint(n), i))
				h.Remembered(about(fmt.Sprint(n)), queue.Resync, remember.NothingChanged)
				of(h, fmt.Sprint((n+i)%8))
			}
		})
	}
	all.Wait()
}

func deployment(image, version string) *object.Object {
	return object.New(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "namespace": "ns", "resourceVersion": version, "generation": int64(len(version))},
		"spec":     map[string]any{"replicas": int64(2), "template": map[string]any{"image": image}},
	})
}

func TestEntry(t *testing.T) {
	r := reconcile("a", 100)
	r.Why, r.Script = queue.ParentChanged|queue.ChildChanged, "0123456789abcdef0123"
	r.Causes = []observe.Cause{{Reason: queue.ParentChanged, At: time.Unix(99, 0), Object: r.Parent, Change: observe.Changed, Fields: []string{"spec.size"}}}
	children := &object.Set{}
	children.Put(deployment("b", ""))
	r.Calls = []observe.Call{{Name: "sync", Took: 2 * time.Millisecond, Response: &hook.Response{
		Status: map[string]any{"phase": "Ready", "conditions": []any{"x"}}, Children: children, ResyncAfter: time.Minute,
	}}}
	r.Writes = []observe.Write{{
		Op:     plan.Op{Verb: plan.Update, Object: deployment("b", "1"), Why: "spec.template.image differs"},
		Before: deployment("a", "1"), Stored: deployment("b", "22"),
	}}
	r.Again, r.Unseen = time.Minute, 1
	var got Entry
	text, err := json.Marshal(entryOf(r))
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got.Script != "0123456789ab" || strings.Join(got.Reasons, " ") != "parent child" || got.Causes[0].Fields[0] != "spec.size" {
		t.Errorf("got %+v", got)
	}
	call := got.Calls[0]
	if diff := cmp.Diff([]string{"conditions: [1 items]", `phase: "Ready"`}, call.Status); diff != "" || call.Children["Deployment.apps"] != 1 || call.ResyncAfter.Duration != time.Minute {
		t.Errorf("the call is %+v\n%s", call, diff)
	}
	if diff := cmp.Diff([]Field{{"spec.template.image", `"a"`, `"b"`}}, got.Writes[0].Fields); diff != "" {
		t.Errorf("fields of the write (-want +got):\n%s", diff)
	}
	if got.Next == nil || got.Next.Unseen != 1 || !got.Next.ResyncAt.Equal(time.Unix(160, int64(time.Millisecond))) {
		t.Errorf("next is %+v", got.Next)
	}
}

func TestNext(t *testing.T) {
	r := reconcile("a", 100)
	if got := nextOf(r); got != nil {
		t.Errorf("nothing: %+v", got)
	}
	r.Err, r.Retry = kube.ErrRequeue, time.Second
	if got := nextOf(r); !got.Unstable || got.RetryAt == nil {
		t.Errorf("a stale cache: %+v", got)
	}
}

// No part of a Secret's value is kept, also not in base64 or where the script has copied it.
func TestSecretsAreNotKept(t *testing.T) {
	const value = "hunter2-is-secret"
	encoded := base64.StdEncoding.EncodeToString([]byte(value))
	secret := func(data string) *object.Object {
		return object.New(map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s", "namespace": "ns"}, "data": map[string]any{"password": data}})
	}
	configMap := func(text string) *object.Object {
		return object.New(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "m", "namespace": "ns"}, "data": map[string]any{"text": text}})
	}
	r := reconcile("a", 1)
	r.Redactor.Add(secret(encoded))
	r.Err = errors.New("cannot use " + value)
	r.Calls = []observe.Call{{Name: "sync", Response: &hook.Response{Status: map[string]any{"password": value, "other": encoded}}}}
	r.Writes = []observe.Write{
		{Op: plan.Op{Verb: plan.Update, Object: secret(encoded), Why: "data." + value}, Before: secret("b2xk"), Stored: secret(encoded)},
		{Op: plan.Op{Verb: plan.Update, Object: configMap(value)}, Before: configMap("x"), Stored: configMap(strings.Repeat("-", 70) + value)},
		{Op: plan.Op{Verb: plan.Update, Object: configMap(value)}, Before: configMap("x"), Stored: configMap(strings.Repeat("-", 317) + value), Err: errors.New(value)},
	}
	text, err := json.Marshal(entryOf(r))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{value, value[:4], encoded, encoded[:6], "b2xk"} {
		if strings.Contains(string(text), part) {
			t.Errorf("%s is in %s", part, text)
		}
	}
	if !strings.Contains(string(text), redact.Mark) || !strings.Contains(string(text), "data.password") {
		t.Errorf("the entry is %s", text)
	}
}

// What is kept does not keep the objects of the caches in memory.
func TestObjectsAreNotKept(t *testing.T) {
	content, err := packed.Pack(objecttest.Widget(nil).Map())
	if err != nil {
		t.Fatal(err)
	}
	there, h := content.Ref(), New(1<<20)
	func() {
		o := object.OfPacked(content)
		r := reconcile("a", 1)
		r.Parent = object.RefOf(o)
		r.Writes = []observe.Write{{Op: plan.Op{Verb: plan.UpdateStatus, Object: o}, Before: o, Stored: o}}
		h.Reconciled(r)
		h.Remembered(observe.About{Controller: "c", Parent: object.RefOf(o)}, queue.Resync, remember.NothingChanged)
	}()
	runtime.GC()
	if !there.To(packed.Map{}) {
		t.Error("the object is kept in memory")
	}
	runtime.KeepAlive(h)
}

func BenchmarkReconciled(b *testing.B) {
	h := New(8 << 20)
	pack := func(o *object.Object) *object.Object {
		content, err := packed.Pack(o.Map())
		if err != nil {
			b.Fatal(err)
		}
		return object.OfPacked(content)
	}
	before, after := pack(deployment("a", "1")), pack(deployment("b", "2"))
	r := reconcile("a", 1)
	r.Writes = []observe.Write{{Op: plan.Op{Verb: plan.Update, Object: after, Why: "spec.template.image differs"}, Before: before, Stored: after}}
	r.Calls = []observe.Call{{Name: "sync", Response: &hook.Response{Status: map[string]any{"phase": "Ready"}}}}
	b.ReportAllocs()
	for b.Loop() {
		h.Reconciled(r)
	}
}

// compare returns a comparison for a reconcile; for a parent as it is if at is zero.
func compare(name string, at int) *observe.Comparison {
	c := &observe.Comparison{
		About: about(name), At: time.Unix(1000, 0), Took: time.Millisecond, Script: "sha256:abcdef0123456789", Result: observe.Differs,
		Difference: "ConfigMap ns/m: data.a", Child: objecttest.WidgetRef("ns", "m"),
		Writes: []observe.ComparedWrite{{Object: objecttest.WidgetRef("ns", "m"), Text: "update it"}, {Live: true, Object: objecttest.WidgetRef("ns", "n"), Text: "not delete it"}},
	}
	if at > 0 {
		c.Began = time.Unix(int64(at), 0)
	}
	return c
}

// candidates returns the entries of a parent that have a comparison, with what differs.
func candidates(h *History, name string) string {
	ref := objecttest.WidgetRef("ns", name)
	var texts []string
	for _, e := range h.Of(ref.Kind.GroupKind(), ref.Key)[composite] {
		if c := e.Candidate; c != nil {
			texts = append(texts, fmt.Sprint(e.Time.Unix(), " ", c.Difference, " ", c.Later))
		}
	}
	return strings.Join(texts, ", ")
}

// A comparison comes later than its reconcile, and becomes part of its entry. One without a reconcile is that of the last one.
func TestComparisonIsPartOfItsReconcile(t *testing.T) {
	h := New(1 << 20)
	for at := 1; at <= 3; at++ {
		h.Reconciled(reconcile("a", at))
	}
	h.Remembered(about("a"), queue.Resync, remember.NothingChanged)
	before := h.Used()
	h.Compared(compare("a", 2))
	if got := candidates(h, "a"); got != "2 ConfigMap ns/m: data.a false" || h.Used() <= before {
		t.Errorf("%s, %d bytes are used, and were %d", got, h.Used(), before)
	}
	ref := objecttest.WidgetRef("ns", "a")
	c := h.Of(ref.Kind.GroupKind(), ref.Key)[composite][1].Candidate
	if c.Script != "abcdef012345" || c.Result != "differs" || c.Object.Name != "m" || len(c.Writes) != 2 || c.Writes[0].Live || !c.Writes[1].Live || c.Took.Duration != time.Millisecond {
		t.Errorf("%+v", c)
	}
	h.Compared(compare("a", 0))
	if got := candidates(h, "a"); got != "2 ConfigMap ns/m: data.a false, 3 ConfigMap ns/m: data.a true" {
		t.Error(got)
	}
	used := h.Used()
	fails := compare("a", 0)
	fails.Result, fails.Difference, fails.Err, fails.Writes = observe.Failed, "", errors.New(strings.Repeat("x", 10*maxError)), nil
	h.Compared(fails) // in place of the one before
	if got := candidates(h, "a"); got != "2 ConfigMap ns/m: data.a false, 3  true" || h.Used() > used+maxError+maxDetail {
		t.Errorf("%s, %d bytes", got, h.Used()-used)
	}
	for _, c := range []*observe.Comparison{compare("a", 7), compare("b", 1), {About: about("a"), UID: "other", Began: time.Unix(1, 0)}, {About: about("a"), Live: "another"}, {About: observe.About{Kind: "DecoratorController", Controller: "c", Parent: about("a").Parent}, Began: time.Unix(1, 0)}} {
		used, entries := h.Used(), candidates(h, "a")
		if h.Compared(c); h.Used() != used || candidates(h, "a") != entries {
			t.Errorf("%+v became part of an entry", c)
		}
	}
}

// A comparison counts for the budget.
func TestComparisonsAreBounded(t *testing.T) {
	const budget = 100_000
	h := New(budget)
	for at := 1; at <= 1000; at++ {
		name := fmt.Sprint("p", at)
		h.Reconciled(reconcile(name, at))
		c := compare(name, at)
		c.Difference = strings.Repeat("d", maxError)
		if h.Compared(c); h.Used() > budget {
			t.Fatalf("%d bytes are used", h.Used())
		}
	}
	if candidates(h, "p1000") == "" || candidates(h, "p1") != "" {
		t.Error("the oldest are not dropped")
	}
}

// The name of an object that is the value of a Secret is needed to find out who may read the object, and is not shown.
func TestNamesThatAreValuesOfSecretsAreWithheld(t *testing.T) {
	named := func(namespace, name string) *object.Object {
		return object.New(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": namespace, "name": name}})
	}
	secret := object.New(map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"}, "data": map[string]any{"a": base64.StdEncoding.EncodeToString([]byte("zq7vxw9kpj"))}})
	r := reconcile("a", 1)
	r.Redactor.Add(secret)
	for _, o := range []*object.Object{named("ns", "plain"), named("ns", "zq7vxw9kpj"), named("of-zq7vxw9kpj", "plain")} {
		r.Writes = append(r.Writes, observe.Write{Op: plan.Op{Verb: plan.Create, Object: o}, Err: errors.New("it is refused")})
		r.Causes = append(r.Causes, observe.Cause{Object: object.RefOf(o), Change: observe.Changed})
	}
	h := New(1 << 20)
	h.Reconciled(r)
	ref := objecttest.WidgetRef("ns", "a")
	e := h.Of(ref.Kind.GroupKind(), ref.Key)[composite][0]
	objects := func() string {
		var texts []string
		for i := range e.Writes {
			texts = append(texts, e.Writes[i].Object.Namespace+"/"+e.Writes[i].Object.Name, e.Causes[i].Object.Namespace+"/"+e.Causes[i].Object.Name)
		}
		return strings.Join(texts, " ")
	}
	if got, want := objects(), "ns/plain ns/plain ns/zq7vxw9kpj ns/zq7vxw9kpj of-zq7vxw9kpj/plain of-zq7vxw9kpj/plain"; got != want {
		t.Errorf("before: got %s, want %s", got, want)
	}
	e.Withhold()
	if got, want := objects(), "ns/plain ns/plain ns/[redacted] ns/[redacted] [redacted]/plain [redacted]/plain"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if text, err := json.Marshal(e); err != nil || strings.Contains(string(text), "zq7vx") {
		t.Errorf("it is shown: %s, %v", text, err)
	}
}
