package metrics

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Requests has the metrics of requests to the API server, with the names of client-go. It counts in a round tripper, since
// the metrics of client-go itself are global for the process.
type Requests struct {
	total *prometheus.CounterVec
	took  *prometheus.HistogramVec
	known sync.Map // of request to counts, because the search for a metric by its labels takes longer
}

// A request is what requests have in common that are counted together.
type request struct {
	code         int // 0 for an error
	method, host string
}

// counts are the metrics of a request.
type counts struct {
	total prometheus.Counter
	took  prometheus.Observer
}

func (m *Requests) counts(of request) counts {
	if found, ok := m.known.Load(of); ok {
		return found.(counts)
	}
	code := "<error>"
	if of.code > 0 {
		code = strconv.Itoa(of.code)
	}
	found := counts{m.total.WithLabelValues(code, of.method, of.host), m.took.WithLabelValues(of.method, of.host)}
	m.known.Store(of, found)
	return found
}

func newRequests(r registry) *Requests {
	return &Requests{
		total: r.counters("rest_client_requests_total", "Number of HTTP requests, partitioned by status code, method, and host.", "code", "method", "host"),
		took:  r.histograms("rest_client_request_duration_seconds", "Request latency in seconds, up to the answer's header. Broken down by verb, and host.", requestBuckets, "verb", "host"),
	}
}

var requestBuckets = []float64{.005, .025, .1, .25, .5, 1, 2, 4, 8, 15, 30, 60}

// Wrap returns a round tripper that counts the requests that it sends through next.
func (m *Requests) Wrap(next http.RoundTripper) http.RoundTripper { return counting{m, next} }

type counting struct {
	*Requests
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c counting) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	resp, err := c.next.RoundTrip(req)
	of := request{method: req.Method, host: req.URL.Host}
	if err == nil {
		of.code = resp.StatusCode
	}
	counts := c.counts(of)
	counts.total.Inc()
	counts.took.Observe(time.Since(began).Seconds())
	return resp, err
}

// WrappedRoundTripper lets client-go find the transport below.
func (c counting) WrappedRoundTripper() http.RoundTripper { return c.next }
