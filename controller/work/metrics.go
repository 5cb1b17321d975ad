package work

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// metrics are the metrics of a work queue of client-go. The methods of a nil *metrics do nothing. The pool's lock guards it.
type metrics[K comparable] struct {
	depth               workqueue.GaugeMetric
	adds, retries       workqueue.CounterMetric
	waited, worked      workqueue.HistogramMetric
	unfinished, longest workqueue.SettableGaugeMetric

	addedAt   map[K]time.Time // when each key in dirty was added
	mostAdded Most
	begunAt   map[K]time.Time // when the processing of each key in processing began
}

// newMetrics returns the metrics of a queue; nil if from is nil.
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

// added records that a key was added.
func (m *metrics[K]) added(key K) {
	if m != nil {
		m.adds.Inc()
		m.depth.Inc()
		m.addedAt[key] = time.Now()
	}
}

// retried records a call of AddAfter.
func (m *metrics[K]) retried() {
	if m != nil {
		m.retries.Inc()
	}
}

// started records that the processing of a key began.
func (m *metrics[K]) started(key K) {
	if m != nil {
		m.depth.Dec()
		m.waited.Observe(time.Since(m.addedAt[key]).Seconds())
		delete(m.addedAt, key)
		m.addedAt = Emptied(m.addedAt, &m.mostAdded)
		m.begunAt[key] = time.Now()
	}
}

// done records that the processing of a key ended.
func (m *metrics[K]) done(key K) {
	if m != nil {
		m.worked.Observe(time.Since(m.begunAt[key]).Seconds())
		delete(m.begunAt, key)
	}
}

// measure sets the metrics of the time that keys in processing have taken so far.
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

// oldestWait returns how long the key that was added first has waited; zero if none waits.
func (m *metrics[K]) oldestWait() time.Duration {
	if m == nil || len(m.addedAt) == 0 {
		return 0
	}
	first := time.Now()
	for _, at := range m.addedAt {
		if at.Before(first) {
			first = at
		}
	}
	return time.Since(first)
}
