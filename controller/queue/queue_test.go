package queue

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/client-go/util/workqueue"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/work"
	"metascript/engine/packed"
)

// newQueue returns a queue that is shut down when the test ends.
func newQueue(t *testing.T) *Queue {
	t.Helper()
	q := New(work.NewPool(), "test", "", nil)
	t.Cleanup(q.ShutDown)
	return q
}

func queueKey(name string) object.Ref { return objecttest.WidgetRef("default", name) }

// next gets a key as a worker does and returns it with its reasons, such as "a: parent,child".
func next(t *testing.T, q *Queue) string {
	t.Helper()
	key, shutdown := q.Get()
	if shutdown {
		t.Fatal("the queue is shut down")
	}
	defer q.Done(key)
	return key.Name + ": " + q.Take(key).String()
}

// drain gets all keys that wait.
func drain(t *testing.T, q *Queue) []string {
	t.Helper()
	var keys []string
	for q.Len() > 0 {
		keys = append(keys, next(t, q))
	}
	return keys
}

func checkOrder(t *testing.T, q *Queue, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, drain(t, q)); diff != "" {
		t.Errorf("keys in the order of Get (-want +got):\n%s", diff)
	}
}

func TestReasonString(t *testing.T) {
	for reason, want := range map[Reason]string{
		0:                     "",
		ParentChanged:         "parent",
		ChildChanged:          "child",
		Resync:                "resync",
		Retry:                 "retry",
		Retry | ParentChanged: "parent,retry",
		ParentChanged | ChildChanged | Resync | Retry: "parent,child,resync,retry",
	} {
		if got := reason.String(); got != want {
			t.Errorf("Reason(%d) is %q, want %q", reason, got, want)
		}
	}
}

func TestKeyAddedTwiceIsReturnedOnceWithBothReasons(t *testing.T) {
	q := newQueue(t)
	q.Enqueue(queueKey("a"), ParentChanged)
	q.Enqueue(queueKey("a"), ChildChanged)
	q.Enqueue(queueKey("a"), Resync)
	q.Enqueue(queueKey("a"), ChildChanged)
	if q.Len() != 1 {
		t.Errorf("%d keys wait, want 1", q.Len())
	}
	checkOrder(t, q, "a: parent,child,resync")
}

func TestTakeRemovesTheReasons(t *testing.T) {
	q := newQueue(t)
	q.Enqueue(queueKey("a"), ParentChanged)
	checkOrder(t, q, "a: parent")
	q.Enqueue(queueKey("a"), Resync)
	checkOrder(t, q, "a: resync")
	if why := q.Take(queueKey("a")); why != 0 {
		t.Errorf("Take returns %s again, want no reason", why)
	}
}

func TestEachKeyHasItsOwnReasons(t *testing.T) {
	q := newQueue(t)
	q.Enqueue(queueKey("a"), ParentChanged)
	q.Enqueue(objecttest.WidgetRef("other", "a"), ChildChanged)
	q.Enqueue(objecttest.WidgetRef("", "a"), ParentChanged|ChildChanged)
	checkOrder(t, q, "a: parent", "a: child", "a: parent,child")
}

func TestUrgentKeysAreReturnedFirst(t *testing.T) {
	q := newQueue(t)
	q.Enqueue(queueKey("due-1"), Resync)
	q.Enqueue(queueKey("due-2"), Retry)
	q.Enqueue(queueKey("parent"), ParentChanged)
	q.Enqueue(queueKey("due-3"), Resync)
	q.Enqueue(queueKey("child"), ChildChanged)
	q.Enqueue(queueKey("both"), Resync|ChildChanged)
	checkOrder(t, q, "parent: parent", "child: child", "both: child,resync", "due-1: resync", "due-2: retry", "due-3: resync")
}

func TestKeysOfSameUrgencyAreReturnedInOrder(t *testing.T) {
	for _, why := range []Reason{ParentChanged, Resync} {
		q := newQueue(t)
		var want []string
		for i := range 100 {
			key := queueKey(fmt.Sprintf("k%02d", (i*37)%100))
			q.Enqueue(key, why)
			want = append(want, key.Name+": "+why.String())
		}
		checkOrder(t, q, want...)
	}
}

func TestKeyAddedAgainKeepsPosition(t *testing.T) {
	for _, why := range []Reason{ParentChanged, Resync} {
		q := newQueue(t)
		for _, name := range []string{"a", "b", "c", "a", "b"} {
			q.Enqueue(queueKey(name), why)
		}
		checkOrder(t, q, "a: "+why.String(), "b: "+why.String(), "c: "+why.String())
	}
}

