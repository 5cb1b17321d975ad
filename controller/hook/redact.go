package hook

import (
	"context"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"

	"metascript/controller/redact"
	"metascript/engine"
)

// redactor is that of the reconcile, or else one for this call alone, when it knows the Secrets of the request.
func (req *Request) redactor(ctx context.Context) *redact.Redactor {
	r := redact.FromContext(ctx)
	r.Add(req.Parent)
	r.AddSets(req.Children, req.Related)
	return r
}

// maxError is how many bytes of the text of an error of a webhook are shown.
const maxError = 1 << 10

// A shortError is an error that was too long.
type shortError struct {
	text string
	error
}

// Error implements error.
func (e *shortError) Error() string { return e.text }

// Unwrap implements the interface that errors.Is looks for.
func (e *shortError) Unwrap() error { return e.error }

// shortened clips the text of an error.
func shortened(err error) error {
	if text := engine.Clip(err.Error(), maxError); text != err.Error() {
		return &shortError{text, err}
	}
	return err
}

// credentials are what no text about a call to address may have. A server may answer with them.
func credentials(address *url.URL, met Endpoint) []string {
	found := []string{met.Authorization, address.RawQuery}
	if scheme, credential, two := strings.Cut(met.Authorization, " "); two {
		found = append(found, credential, passwordIn(scheme, credential))
	}
	if password, set := address.User.Password(); set {
		found = append(found, password)
	} else {
		found = append(found, address.User.Username())
	}
	for _, values := range address.Query() {
		found = append(found, values...)
	}
	return found
}

// passwordIn is the password in a credential of HTTP's basic authentication.
func passwordIn(scheme, credential string) string {
	if scheme != "Basic" {
		return ""
	}
	text, err := base64.StdEncoding.DecodeString(credential)
	if err != nil {
		return ""
	}
	_, password, _ := strings.Cut(string(text), ":")
	return password
}

// withoutURL is what is behind an error of net/http, whose own text has the whole URL, with all that is secret in it.
func withoutURL(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
