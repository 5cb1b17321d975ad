package redact

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// Credentials returns the texts that must not be in a text about a request to address with an authorization, since a server may
// include them in its response.
func Credentials(address *url.URL, authorization string) []string {
	found := []string{authorization, address.RawQuery}
	if scheme, credential, two := strings.Cut(authorization, " "); two {
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

// passwordIn returns the password in a credential of HTTP basic authentication.
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
