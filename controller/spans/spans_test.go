package spans

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"metascript/controller/object/objecttest"
	"metascript/controller/redact"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRoutesHaveNoNames(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/namespaces/prod/configmaps/a":                         "/api/v1/namespaces/{namespace}/configmaps/{name}",
		"/api/v1/namespaces/prod/configmaps":                           "/api/v1/namespaces/{namespace}/configmaps",
		"/api/v1/namespaces/prod":                                      "/api/v1/namespaces/{name}",
		"/api/v1/namespaces/prod/status":                               "/api/v1/namespaces/{name}/status",
		"/api/v1/namespaces/prod/finalize":                             "/api/v1/namespaces/{name}/finalize",
		"/api/v1/namespaces":                                           "/api/v1/namespaces",
		"/api/v1/nodes/n":                                              "/api/v1/nodes/{name}",
		"/apis/apps/v1/namespaces/prod/deployments/a/status":           "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/status",
		"/apis/example.com/v1/widgets/w/status":                        "/apis/example.com/v1/widgets/{name}/status",
		"/apis/authorization.k8s.io/v1/subjectaccessreviews":           "/apis/authorization.k8s.io/v1/subjectaccessreviews",
		"/k8s/clusters/c-1/apis/apps/v1/namespaces/prod/deployments/a": "/apis/apps/v1/namespaces/{namespace}/deployments/{name}",
		"/api/v1/namespaces/prod/services/a/proxy/x/y":                 "/api/v1/namespaces/{namespace}/services/{name}/proxy",
		"/apis/apps/v1":                                                "/apis/apps/v1",
		"/apis":                                                        "/apis",
		"/version":                                                     "/",
		"":                                                             "/",
	} {
		if got := routeOf(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// traced returns a context with a span, and what records the spans that end.
func traced(t *testing.T, sampler sdktrace.Sampler) (context.Context, *tracetest.SpanRecorder) {
	t.Helper()
	ended := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(ended), sdktrace.WithSampler(sampler))
	ctx, _ := provider.Tracer("test").Start(t.Context(), "reconcile")
	return ctx, ended
}

func TestRequestsHaveSpansAndTheHeader(t *testing.T) {
	var header, path string
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header, path = r.Header.Get("traceparent"), r.URL.Path
		w.WriteHeader(status)
	}))
	defer server.Close()
	ctx, ended := traced(t, sdktrace.AlwaysSample())
	send := func(ctx context.Context, wrap func(http.RoundTripper) http.RoundTripper, path string) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := wrap(server.Client().Transport).RoundTrip(r)
		if r.Header.Get("traceparent") != "" {
			t.Error("the request was changed")
		}
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		return err
	}
	last := func() sdktrace.ReadOnlySpan {
		all := ended.Ended()
		return all[len(all)-1]
	}
	attribute := func(key string) string {
		for _, a := range last().Attributes() {
			if string(a.Key) == key {
				return a.Value.String()
			}
		}
		return ""
	}

	if err := send(ctx, APIServer, "/api/v1/namespaces/prod/configmaps"); err != nil {
		t.Fatal(err)
	}
	span := last()
	if want := "00-" + span.SpanContext().TraceID().String() + "-" + span.SpanContext().SpanID().String() + "-01"; header != want || path != "/api/v1/namespaces/prod/configmaps" {
		t.Errorf("the header is %q, want %q", header, want)
	}
	if span.Name() != "POST /api/v1/namespaces/{namespace}/configmaps" || span.SpanKind() != trace.SpanKindClient || span.Parent().SpanID() != trace.SpanFromContext(ctx).SpanContext().SpanID() {
		t.Errorf("the span is %v", span)
	}
	if attribute("http.response.status_code") != "200" || attribute("http.request.method") != "POST" || attribute("server.address") != "127.0.0.1" || attribute("server.port") == "" {
		t.Errorf("the attributes are %v", span.Attributes())
	}

	status = http.StatusConflict
	redactor := redact.New()
	redactor.Add(objecttest.ParseObject(t, `{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {password: aHVudGVyMi1odW50ZXIy}}`))
	if err := send(redact.NewContext(ctx, redactor), Webhook, "/sync/hunter2-hunter2?token=t0ken"); err != nil {
		t.Fatal(err)
	}
	if got := attribute("url.full"); got != server.URL+"/sync/"+redact.Mark {
		t.Errorf("the URL is %q", got)
	}
	if last().Status().Code != codes.Error || attribute("error.type") != "409" {
		t.Errorf("the span is %v, with %v", last().Status(), last().Attributes())
	}

	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if err := send(canceled, APIServer, "/api/v1/nodes/n"); !errors.Is(err, context.Canceled) || attribute("error.type") != "canceled" {
		t.Errorf("error %v, with %v", err, last().Attributes())
	}

	// Without a span, nothing is added.
	before := len(ended.Ended())
	if err := send(t.Context(), APIServer, "/api/v1/nodes/n"); err != nil || header != "" || len(ended.Ended()) != before {
		t.Errorf("without a span: error %v, header %q", err, header)
	}

	// A trace that is not sampled has no spans, and the header says so.
	unsampled, none := traced(t, sdktrace.NeverSample())
	if err := send(unsampled, Webhook, "/sync"); err != nil || !strings.HasSuffix(header, "-00") || len(none.Ended()) > 0 {
		t.Errorf("not sampled: error %v, header %q, spans %v", err, header, none.Ended())
	}
	if ctx, span := Start(unsampled, "hook sync"); ctx != unsampled || span != nil {
		t.Error("a trace that is not sampled got a span")
	}
}

// What is off costs nothing.
func TestWithoutTracesNothingIsAllocated(t *testing.T) {
	next := roundTripper(func(*http.Request) (*http.Response, error) { return nil, nil })
	wrapped := APIServer(next)
	r := httptest.NewRequest(http.MethodGet, "/api/v1/nodes/n", nil)
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		_, _ = Start(ctx, "hook sync")
		_, _ = wrapped.RoundTrip(r)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
