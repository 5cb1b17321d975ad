package work

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/util/workqueue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newTestQueue(p *Pool) *Queue[string] {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Millisecond, time.Second)
	return NewQueue(p, Config[string]{Order: workqueue.DefaultQueue[string](), Limiter: limiter})
}

// stop shuts queues down and waits until none of their keys is in processing.
func stop(queues ...*Queue[string]) {
	for _, q := range queues {
		q.ShutDown()
	}
	for _, q := range queues {
		q.Wait()
	}
}

func addMany(q *Queue[string], n int) {
	for i := range n {
		q.Add(fmt.Sprint(i))
	}
}

func TestKeysInProcessingAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(newPool(options{spare: 100}))
		var now, most, all atomic.Int32
		q.Serve(3, func(string) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			all.Add(1)
		})
		addMany(q, 30)
		time.Sleep(time.Minute)
		synctest.Wait()
		if most.Load() != 3 || all.Load() != 30 {
			t.Errorf("%d keys were in processing at a time, %d in total; want 3 and 30", most.Load(), all.Load())
		}
		stop(q)
	})
}

func TestSlowQueueDoesNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(options{spare: 2})
		slow, quick := newTestQueue(p), newTestQueue(p)
		slow.Serve(50, func(string) { time.Sleep(time.Hour) })
		addMany(slow, 1000)
		begun := time.Now()
		var ended atomic.Int64
		quick.Serve(1, func(string) { ended.Store(int64(time.Since(begun))) })
		addMany(quick, 100)
		synctest.Wait()
		if quick.Len() != 0 || ended.Load() != 0 {
			t.Errorf("%d keys wait, and the last one was processed after %s; want none and 0s", quick.Len(), time.Duration(ended.Load()))
		}
		stop(slow, quick)
	})
}

func TestDelayByManySlowQueuesIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(options{spare: 2, long: time.Second})
		var all []*Queue[string]
		for range 100 {
			q := newTestQueue(p)
			q.Serve(2, func(string) { time.Sleep(time.Hour) })
			addMany(q, 10)
			all = append(all, q)
		}
		synctest.Wait()
		time.Sleep(2 * time.Minute) // the workers have started one after the other
		begun, quick, took := time.Now(), newTestQueue(p), time.Duration(0)
		quick.Serve(1, func(string) { took = time.Since(begun) })
		quick.Add("a")
		time.Sleep(2 * time.Second)
		quick.ShutDown()
		quick.Wait()
		if took > time.Second || quick.Len() != 0 {
			t.Errorf("it began after %s, and %d keys wait; want at most 1s and none", took, quick.Len())
		}
		stop(all...)
	})
}

func TestQueuesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(options{spare: 1})
		var mu sync.Mutex
		var order string
		var all []*Queue[string]
		for _, name := range []string{"a", "b", "c"} {
			q := newTestQueue(p)
			addMany(q, 4)
			q.Serve(1, func(string) {
				mu.Lock()
				order += name
				mu.Unlock()
				time.Sleep(time.Millisecond)
			})
			all = append(all, q)
		}
		time.Sleep(time.Second)
		stop(all...)
		for i := range order {
			if ahead := strings.Count(order[:i], "a") - strings.Count(order[:i], "c"); max(ahead, -ahead) > 2 {
				t.Errorf("the order of the queues is %s", order)
				break
			}
		}
		if len(order) != 12 {
			t.Errorf("the order of the queues is %s", order)
		}
	})
}

// A tenant with many queues delays a key of another tenant by one turn, and not by one for each of its queues.
func TestTenantsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(options{spare: 1, long: time.Hour})
		blocked, release := newTestQueue(p), make(chan struct{})
		addMany(blocked, 5)
		blocked.Serve(5, func(string) { <-release }) // one worker is left
		order := ""
		all := []*Queue[string]{blocked}
		for _, name := range []string{"a1", "a2", "a3", "a4", "b1", "b2", "c1"} {
			limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Millisecond, time.Second)
			q := NewQueue(p, Config[string]{Tenant: name[:1], Order: workqueue.DefaultQueue[string](), Limiter: limiter})
			addMany(q, 2)
			q.Serve(1, func(string) {
				order += " " + name // by one worker
				time.Sleep(time.Millisecond)
			})
			all = append(all, q)
		}
		time.Sleep(time.Second)
		close(release)
		stop(all...)
		if want := " a1 a2 b1 c1 a3 b2 c1 a4 b1 a1 b2 a2 a3 a4"; order != want {
			t.Errorf("the order of the queues is%s, want%s", order, want)
		}
		if !p.ready.empty() || len(p.ready.queues) != 0 {
			t.Errorf("left over: %v", p.ready)
		}
	})
}

func TestBusyQueueLeavesSpareWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(options{spare: 1})
		busy := newTestQueue(p)
		busy.Serve(1000, func(string) { time.Sleep(time.Hour) })
		addMany(busy, 5000)
		synctest.Wait()
		if busy.Len() != 4000 {
			t.Errorf("%d keys wait, want 4000: all but the limit", busy.Len())
		}
		stop(busy)
		if p.size != 1 {
			t.Errorf("%d workers may run without any queue, want 1", p.size)
		}
	})
}

func TestEachKeyIsProcessedByOneWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(options{spare: 8, long: time.Millisecond})
		var all []*Queue[string]
		var added, worked [5][10]atomic.Int64
		for n := range 5 {
			q := newTestQueue(p)
			var busy [10]atomic.Bool
			q.Serve(3, func(key string) {
				k := key[0] - '0'
				if busy[k].Swap(true) {
					t.Errorf("key %s is processed by two workers", key)
				}
				worked[n][k].Store(added[n][k].Load())
				time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
				busy[k].Store(false)
			})
			all = append(all, q)
			for range 4 {
				go func() {
					for range 500 {
						k := rand.IntN(10)
						added[n][k].Add(1)
						q.AddAfter(fmt.Sprint(k), time.Duration(rand.IntN(3))*time.Millisecond)
						time.Sleep(time.Duration(rand.IntN(2)) * time.Millisecond)
					}
				}()
			}
		}
		time.Sleep(time.Hour)
		for n, q := range all {
			for k := range 10 { // a key that is added during its processing is processed again
				if worked[n][k].Load() != added[n][k].Load() {
					t.Errorf("key %d of queue %d was added %d times, and last processed after %d", k, n, added[n][k].Load(), worked[n][k].Load())
				}
			}
			if q.Len() != 0 {
				t.Errorf("%d keys wait, want none", q.Len())
			}
		}
		stop(all...)
	})
}

func TestAddAfterUsesEarliestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(newPool(options{}))
		begun := time.Now()
		var times []time.Duration
		q.Serve(1, func(string) { times = append(times, time.Since(begun)) })
		q.AddAfter("a", time.Hour)
		q.AddAfter("a", time.Minute)
		q.AddAfter("a", 2*time.Hour)
		time.Sleep(24 * time.Hour)
		stop(q)
		if len(times) != 1 || times[0] != time.Minute {
			t.Errorf("it was processed after %v, want 1m once", times)
		}
	})
}

func TestShutDownReleasesEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(options{spare: 1})
		q, other := newTestQueue(p), newTestQueue(p)
		block := make(chan struct{})
		q.Serve(1, func(string) { <-block })
		addMany(q, 10)
		q.AddAfter("later", time.Hour)
		other.AddAfter("later", time.Hour)
		synctest.Wait()
		q.ShutDown()
		q.ShutDown()
		q.Add("more")
		q.AddAfter("more", time.Second)
		waited := make(chan struct{})
		go func() { q.Wait(); close(waited) }()
		synctest.Wait()
		select {
		case <-waited:
			t.Error("Wait returned while a key was in processing")
		default:
		}
		close(block)
		<-waited
		if q.Len() != 9 || len(p.delayed.keys) != 1 || len(p.served) != 0 || p.counted.Len() != 0 {
			t.Errorf("%d keys wait, %d are delayed, %d queues are served, %d workers are counted; want 9, 1, 0, 0", q.Len(), len(p.delayed.keys), len(p.served), p.counted.Len())
		}
		stop(other)
		if len(p.delayed.keys) != 0 || p.ready.empty() != (len(p.inReady) == 0) {
			t.Errorf("%d keys are delayed, %d queues are ready; want none", len(p.delayed.keys), len(p.inReady))
		}
	})
}

func TestEveryCallsUntilStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		stop := Every(time.Minute, func() { n++ })
		time.Sleep(10*time.Minute + time.Second)
		stop()
		stop()
		time.Sleep(time.Hour)
		if n != 10 {
			t.Errorf("it was called %d times, want 10", n)
		}
	})
}

func TestOldestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(newPool(options{}), Config[string]{Order: workqueue.DefaultQueue[string](), Metrics: noMetrics{}})
		q.Add("a")
		time.Sleep(time.Minute)
		q.Add("b")
		q.Add("a") // waits already
		time.Sleep(time.Minute)
		if got := q.OldestWait(); got != 2*time.Minute {
			t.Errorf("a has waited %s, want 2m", got)
		}
		a, _ := q.Get()
		if got := q.OldestWait(); got != time.Minute {
			t.Errorf("without a, b has waited %s, want 1m", got)
		}
		b, _ := q.Get()
		if got := q.OldestWait(); got != 0 {
			t.Errorf("no key waits, and the oldest has waited %s", got)
		}
		q.Done(a)
		q.Done(b)
		stop(q)
	})
}

// noMetrics provides metrics that nobody reads.
type noMetrics struct{}

type ignored struct{}

func (ignored) Inc()            {}
func (ignored) Dec()            {}
func (ignored) Set(float64)     {}
func (ignored) Observe(float64) {}

func (noMetrics) NewDepthMetric(string) workqueue.GaugeMetric            { return ignored{} }
func (noMetrics) NewAddsMetric(string) workqueue.CounterMetric           { return ignored{} }
func (noMetrics) NewLatencyMetric(string) workqueue.HistogramMetric      { return ignored{} }
func (noMetrics) NewWorkDurationMetric(string) workqueue.HistogramMetric { return ignored{} }
func (noMetrics) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return ignored{}
}
func (noMetrics) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return ignored{}
}
func (noMetrics) NewRetriesMetric(string) workqueue.CounterMetric { return ignored{} }
