package controlplane

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// client is a small Kubernetes client with the requests that a start needs. With
// client-go, the tests of this package would take long to compile.
type client struct {
	url   string
	token string
	http  *http.Client
}

// newClient returns a client of the API server at url.
func newClient(url string, id *identity) (*client, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(id.ca) {
		return nil, errors.New("kube-apiserver: the CA certificate is not valid")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	return &client{
		url:   url,
		token: id.token,
		http:  &http.Client{Transport: transport, Timeout: 10 * time.Second},
	}, nil
}

// get requests a path and decodes the JSON of the response into into. If into is
// nil, get only checks that the status code is 200.
func (c *client) get(ctx context.Context, path string, into any) error {
	status, body, err := c.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("get %s: %s", path, describe(status, body))
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("get %s: %w", path, err)
	}
	return nil
}

// create creates an object. If the object exists already, this is not an error.
func (c *client) create(ctx context.Context, path string, object any) error {
	content, err := json.Marshal(object)
	if err != nil {
		return err
	}
	status, body, err := c.do(ctx, http.MethodPost, path, content)
	if err != nil {
		return err
	}
	if status != http.StatusCreated && status != http.StatusConflict {
		return fmt.Errorf("create %s: %s", path, describe(status, body))
	}
	return nil
}

// do sends a request and returns the status code and the body of the response.
func (c *client) do(ctx context.Context, method, path string, content []byte) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(content))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

// describe returns a status code and a body as text for an error.
func describe(status int, body []byte) string {
	return fmt.Sprintf("%d %s: %s", status, http.StatusText(status), bytes.TrimSpace(body))
}
