package traces

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	grpcserver "google.golang.org/grpc"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/observe"
	"metascript/controller/plan"
	"metascript/controller/queue"
	"metascript/controller/redact"
	"metascript/controller/remember"
	"metascript/controller/spans"
)

func TestTracesAreOffByDefault(t *testing.T) {
	for _, set := range []map[string]string{
		{},
		{"OTEL_SERVICE_NAME": "x", "OTEL_TRACES_EXPORTER": "otlp"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": " "},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "TRUE"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "no URL", "OTEL_SDK_DISABLED": "true"},
	} {
		t.Run("", func(t *testing.T) {
			for name, value := range set {
				t.Setenv(name, value)
			}
			traces, err := Open("", slog.New(slog.DiscardHandler))
			if traces != nil || err != nil {
				t.Errorf("%v: traces %v, error %v", set, traces, err)
			}
			traces.Close() // of none
		})
	}
}

func TestVariablesThatCannotBeUsedAreErrors(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, value, want string }{
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4318", "it must be http:// or https://, a host"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://user:hunter2@collector:4318", "credentials are set by OTEL_EXPORTER_OTLP_HEADERS"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://collector:4318?token=hunter2", "without a user and a query"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", `"http/json" is not supported: it must be http/protobuf or grpc`},
		{"OTEL_EXPORTER_OTLP_HEADERS", "authorization: Bearer hunter2", "it must be NAME=VALUE, separated by commas"},
		{"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "authorization=hunter2%zz", "it must be NAME=VALUE, separated by commas"},
		{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s", `"10s" must be a number above 0; times are in milliseconds`},
		{"OTEL_EXPORTER_OTLP_COMPRESSION", "zip", `"zip" must be gzip or none`},
		{"OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere/ca.pem", "no such file"},
		{"OTEL_EXPORTER_OTLP_CERTIFICATE", empty, "contains no certificate in PEM format"},
		{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", empty, "both must be set, or none"},
		{"OTEL_TRACES_EXPORTER", "zipkin", `"zipkin" is not supported: it must be otlp or none`},
		{"OTEL_TRACES_SAMPLER", "sometimes", `"sometimes" is not supported`},
		{"OTEL_BSP_MAX_QUEUE_SIZE", "-1", `"-1" must be a number above 0`},
		{"OTEL_RESOURCE_ATTRIBUTES", "env", "it must be KEY=VALUE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			t.Setenv(c.name, c.value)
			_, err := Open("", slog.New(slog.DiscardHandler))
			if err == nil || !strings.Contains(err.Error(), c.name) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%q: error %v, want %q", c.value, err, c.want)
			}
		})
	}
	t.Run("ratio", func(t *testing.T) {
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
		t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
		t.Setenv("OTEL_TRACES_SAMPLER_ARG", "10%")
		if _, err := Open("", slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), `"10%" must be a number from 0 to 1`) {
			t.Errorf("error %v", err)
		}
	})
}

// parent is a parent, about which a reconcile is traced.
var parent = object.Ref{Kind: object.Kind{Group: "example.com", Version: "v1", Kind: "Widget"}, Key: object.Key{Namespace: "prod", Name: "w"}}

// begun returns a reconcile that has begun, and its context.
func begun(traces *Traces) (context.Context, *observe.Reconcile) {
	r := &observe.Reconcile{
		About: observe.About{Kind: "CompositeController", Controller: "widgets", Parent: parent}, UID: "u-1",
		Why: queue.ParentChanged | queue.ChildChanged, Began: time.Now(), Source: remember.Computed, Script: "sha256:abc",
	}
	ctx, span := traces.Start(context.Background())
	r.Span = span
	return ctx, r
}

// end ends a reconcile.
func end(traces *Traces, r *observe.Reconcile, redactor *redact.Redactor, err error) {
	r.Took, r.Redactor, r.Err = time.Since(r.Began), redactor, err
	traces.Reconciled(r)
}

