// Package metrics has the Prometheus metrics of a server: of its syncs and scripts, and, with the names that client-go and
// controller-runtime use, of its queues and its requests to the API server.
//
// Series have labels for the controller and the hook, but not for the parent, so that their number does not grow with the number
// of parents. Those of a deleted controller are dropped.
package metrics

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"metascript/engine"
)

// Metrics are the metrics of a server. The methods of a nil *Metrics do nothing.
type Metrics struct {
	queues   *queues
	Requests *Requests

	syncs, plans, scripts *prometheus.HistogramVec
	errors                *prometheus.CounterVec
	reloads               *prometheus.CounterVec
	results               *prometheus.CounterVec
	mismatches            *prometheus.CounterVec
	conflicts, loops      *prometheus.CounterVec
	comparisons           *prometheus.CounterVec
	shadowed              *prometheus.CounterVec
}

// The labels that name a controller are those of Metacontroller's metrics.
const (
	nameLabel = "controller_name"
	typeLabel = "controller_type"
)

var buckets = prometheus.ExponentialBucketsRange(0.0001, 30, 14)

// Register registers the metrics and returns a config whose requests to the API server are counted. If registry is nil,
// there are no metrics, and it returns config.
func Register(registry prometheus.Registerer, config *rest.Config) (*Metrics, *rest.Config, error) {
	if registry == nil {
		return nil, config, nil
	}
	m, err := New(registry)
	if err != nil {
		return nil, nil, fmt.Errorf("register metrics: %w", err)
	}
	config = rest.CopyConfig(config)
	config.Wrap(m.Requests.Wrap)
	return m, config, nil
}

// New registers the metrics. Two servers cannot use the same registerer.
func New(to prometheus.Registerer) (*Metrics, error) {
	r := registry{to, new(error)}
	m := &Metrics{
		queues: newQueues(r), Requests: newRequests(r),
		syncs:       r.histograms("metascript_sync_duration_seconds", "How long one sync of a parent took, including its hook and its writes.", buckets, nameLabel, typeLabel),
		plans:       r.histograms("metascript_plan_duration_seconds", "How long one comparison of an answer of a hook with the existing children took, without writes.", buckets, nameLabel, typeLabel),
		scripts:     r.histograms("metascript_script_duration_seconds", "How long one call of a script and the check of its answer took, including the time that it waited for a slot.", buckets, nameLabel, typeLabel, "hook"),
		errors:      r.counters("metascript_script_errors_total", "Calls of scripts that failed, by the kind of the error.", nameLabel, typeLabel, "hook", "kind"),
		results:     r.counters("metascript_syncs_total", "Syncs of parents, by result: ok, script_error, webhook_error, refused, requeued, error, or remembered: skipped, because nothing relevant had changed. And by the source of the answer: computed, same_answer, nothing_changed or nothing_read_changed.", nameLabel, typeLabel, "result", "answer"),
		mismatches:  r.counters("metascript_remember_mismatches_total", "Checks in which a script was called although nothing that it reads had changed, and returned another answer, or something had to be written.", nameLabel, typeLabel),
		conflicts:   r.counters("metascript_field_conflicts_total", "Writes of children that were delayed, because something else changes the same field again after each of them.", nameLabel, typeLabel),
		loops:       r.counters("metascript_write_loops_total", "Syncs of parents that were delayed, because what the hook returns is written again and again.", nameLabel, typeLabel),
		comparisons: r.counters("metascript_shadow_comparisons_total", "Comparisons of the candidate in spec.shadow with the script that runs, by result: agrees, differs, error, or dropped: not made, because the candidate cannot keep up or exceeds a limit.", nameLabel, typeLabel, "result"),
		shadowed:    r.counters("metascript_shadow_script_seconds_total", "Time that calls of the candidate in spec.shadow took, including the time that they waited for a slot.", nameLabel, typeLabel),
		reloads:     r.counters("metascript_script_reloads_total", "New versions of scripts, by result: loaded, rejected, held or rolledback.", nameLabel, typeLabel, "result"),
	}
	return m, *r.failed
}

// QueueMetrics returns the metrics of queues; nil if there are none.
func (m *Metrics) QueueMetrics() workqueue.MetricsProvider {
	if m == nil {
		return nil
	}
	return m.queues
}

// A Controller has the metrics of one controller. The methods of a nil *Controller do nothing.
type Controller struct {
	of         *Metrics
	kind, name string
	syncs      prometheus.Observer
}

