// Package wire has the client for requests whose bodies and answers are read and written as JSON text, without a scheme.
package wire

import (
	"fmt"
	"mime"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// NewClient returns a client for objects of all kinds.
func NewClient(config *rest.Config) (rest.Interface, error) {
	config = dynamic.ConfigFor(config)
	config.AcceptContentTypes = runtime.ContentTypeJSON
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return jsonOnly{next} })
	config.GroupVersion = &schema.GroupVersion{}
	return rest.UnversionedRESTClientFor(config)
}

// jsonOnly returns an error for a response of another type than JSON, such as a page of a proxy. A response with the status of an error
// is left to client-go.
type jsonOnly struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t jsonOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	if err != nil || response.StatusCode >= 300 {
		return response, err
	}
	found := response.Header.Get("Content-Type")
	if media, _, _ := mime.ParseMediaType(found); found != "" && media != "application/json" {
		_ = response.Body.Close()
		return nil, fmt.Errorf("the response has the type %q in place of JSON: does it come from the API server?", found)
	}
	return response, nil
}

// WrappedRoundTripper returns the transport, so that client-go closes its connections.
func (t jsonOnly) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

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
