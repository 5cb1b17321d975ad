package children

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
)

// A slowWriter takes a second for each write, and counts those that are under way.
type slowWriter struct {
	mu     sync.Mutex
	now    int
	most   int
	phases []string // the kinds of writes, in the order in which they began, each once in a row
	fail   func(plan.Op) error
}

func (s *slowWriter) Do(_ context.Context, op plan.Op) (*object.Object, error) {
	what := string(op.Verb) + " " + op.Object.GetKind()
	s.mu.Lock()
	s.now++
	s.most = max(s.most, s.now)
	if n := len(s.phases); n == 0 || s.phases[n-1] != what {
		s.phases = append(s.phases, what)
		if s.now > 1 {
			s.phases = append(s.phases, "too early")
		}
	}
	s.mu.Unlock()
	time.Sleep(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
	return op.Object, s.fail(op)
}

// someOps are the writes of eight children.
func someOps() []plan.Op {
	var ops []plan.Op
	for i := range 4 {
		ops = append(ops, plan.Op{Verb: plan.Create, Object: objecttest.ConfigMap(fmt.Sprint("c", i), nil)})
	}
	for i := range 2 {
		ops = append(ops, plan.Op{Verb: plan.Create, Object: objecttest.Widget(func(o *object.Object) { o.SetName(fmt.Sprint("w", i)) })})
	}
	for i := range 2 {
		ops = append(ops, plan.Op{Verb: plan.Delete, Object: objecttest.ConfigMap(fmt.Sprint("d", i), nil)})
	}
	return ops
}

func TestWritesOfOneKindAreSentAtTheSameTime(t *testing.T) {
	for _, c := range []struct {
		extra, most int
		took        time.Duration // at most
	}{
		{0, 1, 8 * time.Second},
		{1, 2, 5 * time.Second},
		{8, 4, 3 * time.Second},
	} {
		t.Run(fmt.Sprint(c.extra), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestWriter()
				w.Extra = &Extra{Most: c.extra}
				to := &slowWriter{fail: func(op plan.Op) error {
					if strings.HasSuffix(op.Object.GetName(), "1") {
						return errors.New(op.Object.GetName())
					}
					return nil
				}}
				begun := time.Now()
				_, err := w.Apply(t.Context(), objecttest.Widget(nil), someOps(), to)
				if got := fmt.Sprint(err); got != "c1\nw1\nd1" {
					t.Errorf("error %q", got)
				}
				if took := time.Since(begun); took > c.took || to.most != c.most {
					t.Errorf("it took %s with %d writes at the same time, want at most %s and %d", took, to.most, c.took, c.most)
				}
				if got := strings.Join(to.phases, ", "); got != "create ConfigMap, create Widget, delete ConfigMap" {
					t.Errorf("the order is %s", got)
				}
				if w.Extra.now != 0 || len(w.Extra.sharers) != 0 {
					t.Errorf("%d slots are not given back, %d sharers write", w.Extra.now, len(w.Extra.sharers))
				}
			})
		})
	}
}

// A panic of a write is one of Apply, after all other writes have ended.
func TestPanicOfWrite(t *testing.T) {
	for _, name := range []string{"c0", "c3"} { // in a goroutine of its own, and in that of Apply
		synctest.Test(t, func(t *testing.T) {
			w := newTestWriter()
			w.Extra = &Extra{Most: 8}
			to := &slowWriter{fail: func(op plan.Op) error {
				if op.Object.GetName() == name {
					panic("broken")
				}
				return nil
			}}
			func() {
				defer func() {
					if text := fmt.Sprint(recover()); !strings.HasPrefix(text, "broken\n") {
						t.Errorf("%s: recovered %q", name, text)
					}
				}()
				_, _ = w.Apply(t.Context(), objecttest.Widget(nil), someOps(), to)
			}()
			if to.now != 0 || !w.mu.TryLock() {
				t.Errorf("%s: %d writes are under way, or the lock is held", name, to.now)
			}
		})
	}
}

// A failingWriter keeps the writes, which fail if fail says so.
type failingWriter struct {
	fail func(plan.Op) error
	ops  []plan.Op
}