func TestWaitingKeyBecomesUrgent(t *testing.T) {
	q := newQueue(t)
	q.Enqueue(queueKey("a"), Resync)
	q.Enqueue(queueKey("b"), Resync)
	q.Enqueue(queueKey("c"), Resync)
	q.Enqueue(queueKey("urgent"), ParentChanged)
	q.Enqueue(queueKey("b"), ChildChanged)
	if q.Len() != 4 {
		t.Errorf("%d keys wait, want 4", q.Len())
	}
	checkOrder(t, q, "urgent: parent", "b: child,resync", "a: resync", "c: resync")
}

func TestUrgentKeyStaysUrgentWithMoreReasons(t *testing.T) {
	q := newQueue(t)
	q.Enqueue(queueKey("due"), Resync)
	q.Enqueue(queueKey("a"), ParentChanged)
	q.Enqueue(queueKey("a"), Resync)
	checkOrder(t, q, "a: parent,resync", "due: resync")
}

func TestUrgencyEndsWhenKeyIsTaken(t *testing.T) {
	q := newQueue(t)
	q.Enqueue(queueKey("a"), Resync)
	q.Enqueue(queueKey("a"), ParentChanged)
	checkOrder(t, q, "a: parent,resync")
	q.Enqueue(queueKey("a"), Resync)
	q.Enqueue(queueKey("b"), ParentChanged)
	checkOrder(t, q, "b: parent", "a: resync")
	if q.Len() != 0 {
		t.Errorf("%d keys wait, want none", q.Len())
	}
}

func TestKeyAddedWhileProcessedIsReturnedAgain(t *testing.T) {
	q := newQueue(t)
	q.Enqueue(queueKey("a"), ParentChanged)
	key, _ := q.Get()
	if why := q.Take(key); why != ParentChanged {
		t.Errorf("reasons %s, want parent", why)
	}
	q.Enqueue(key, Resync)
	q.Enqueue(key, ChildChanged)
	q.Enqueue(queueKey("due"), Resync)
	if q.Len() != 1 {
		t.Errorf("%d keys wait while a is processed, want only due", q.Len())
	}
	q.Done(key)
	checkOrder(t, q, "a: child,resync", "due: resync")
}

func TestEnqueueAfterKeepsTheReason(t *testing.T) {
	q := newQueue(t)
	q.EnqueueAfter(queueKey("a"), Resync, time.Millisecond)
	if got, want := next(t, q), "a: resync"; got != want { // waits until it is added
		t.Errorf("got %q, want %q", got, want)
	}
	q.EnqueueAfter(queueKey("b"), Resync, 0)
	q.EnqueueAfter(queueKey("c"), Resync, -time.Second)
	checkOrder(t, q, "b: resync", "c: resync")
}

func TestReasonOfEnqueueAfterIsNotUsedEarlier(t *testing.T) {
	q := newQueue(t)
	q.EnqueueAfter(queueKey("a"), Resync, time.Hour)
	if q.Len() != 0 {
		t.Errorf("%d keys wait, want none", q.Len())
	}
	q.Enqueue(queueKey("a"), ParentChanged)
	checkOrder(t, q, "a: parent")
}

// The time of EnqueueAfter may come while the key waits for another reason.
func TestReasonOfEnqueueAfterIsUsedWhileKeyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.EnqueueAfter(queueKey("a"), ScriptChanged, time.Minute)
		q.Enqueue(queueKey("a"), Resync)
		time.Sleep(2 * time.Minute) // in the time of the bubble
		checkOrder(t, q, "a: script,resync")
		if len(q.later) > 0 || q.Len() > 0 {
			t.Errorf("afterwards there are %v and %d keys", q.later, q.Len())
		}
	})
}

func TestDropDropsReasonsOfEnqueueAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.Retry(queueKey("a"), time.Minute)
		q.Enqueue(queueKey("a"), ParentChanged)
		q.Drop(queueKey("a"))
		if len(q.later) > 0 || q.NumRequeues(queueKey("a")) > 0 {
			t.Errorf("%v are kept, and %d retries", q.later, q.NumRequeues(queueKey("a")))
		}
		checkOrder(t, q, "a: parent")
		time.Sleep(2 * time.Minute) // in the time of the bubble
		checkOrder(t, q, "a: ")
	})
}

func TestReasonsOfEnqueueAfterAreMerged(t *testing.T) {
	q := newQueue(t)
	q.EnqueueAfter(queueKey("a"), Resync, time.Hour)
	q.EnqueueAfter(queueKey("a"), Retry, 0)
	checkOrder(t, q, "a: resync,retry")
}

