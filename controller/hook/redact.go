package hook

import (
	"context"
	"errors"
	"net/url"

	"metascript/controller/redact"
	"metascript/engine"
)

// redactor returns the Redactor of ctx, or a new one, after it has added the Secrets of the request.
func (req *Request) redactor(ctx context.Context) *redact.Redactor {
	r := redact.FromContext(ctx)
	r.AddRequest(req.Parent, req.Children, req.Related)
	return r
}

// maxError is the maximum length of the text of an error of a webhook, in bytes.
const maxError = 1 << 10

// A shortError is an error with a shortened text.
type shortError struct {
	text string
	error
}

// Error implements error.
func (e *shortError) Error() string { return e.text }

// Unwrap returns the error with the whole text.
func (e *shortError) Unwrap() error { return e.error }

// shortened shortens the text of an error to maxError bytes.
func shortened(err error) error {
	if text := engine.Clip(err.Error(), maxError); text != err.Error() {
		return &shortError{text, err}
	}
	return err
}

// withoutURL returns the error in an error of net/http, whose own text has the whole URL, which may contain secrets.
func withoutURL(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
