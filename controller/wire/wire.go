// Package wire has the client for requests whose bodies and answers are read and written without a runtime.Scheme, as JSON text if a
// request does not ask for something else.
package wire

import (
	"fmt"
	"mime"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// NewClient returns a client for objects of all kinds.
func NewClient(config *rest.Config) (rest.Interface, error) {
	config = dynamic.ConfigFor(config)
	config.AcceptContentTypes = runtime.ContentTypeJSON
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return accepted{next} })
	config.GroupVersion = &schema.GroupVersion{}
	return rest.UnversionedRESTClientFor(config)
}

// accepted returns an error for a response of a type that was not asked for, such as a page of a proxy. A response with the status of an
// error is left to client-go.
type accepted struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t accepted) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	if err != nil || response.StatusCode >= 300 {
		return response, err
	}
	found, asked := response.Header.Get("Content-Type"), r.Header.Get("Accept")
	if strings.Contains(asked, found) {
		return response, nil // as nearly always, and also if there is no type
	}
	if media, _, _ := mime.ParseMediaType(found); !strings.Contains(asked, media) {
		_ = response.Body.Close()
		return nil, fmt.Errorf("the response has the type %q in place of JSON: does it come from the API server?", found)
	}
	return response, nil
}

// WrappedRoundTripper returns the transport, so that client-go closes its connections.
func (t accepted) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// Path returns the path of a resource, in a namespace if that is not "", for [rest.Request.AbsPath].
func Path(resource schema.GroupVersionResource, namespace string) []string {
	path := []string{"apis", resource.Group, resource.Version}
	if resource.Group == "" {
		path = []string{"api", resource.Version}
	}
	if namespace != "" {
		path = append(path, "namespaces", namespace)
	}
	return append(path, resource.Resource)
}
