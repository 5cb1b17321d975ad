package traces

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A collector is a server that receives traces by OTLP.
type collector struct {
	*httptest.Server

	mu      sync.Mutex
	refuse  func(http.ResponseWriter, *http.Request) // answers in place of the collector, if it is set
	raw     []byte                                   // all requests, without compression
	headers http.Header                              // of the last request
	path    string
	spans   []*tracepb.Span
	about   map[string]string // the attributes of the resource
}

// newCollector starts a collector, and sets the variable with its address.
func newCollector(t testing.TB) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
	return c
}

// ServeHTTP implements http.Handler.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	refuse := c.refuse
	c.mu.Unlock()
	if refuse != nil {
		refuse(w, r)
		return
	}
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(body)
	}
	text, err := io.ReadAll(body)
	var request coltracepb.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(text, &request)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw, c.headers, c.path = append(c.raw, text...), r.Header, r.URL.Path
	for _, resource := range request.ResourceSpans {
		c.about = attributesOf(resource.Resource.Attributes)
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

// answer sets what answers in place of the collector; nil is the collector itself.
func (c *collector) answer(with func(http.ResponseWriter, *http.Request)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse = with
}

// named returns the only span of that name.
func (c *collector) named(t testing.TB, name string) *tracepb.Span {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var found *tracepb.Span
	var names []string
	for _, s := range c.spans {
		if names = append(names, s.Name); s.Name == name {
			if found != nil {
				t.Fatalf("there are several spans %q", name)
			}
			found = s
		}
	}
	if found == nil {
		t.Fatalf("there is no span %q, only %q", name, names)
	}
	return found
}

// count returns how many spans were received.
func (c *collector) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.spans)
}

// attributesOf returns attributes as texts; the texts of a list are separated by "; ".
func attributesOf(list []*commonpb.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range list {
		all[a.Key] = textOf(a.Value)
	}
	return all
}

func textOf(value *commonpb.AnyValue) string {
	switch value := value.Value.(type) {
	case *commonpb.AnyValue_StringValue:
		return value.StringValue
	case *commonpb.AnyValue_ArrayValue:
		var all string
		for i, v := range value.ArrayValue.Values {
			if i > 0 {
				all += "; "
			}
			all += textOf(v)
		}
		return all
	}
	text, _ := proto.Marshal(value)
	return string(text)
}

// A logbook is a log that can be read while it is written.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *logbook) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// open opens Traces that are asked for. The caller closes them.
func open(t testing.TB) (*Traces, *logbook) {
	t.Helper()
	book := &logbook{}
	traces, err := Open("v1.2.3", slog.New(slog.NewTextHandler(book, &slog.HandlerOptions{Level: slog.LevelInfo})))
	if err != nil || traces == nil {
		t.Fatalf("traces %v, error %v", traces, err)
	}
	return traces, book
}