func (f *failingWriter) Do(_ context.Context, op plan.Op) (*object.Object, error) {
	f.ops = append(f.ops, op)
	return op.Object, f.fail(op)
}

// Of an answer with many children of kinds that are neither declared nor served, only the first ones are tried. Other children are written.
func TestKindsThatAreNotServedAreTriedUpToALimit(t *testing.T) {
	w := newTestWriter()
	widget := objecttest.Widget(nil)
	w.Binding.Kinds = map[object.Kind]bool{widget.GroupVersionKind(): true}
	var ops []plan.Op
	for i := range 100 {
		other := objecttest.ConfigMap("c", nil)
		other.SetGroupVersionKind(object.Kind{Group: fmt.Sprintf("g%d.example.com", i), Version: "v1", Kind: "Other"})
		ops = append(ops, plan.Op{Verb: plan.Create, Object: other})
	}
	ops = append(ops, plan.Op{Verb: plan.Create, Object: widget})
	tried := failingWriter{fail: func(op plan.Op) error {
		if op.Object == widget {
			return nil
		}
		return fmt.Errorf("create it: %w", &kube.NotServedError{APIVersion: op.Object.GetAPIVersion(), Name: "Other"})
	}}
	_, err := w.Apply(t.Context(), widget, ops, &tried)
	if len(tried.ops) != maxFailed+1 || tried.ops[maxFailed].Object != widget {
		t.Errorf("%d writes were tried, want %d and that of the declared kind", len(tried.ops), maxFailed)
	}
	if text := fmt.Sprint(err); strings.Count(text, "\n") > maxFailed || !strings.Contains(text, "and 80 more errors") {
		t.Errorf("error: %s", text)
	}
}

func TestNothingIsWrittenAfterTheContextIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	to := failingWriter{fail: func(plan.Op) error {
		cancel()
		return nil
	}}
	if _, err := newTestWriter().Apply(ctx, objecttest.Widget(nil), someOps(), &to); len(to.ops) != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d writes, error %v", len(to.ops), err)
	}
}

// The extra writes of a server are shared: a controller that writes alone has all of them, and each of several has its part.
func TestExtraWritesAreShared(t *testing.T) {
	e := &Extra{Most: 8}
	takes := func(s *Sharer) (n int) {
		for s.take() {
			n++
		}
		return n
	}
	first := e.begin("a")
	if n := takes(first); n != 8 {
		t.Errorf("one that writes alone has %d", n)
	}
	second, again := e.begin("b"), e.begin("a")
	if n := takes(second); n != 0 {
		t.Errorf("%d are sent in addition to all", n)
	}
	for range 8 {
		first.giveBack()
	}
	if a, b := takes(again), takes(second); a != 4 || b != 4 {
		t.Errorf("two have %d and %d, want half each", a, b)
	}
	for range 4 {
		again.giveBack()
		second.giveBack()
	}
	var others []*Sharer
	for i := range 16 {
		others = append(others, e.begin(string(rune('c'+i))))
	}
	if n := takes(first) + takes(others[3]); n != 0 {
		t.Errorf("%d of eighteen have one of eight", n)
	}
	for _, s := range append(others, first, second, again) {
		s.end()
	}
	if len(e.sharers) != 0 || (*Sharer)(nil).take() || (*Extra)(nil).begin("a") != nil {
		t.Errorf("%d sharers are left", len(e.sharers))
	}
}

