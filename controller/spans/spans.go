// Package spans makes the spans of OpenTelemetry for the parts of a reconcile, and for the requests that it sends.
//
// The span of a reconcile is in its context. [Start] begins one inside of it. [APIServer] and [Webhook] make a span for each request
// with such a context, and send the header traceparent, so that the server which gets the request can continue the trace. Without a
// span in the context they do nothing.
//
// A span has no text of an object, a response or an error, except what redact has removed the values of Secrets from. What is told of
// a reconcile is added at its end, by its observe.Tracer.
package spans

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// Scope is the name of the instrumentation scope of all spans.
const Scope = "metascript"

// Start begins a span inside of the span of ctx, and returns a context with it. The caller ends it. If the span of ctx is not
// recorded, or there is none, it returns ctx and nil.
func Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, nil
	}
	return parent.TracerProvider().Tracer(Scope).Start(ctx, name, options...)
}