// Controller returns the metrics of the controller of that kind and name.
func (m *Metrics) Controller(kind, name string) *Controller {
	if m == nil {
		return nil
	}
	for _, counters := range []*prometheus.CounterVec{m.mismatches, m.conflicts, m.loops} {
		counters.WithLabelValues(name, kind) // from the beginning, as 0
	}
	return &Controller{m, kind, name, m.syncs.WithLabelValues(name, kind)}
}

// Planned counts a comparison of an answer with the existing children.
func (c *Controller) Planned(took time.Duration) {
	if c != nil {
		c.of.plans.WithLabelValues(c.name, c.kind).Observe(took.Seconds())
	}
}

// Synced counts a sync with its result, as package failures has it, and with where its answer comes from, as package remember has it.
func (c *Controller) Synced(took time.Duration, result, answer string) {
	if c != nil {
		c.syncs.Observe(took.Seconds())
		c.of.results.WithLabelValues(c.name, c.kind, result, answer).Inc()
	}
}

// Remembered counts n syncs that were not done, since nothing changed.
func (c *Controller) Remembered(answer string, n int) {
	if c != nil && n > 0 {
		c.of.results.WithLabelValues(c.name, c.kind, "remembered", answer).Add(float64(n))
	}
}

// Forgot counts a control that showed that a sync should have been done.
func (c *Controller) Forgot() {
	if c != nil {
		c.of.mismatches.WithLabelValues(c.name, c.kind).Inc()
	}
}

// Conflicted counts a write that was delayed because something else undoes it each time.
func (c *Controller) Conflicted() {
	if c != nil {
		c.of.conflicts.WithLabelValues(c.name, c.kind).Inc()
	}
}

// Looped counts a sync that was delayed because of a write loop.
func (c *Controller) Looped() {
	if c != nil {
		c.of.loops.WithLabelValues(c.name, c.kind).Inc()
	}
}

// Script returns the function that counts a call of the script of a hook; nil if there are no metrics.
func (c *Controller) Script(hook string) func(took time.Duration, err error) {
	if c == nil {
		return nil
	}
	scripts := c.of.scripts.WithLabelValues(c.name, c.kind, hook)
	return func(took time.Duration, err error) {
		scripts.Observe(took.Seconds())
		var fault *engine.Error
		if errors.As(err, &fault) {
			c.of.errors.WithLabelValues(c.name, c.kind, hook, string(fault.Kind)).Inc()
		}
	}
}

// Compared counts a comparison of a candidate with the script that runs, and the time that the calls of the candidate took.
func (c *Controller) Compared(result string, took time.Duration) {
	if c != nil {
		c.of.comparisons.WithLabelValues(c.name, c.kind, result).Inc()
		c.of.shadowed.WithLabelValues(c.name, c.kind).Add(took.Seconds())
	}
}

// Reloaded counts a version of the controller's scripts that was loaded, rejected, held or rolledback.
func (c *Controller) Reloaded(result string) {
	if c != nil {
		c.of.reloads.WithLabelValues(c.name, c.kind, result).Inc()
	}
}

// Forget drops the series of a deleted controller. queue is the name of its queue.
func (m *Metrics) Forget(kind, name, queue string) {
	if m == nil {
		return
	}
	m.queues.Forget(queue)
	gone := prometheus.Labels{nameLabel: name, typeLabel: kind}
	m.syncs.DeletePartialMatch(gone)
	m.plans.DeletePartialMatch(gone)
	m.scripts.DeletePartialMatch(gone)
	m.errors.DeletePartialMatch(gone)
	m.reloads.DeletePartialMatch(gone)
	m.results.DeletePartialMatch(gone)
	m.mismatches.DeletePartialMatch(gone)
	m.conflicts.DeletePartialMatch(gone)
	m.loops.DeletePartialMatch(gone)
	m.comparisons.DeletePartialMatch(gone)
	m.shadowed.DeletePartialMatch(gone)
}

// A registry makes metrics and registers them. It collects the errors, so that the caller checks once.
type registry struct {
	prometheus.Registerer
	failed *error
}

func (r registry) add(c prometheus.Collector) { *r.failed = errors.Join(*r.failed, r.Register(c)) }

func (r registry) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	r.add(v)
	return v
}

func (r registry) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	r.add(v)
	return v
}

func (r registry) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	r.add(v)
	return v
}
