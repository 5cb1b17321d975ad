// Package traces exports the traces of a server by OTLP: a span for each reconcile, with spans for the calls of hooks, the writes, and
// the requests to the API server and to webhooks.
//
// [Open] reads the variables of OpenTelemetry, and returns nil if they do not ask for traces. A [Traces] is an observe.Tracer, which
// adds to the spans what a reconcile has done and ends them. Package controller/spans begins them.
//
// Spans wait in a queue of a limited size, from which one goroutine exports them. If the collector does not keep up, spans are
// dropped: a reconcile never waits. No span has the value of a Secret.
package traces

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"metascript/controller/redact"
	"metascript/controller/spans"
)

// closeTimeout is how long Close waits until the spans of the queue are exported.
const closeTimeout = 3 * time.Second

// Traces exports the traces of one server. It is safe for concurrent use.
type Traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	exporter *exporter
}

// Open returns the Traces that the variables of the environment ask for; nil if they ask for none. version is that of the program. Open
// does not connect to the collector. It also redirects the messages of OpenTelemetry, which are global for the process, to log.
func Open(version string, log *slog.Logger) (*Traces, error) {
	if !wanted() {
		return nil, nil
	}
	to, err := read()
	if err != nil {
		return nil, err
	}
	redactor := redact.New()
	redactor.AddTexts(to.secrets...)
	reports := &exporter{log: log, redactor: redactor, endpoint: to.endpoint}
	otel.SetLogger(logr.FromSlogHandler(redactor.Handler(log.Handler())))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(reports.report))
	about, err := resource.New(context.Background(),
		resource.WithAttributes(attribute.String("service.name", "metascript"), attribute.String("service.version", version)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: it must be KEY=VALUE, separated by commas: %w", redactor.Error(err))
	}
	client := otlptracehttp.NewClient
	if to.protocol == grpc {
		client = func(...otlptracehttp.Option) otlptrace.Client { return otlptracegrpc.NewClient() }
	}
	if reports.SpanExporter, err = otlptrace.New(context.Background(), client()); err != nil {
		return nil, fmt.Errorf("export traces to %s: %w", to.endpoint, redactor.Error(err))
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(reports), sdktrace.WithResource(about))
	log.Info("exporting traces", "endpoint", to.endpoint, "protocol", to.protocol)
	return &Traces{provider, provider.Tracer(spans.Scope), reports}, nil
}

// Close exports the spans that are in the queue, within a few seconds. A nil Traces has none.
func (t *Traces) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := t.provider.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("the last spans were not exported within %s", closeTimeout)
	}
	t.exporter.report(err)
}