// An answer of which the API server refuses everything costs a bounded number of requests at each retry, and each child has its turn. One
// success ends the count.
func TestWritesThatFailAreLeft(t *testing.T) {
	var ops []plan.Op
	for i := range 1000 {
		ops = append(ops, plan.Op{Verb: plan.Create, Object: objecttest.ConfigMap(fmt.Sprintf("c%03d", i), nil)})
	}
	widget := objecttest.Widget(nil)
	ops = append(ops, plan.Op{Verb: plan.Create, Object: widget})
	for _, extra := range []int{0, 8} {
		w := newTestWriter()
		w.Extra = &Extra{Most: extra}
		tried := map[string]int{}
		to := &countingWriter{fail: func(op plan.Op) error {
			tried[op.Object.GetName()]++
			if op.Object.GetName() == "c950" || op.Object.GetKind() == widget.GetKind() {
				return nil
			}
			return errors.New("it is not valid")
		}}
		for round := range 9 {
			_, err := w.Apply(t.Context(), widget, ops, to)
			if text := fmt.Sprint(err); !strings.Contains(text, "more children are left to the next try, since 100 writes to children of their kinds failed one after the other") {
				t.Fatalf("extra %d, round %d: error %s", extra, round, text)
			}
			if n := tried[widget.GetName()]; n != round+1 {
				t.Errorf("extra %d: after round %d, the child of another kind was written %d times", extra, round, n)
			}
		}
		if to.writes > 9*(maxFailing+extra+1)+maxFailing {
			t.Errorf("extra %d: %d writes in nine rounds", extra, to.writes)
		}
		if _, _ = w.Apply(t.Context(), widget, ops, to); tried["c950"] == 0 {
			t.Errorf("extra %d: the valid child was tried %d times in ten rounds", extra, tried["c950"])
		}
	}
}

// Deletions that fail, of the same kind, do not change whose turn it is; and deletions of children that are recreated count with creations.
func TestWritesThatFailAreLeftBesideDeletions(t *testing.T) {
	for name, verbOf := range map[string]func(i int) (plan.Verb, bool){
		"deletions after creations": func(i int) (plan.Verb, bool) {
			return map[bool]plan.Verb{true: plan.Delete, false: plan.Create}[i >= 300], i >= 300
		},
		"recreated and created": func(i int) (plan.Verb, bool) { return []plan.Verb{plan.Delete, plan.Create}[i%2], false },
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWriter()
			var ops []plan.Op
			for i := range 302 {
				op := plan.Op{Object: objecttest.ConfigMap(fmt.Sprintf("c%03d", i), nil)}
				unwanted := false
				if op.Verb, unwanted = verbOf(i); op.Verb == plan.Delete && !unwanted {
					op.Wanted = op.Object
				}
				ops = append(ops, op)
			}
			tried := map[string]int{}
			to := &countingWriter{fail: func(op plan.Op) error {
				tried[op.Object.GetName()]++
				if op.Object.GetName() == "c250" {
					return nil
				}
				return errors.New("it is not valid")
			}}
			for range 3 {
				_, _ = w.Apply(t.Context(), objecttest.Widget(nil), ops, to)
			}
			if to.writes > 3*(maxFailing+2)+maxFailing || tried["c250"] == 0 || tried["c150"] == 0 {
				t.Errorf("%d writes in three rounds; the valid one was tried %d times, and another one %d times", to.writes, tried["c250"], tried["c150"])
			}
		})
	}
}

// Writes that are done between those that fail do not have all of thousands tried.
func TestManyWritesThatFailAreLeft(t *testing.T) {
	w := newTestWriter()
	var ops []plan.Op
	for i := range 4 * maxFailingInAll {
		ops = append(ops, plan.Op{Verb: plan.Create, Object: objecttest.ConfigMap(fmt.Sprintf("c%05d", i), nil)})
	}
	valid := func(name string) bool { return strings.HasSuffix(name, "0") || strings.HasSuffix(name, "5") }
	to := &countingWriter{fail: func(op plan.Op) error {
		if valid(op.Object.GetName()) {
			return nil
		}
		return errors.New("it is not valid")
	}}
	_, err := w.Apply(t.Context(), objecttest.Widget(nil), ops, to)
	if err == nil || !strings.Contains(err.Error(), "more children are left") || to.writes > 2*maxFailingInAll {
		t.Errorf("%d writes: %.200v", to.writes, err)
	}
}

// A countingWriter counts the writes.
type countingWriter struct {
	mu     sync.Mutex
	writes int
	fail   func(plan.Op) error
}

func (c *countingWriter) Do(_ context.Context, op plan.Op) (*object.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes++
	return op.Object, c.fail(op)
}
