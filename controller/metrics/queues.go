package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// queues has the metrics of work queues. It is a [workqueue.MetricsProvider] with the names and labels of
// controller-runtime: the label controller has the same value as name, and the label priority, which only the depth has, is
// empty.
type queues struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	waited, worked             *prometheus.HistogramVec
}

var _ workqueue.MetricsProvider = (*queues)(nil)

// queueLabels are the labels of all these metrics. The depth also has priority.
var queueLabels = []string{"name", "controller"}

// noPriority is the value of the label priority for a queue without priorities.
const noPriority = ""

// newQueues registers the metrics with r.
func newQueues(r registry) *queues {
	return &queues{
		depth:      r.gauges("workqueue_depth", "Current depth of workqueue", append(queueLabels, "priority")...),
		adds:       r.counters("workqueue_adds_total", "Total number of adds handled by workqueue", queueLabels...),
		waited:     r.histograms("workqueue_queue_duration_seconds", "How long in seconds an item stays in workqueue before being requested", queueBuckets, queueLabels...),
		worked:     r.histograms("workqueue_work_duration_seconds", "How long in seconds processing an item from workqueue takes", queueBuckets, queueLabels...),
		unfinished: r.gauges("workqueue_unfinished_work_seconds", "How many seconds of work are in progress and not counted in work_duration", queueLabels...),
		longest:    r.gauges("workqueue_longest_running_processor_seconds", "How many seconds the longest running processor has been running", queueLabels...),
		retries:    r.counters("workqueue_retries_total", "Total number of retries handled by workqueue", queueLabels...),
	}
}

var queueBuckets = prometheus.ExponentialBuckets(10e-9, 10, 12)

// Forget drops the series of the queue of that name.
func (q *queues) Forget(name string) {
	for _, v := range []interface {
		DeletePartialMatch(prometheus.Labels) int
	}{q.depth, q.adds, q.waited, q.worked, q.unfinished, q.longest, q.retries} {
		v.DeletePartialMatch(prometheus.Labels{"name": name})
	}
}

// NewDepthMetric implements workqueue.MetricsProvider, as the others do.
func (q *queues) NewDepthMetric(name string) workqueue.GaugeMetric {
	depth := q.depth.WithLabelValues(name, name, noPriority)
	depth.Set(0) // an earlier queue of that name may have ended with keys in it
	return depth
}

func (q *queues) NewAddsMetric(name string) workqueue.CounterMetric {
	return q.adds.WithLabelValues(name, name)
}

func (q *queues) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return q.waited.WithLabelValues(name, name)
}

func (q *queues) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return q.worked.WithLabelValues(name, name)
}

func (q *queues) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.unfinished.WithLabelValues(name, name)
}

func (q *queues) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.longest.WithLabelValues(name, name)
}

func (q *queues) NewRetriesMetric(name string) workqueue.CounterMetric {
	return q.retries.WithLabelValues(name, name)
}
