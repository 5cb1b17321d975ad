package traces

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"metascript/controller/redact"
	"metascript/engine"
)

// An exporter exports spans, and logs when that begins to fail and when it works again: not each failure. Its texts do not have the
// values of headers, which a collector may quote in a response.
type exporter struct {
	sdktrace.SpanExporter
	log      *slog.Logger
	redactor *redact.Redactor
	endpoint string

	mu       sync.Mutex // guards the fields below
	lost     int        // the spans that could not be exported since it failed first; zero: it does not fail
	reported string     // the last message that is not about the export of spans
}

// ExportSpans implements sdktrace.SpanExporter. It returns no error, because it reports errors itself.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err == nil && e.lost > 0:
		e.log.Info("traces are exported again", "endpoint", e.endpoint, "lost spans", e.lost)
		e.lost = 0
	case err != nil && e.lost == 0:
		e.log.Warn("traces are not exported, spans are dropped until the collector accepts them", "endpoint", e.endpoint, "error", e.text(err))
		fallthrough
	case err != nil:
		e.lost += len(spans)
	}
	return nil
}

// report logs an error of OpenTelemetry that is not about the export of spans. It does not repeat the last one.
func (e *exporter) report(err error) {
	if err == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if text := e.text(err); text != e.reported {
		e.reported = text
		e.log.Warn("OpenTelemetry reports an error", "endpoint", e.endpoint, "error", text)
	}
}

// text returns the text of err without the URL, which is logged beside it, and without the values of headers.
func (e *exporter) text(err error) string {
	var address *url.Error
	if errors.As(err, &address) {
		err = address.Err
	}
	return engine.Clip(e.redactor.Text(err.Error()), 500)
}