func TestPostponedKeyStaysUrgent(t *testing.T) {
	q := newQueue(t)
	q.Enqueue(queueKey("due"), Resync)
	q.Postpone(queueKey("a"), ParentChanged, 0)
	checkOrder(t, q, "a: parent", "due: resync")

	q.Postpone(queueKey("b"), ChildChanged, time.Hour)
	q.Enqueue(queueKey("b"), Resync) // earlier, with both reasons
	q.Enqueue(queueKey("c"), ParentChanged)
	checkOrder(t, q, "b: child,resync", "c: parent")
}

func TestRetriesAreCountedUntilForget(t *testing.T) {
	q := newQueue(t)
	for i := range 4 {
		if got := q.NumRequeues(queueKey("a")); got != i {
			t.Errorf("%d retries are counted, want %d", got, i)
		}
		q.Retry(queueKey("a"), 0)
	}
	if got := q.NumRequeues(queueKey("b")); got != 0 {
		t.Errorf("%d retries of another key are counted, want none", got)
	}
	q.Forget(queueKey("a"))
	if got := q.NumRequeues(queueKey("a")); got != 0 {
		t.Errorf("%d retries are counted after Forget, want none", got)
	}
}

func TestRetryHasTheReasonRetry(t *testing.T) {
	q := newQueue(t)
	q.Retry(queueKey("a"), 0) // its back-off has not passed
	q.AddAfter(queueKey("a"), 0)
	checkOrder(t, q, "a: retry")
}

func TestBackoffDoublesUpToFiveMinutes(t *testing.T) {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[object.Ref](minBackoff, maxBackoff)
	a, b := queueKey("a"), queueKey("b")
	want := 100 * time.Millisecond
	for i := range 30 {
		if got := limiter.When(a); got != want {
			t.Errorf("back-off %d is %s, want %s", i, got, want)
		}
		want = min(2*want, 5*time.Minute)
	}
	if got := limiter.When(b); got != 100*time.Millisecond {
		t.Errorf("the first back-off of another key is %s, want 100ms", got)
	}
	limiter.Forget(a)
	if got := limiter.When(a); got != 100*time.Millisecond {
		t.Errorf("the first back-off after Forget is %s, want 100ms", got)
	}
}

func TestShutDownQueueReturnsKeysAndAcceptsNone(t *testing.T) {
	q := New(work.NewPool(), "test", "", nil)
	q.Enqueue(queueKey("a"), ParentChanged)
	q.Enqueue(queueKey("b"), Resync)
	q.ShutDown()
	q.Enqueue(queueKey("c"), ParentChanged)
	q.EnqueueAfter(queueKey("d"), Resync, 0)
	checkOrder(t, q, "a: parent", "b: resync")
	if key, shutdown := q.Get(); !shutdown {
		t.Errorf("the queue still returns %s", key)
	}
	q.ShutDown() // a second call has no effect
}

func TestShutDownEndsWorkers(t *testing.T) {
	before := goleak.IgnoreCurrent()
	q := New(work.NewPool(), "test", "", nil)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for {
				key, shutdown := q.Get()
				if shutdown {
					return
				}
				q.Take(key)
				q.Done(key)
			}
		})
	}
	q.Enqueue(queueKey("a"), ParentChanged)
	q.EnqueueAfter(queueKey("b"), Resync, time.Hour)
	q.Retry(queueKey("c"), 0)
	q.ShutDown()
	workers.Wait()
	goleak.VerifyNone(t, before)
}

// A queueModel is a simple implementation of the queue, for comparison.
type queueModel struct {
	waiting    map[object.Ref]Reason
	processing map[object.Ref]Reason // the reasons that were added since Get
}

func (m *queueModel) add(key object.Ref, why Reason) {
	if _, busy := m.processing[key]; busy {
		m.processing[key] |= why
		return
	}
	m.waiting[key] |= why
}

// urgent reports whether an urgent key waits.
func (m *queueModel) urgent() bool {
	for _, why := range m.waiting {
		if why&urgentReasons != 0 {
			return true
		}
	}
	return false
}

// others reports whether a key waits that is not urgent.
func (m *queueModel) others() bool {
	for _, why := range m.waiting {
		if why&urgentReasons == 0 {
			return true
		}
	}
	return false
}

func (m *queueModel) done(key object.Ref) {
	if why := m.processing[key]; why != 0 {
		m.waiting[key] = why
	}
	delete(m.processing, key)
}

