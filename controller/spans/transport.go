package spans

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"metascript/controller/redact"
)

// APIServer returns a round tripper for requests to the API server. The name and the attributes of a span have the path of the
// request with placeholders for the namespace and the name, since the name of an object could be made of a Secret.
func APIServer(next http.RoundTripper) http.RoundTripper {
	return &transport{next, func(r *http.Request) (string, attribute.KeyValue) {
		route := routeOf(r.URL.Path)
		return r.Method + " " + route, attribute.String("url.template", route)
	}}
}

// Webhook returns a round tripper for calls of a webhook. A span has the URL without its user and its query, which may be secret.
func Webhook(next http.RoundTripper) http.RoundTripper {
	return &transport{next, func(r *http.Request) (string, attribute.KeyValue) {
		path := strings.Join(redact.FromContext(r.Context()).Texts(strings.Split(r.URL.EscapedPath(), "/")), "/")
		return r.Method, attribute.String("url.full", r.URL.Scheme+"://"+r.URL.Host+path)
	}}
}

// A transport makes a span for each request whose context has one.
type transport struct {
	next     http.RoundTripper
	describe func(*http.Request) (name string, address attribute.KeyValue)
}

// WrappedRoundTripper lets client-go find the transport below.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper. The span ends when the header of the response is there.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !trace.SpanContextFromContext(r.Context()).IsValid() {
		return t.next.RoundTrip(r)
	}
	ctx, span := t.start(r)
	r = r.Clone(ctx) // a RoundTripper must not change its request
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(r.Header))
	response, err := t.next.RoundTrip(r)
	if span != nil {
		end(span, response, err)
	}
	return response, err
}

// start begins the span of a request. It is nil if the trace is not recorded; the header says so then.
func (t *transport) start(r *http.Request) (context.Context, trace.Span) {
	if !trace.SpanFromContext(r.Context()).IsRecording() {
		return r.Context(), nil
	}
	name, address := t.describe(r)
	attributes := []attribute.KeyValue{attribute.String("http.request.method", r.Method), address, attribute.String("server.address", r.URL.Hostname())}
	if port, err := strconv.Atoi(r.URL.Port()); err == nil {
		attributes = append(attributes, attribute.Int("server.port", port))
	}
	return Start(r.Context(), name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
}

// end ends the span of a request.
func end(span trace.Span, response *http.Response, err error) {
	var kind string
	switch {
	case errors.Is(err, context.Canceled):
		kind = "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		kind = "timeout"
	case err != nil:
		kind = fmt.Sprintf("%T", err) // its text may have parts of the request
	case response.StatusCode >= http.StatusBadRequest:
		kind = strconv.Itoa(response.StatusCode)
	}
	if err == nil {
		span.SetAttributes(attribute.Int("http.response.status_code", response.StatusCode))
	}
	if kind != "" {
		span.SetAttributes(attribute.String("error.type", kind))
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// routeOf returns the path of a request to the API server with placeholders for the namespace and the name, such as
// /apis/apps/v1/namespaces/{namespace}/deployments/{name}/status. What a proxy adds before it is left out.
func routeOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	root := slices.IndexFunc(parts, func(part string) bool { return part == "api" || part == "apis" })
	if root < 0 {
		return "/"
	}
	parts = parts[root:]
	at := 2 // after /api/v1
	if parts[0] == "apis" {
		at = 3
	}
	if at+2 < len(parts) && parts[at] == "namespaces" && !slices.Contains([]string{"status", "finalize"}, parts[at+2]) {
		parts[at+1] = "{namespace}"
		at += 2
	}
	if at+1 < len(parts) {
		parts[at+1] = "{name}"
	}
	return "/" + strings.Join(parts[:min(len(parts), at+3)], "/")
}
