package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Webhook are the metrics of one webhook, with the names of Metacontroller, such as metacontroller_sync_requests_total. It
// is a collector, which is registered as a whole.
type Webhook struct {
	requests           *prometheus.CounterVec
	duration, dns, tls *prometheus.HistogramVec
	inFlight           prometheus.Gauge
}

// NewWebhook returns the metrics of the webhook of that hook. The labels distinguish it from the others.
func NewWebhook(hook string, labels prometheus.Labels) *Webhook {
	histogram := func(name, help, label string, buckets []float64) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "metacontroller", Subsystem: hook, Name: name, Help: help, ConstLabels: labels, Buckets: buckets,
		}, []string{label})
	}
	return &Webhook{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "metacontroller", Subsystem: hook, Name: "requests_total", Help: "Requests that the webhook answered.", ConstLabels: labels,
		}, []string{"code", "method"}),
		duration: histogram("request_duration_histogram_seconds", "How long the webhook took to begin its answer.", "method", prometheus.DefBuckets),
		dns:      histogram("dns_duration_histogram_seconds", "Time from the beginning of the request to the start and to the end of the DNS lookup.", "event", []float64{.005, .01, .025, .05}),
		tls:      histogram("tls_duration_histogram_seconds", "Time from the beginning of the request to the start and to the end of the TLS handshake.", "event", []float64{.05, .1, .25, .5}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "metacontroller", Subsystem: hook, Name: "in_flight_requests", Help: "Requests that wait for the webhook now.", ConstLabels: labels,
		}),
	}
}

func (m *Webhook) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.duration, m.dns, m.tls, m.inFlight}
}

// Describe implements prometheus.Collector.
func (m *Webhook) Describe(descriptions chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(descriptions)
	}
}

// Collect implements prometheus.Collector.
func (m *Webhook) Collect(metrics chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(metrics)
	}
}

// Wrap returns a round tripper that counts the requests that it sends through next.
func (m *Webhook) Wrap(next http.RoundTripper) http.RoundTripper {
	at := func(when *prometheus.HistogramVec, event string) func(float64) {
		return when.WithLabelValues(event).Observe
	}
	trace := &promhttp.InstrumentTrace{
		DNSStart: at(m.dns, "dns_start"), DNSDone: at(m.dns, "dns_done"),
		TLSHandshakeStart: at(m.tls, "tls_handshake_start"), TLSHandshakeDone: at(m.tls, "tls_handshake_done"),
	}
	timed := promhttp.InstrumentRoundTripperTrace(trace, promhttp.InstrumentRoundTripperDuration(m.duration, next))
	return promhttp.InstrumentRoundTripperInFlight(m.inFlight, promhttp.InstrumentRoundTripperCounter(m.requests, timed))
}