// write adds a write that failed, or did not if err is nil.
func write(t testing.TB, ctx context.Context, r *observe.Reconcile, name string, err error) {
	child := objecttest.ParseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: prod, name: `+name+`}}`)
	w := observe.Write{Op: plan.Op{Verb: plan.Create, Object: child, Why: "it does not exist"}, Began: time.Now(), Err: err}
	_, w.Span = spans.Start(ctx, "create")
	w.Took = time.Since(w.Began)
	r.Writes = append(r.Writes, w)
}

func TestAReconcileIsOneTrace(t *testing.T) {
	c := newCollector(t)
	var traceparent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { traceparent = r.Header.Get("traceparent") }))
	defer server.Close()
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "k8s.cluster.name=blue,k8s.pod.name=m-1")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hunter2,x-tenant=a")
	traces, log := open(t)

	ctx, r := begun(traces)
	r.Causes = []observe.Cause{{Reason: queue.ChildChanged, Object: object.Ref{Kind: object.Kind{Version: "v1", Kind: "ConfigMap"}, Key: object.Key{Namespace: "prod", Name: "a"}}, Change: observe.Changed, Fields: []string{"data.x", "data.y"}, More: true}}
	call := observe.Call{Name: "sync", Revision: "w-5d4", Began: time.Now()}
	inside, span := spans.Start(ctx, "hook")
	call.Span = span
	request, err := http.NewRequestWithContext(inside, http.MethodPost, server.URL+"/sync", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := spans.Webhook(server.Client().Transport).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	call.Took = time.Since(call.Began)
	r.Calls = append(r.Calls, call)
	write(t, ctx, r, "a", nil)
	write(t, ctx, r, "b", apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "b", errors.New("no")))
	end(traces, r, redact.New(), apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "b", errors.New("no")))

	// A reconcile that only waits for a cache is not an error.
	_, waits := begun(traces)
	waits.Controller = "waits"
	end(traces, waits, redact.New(), kube.ErrRequeue)
	traces.Close()

	if c.path != "/v1/traces" || c.headers.Get("Authorization") != "Bearer hunter2" || c.headers.Get("X-Tenant") != "a" {
		t.Errorf("the request has the path %s and the headers %v", c.path, c.headers)
	}
	if c.about["service.name"] != "metascript" || c.about["service.version"] != "v1.2.3" || c.about["k8s.cluster.name"] != "blue" || c.about["k8s.pod.name"] != "m-1" || c.about["host.name"] == "" {
		t.Errorf("the resource is %v", c.about)
	}
	root, hook, post := c.named(t, "reconcile widgets"), c.named(t, "hook sync"), c.named(t, "POST")
	if len(root.ParentSpanId) > 0 || string(hook.ParentSpanId) != string(root.SpanId) || string(post.ParentSpanId) != string(hook.SpanId) || string(post.TraceId) != string(root.TraceId) {
		t.Errorf("the spans are %v, %v and %v", root, hook, post)
	}
	if want := fmt.Sprintf("00-%x-%x-01", root.TraceId, post.SpanId); traceparent != want {
		t.Errorf("the webhook got %q, want %q", traceparent, want)
	}
	if root.StartTimeUnixNano > hook.StartTimeUnixNano || hook.EndTimeUnixNano > root.EndTimeUnixNano || root.EndTimeUnixNano-root.StartTimeUnixNano > uint64(time.Minute) {
		t.Errorf("the times are those of %v and %v", root, hook)
	}
	for key, want := range map[string]string{
		"metascript.controller.kind": "CompositeController", "metascript.controller.name": "widgets",
		"metascript.parent.api_version": "example.com/v1", "metascript.parent.kind": "Widget", "metascript.parent.name": "w", "metascript.parent.uid": "u-1", "k8s.namespace.name": "prod",
		"metascript.reasons": "parent; child", "metascript.causes": "child changed ConfigMap prod/a: data.x, data.y and more",
		"metascript.result": "refused", "error.type": "refused", "metascript.answer": "computed", "metascript.script.digest": "sha256:abc",
	} {
		if got := attributesOf(root.Attributes)[key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if root.Status.Code != tracepb.Status_STATUS_CODE_ERROR || !strings.Contains(root.Status.Message, `configmaps "b" is forbidden: no`) {
		t.Errorf("the status is %v", root.Status)
	}
	if got := attributesOf(hook.Attributes); got["metascript.hook"] != "sync" || got["metascript.revision"] != "w-5d4" {
		t.Errorf("the attributes of the hook are %v", got)
	}
	var created []string
	for _, s := range c.spans {
		if s.Name == "create ConfigMap" {
			got := attributesOf(s.Attributes)
			created = append(created, strings.Join([]string{got["metascript.object.name"], got["k8s.namespace.name"], got["metascript.verb"], got["metascript.why"], got["error.type"]}, " "))
		}
	}
	if got, want := strings.Join(created, ", "), "a prod create it does not exist , b prod create it does not exist Forbidden"; got != want {
		t.Errorf("the writes are %q, want %q", got, want)
	}
	requeued := c.named(t, "reconcile waits")
	if got := attributesOf(requeued.Attributes); requeued.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR || got["metascript.result"] != "requeued" || got["metascript.requeue.reason"] == "" {
		t.Errorf("the status is %v, the attributes are %v", requeued.Status, got)
	}
	if strings.Contains(log.String(), "hunter2") || strings.Contains(log.String(), "WARN") {
		t.Errorf("the log is %s", log)
	}
}

// The values of Secrets are in errors, in names and in fields of this reconcile, and in none of the bytes that are sent.
func TestNoSecretInAnySpan(t *testing.T) {
	const secret = "zQx7-Kp2mWvU-5tRn"
	encoded := base64.StdEncoding.EncodeToString([]byte(secret))
	c := newCollector(t)
	traces, _ := open(t)
	redactor := redact.New("w", "widgets")
	redactor.Add(objecttest.ParseObject(t, `{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {password: `+encoded+`}}`))

	failed := fmt.Errorf("the hook said %s, which is %s", secret, encoded)
	ctx, r := begun(traces)
	r.Causes = []observe.Cause{{Reason: queue.RelatedChanged, Object: object.Ref{Key: object.Key{Name: "n-" + strings.ToLower(secret)}}, Change: observe.Changed, Fields: []string{"data." + secret}}}
	call := observe.Call{Name: "sync", Revision: "r-" + encoded, Began: time.Now(), Err: failed}
	_, call.Span = spans.Start(ctx, "hook")
	r.Calls = append(r.Calls, call)
	write(t, ctx, r, strings.ToLower(secret), fmt.Errorf("the API server quotes %s", encoded))
	r.Writes[0].Why = "data." + secret
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for _, wrap := range []func(http.RoundTripper) http.RoundTripper{spans.APIServer, spans.Webhook} {
		request, err := http.NewRequestWithContext(redact.NewContext(ctx, redactor), http.MethodGet, server.URL+"/api/v1/namespaces/"+secret+"/configmaps/"+strings.ToLower(secret)+"?token="+secret, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+secret)
		resp, err := wrap(server.Client().Transport).RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	end(traces, r, redactor, failed)
	traces.Close()

	if c.count() != 5 {
		t.Errorf("there are %d spans, want 5", c.count())
	}
	raw := strings.ToLower(string(c.raw))
	for _, text := range []string{secret, encoded, secret[:8], encoded[:8]} {
		if strings.Contains(raw, strings.ToLower(text)) {
			t.Errorf("%q is in what was sent: %q", text, raw)
		}
	}
	if !strings.Contains(raw, redact.Mark) {
		t.Error("nothing was redacted: this test looks for nothing")
	}
}

func TestACollectorThatIsDownIsReportedOnce(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hunter2")
	traces, log := open(t)
	c.answer(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "who is "+r.Header.Get("Authorization")+"?", http.StatusUnauthorized)
	})
	for range 5 {
		_, r := begun(traces)
		end(traces, r, redact.New(), nil)
		if err := traces.provider.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if text := log.String(); strings.Count(text, "WARN") != 1 || !strings.Contains(text, "traces are not exported") || !strings.Contains(text, "401") || strings.Contains(text, "hunter2") {
		t.Errorf("the log is %s", text)
	}
	c.answer(nil)
	_, r := begun(traces)
	end(traces, r, redact.New(), nil)
	traces.Close()
	if text := log.String(); !strings.Contains(text, `msg="traces are exported again"`) || !strings.Contains(text, `"lost spans"=5`) || c.count() != 1 {
		t.Errorf("%d spans, and the log is %s", c.count(), text)
	}
}

// Other errors of OpenTelemetry, which it reports globally, are in our log: each once, without the values of headers.
func TestOtherErrorsOfOpenTelemetryAreLogged(t *testing.T) {
	newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hunter2")
	traces, log := open(t)
	defer traces.Close()
	for range 3 {
		otel.Handle(errors.New("it was refused: Bearer hunter2"))
	}
	if text := log.String(); strings.Count(text, "WARN") != 1 || !strings.Contains(text, "it was refused: [redacted]") {
		t.Errorf("the log is %s", text)
	}
}

func TestACollectorThatHangsDelaysNothing(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "100")
	traces, log := open(t)
	released := make(chan struct{})
	c.answer(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-released:
		case <-r.Context().Done():
		}
	})
	const reconciles = 2000
	began := time.Now()
	for range reconciles {
		ctx, r := begun(traces)
		write(t, ctx, r, "a", nil)
		end(traces, r, redact.New(), nil)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("%d reconciles took %s", reconciles, took)
	}
	began = time.Now()
	traces.Close()
	if took := time.Since(began); took > closeTimeout+5*time.Second {
		t.Errorf("the end took %s", took)
	}
	if text := log.String(); !strings.Contains(text, "the last spans were not exported within 3s") {
		t.Errorf("the log is %s", text)
	}
	c.answer(nil)
	close(released)
	// What waits in the queue of 100 spans, and in the batch that is sent, is all that was kept.
	if err := traces.exporter.SpanExporter.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if c.count() > 100+512 {
		t.Errorf("%d spans were kept", c.count())
	}
}

func TestWithoutSamplingNothingIsSent(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0")
	traces, _ := open(t)
	ctx, r := begun(traces)
	write(t, ctx, r, "a", nil)
	if r.Writes[0].Span != nil {
		t.Error("a write has a span, although its trace is not sampled")
	}
	end(traces, r, redact.New(), nil)
	traces.Close()
	if c.count() > 0 {
		t.Errorf("%d spans", c.count())
	}
}

// A grpcCollector receives traces by gRPC.
type grpcCollector struct {
	coltracepb.UnimplementedTraceServiceServer
	received chan *coltracepb.ExportTraceServiceRequest
}

// Export implements the service.
func (g *grpcCollector) Export(_ context.Context, r *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
	g.received <- r
	return &coltracepb.ExportTraceServiceResponse{}, nil
}

func TestTracesAreExportedByGRPC(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, c := grpcserver.NewServer(), &grpcCollector{received: make(chan *coltracepb.ExportTraceServiceRequest, 1)}
	coltracepb.RegisterTraceServiceServer(server, c)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+listener.Addr().String())
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	traces, log := open(t)
	_, r := begun(traces)
	end(traces, r, redact.New(), nil)
	traces.Close()
	select {
	case got := <-c.received:
		if name := got.ResourceSpans[0].ScopeSpans[0].Spans[0].Name; name != "reconcile widgets" {
			t.Errorf("the span is %q", name)
		}
	default:
		t.Errorf("nothing was received, and the log is %s", log)
	}
}

// BenchmarkReconcile is what the trace of a reconcile with one call of a hook and three writes, each with a request, costs.
func BenchmarkReconcile(b *testing.B) {
	c := newCollector(b)
	c.answer(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	b.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1000")
	traces, _ := open(b)
	defer traces.Close()
	api := spans.APIServer(answering{})
	child := objecttest.ParseObject(b, `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: prod, name: a}}`)
	b.ReportAllocs()
	for b.Loop() {
		ctx, r := begun(traces)
		call := observe.Call{Name: "sync", Began: time.Now()}
		_, call.Span = spans.Start(ctx, "hook sync")
		r.Calls = append(r.Calls, call)
		for range 3 {
			w := observe.Write{Op: plan.Op{Verb: plan.Create, Object: child, Why: "it does not exist"}, Began: time.Now()}
			inside, span := spans.Start(ctx, "create")
			w.Span = span
			request, _ := http.NewRequestWithContext(inside, http.MethodPost, "https://10.0.0.1:443/api/v1/namespaces/prod/configmaps", nil)
			_, _ = api.RoundTrip(request)
			r.Writes = append(r.Writes, w)
		}
		end(traces, r, redact.New(), nil)
	}
}

// answering is a round tripper that sends nothing.
type answering struct{}

// RoundTrip implements http.RoundTripper.
func (answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusCreated}, nil
}
