package hook

import (
	"encoding/base64"
	"errors"
	"net/url"
	"strings"

	"metascript/engine"
)

// hidden stands for a secret in a text.
const hidden = "(hidden)"

// maxError is how long an error of a call is told.
const maxError = 1 << 10

// A hiddenError is an error whose text held secrets, or was too long.
type hiddenError struct {
	text string
	error
}

func (e *hiddenError) Error() string { return e.text }
func (e *hiddenError) Unwrap() error { return e.error }

// hide takes secrets out of what err says, since a server may have answered with them, and then what is too much.
func hide(err error, secrets []string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	if text = engine.Clip(text, maxError); text == err.Error() {
		return err
	}
	return &hiddenError{text, err}
}

// secretsOf are the texts that must not be told of a call to address.
func secretsOf(address *url.URL, met Endpoint) []string {
	found := []string{met.Authorization, address.RawQuery}
	if scheme, credential, two := strings.Cut(met.Authorization, " "); two {
		found = append(found, credential, passwordIn(scheme, credential))
	}
	if password, set := address.User.Password(); set {
		found = append(found, password)
	}
	kept := found[:0]
	for _, secret := range found {
		if secret != "" {
			kept = append(kept, secret)
		}
	}
	return kept
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
