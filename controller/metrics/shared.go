package metrics

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// A Shared is the order of a work queue, first come, first served, whose items are counted as if there was a queue for
// each kind of them. It is guarded by the lock of the queue that it is in, but for Retried and Worked.
type Order[T comparable] struct {
	nameOf func(T) string
	counts map[string]queueCounts
	items  []T
	since  map[T]time.Time
}

var _ workqueue.Queue[int] = (*Order[int])(nil)

// queueCounts are those of one name.
type queueCounts struct {
	depth          workqueue.GaugeMetric
	adds, retries  workqueue.CounterMetric
	waited, worked workqueue.HistogramMetric
}

// NewShared gives an order whose items are counted under names, which are all that nameOf gives. A nil *Metrics counts
// nothing.
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
		m.queues.NewUnfinishedWorkSecondsMetric(name).Set(0) // an item is worked on for too short a time to count
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

// Retried counts that item is queued again after a failure.
func (s *Order[T]) Retried(item T) {
	if c, counted := s.counts[s.nameOf(item)]; counted {
		c.retries.Inc()
	}
}

// Worked counts the work on item that began then.
func (s *Order[T]) Worked(item T, began time.Time) {
	if c, counted := s.counts[s.nameOf(item)]; counted {
		c.worked.Observe(time.Since(began).Seconds())
	}
}
