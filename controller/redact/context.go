package redact

import "context"

type contextKey struct{}

// NewContext is ctx with the Redactor of all that is done in it.
func NewContext(ctx context.Context, r *Redactor) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// In is the Redactor of ctx, or else a new one, for a single text.
func FromContext(ctx context.Context) *Redactor {
	if r, _ := ctx.Value(contextKey{}).(*Redactor); r != nil {
		return r
	}
	return New()
}
