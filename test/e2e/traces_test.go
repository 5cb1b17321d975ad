package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A collector receives traces by OTLP. It serves /spans, which has a line for each span: the names of the spans around it and its own,
// its attributes in their order, and its status; and /raw, which has all bytes that were received, quoted.
type collector struct {
	mu      sync.Mutex
	spans   []*tracepb.Span
	raw     []byte
	headers []string // the values of the header Authorization
}

// cmdCollector starts a collector. Its address is $COLLECTOR.
func cmdCollector(ts *testscript.TestScript, _ bool, _ []string) {
	c := &collector{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", c.receive)
	mux.HandleFunc("GET /spans", c.list)
	mux.HandleFunc("GET /raw", func(w http.ResponseWriter, _ *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		fmt.Fprintf(w, "%q", c.raw)
	})
	server := httptest.NewServer(mux)
	ts.Defer(server.Close)
	ts.Setenv("COLLECTOR", server.URL)
}

// receive receives spans.
func (c *collector) receive(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
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
	c.raw, c.headers = append(c.raw, text...), append(c.headers, r.Header.Get("Authorization"))
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

// list writes the spans, and the headers with which they came.
func (c *collector) list(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	byID := map[string]*tracepb.Span{}
	for _, s := range c.spans {
		byID[string(s.SpanId)] = s
	}
	for _, s := range c.spans {
		name := s.Name
		for around := byID[string(s.ParentSpanId)]; around != nil; around = byID[string(around.ParentSpanId)] {
			name = around.Name + " > " + name
		}
		var attributes []string
		for _, a := range s.Attributes {
			attributes = append(attributes, a.Key+"="+strings.Join(strings.Fields(a.Value.String()), " "))
		}
		slices.Sort(attributes)
		fmt.Fprintln(w, name, attributes, s.Status.GetCode(), s.Status.GetMessage())
	}
	slices.Sort(c.headers)
	fmt.Fprintln(w, "Authorization:", slices.Compact(slices.Clone(c.headers)))
}
