package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Requests counts requests to the API server, under the names that client-go's metrics have everywhere. It does so
// as a round tripper, since client-go's own hooks are one for the whole process.
type Requests struct {
	total *prometheus.CounterVec
	took  *prometheus.HistogramVec
}

func newRequests(r registry) *Requests {
	return &Requests{
		total: r.counters("rest_client_requests_total", "Number of HTTP requests, partitioned by status code, method, and host.", "code", "method", "host"),
		took:  r.histograms("rest_client_request_duration_seconds", "Request latency in seconds, up to the answer's header. Broken down by verb, and host.", requestBuckets, "verb", "host"),
	}
}

var requestBuckets = []float64{.005, .025, .1, .25, .5, 1, 2, 4, 8, 15, 30, 60}

// Wrap gives a round tripper that counts what goes through next.
func (m *Requests) Wrap(next http.RoundTripper) http.RoundTripper { return counting{m, next} }

type counting struct {
	*Requests
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c counting) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	resp, err := c.next.RoundTrip(req)
	code := "<error>"
	if err == nil {
		code = strconv.Itoa(resp.StatusCode)
	}
	c.total.WithLabelValues(code, req.Method, req.URL.Host).Inc()
	c.took.WithLabelValues(req.Method, req.URL.Host).Observe(time.Since(began).Seconds())
	return resp, err
}
