package work

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// Metrics are those that every work queue of client-go has. A nil one counts nothing. It is guarded by the pool's lock.
type metrics[K comparable] struct {
	depth               workqueue.GaugeMetric
	adds, retries       workqueue.CounterMetric
	waited, worked      workqueue.HistogramMetric
	unfinished, longest workqueue.SettableGaugeMetric

	addedAt map[K]time.Time // of the keys in dirty
	begunAt map[K]time.Time // of those in processing
}

func newMetrics[K comparable](name string, from workqueue.MetricsProvider) *metrics[K] {
	if from == nil {
		return nil
	}
	return &metrics[K]{
		depth: from.NewDepthMetric(name), adds: from.NewAddsMetric(name), retries: from.NewRetriesMetric(name),
		waited: from.NewLatencyMetric(name), worked: from.NewWorkDurationMetric(name),
		unfinished: from.NewUnfinishedWorkSecondsMetric(name), longest: from.NewLongestRunningProcessorSecondsMetric(name),
		addedAt: map[K]time.Time{}, begunAt: map[K]time.Time{},
	}
}

func (m *metrics[K]) added(key K) {
	if m != nil {
		m.adds.Inc()
		m.depth.Inc()
		m.addedAt[key] = time.Now()
	}
}

func (m *metrics[K]) retried() {
	if m != nil {
		m.retries.Inc()
	}
}

func (m *metrics[K]) given(key K) {
	if m != nil {
		m.depth.Dec()
		m.waited.Observe(time.Since(m.addedAt[key]).Seconds())
		delete(m.addedAt, key)
		m.begunAt[key] = time.Now()
	}
}

func (m *metrics[K]) done(key K) {
	if m != nil {
		m.worked.Observe(time.Since(m.begunAt[key]).Seconds())
		delete(m.begunAt, key)
	}
}

// measure tells how long what is under way has been.
func (m *metrics[K]) measure() {
	if m == nil {
		return
	}
	total, longest := 0., 0.
	for _, at := range m.begunAt {
		age := time.Since(at).Seconds()
		total, longest = total+age, max(longest, age)
	}
	m.unfinished.Set(total)
	m.longest.Set(longest)
}
