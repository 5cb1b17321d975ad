package redact

import "context"

type contextKey struct{}

// NewContext returns a context with a Redactor, which all code that uses the context uses.
func NewContext(ctx context.Context, r *Redactor) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// FromContext returns the Redactor of ctx; if there is none, a new one without Secrets.
func FromContext(ctx context.Context) *Redactor {
	if r, _ := ctx.Value(contextKey{}).(*Redactor); r != nil {
		return r
	}
	return New()
}
