package reference

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"metascript/cmd/metascript/internal/sandbox"
	"metascript/cmd/metascript/internal/version"
	"metascript/controller/metrics"
)

// A metric is one of the server.
type metric struct{ name, kind, help, labels string }

// A recorder is a registerer that only lists what is registered.
type recorder struct {
	metrics []metric
	failed  error
}

// Register implements prometheus.Registerer.
func (r *recorder) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc)
	go func() {
		c.Describe(descs)
		close(descs)
	}()
	for desc := range descs {
		m, err := read(desc)
		m.kind = kindOf(c, m.name)
		r.metrics, r.failed = append(r.metrics, m), cmp.Or(r.failed, err)
	}
	return nil
}

// MustRegister implements prometheus.Registerer.
func (r *recorder) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		_ = r.Register(c) // the error is in failed
	}
}

// Unregister implements prometheus.Registerer.
func (r *recorder) Unregister(prometheus.Collector) bool { return false }

// kindOf returns the type of a metric. A collector that computes its metrics has gauges, and counters whose names end with total.
func kindOf(c prometheus.Collector, name string) string {
	switch c.(type) {
	case *prometheus.HistogramVec:
		return "histogram"
	case *prometheus.CounterVec:
		return "counter"
	}
	if strings.HasSuffix(name, "_total") {
		return "counter"
	}
	if strings.Contains(name, "_histogram_") { // of a webhook
		return "histogram"
	}
	return "gauge"
}

// described matches the text of a prometheus.Desc, whose fields cannot be read otherwise.
var described = regexp.MustCompile(`^Desc\{fqName: ("(?:[^"\\]|\\.)*"), help: ("(?:[^"\\]|\\.)*"),(?: unit: "[^"]*",)? constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

// constant matches the value of a constant label.
var constant = regexp.MustCompile(`="[^"]*"`)

// read returns the metric that a Desc describes.
func read(desc *prometheus.Desc) (metric, error) {
	m := described.FindStringSubmatch(desc.String())
	if m == nil {
		return metric{}, fmt.Errorf("cannot read the description of a metric: %s", desc)
	}
	name, err := strconv.Unquote(m[1])
	if err != nil {
		return metric{}, err
	}
	help, err := strconv.Unquote(m[2])
	if err != nil {
		return metric{}, err
	}
	labels := slices.DeleteFunc(strings.Split(constant.ReplaceAllString(m[3], "")+","+m[4], ","), func(label string) bool { return label == "" })
	slices.Sort(labels)
	return metric{name: name, help: strings.TrimSuffix(help, "."), labels: strings.Join(labels, ", ")}, nil
}

// hooks are the names of the hooks, which the metrics of webhooks have in their names.
var hooks = []string{"sync", "finalize", "customize"}

// registered returns all metrics of the server but those of the process, sorted by name.
func registered() ([]metric, error) {
	r := &recorder{}
	if _, err := metrics.New(r); err != nil {
		return nil, err
	}
	r.MustRegister(metrics.NewCollector(nil), (&sandbox.Sandbox{}).Collector(), version.Get().Collector())
	for _, hook := range hooks {
		r.MustRegister(metrics.NewWebhook(hook, prometheus.Labels{"url": "", "controller_name": "", "controller_type": ""}))
	}
	slices.SortFunc(r.metrics, func(a, b metric) int { return cmp.Compare(a.name, b.name) })
	return r.metrics, r.failed
}

// metricsPage returns the page of the metrics.
func metricsPage() (string, error) {
	all, err := registered()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("# Metrics\n\nThe metrics that the server provides at `/metrics`, in addition to those of its process (`go_...` and `process_...`). " +
		"[Running the server](server.md#metrics) says more about them.\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, m := range all {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, m.kind, text(m.labels), text(m.help))
	}
	return b.String(), nil
}
