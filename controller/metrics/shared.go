package metrics

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// An Order is the order of a work queue, first in, first out, that counts its items as if there were a separate queue for
// each name. The lock of the queue guards it, except Retried and Worked.
type Order[T comparable] struct {
	nameOf func(T) string
	counts map[string]queueCounts
	items  []T
	since  map[T]time.Time
}

var _ workqueue.Queue[int] = (*Order[int])(nil)

// queueCounts are the metrics of one name.
type queueCounts struct {
	depth          workqueue.GaugeMetric
	adds, retries  workqueue.CounterMetric
	waited, worked workqueue.HistogramMetric
}

// NewOrder returns an Order whose items are counted under the names that nameOf returns; names are all of them. If m is nil,
// nothing is counted.
func NewOrder[T comparable](m *Metrics, nameOf func(T) string, names ...string) *Order[T] {
	s := &Order[T]{nameOf: nameOf, counts: map[string]queueCounts{}, since: map[T]time.Time{}}
	if m == nil {
		return s
	}
	for _, name := range names {
		s.counts[name] = queueCounts{
			m.queues.NewDepthMetric(name), m.queues.NewAddsMetric(name), m.queues.NewRetriesMetric(name),
			m.queues.NewLatencyMetric(name), m.queues.NewWorkDurationMetric(name),
		}
		m.queues.NewUnfinishedWorkSecondsMetric(name).Set(0) // items are processed too quickly for this metric
		m.queues.NewLongestRunningProcessorSecondsMetric(name).Set(0)
	}
	return s
}

// Touch implements workqueue.Queue, as the next three do.
func (s *Order[T]) Touch(T) {}

func (s *Order[T]) Push(item T) {
	s.items = append(s.items, item)
	if c, counted := s.counts[s.nameOf(item)]; counted {
		s.since[item] = time.Now()
		c.adds.Inc()
		c.depth.Inc()
	}
}

func (s *Order[T]) Len() int { return len(s.items) }

func (s *Order[T]) Pop() T {
	item := s.items[0]
	s.items = s.items[1:]
	if c, counted := s.counts[s.nameOf(item)]; counted {
		c.waited.Observe(time.Since(s.since[item]).Seconds())
		c.depth.Dec()
		delete(s.since, item)
	}
	return item
}

// Retried counts that item is added again after a failure.
func (s *Order[T]) Retried(item T) {
	if c, counted := s.counts[s.nameOf(item)]; counted {
		c.retries.Inc()
	}
}

// Worked counts the processing of item since began.
func (s *Order[T]) Worked(item T, began time.Time) {
	if c, counted := s.counts[s.nameOf(item)]; counted {
		c.worked.Observe(time.Since(began).Seconds())
	}
}