func TestOtherKeysDoNotStarve(t *testing.T) {
	q := newQueue(t)
	q.Enqueue(queueKey("due"), Resync)
	for turn := range maxUrgent + 1 {
		for i := range 3 {
			q.Enqueue(queueKey(fmt.Sprint(i)), ParentChanged)
		}
		key, _ := q.Get()
		q.Take(key)
		q.Done(key)
		if due := key == queueKey("due"); due != (turn == maxUrgent) {
			t.Fatalf("key %d is %s", turn, key)
		}
	}
}

func TestQueueEqualsModel(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	q, m := newQueue(t), &queueModel{map[object.Ref]Reason{}, map[object.Ref]Reason{}}
	popped := 0 // since the last key that was not urgent
	for step := range 50_000 {
		key := queueKey(fmt.Sprint(random.IntN(8)))
		switch random.IntN(5) {
		case 0, 1:
			why := []Reason{ParentChanged, ChildChanged, Resync, Retry, Resync | Retry}[random.IntN(5)]
			q.Enqueue(key, why)
			m.add(key, why)
		case 2, 3:
			if q.Len() == 0 {
				continue
			}
			urgent, others := m.urgent(), m.others()
			got, _ := q.Get()
			why := q.Take(got)
			want, waited := m.waiting[got]
			popped++
			first := urgent && (popped <= maxUrgent || !others)
			if !waited || why != want || first != (want&urgentReasons != 0) {
				t.Fatalf("step %d: got %s for %q; it waited: %v, for %q, while an urgent key waited: %v", step, got, why, waited, want, urgent)
			}
			if !first {
				popped = 0
			}
			delete(m.waiting, got)
			m.processing[got] = 0
		default:
			if _, busy := m.processing[key]; busy {
				q.Done(key)
				m.done(key)
			}
		}
		if q.Len() != len(m.waiting) {
			t.Fatalf("step %d: %d keys wait, want %d", step, q.Len(), len(m.waiting))
		}
	}
}

func TestConcurrentWorkers(t *testing.T) {
	const producers, workers, rounds, keys = 4, 4, 2000, 10
	q := New(work.NewPool(), "test", "", nil)
	var mu sync.Mutex
	taken, busy := map[object.Ref]Reason{}, map[object.Ref]bool{}
	var working, adding sync.WaitGroup
	for range workers {
		working.Go(func() {
			for {
				key, shutdown := q.Get()
				if shutdown {
					return
				}
				mu.Lock()
				if busy[key] {
					t.Errorf("%s is processed by two workers", key)
				}
				busy[key] = true
				mu.Unlock()
				why := q.Take(key)
				runtime.Gosched() // so that other goroutines run
				mu.Lock()
				taken[key] |= why
				busy[key] = false
				mu.Unlock()
				q.Done(key)
			}
		})
	}
	for p := range producers {
		adding.Go(func() {
			for i := range rounds {
				key := queueKey(fmt.Sprint(i % keys))
				switch (i + p) % 4 {
				case 0:
					q.Enqueue(key, ParentChanged)
				case 1:
					q.Enqueue(key, ChildChanged)
				case 2:
					q.EnqueueAfter(key, Resync, 0)
				default:
					q.Postpone(key, ChildChanged, 0)
				}
			}
		})
	}
	adding.Wait()
	q.ShutDown() // workers process the keys that wait
	working.Wait()
	for i := range keys {
		key := queueKey(fmt.Sprint(i))
		if want := ParentChanged | ChildChanged | Resync; taken[key] != want {
			t.Errorf("%s: reasons %s, want %s", key, taken[key], want)
		}
	}
	if len(taken) != keys {
		t.Errorf("%d keys were returned, want %d", len(taken), keys)
	}
}

// A key that is queued, or waits, does not keep the object in memory of which it is.
func TestKeysDoNotKeepObjects(t *testing.T) {
	for name, add := range map[string]func(q *Queue, key object.Ref){
		"queued":    func(q *Queue, key object.Ref) { q.Enqueue(key, ParentChanged) },
		"later":     func(q *Queue, key object.Ref) { q.EnqueueAfter(key, Resync, time.Hour) },
		"postponed": func(q *Queue, key object.Ref) { q.Postpone(key, ChildChanged, time.Hour) },
	} {
		content, err := packed.Pack(objecttest.Widget(nil).Map())
		if err != nil {
			t.Fatal(err)
		}
		there, q := content.Ref(), newQueue(t)
		add(q, object.RefOf(object.OfPacked(content)))
		runtime.GC()
		if !there.To(packed.Map{}) {
			t.Errorf("%s: the key keeps the object in memory", name)
		}
	}
}
